"""The books of a reader of counters: a line with figures is read, known to hold no counter, or booked as unread."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime

from policyhub.domain.counter_series import CounterSeries, CounterText
from policyhub.vendorkit.blocks import Line, read_lines
from policyhub.vendorkit.ledger import MAX_LINE

NUMBER = re.compile(r"-?[\d,]{1,30}(?:\.\d{1,12})?")
#: A prompt with the command behind it: its digits are those of a name.
ECHO = re.compile(
    r"^(?:[<\[][~*]?[\w.\-/:@ ~]{1,64}[>\]]|[\w.\-/:@()~ ]{1,64}[#>$]) ?(?:sh(?:ow)?|dis(?:play)?|nv|net|tc|aclshow)\b"
)
NOTHING = ("N/A", "n/a", "NA", "-", "--", "")


class SeriesBook:
    """Readings of one text. source: the command that printed it, unless a reading names another."""

    def __init__(self, text: str, read_at: datetime | None, source: str = "") -> None:
        self._lines = read_lines(text)
        self._read_at = read_at
        self._source = source
        self._rows: list[CounterSeries] = []
        self._unread: list[int] = []
        self._told = False

    def lines(self) -> Iterator[Line]:
        """Lines that are not empty. One with a digit for which neither `add` nor `known` is called is unread."""
        for line in self._lines:
            self._told = False
            if line.text and len(line.text) <= MAX_LINE:
                yield line
            if not self._told and any(char.isdigit() for char in line.text) and not ECHO.match(line.text):
                self._unread.append(line.number)

    def add(self, line: Line, port: str, queue: str, name: str, value: str | float, unit: str = "", source: str = "") -> None:
        """One reading. value: as printed; what is not printed (N/A, -) is None, never 0."""
        self._told = True
        number = _number(value) if isinstance(value, str) else value
        self._rows.append(CounterSeries(port, queue, name, number, unit, self._read_at, source or self._source, line.number))

    def known(self) -> None:
        """The line holds no counter: a title, a name, a configured value."""
        self._told = True

    def text(self) -> CounterText:
        return CounterText(tuple(self._rows), tuple(self._unread))


def _number(text: str) -> float | None:
    text = text.strip()
    return float(text.replace(",", "")) if NUMBER.fullmatch(text) and any(char.isdigit() for char in text) else None
