"""Hit counters of `show ip|ipv6|mac access-lists`: `[match 12 packets, 0:01:02 ago]`, nothing at all when it is zero."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from policyhub.domain.device_config import Unparsed
from policyhub.domain.hits import HitCount, HitSample
from policyhub.vendorkit.ios_counters import hostname_in, listed
from policyhub.vendorkit.unread_hits import in_order, is_garbled, listed_lines

HEADER = re.compile(r"^(?:Standard )?(?:IP|IPV6|MAC) Access List (?P<name>\S+)(?: \[.*\])?$")
SEEN = re.compile(r"^[ \t]*(?:Standard )?(?:IP|IPV6|MAC) Access List \S+", re.MULTILINE)
ENTRY = re.compile(r"^(?P<number>\d{1,10}) +(?:permit|deny) ?")
MATCH = re.compile(r"\[match (?P<hits>\d{1,20}) packets?(?:, (?P<ago>[^\]]{1,60}) ago)?\]")
AGO = re.compile(r"^(?:(?P<days>\d{1,5}) days?, )?(?P<hours>\d{1,3}):(?P<minutes>\d\d):(?P<seconds>\d\d)$")


def counters(text: str, read_at: datetime | None = None) -> HitSample | None:
    """One HitCount per entry of each list that counts (`counters per-entry`, or a number is seen); None without such an output.

    `hits` None means zero in such a list (zero_is_printed is False). Without any the entries are listed and the sample is not
    enabled.
    """
    if SEEN.search(text) is None:
        return None
    lists: dict[str, list[HitCount]] = {}
    counting: set[str] = set()
    for name, line, entry in listed(text, HEADER, ENTRY):
        if entry is None:
            if line.indent and line.text in ("counters per-entry", "statistics per-entry"):
                counting.add(name)
        elif not is_garbled(line.text, MATCH):
            found = MATCH.search(line.text)
            if found is not None:
                counting.add(name)
            hits = int(found["hits"]) if found else None
            last = _last(found["ago"] if found else None, read_at)
            lists.setdefault(name, []).append(HitCount(name, f"{name} {entry['number']}", hits, None, last, line.number))
    told = {key: rows for key, rows in lists.items() if key in counting} or lists
    rows = tuple(row for rows in told.values() for row in rows)
    return HitSample(
        "arista_eos", "packets", rows, enabled=bool(counting), zero_is_printed=False, read_at=read_at, hostname=hostname_in(text)
    )


def unread_hits(text: str) -> tuple[Unparsed, ...]:
    """Entries that are none, and counts that are no numbers."""
    return in_order(listed_lines(text, HEADER, ENTRY, MATCH))


def _last(ago: str | None, read_at: datetime | None) -> datetime | None:
    found = AGO.match(ago) if ago and read_at else None
    if found is None or read_at is None:
        return None
    days, hours, minutes, seconds = (int(found[part] or 0) for part in ("days", "hours", "minutes", "seconds"))
    return read_at - timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)
