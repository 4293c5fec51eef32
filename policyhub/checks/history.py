"""What hit counters prove about a rule: used, unused over the window, or nothing, with the reason. "No data" is never "zero".

Zero proves something only while the device was counting without a break. Counting is broken between two readings when any
counter of the device fell, when the device says that it counts only since a moment after the first reading, when counting was
off, or when what is counted changed. A fall of any counter breaks it for all: a reboot and a cleared list look alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import pairwise
from typing import Any

from policyhub.checks.context import Context, in_utc
from policyhub.domain.hits import HitSample
from policyhub.domain.message import Message, gettext_noop
from policyhub.domain.rules import Action, Policy, Rule

Key = tuple[str, str]  # policy, hit key
TICK = timedelta(microseconds=1)
NO_COUNTERS = gettext_noop("no counters given")
SILENT_LIST = gettext_noop("no rule of this list ever counted a match: hardware may forward without counting")
ABSENT = gettext_noop("the rule is not in the counters of %(day)s")
FEW_MEMBERS = gettext_noop("counters of %(given)d of %(members)d cluster members given: they are not shared between members")
COUNTS_NOW = {
    "packets": gettext_noop("from %(day)s on the device counts packets"),
    "sessions": gettext_noop("from %(day)s on the device counts sessions"),
    "matches": gettext_noop("from %(day)s on the device counts matches"),
}
STANDS_STILL = {
    "sessions": gettext_noop("no new hit, but a counter of sessions stands still while one stays open"),
    "matches": gettext_noop("no new hit, but a counter of matches stands still while a flow goes on"),
}
UNPROVED = Message("")


class Use(StrEnum):
    USED = "used"
    UNUSED = "unused"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Proof:
    """Of one rule. reason: why nothing is proved. evidence: what the finding shows."""

    use: Use
    reason: Message = UNPROVED
    evidence: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Break:
    """Counting stopped or started anew at some moment of [start, end]."""

    start: datetime
    end: datetime
    why: Message


@dataclass(frozen=True, slots=True)
class Reading:
    """One sample, joined by (policy, key). at: UTC, None when the sample does not say."""

    sample: HitSample
    hits: dict[Key, int | None]
    last_hits: dict[Key, datetime]
    policies: frozenset[str]
    at: datetime | None

    @classmethod
    def of(cls, sample: HitSample) -> Reading:
        at = in_utc(sample.read_at) if sample.read_at else None
        return cls(sample, _joined(sample), _last_hits(sample), frozenset(count.policy for count in sample.hits), at)

    @property
    def since(self) -> datetime | None:
        """Since when it counts, as the device says; a moment after the reading itself is no information."""
        since = self.sample.counting_since
        if since is None or self.at is None or in_utc(since) > self.at:
            return None
        return in_utc(since)


class History:
    """All readings of one device or cluster member, oldest first. A reading may hold a part of the policies only."""

    def __init__(self, samples: Iterable[HitSample], window_days: int) -> None:
        self.window = timedelta(days=window_days)
        readings = [Reading.of(sample) for sample in samples]
        self.readings = [r for r in readings if r.at is None] + sorted((r for r in readings if r.at is not None), key=_when)
        self.breaks = _breaks([reading for reading in self.readings if reading.at is not None])

    def judge(self, policy: Policy, rule: Rule) -> Proof:
        """Use over the window that ends with the latest reading of the policy."""
        if not self.readings:
            return Proof(Use.UNKNOWN, Message(NO_COUNTERS))
        key = (policy.name, rule.hit_key)
        readings = [reading for reading in self.readings if policy.name in reading.policies]
        if not (readings or self.readings)[-1].sample.enabled:
            return Proof(Use.UNKNOWN, Message(gettext_noop("counting is disabled on the device")))
        if not readings or not rule.hit_key or key not in readings[-1].hits:
            return Proof(Use.UNKNOWN, Message(gettext_noop("the rule is not in the counters")))
        if readings[-1].hits[key] is None:
            return Proof(Use.UNKNOWN, Message(gettext_noop("the device prints no number for this rule")))
        if any(reading.hits.get(key) for reading in readings if reading.at is None):
            return Proof(Use.USED)
        if readings[-1].at is None:
            return Proof(Use.UNKNOWN, Message(gettext_noop("the reading does not say when it was taken")))
        chain, gap = self._chain([reading for reading in readings if reading.at is not None], key)
        if readings[-1].hits[key]:
            return self._judge_counted(key, chain)
        return self._judge_zero(key, chain, gap, readings)

    def _chain(self, readings: list[Reading], key: Key) -> tuple[list[Reading], Message | None]:
        """The latest readings of the rule over which counting never broke, and what ended it before them."""
        chain = [readings[-1]]
        for reading in reversed(readings[:-1]):
            broken = self._break_within(_when(reading), _when(chain[0]))
            if broken is not None:
                return chain, broken.why
            if reading.hits.get(key) is None:
                return chain, Message(ABSENT, {"day": _day(reading)})
            chain.insert(0, reading)
        return chain, None

    def _break_within(self, start: datetime, end: datetime) -> Break | None:
        return next((b for b in reversed(self.breaks) if b.start < end and b.end > start), None)

    def _judge_zero(self, key: Key, chain: list[Reading], gap: Message | None, readings: list[Reading]) -> Proof:
        last = chain[-1]
        opens = _when(last) - self.window
        if any(reading.last_hits[key] >= opens for reading in readings if key in reading.last_hits):
            return Proof(Use.USED)
        since, proof = _when(chain[0]), "readings"
        told = max((moment for moment in (reading.since for reading in chain) if moment is not None), default=None)
        existed = gap is None or gap.template != ABSENT
        if since > opens and told is not None and told < since and existed and self._break_within(told, since) is None:
            since, proof = told, "counting-since"
        if since <= opens and last.sample.counts == "matches" and not _counts_at_all(chain, key[0]):
            return Proof(Use.UNKNOWN, Message(SILENT_LIST), _facts(last, key))
        if since <= opens:
            return Proof(Use.UNUSED, evidence={**_facts(last, key), "since": since.isoformat(), "proof": proof})
        days = {"counted": (_when(last) - since).days, "window": self.window.days}
        return Proof(Use.UNKNOWN, _why_short(gap, told is not None or len(chain) > 1, days), _facts(last, key))

    def _judge_counted(self, key: Key, chain: list[Reading]) -> Proof:
        """A number that did not move over the whole window, on a counter that every packet moves, is no use either."""
        last = chain[-1]
        opens = _when(last) - self.window
        opening = [reading for reading in chain if _when(reading) <= opens]
        hit = last.last_hits.get(key)
        if not opening or opening[-1].hits[key] != last.hits[key] or (hit is not None and hit >= opens):
            return Proof(Use.USED)
        evidence = {**_facts(last, key), "since": _when(opening[-1]).isoformat(), "proof": "readings"}
        if last.sample.counts != "packets":
            return Proof(Use.UNKNOWN, Message(STANDS_STILL[last.sample.counts]), evidence)
        return Proof(Use.UNUSED, evidence=evidence)


def is_judged(policy: Policy, rule: Rule) -> bool:
    """Rules that decide traffic: not disabled ones, not those that only mark or jump, not lists that select for QoS or NAT."""
    return policy.purpose == "filter" and rule.enabled and rule.action is not Action.CONTINUE


def judge_rules(policy: Policy, context: Context) -> Iterator[tuple[Rule, Proof]]:
    """What the counters of the device, or of every member of its cluster, prove about each rule."""
    members = context.remember("members", lambda: _members(context))
    for rule in policy.rules:
        if not is_judged(policy, rule):
            continue
        if (policy.name, rule.name) in context.seen:
            yield rule, Proof(Use.USED)
        else:
            yield rule, _together([member.judge(policy, rule) for member in members], context.members)


def _members(context: Context) -> list[History]:
    if context.members <= 1:
        return [History(context.hits, context.window_days)]
    names = sorted({sample.hostname for sample in context.hits})
    return [History([s for s in context.hits if s.hostname == name], context.window_days) for name in names]


def _together(proofs: list[Proof], members: int) -> Proof:
    """Used by one member is used; unused needs the proof of every member."""
    for use in (Use.USED, Use.UNKNOWN):
        found = next((proof for proof in proofs if proof.use is use), None)
        if found is not None:
            return found
    if len(proofs) < members:
        reason = Message(FEW_MEMBERS, {"given": len(proofs), "members": members})
        return Proof(Use.UNKNOWN, reason, proofs[0].evidence)
    return min(proofs, key=lambda proof: str(proof.evidence["since"]), default=Proof(Use.UNKNOWN, Message(NO_COUNTERS)))


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


def _last_hits(sample: HitSample) -> dict[Key, datetime]:
    last: dict[Key, datetime] = {}
    for count in sample.hits:
        if count.last_hit_at is not None:
            key, at = (count.policy, count.key), in_utc(count.last_hit_at)
            last[key] = max(at, last.get(key, at))
    return last


def _breaks(readings: list[Reading]) -> list[Break]:
    """All breaks that the dated readings of a device show, in order of discovery."""
    breaks: list[Break] = []
    known: dict[Key, tuple[int, Reading]] = {}
    for earlier, later in pairwise([*readings[:1], *readings]):
        start, end = _when(earlier), _when(later)
        if not earlier.sample.enabled or not later.sample.enabled:
            off = _day(later if earlier.sample.enabled else earlier)
            breaks.append(Break(start, end, Message(gettext_noop("counting was off on %(day)s"), {"day": off})))
        if earlier.sample.counts != later.sample.counts:
            breaks.append(Break(start, end, Message(COUNTS_NOW[later.sample.counts], {"day": _day(later)})))
        if later.since is not None and later.since > start:
            reset = Message(gettext_noop("the counters were reset on %(day)s"), {"day": f"{later.since:%Y-%m-%d}"})
            breaks.append(Break(later.since - TICK, later.since, reset))
        fallen = [known[key][1] for key, hits in later.hits.items() if hits is not None and key in known and hits < known[key][0]]
        if fallen:
            before = min(fallen, key=_when)
            said = gettext_noop("the counters were reset between %(before)s and %(after)s")
            breaks.append(Break(_when(before), end, Message(said, {"before": _day(before), "after": _day(later)})))
        known.update({key: (hits, later) for key, hits in later.hits.items() if hits is not None})
    return breaks


def _counts_at_all(chain: list[Reading], policy: str) -> bool:
    """Lists of routers and switches count in software; where hardware forwards, a whole list may stay at zero (IOS-XE)."""
    return any(hits for reading in chain for (name, _), hits in reading.hits.items() if name == policy)


def _why_short(gap: Message | None, measured: bool, days: dict[str, int]) -> Message:
    if gap is not None:
        said = gettext_noop("%(gap)s; only %(counted)d of %(window)d days are counted without a break")
        return Message(said, {"gap": gap, **days})
    if measured:
        return Message(gettext_noop("window too short: %(counted)d of %(window)d days are counted"), days)
    return Message(gettext_noop("window unknown: one reading only, and it does not say since when the device counts"))


def _facts(last: Reading, key: Key) -> dict[str, Any]:
    return {"hits": last.hits[key], "counts": last.sample.counts, "read_at": _when(last).isoformat()}


def _when(reading: Reading) -> datetime:
    if reading.at is None:
        raise ValueError("this reading has no time")
    return reading.at


def _day(reading: Reading) -> str:
    return f"{_when(reading):%Y-%m-%d}"
