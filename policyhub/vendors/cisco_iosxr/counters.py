"""Hit counters of `show access-lists [ipv4|ipv6] [NAME] [hardware ..]`: `(12 matches)`, `(12 hw matches)`, nothing at zero."""

from __future__ import annotations

import re
from datetime import datetime

from policyhub.domain.device_config import Unparsed
from policyhub.domain.hits import HitCount, HitSample
from policyhub.vendorkit.ios_counters import hostname_in, listed
from policyhub.vendorkit.unread_hits import in_order, is_garbled, listed_lines

HEADER = re.compile(r"^(?:ipv4|ipv6|ethernet-services) access-list (?P<name>\S+)$")
ENTRY = re.compile(r"^(?P<number>\d{1,10}) (?:permit|deny) ?")
MATCHES = re.compile(r"\((?:hw )?(?P<hits>\d{1,20}) (?:hw )?match(?:es)?\)")
SEEN = re.compile(r"^[ \t]*\d{1,10} (?:permit|deny) [^\n]{0,2000}\(\d{1,20} (?:hw )?match(?:es)?\)", re.MULTILINE)
ECHO = re.compile(r"[#>]\s*sh\w{0,2}o?w? acc\w*", re.IGNORECASE)


def counters(text: str, read_at: datetime | None = None) -> HitSample | None:
    """One HitCount per listed entry; `hits` None where nothing is printed (zero_is_printed is False: it means zero).

    A configuration looks the same as this output: without a number and without the echoed command there is no sample.
    """
    if SEEN.search(text) is None and ECHO.search(text) is None:
        return None
    hits: list[HitCount] = []
    for name, line, entry in listed(text, HEADER, ENTRY):
        if entry is not None and not is_garbled(line.text, MATCHES):
            found = MATCHES.search(line.text)
            key = f"{name} {entry['number']}"
            hits.append(HitCount(name, key, int(found["hits"]) if found else None, line=line.number))
    return HitSample("cisco_iosxr", "matches", tuple(hits), zero_is_printed=False, read_at=read_at, hostname=hostname_in(text))


def unread_hits(text: str) -> tuple[Unparsed, ...]:
    """Entries that are none, and counts that are no numbers."""
    return in_order(listed_lines(text, HEADER, ENTRY, MATCHES))
