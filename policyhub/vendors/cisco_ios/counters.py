"""Hit counters of `show [ip|ipv6] access-lists`: `(20 matches)` at the end of an entry, nothing at all when it is zero.

Software counters: hardware-forwarded lists of Catalyst and IOS-XE may stay at zero; who reads the sample must know the platform.
"""

from __future__ import annotations

import re
from datetime import datetime

from policyhub.domain.device_config import Unparsed
from policyhub.domain.hits import HitCount, HitSample
from policyhub.vendorkit.blocks import read_lines
from policyhub.vendorkit.ledger import MAX_LINE
from policyhub.vendorkit.unread_hits import in_order, is_garbled, listed_lines

HEADER = re.compile(
    r"^(?:(?:Standard|Extended|Reflexive|Role-based|FQDN) (?:IP|MAC) access list|IPv6 (?:FQDN )?access list) (?P<name>\S+)"
)
ENTRY = re.compile(r"^(?:(?P<first>\d{1,10}) +)?(?:permit|deny|dynamic|evaluate) ?")
SEQUENCE = re.compile(r" sequence (?P<last>\d{1,10})$")
MATCHES = re.compile(r"\((?:hw )?(?P<hits>\d{1,20}) (?:hw )?match(?:es)?\b")
TAIL = re.compile(r" ?\([^()]*\)")
SEEN = re.compile(
    r"^[ \t]*(?:(?:Standard|Extended|Reflexive|Role-based|FQDN) (?:IP|MAC) access list|IPv6 (?:FQDN )?access list) ", re.MULTILINE
)


def counters(text: str, read_at: datetime | None = None) -> HitSample | None:
    """One HitCount per listed entry; `hits` None where nothing is printed (zero_is_printed is False: it means zero).

    None when the text holds no such output. A list that is printed but has no entries gives nothing.
    """
    if SEEN.search(text) is None:
        return None
    hits: list[HitCount] = []
    name, last, hostname = "", 0, ""
    for line in read_lines(text):
        header = HEADER.match(line.text)
        if header is not None:
            name, last = header["name"], 0
            continue
        if line.text.startswith("hostname "):
            hostname = line.text[9:].strip()
        if not line.text or (line.indent == 0 and ENTRY.match(line.text) is None):
            name = "" if line.text else name
            continue
        entry = ENTRY.match(line.text)
        if not name or entry is None or len(line.text) > MAX_LINE:
            continue
        text = " ".join(line.text.split())
        at_end = SEQUENCE.search(TAIL.sub("", text))
        last = int(entry["first"] or (at_end["last"] if at_end else last + 10))
        if is_garbled(text, MATCHES):
            continue
        found = MATCHES.search(text)
        hits.append(HitCount(name, f"{name} {last}", int(found["hits"]) if found else None, line=line.number))
    return HitSample("cisco_ios", "matches", tuple(hits), zero_is_printed=False, read_at=read_at, hostname=hostname)


def unread_hits(text: str) -> tuple[Unparsed, ...]:
    """Entries that are none, and counts that are no numbers."""
    return in_order(listed_lines(text, HEADER, ENTRY, MATCHES))
