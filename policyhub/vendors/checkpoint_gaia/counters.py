"""Hit counts in `show-access-rulebase` (and `show-nat-rulebase`) asked with show-hits: connections per rule, zero printed."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from policyhub.domain.device_config import Unparsed
from policyhub.domain.hits import HitCount, HitSample
from policyhub.vendorkit.unread_hits import NO_COUNT, unread
from policyhub.vendors.checkpoint_gaia.answers import Item, find
from policyhub.vendors.checkpoint_gaia.collect import collect
from policyhub.vendors.checkpoint_gaia.reading import Reading

HITS = '"hits"'


def counters(text: str, read_at: datetime | None = None) -> HitSample | None:
    """One HitCount per rule with `hits`; None when no rule has them."""
    hits = [_hit(policy, rule) for policy, rule in _rules(text) if isinstance(rule.get("hits"), Item)]
    if not hits:
        return None
    return HitSample("checkpoint_gaia", "sessions", tuple(hits), read_at=read_at)


def unread_counts(text: str) -> Iterator[Unparsed]:
    """Rules whose `hits` hold no number."""
    for policy, rule in _rules(text):
        hits = rule.get("hits")
        if hits is not None and not (isinstance(hits, Item) and _hit(policy, rule).hits is not None):
            yield unread(rule.first, f"{rule.text('uid')}: {hits}", NO_COUNT)


def _rules(text: str) -> Iterator[tuple[str, Item]]:
    """Each rule with the policy it belongs to; none when no rule was asked with show-hits."""
    if HITS not in text:
        return
    text = text.removeprefix("\ufeff")
    reading = Reading(text.split("\n"))
    for answer in find(text, reading.rows).answers:
        collect(reading, answer)
    for layer in reading.layers.values():
        yield from ((layer.name, rule) for _, rule in layer.rules)
    yield from reading.nat_items


def _hit(policy: str, rule: Item) -> HitCount:
    hits = rule["hits"]
    value = hits.get("value")
    number = value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
    return HitCount(policy, rule.text("uid"), number, last_hit_at=_time(hits.get("last-date")), line=rule.first)


def _time(date: object) -> datetime | None:
    """`posix` is in milliseconds."""
    posix = date.get("posix") if isinstance(date, Item) else None
    if not isinstance(posix, int) or not 0 < posix < 10**14:
        return None
    return datetime.fromtimestamp(posix // 1000, UTC)
