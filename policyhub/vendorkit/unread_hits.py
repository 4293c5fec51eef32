"""Lines of a hit output or traffic log that are meant to count a rule and could not be read: told, never dropped in silence."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from policyhub.domain.device_config import Unparsed
from policyhub.domain.message import gettext_noop
from policyhub.vendorkit.blocks import read_lines
from policyhub.vendorkit.ios_counters import listed
from policyhub.vendorkit.ledger import MAX_LINE, MAX_TEXT

NO_COUNT = gettext_noop("its count is not a number")
NO_RULE = gettext_noop("it counts something, and no rule can be told")
NO_USE = gettext_noop("a traffic log line that names no rule")
TOO_LONG = gettext_noop("longer than any line of a device")
#: A count in brackets, whole or cut off; what a device writes in brackets besides has none of these words.
GARBLED = re.compile(r"[(\[][^()\[\]]*(?:match|packet|hitcnt|times)|[(\[][^()\[\]]*$")
ENTRY = re.compile(r"^(?![!#]|.*\bremark\b).*\b(?:permit|deny)\b")


def unread(number: int, text: str, reason: str) -> Unparsed:
    return Unparsed(number, text[:MAX_TEXT], reason)


def signed_lines(text: str, sign: re.Pattern[str], why: Callable[[str], str]) -> Iterator[Unparsed]:
    """Lines with the sign of a counter or a log line for which `why(line)` has a reason; "" means that it was read."""
    for line in read_lines(text):
        if sign.search(line.text[: 2 * MAX_LINE]) is None:
            continue
        reason = TOO_LONG if len(line.text) > 2 * MAX_LINE else why(line.text)
        if reason:
            yield unread(line.number, line.text, reason)


def is_garbled(text: str, count: re.Pattern[str]) -> bool:
    """Whether a count stands there that `count` cannot read: where nothing printed means zero, this is no zero."""
    return count.search(text) is None and GARBLED.search(text) is not None


def listed_lines(text: str, header: re.Pattern[str], entry: re.Pattern[str], count: re.Pattern[str]) -> Iterator[Unparsed]:
    """Of Cisco-like lists: entries whose count is no number, and lines inside a list that look like an entry and are none."""
    for _, line, found in listed(text, header, entry):
        if found is None and line.indent and ENTRY.search(line.text):
            yield unread(line.number, line.text, NO_RULE)
        elif found is not None and is_garbled(line.text, count):
            yield unread(line.number, line.text, NO_COUNT)


def in_order(lines: Iterable[Unparsed]) -> tuple[Unparsed, ...]:
    """One for each line, the first reason stays."""
    found: dict[int, Unparsed] = {}
    for line in lines:
        found.setdefault(line.line, line)
    return tuple(found[number] for number in sorted(found))
