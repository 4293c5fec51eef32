"""Hit counters of `nft list ruleset`: `counter packets N bytes M` in a rule, and named counters.

nft counts packets that reach the counter, zero is printed, and a rule without a counter is not counted at all (`hits` None).
Keys are the chain and the rule's text without the numbers, as in the parser, so that two readings of one ruleset join.
"""

from __future__ import annotations

import re
from datetime import datetime

from policyhub.domain.device_config import Unparsed
from policyhub.domain.hits import HitCount, HitSample
from policyhub.vendorkit.unread_hits import NO_RULE, unread
from policyhub.vendors.linux_nftables.parse import NAME, parse, read

COUNTED = re.compile(r"\bcounter\b")


def counters(text: str, read_at: datetime | None = None) -> HitSample | None:
    """None when no rule of the text has a counter."""
    _, built, _, host = read(text)
    if not any(rule.has_counter for rule in built.counted):
        return None
    hits = tuple(HitCount(rule.policy, rule.key, rule.hits, rule.bytes, line=rule.line) for rule in built.counted)
    return HitSample(NAME, "packets", hits, read_at=read_at, hostname=host)


def unread_hits(text: str) -> tuple[Unparsed, ...]:
    """Lines with a counter that the parser did not understand: counters stand inside the rules."""
    return tuple(unread(line.line, line.text, NO_RULE) for line in parse(text).unparsed if COUNTED.search(line.text))
