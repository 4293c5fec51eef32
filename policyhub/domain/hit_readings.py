"""Readings of one device's counters, joined by rule, and the moments at which counting began anew."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise

from policyhub.domain.hits import HitCount, HitEvent, HitEventKind, HitSample, in_utc
from policyhub.domain.message import Message, gettext_noop

Key = tuple[str, str]  # policy, hit key
TICK = timedelta(microseconds=1)
COUNTS_NOW = {
    "packets": gettext_noop("from %(day)s on the device counts packets"),
    "sessions": gettext_noop("from %(day)s on the device counts sessions"),
    "matches": gettext_noop("from %(day)s on the device counts matches"),
}
EVENTS = {
    HitEventKind.INSTALLED: gettext_noop("the rule was installed on %(day)s"),
    HitEventKind.RENAMED: gettext_noop("the rule was renamed on %(day)s, which begins a new counter"),
    HitEventKind.EDITED: gettext_noop("the rule was edited on %(day)s, which may begin a new counter"),
    HitEventKind.RESET: gettext_noop("the counters were reset on %(day)s"),
    HitEventKind.BOOTED: gettext_noop("the device booted on %(day)s"),
    HitEventKind.COUNTING_OFF: gettext_noop("counting was off on %(day)s"),
}


@dataclass(frozen=True, slots=True)
class Break:
    """Counting stopped or started anew at some moment of [start, end]. key: of one rule only; None: of the whole device.

    ends_sessions: nothing that was open before goes on (a boot).
    """

    start: datetime
    end: datetime
    why: Message
    key: Key | None = None
    ends_sessions: bool = False


@dataclass(frozen=True, slots=True)
class Reading:
    """One sample, joined by (policy, key). at: UTC, None when the sample does not say."""

    sample: HitSample
    hits: dict[Key, int | None]
    bytes: dict[Key, int]
    last_hits: dict[Key, datetime]
    since_of: dict[Key, datetime]
    policies: frozenset[str]
    at: datetime | None

    @classmethod
    def of(cls, sample: HitSample) -> Reading:
        at = in_utc(sample.read_at) if sample.read_at else None
        policies = frozenset(count.policy for count in sample.hits)
        return cls(sample, _joined(sample), _bytes(sample), _last_hits(sample), _since(sample, at), policies, at)

    @property
    def since(self) -> datetime | None:
        """Since when it counts, as the device says; a moment after the reading itself is no information."""
        since = self.sample.counting_since
        if since is None or self.at is None or in_utc(since) > self.at:
            return None
        return in_utc(since)

    @property
    def covers_from(self) -> datetime | None:
        return in_utc(self.sample.covers_from) if self.sample.covers_from else None


def when(reading: Reading) -> datetime:
    """The time of a reading that has one."""
    if reading.at is None:
        raise ValueError("this reading has no time")
    return reading.at


def day(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d}"


def in_order(samples: Iterable[HitSample]) -> list[Reading]:
    """Those without a time first, then by time."""
    readings = [Reading.of(sample) for sample in samples]
    return [r for r in readings if r.at is None] + sorted((r for r in readings if r.at is not None), key=when)


def find_breaks(readings: list[Reading], events: Iterable[HitEvent]) -> list[Break]:
    """All breaks that the dated readings of a device and its events show, in order of discovery."""
    breaks = [_break_of(event) for event in events]
    known: dict[Key, tuple[int, Reading]] = {}
    for earlier, later in pairwise([*readings[:1], *readings]):
        told = _between(earlier, later)
        breaks += told
        if later.covers_from is None:  # a count of a fixed interval may fall at any time
            if not any(one.ends_sessions for one in told):  # a boot explains the fall
                breaks += _fallen(known, later)
            known.update({key: (hits, later) for key, hits in later.hits.items() if hits is not None})
    return breaks


def _break_of(event: HitEvent) -> Break:
    at = in_utc(event.at)
    key = (event.policy, event.new_key or event.key) if event.key else None
    said = Message(EVENTS[event.kind], {"day": day(at)})
    return Break(at - TICK, at, said, key, event.kind is HitEventKind.BOOTED)


def _between(earlier: Reading, later: Reading) -> list[Break]:
    found: list[Break] = []
    start, end = when(earlier), when(later)
    if not earlier.sample.enabled or not later.sample.enabled:
        off = when(later if earlier.sample.enabled else earlier)
        found.append(Break(start, end, Message(EVENTS[HitEventKind.COUNTING_OFF], {"day": day(off)})))
    if earlier.sample.counts != later.sample.counts:
        found.append(Break(start, end, Message(COUNTS_NOW[later.sample.counts], {"day": day(end)})))
    if earlier.sample.boot_id and later.sample.boot_id and earlier.sample.boot_id != later.sample.boot_id:
        said = gettext_noop("the device booted between %(before)s and %(after)s")
        found.append(Break(start, end, Message(said, {"before": day(start), "after": day(end)}), ends_sessions=True))
    since = later.since
    if since is not None and since > start:
        kind = HitEventKind.BOOTED if later.sample.since_boot else HitEventKind.RESET
        said = EVENTS[HitEventKind.RESET] if kind is HitEventKind.RESET else EVENTS[HitEventKind.BOOTED]
        boot = kind is HitEventKind.BOOTED
        found.append(Break(since - TICK, since, Message(said, {"day": day(since)}), ends_sessions=boot))
    for key, own in later.since_of.items():
        if own > start:
            said = gettext_noop("the rule's counter began on %(day)s")
            found.append(Break(own - TICK, own, Message(said, {"day": day(own)}), key))
    return found


def _fallen(known: dict[Key, tuple[int, Reading]], later: Reading) -> list[Break]:
    """A fall of any counter breaks it for all: a reboot and a cleared list look alike. One with a start of its own does not."""
    fallen = [
        known[key][1]
        for key, hits in later.hits.items()
        if hits is not None and key in known and hits < known[key][0] and key not in later.since_of
    ]
    if not fallen:
        return []
    before, end = when(min(fallen, key=when)), when(later)
    said = gettext_noop("the counters were reset between %(before)s and %(after)s")
    return [Break(before, end, Message(said, {"before": day(before), "after": day(end)}))]


def _joined(sample: HitSample) -> dict[Key, int | None]:
    """Hits by (policy, key). Entries with one key count one rule and add up; zero beside an entry without a number is no zero."""
    sums: dict[Key, int] = {}
    silent: set[Key] = set()
    for count in sample.hits:
        key = (count.policy, count.key)
        sums[key] = sums.get(key, 0) + (count.hits or 0)
        if count.hits is None and sample.zero_is_printed:
            silent.add(key)
    return {key: hits if hits or key not in silent else None for key, hits in sums.items()}


def _bytes(sample: HitSample) -> dict[Key, int]:
    """Sums of rules all of whose entries print bytes."""
    sums: dict[Key, int] = {}
    for count in sample.hits:
        if count.bytes is not None:
            key = (count.policy, count.key)
            sums[key] = sums.get(key, 0) + count.bytes
    return {k: v for k, v in sums.items() if all(c.bytes is not None for c in _entries(sample, k))} if sums else sums


def _entries(sample: HitSample, key: Key) -> list[HitCount]:
    return [count for count in sample.hits if (count.policy, count.key) == key]


def _last_hits(sample: HitSample) -> dict[Key, datetime]:
    last: dict[Key, datetime] = {}
    for count in sample.hits:
        if count.last_hit_at is not None:
            key, at = (count.policy, count.key), in_utc(count.last_hit_at)
            last[key] = max(at, last.get(key, at))
    return last


def _since(sample: HitSample, read_at: datetime | None) -> dict[Key, datetime]:
    """When each rule's own counter began; a moment after the reading is no information."""
    since: dict[Key, datetime] = {}
    for count in sample.hits:
        if count.since is not None and (read_at is None or in_utc(count.since) <= read_at):
            key, at = (count.policy, count.key), in_utc(count.since)
            since[key] = max(at, since.get(key, at))
    return since
