"""The table of `show interfaces counters` as IOS, NX-OS and EOS print it: octets and frames of each port."""

from __future__ import annotations

import re

from policyhub.vendorkit.blocks import Line
from policyhub.vendorkit.series_book import SeriesBook

SOURCE = "show interfaces counters"
TITLE = r"(?:In|Out)(?:Octets|UcastPkts|McastPkts|BcastPkts)"
HEADER = re.compile(rf"^(?:Port|Interface)(?:\s+{TITLE})+$", re.IGNORECASE)
ROW = re.compile(r"^(?P<port>[A-Za-z][\w./-]*\d)(?P<cells>(?:\s+(?:\d{1,20}|--))+)$")


class PortCounters:
    """Rows of the table that began last; another header or a row of another width ends it."""

    def __init__(self, book: SeriesBook) -> None:
        self._book = book
        self._columns: list[str] = []

    def take(self, line: Line) -> bool:
        """Whether the line is the header or a row of the table; a row is booked."""
        if HEADER.match(line.text):
            self._columns = line.words[1:]
            self._book.known()
            return True
        row = ROW.match(line.text) if self._columns else None
        cells = row["cells"].split() if row else []
        if row is None or len(cells) != len(self._columns):
            self._columns = self._columns if not line.text.strip("- ") else []
            return False
        for title, cell in zip(self._columns, cells, strict=True):
            self._book.add(line, row["port"], "", title, cell, "bytes" if title.endswith("Octets") else "packets", SOURCE)
        return True
