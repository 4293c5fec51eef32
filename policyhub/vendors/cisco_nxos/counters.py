"""Hit counters of `show access-lists`: `[match=N]` behind an entry, only in lists with `statistics per-entry`."""

from __future__ import annotations

import re
from datetime import datetime

from policyhub.domain.device_config import Unparsed
from policyhub.domain.hits import HitCount, HitSample
from policyhub.vendorkit.ios_counters import hostname_in, listed
from policyhub.vendorkit.unread_hits import in_order, is_garbled, listed_lines

HEADER = re.compile(r"^(?:IP|IPv6|MAC) access list (?P<name>\S+)$")
SEEN = re.compile(r"^[ \t]*(?:IP|IPv6|MAC) access list \S+[ \t\r]*$", re.MULTILINE)
ENTRY = re.compile(r"^(?P<number>\d{1,10}) +(?:permit|deny) ?")
MATCH = re.compile(r"\[match=(?P<hits>\d{1,20})\]")


def counters(text: str, read_at: datetime | None = None) -> HitSample | None:
    """One HitCount per listed entry; `hits` None where the list does not count. None when the text holds no such output.

    The sample is not enabled when no list counts: NX-OS counts nothing unless `statistics per-entry` is set.
    """
    if SEEN.search(text) is None:
        return None
    hits: list[HitCount] = []
    counts = False
    for name, line, entry in listed(text, HEADER, ENTRY):
        if entry is None:
            counts = counts or line.text == "statistics per-entry"
        elif not is_garbled(line.text, MATCH):
            found = MATCH.search(line.text)
            counts = counts or found is not None
            hits.append(HitCount(name, f"{name} {entry['number']}", int(found["hits"]) if found else None, line=line.number))
    return HitSample("cisco_nxos", "matches", tuple(hits), enabled=counts, read_at=read_at, hostname=hostname_in(text))


def unread_hits(text: str) -> tuple[Unparsed, ...]:
    """Entries that are none, and counts that are no numbers."""
    return in_order(listed_lines(text, HEADER, ENTRY, MATCH))
