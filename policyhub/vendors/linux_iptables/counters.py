"""Hit counters: `[packets:bytes]` of iptables-save -c, the first columns of iptables -L -v, `-c` of iptables -S -v.

The kernel counts packets and prints zero. Listings without -x round to K, M, G (thousands).
"""

from __future__ import annotations

import re
from datetime import datetime

from policyhub.domain.device_config import Unparsed
from policyhub.domain.hits import HitCount, HitSample
from policyhub.vendorkit.unread_hits import NO_RULE, unread
from policyhub.vendors.linux_iptables.parse import NAME, parse, read

COUNTED = re.compile(r"^\[|^\s*\d+\S*\s+\d|\s-c\s")


def counters(text: str, read_at: datetime | None = None) -> HitSample | None:
    """None when no rule of the text has a counter."""
    reading, built, _ = read(text)
    if not any(rule.hits is not None for rule in built.counted):
        return None
    hits = tuple(HitCount(rule.policy, rule.key, rule.hits, rule.bytes, line=rule.line) for rule in built.counted)
    return HitSample(NAME, "packets", hits, read_at=read_at, hostname=reading.hostname)


def unread_hits(text: str) -> tuple[Unparsed, ...]:
    """Lines with a counter that the parser did not understand: counters stand inside the rules."""
    return tuple(unread(line.line, line.text, NO_RULE) for line in parse(text).unparsed if COUNTED.search(line.text))
