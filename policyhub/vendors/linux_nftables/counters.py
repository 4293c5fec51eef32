"""Hit counters of `nft list ruleset`: `counter packets N bytes M` in a rule, and named counters.

nft counts packets that reach the counter, zero is printed, and a rule without a counter is not counted at all (`hits` None).
Keys are the chain and the rule's text without the numbers, as in the parser, so that two readings of one ruleset join.
"""

from __future__ import annotations

from datetime import datetime

from policyhub.domain.hits import HitCount, HitSample
from policyhub.vendors.linux_nftables.parse import NAME, read


def counters(text: str, read_at: datetime | None = None) -> HitSample | None:
    """None when no rule of the text has a counter."""
    _, built, _, host = read(text)
    if not any(rule.has_counter for rule in built.counted):
        return None
    hits = tuple(HitCount(rule.policy, rule.key, rule.hits, rule.bytes, line=rule.line) for rule in built.counted)
    return HitSample(NAME, "packets", hits, read_at=read_at, hostname=host)
