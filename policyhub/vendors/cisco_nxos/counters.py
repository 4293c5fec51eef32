"""Hit counters of `show access-lists`: `[match=N]` behind an entry, only in lists with `statistics per-entry`."""

from __future__ import annotations

import re
from datetime import datetime

from policyhub.domain.hits import HitCount, HitSample
from policyhub.vendorkit.blocks import read_lines
from policyhub.vendorkit.ledger import MAX_LINE

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
    name, hostname, counts = "", "", False
    for line in read_lines(text):
        if not line.text or len(line.text) > MAX_LINE:
            continue
        header = HEADER.match(line.text)
        if header is not None:
            name = header["name"]
            continue
        if line.text.startswith("hostname "):
            hostname = line.text[9:].strip()
        if line.text == "statistics per-entry" and name:
            counts = True
        entry = ENTRY.match(line.text)
        if entry is None:
            if line.indent == 0:
                name = ""
            continue
        if name:
            found = MATCH.search(line.text)
            counts = counts or found is not None
            hits.append(HitCount(name, f"{name} {entry['number']}", int(found["hits"]) if found else None, line=line.number))
    return HitSample("cisco_nxos", "matches", tuple(hits), enabled=counts, read_at=read_at, hostname=hostname)
