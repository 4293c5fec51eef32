"""The hit-evidence ledger: what readings, events and logs prove about a rule. "No data" is never "zero".

Zero proves something only while the device was counting without a break. Counting is broken between two readings when any
counter of the device fell, when the device says that it counts only since a moment after the first reading, when it booted, when
counting was off, or when what is counted changed; for one rule, when it was installed, renamed, edited or reset.
A counter of sessions moves when one opens: after a reset that was no boot, a session from before may go on unseen.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import pairwise
from typing import Any

from policyhub.domain.hit_readings import Break, Key, Reading, day, find_breaks, in_order, when
from policyhub.domain.hits import HitEvent, HitEventKind, HitSample, RuleUse, in_utc
from policyhub.domain.message import Message, gettext_noop

NO_COUNTERS = gettext_noop("no counters given")
SILENT_LIST = gettext_noop("no rule of this list ever counted a match: hardware may forward without counting")
ABSENT = gettext_noop("the rule is not in the counters of %(day)s")
NOT_LISTED = gettext_noop("the rule is not in the counters")
FEW_MEMBERS = gettext_noop("counters of %(given)d of %(members)d cluster members given: they are not shared between members")
STANDBY = gettext_noop("these are the counters of a standby member, which forwards nothing")
NOT_FRESH = gettext_noop("the device says that these numbers are not up to date")
OPEN_SESSIONS = gettext_noop("%(gap)s; a session from before may go on, and this device counts a session only when it opens")
STANDS_STILL = {
    "sessions": gettext_noop("no new hit, but a counter of sessions stands still while one stays open"),
    "matches": gettext_noop("no new hit, but a counter of matches stands still while a flow goes on"),
}
UNPROVED = Message("")
SLACK = timedelta(minutes=5)  # between fixed intervals of counting that follow each other


class Use(StrEnum):
    USED = "used"
    PROVEN_UNUSED = "proven-unused"
    NO_EVIDENCE = "no-evidence"


@dataclass(frozen=True, slots=True)
class Proof:
    """Of one rule. reason: why nothing is proved. evidence: what the finding shows; JSON values."""

    use: Use
    reason: Message = UNPROVED
    evidence: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def nothing(cls, reason: str, **values: object) -> Proof:
        return cls(Use.NO_EVIDENCE, Message(reason, values))


class Ledger:
    """All readings and events of one device or cluster member, oldest first. A reading may hold a part of the policies only."""

    def __init__(self, samples: Iterable[HitSample], window_days: int, events: Iterable[HitEvent] = ()) -> None:
        self.window = timedelta(days=window_days)
        self.readings = in_order(samples)
        self.events = list(events)
        self.breaks = find_breaks([reading for reading in self.readings if reading.at is not None], self.events)

    def judge(self, policy: str, key: str) -> Proof:
        """Use of a rule over the window that ends with the latest reading of its policy."""
        if not self.readings:
            return Proof.nothing(NO_COUNTERS)
        rule = (policy, key)
        readings = [reading for reading in self.readings if policy in reading.policies]
        refused = self._refuse(readings, rule)
        if refused is not None:
            return refused
        dated = [reading for reading in readings if reading.at is not None]
        if self._used_under_old_name(dated, rule):
            return Proof(Use.USED)
        if dated[-1].covers_from is not None:
            return self._judge_intervals(rule, dated)
        chain, gap = self._chain(dated, rule)
        if chain[-1].hits[rule]:
            return self._judge_counted(rule, chain)
        return self._judge_zero(rule, chain, gap, readings)

    def _refuse(self, readings: list[Reading], rule: Key) -> Proof | None:
        """Why the readings say nothing at all, or that they show use without a time."""
        latest = (readings or self.readings)[-1]
        if not latest.sample.enabled:
            return Proof.nothing(gettext_noop("counting is disabled on the device"))
        if not readings or not rule[1] or rule not in latest.hits:
            return Proof.nothing(NOT_LISTED)
        if latest.hits[rule] is None:
            return Proof.nothing(gettext_noop("the device prints no number for this rule"))
        if any(reading.hits.get(rule) for reading in readings if reading.at is None):
            return Proof(Use.USED)
        if latest.at is None:
            return Proof.nothing(gettext_noop("the reading does not say when it was taken"))
        if not latest.sample.is_fresh and not latest.hits[rule]:
            return Proof.nothing(NOT_FRESH)
        return None

    def _used_under_old_name(self, readings: list[Reading], rule: Key) -> bool:
        """A renamed rule begins a new counter; hits of the old one inside the window are use all the same."""
        opens = when(readings[-1]) - self.window
        names = {
            (event.policy, event.key)
            for event in self.events
            if event.kind is HitEventKind.RENAMED and (event.policy, event.new_key) == rule and in_utc(event.at) >= opens
        }
        for name in names:
            counted = [(when(r), r.hits[name], r.last_hits.get(name)) for r in readings if r.hits.get(name) is not None]
            if any(last is not None and last >= opens for _, _, last in counted):
                return True
            inside = [hits for at, hits, _ in counted if at >= opens]
            before = [hits for at, hits, _ in counted if at < opens]
            if inside and max(hits or 0 for hits in inside) > (before[-1] or 0 if before else 0):
                return True
        return False

    def _chain(self, readings: list[Reading], rule: Key) -> tuple[list[Reading], Break | None]:
        """The latest readings of the rule over which counting never broke, and what ended it before them."""
        chain = [readings[-1]]
        for reading in reversed(readings[:-1]):
            broken = self._break_within(when(reading), when(chain[0]), rule)
            if broken is not None:
                return chain, broken
            if reading.hits.get(rule) is None:
                absent = Message(ABSENT, {"day": day(when(reading))})
                return chain, Break(when(reading), when(chain[0]), absent, rule)
            if reading.sample.is_fresh or reading.hits[rule]:
                chain.insert(0, reading)
        return chain, self._break_within(datetime.min.replace(tzinfo=when(chain[0]).tzinfo), when(chain[0]), rule)

    def _break_within(self, start: datetime, end: datetime, rule: Key) -> Break | None:
        mine = (b for b in reversed(self.breaks) if b.key is None or b.key == rule)
        return max((b for b in mine if b.start < end and b.end > start), key=lambda b: b.end, default=None)

    def _judge_zero(self, rule: Key, chain: list[Reading], gap: Break | None, readings: list[Reading]) -> Proof:
        last = chain[-1]
        opens = when(last) - self.window
        if any(reading.last_hits[rule] >= opens for reading in readings if rule in reading.last_hits) or _moved(chain, rule):
            return Proof(Use.USED)
        since, proof = when(chain[0]), "readings"
        told = self._told(chain, rule, gap)
        if since > opens and told is not None and told < since:
            since, proof = told, "counting-since"
        facts = _facts(last, rule)
        if since <= opens and last.sample.counts == "matches" and not _counts_at_all(chain, rule[0]):
            return Proof(Use.NO_EVIDENCE, Message(SILENT_LIST), facts)
        if since <= opens and _may_have_open_sessions(chain, rule, gap):
            return Proof(Use.NO_EVIDENCE, Message(OPEN_SESSIONS, {"gap": gap.why if gap else ""}), facts)
        if since <= opens:
            return Proof(Use.PROVEN_UNUSED, evidence={**facts, "since": since.isoformat(), "proof": proof})
        days = {"counted": (when(last) - since).days, "window": self.window.days}
        return Proof(Use.NO_EVIDENCE, _why_short(gap, told is not None or len(chain) > 1, days), facts)

    def _told(self, chain: list[Reading], rule: Key, gap: Break | None) -> datetime | None:
        """Since when the device says that it counts this rule, if nothing contradicts it."""
        own = max((reading.since_of[rule] for reading in chain if rule in reading.since_of), default=None)
        told = own or max((moment for moment in (reading.since for reading in chain) if moment is not None), default=None)
        if told is None or (gap is not None and gap.why.template == ABSENT):
            return None
        return told if self._break_within(told, when(chain[0]), rule) is None else None

    def _judge_counted(self, rule: Key, chain: list[Reading]) -> Proof:
        """A number that did not move over the whole window, on a counter that every packet moves, is no use either."""
        last = chain[-1]
        opens = when(last) - self.window
        opening = [reading for reading in chain if when(reading) <= opens]
        hit = last.last_hits.get(rule)
        if not opening or opening[-1].hits[rule] != last.hits[rule] or (hit is not None and hit >= opens):
            return Proof(Use.USED)
        if _moved([opening[-1], last], rule):
            return Proof(Use.USED)
        evidence = {**_facts(last, rule), "since": when(opening[-1]).isoformat(), "proof": "readings"}
        if not last.sample.is_fresh:
            return Proof(Use.NO_EVIDENCE, Message(NOT_FRESH), evidence)
        if last.sample.counts != "packets" and not _all_have_bytes([opening[-1], last], rule):
            return Proof(Use.NO_EVIDENCE, Message(STANDS_STILL[last.sample.counts]), evidence)
        return Proof(Use.PROVEN_UNUSED, evidence=evidence)

    def _judge_intervals(self, rule: Key, readings: list[Reading]) -> Proof:
        """Counts of fixed intervals: zero in all of them, one after the other without a hole, over the whole window."""
        last = readings[-1]
        opens = when(last) - self.window
        if any(reading.last_hits[rule] >= opens for reading in readings if rule in reading.last_hits):
            return Proof(Use.USED)
        since = when(last)
        for reading in reversed(readings):
            start = reading.covers_from
            if start is None or when(reading) < since - SLACK or reading.hits.get(rule) is None:
                break
            if reading.hits[rule] and when(reading) > opens:
                return Proof(Use.USED)
            if self._break_within(start, since, rule) is not None:
                break
            since = min(since, start)
            if since <= opens:
                facts = _facts(last, rule)
                if last.sample.counts == "sessions":
                    return Proof(Use.NO_EVIDENCE, Message(STANDS_STILL["sessions"]), facts)
                return Proof(Use.PROVEN_UNUSED, evidence={**facts, "since": since.isoformat(), "proof": "intervals"})
        days = {"counted": (when(last) - since).days, "window": self.window.days}
        return Proof(Use.NO_EVIDENCE, _why_short(None, measured=True, days=days), _facts(last, rule))


def logged(uses: Iterable[RuleUse], policy: str, keys: Sequence[str], opens: datetime | None) -> bool:
    """Whether a log shows the rule in use since `opens` (always, when None). Absence from a log proves nothing."""
    return any(
        use.sessions > 0
        and use.key in keys
        and use.policy in ("", policy)
        and (opens is None or use.last_at is None or in_utc(use.last_at) >= opens)
        for use in uses
    )


def together(ledgers: Sequence[Ledger], policy: str, key: str, members: int) -> Proof:
    """What all members of a cluster prove: used by one member is used; unused needs the proof of every member.

    A member that says it is active or standby has a peer.
    """
    proofs = [ledger.judge(policy, key) for ledger in ledgers]
    for use in (Use.USED, Use.NO_EVIDENCE):
        found = next((proof for proof in proofs if proof.use is use), None)
        if found is not None:
            return found
    roles = {ledger.readings[-1].sample.role for ledger in ledgers if ledger.readings}
    members = max(members, 2 if roles & {"active", "standby"} else 1)
    if len(proofs) < members:
        reason = Message(STANDBY) if roles == {"standby"} else Message(FEW_MEMBERS, {"given": len(proofs), "members": members})
        return Proof(Use.NO_EVIDENCE, reason, proofs[0].evidence if proofs else {})
    return min(proofs, key=lambda proof: str(proof.evidence["since"]), default=Proof.nothing(NO_COUNTERS))


def ledgers(
    samples: Iterable[HitSample], window_days: int, events: Iterable[HitEvent] = (), *, apart: bool = True
) -> list[Ledger]:
    """One ledger per member; all samples in one when they are not told apart."""
    given, happened = list(samples), list(events)
    names = sorted({sample.whose for sample in given}) if apart else []
    if len(names) <= 1:
        return [Ledger(given, window_days, happened)]
    return [
        Ledger([s for s in given if s.whose == name], window_days, [e for e in happened if e.member in ("", name)])
        for name in names
    ]


def _moved(chain: list[Reading], rule: Key) -> bool:
    """Bytes grew although no session was counted: one that stays open."""
    sizes = [reading.bytes[rule] for reading in chain if rule in reading.bytes]
    return len(sizes) > 1 and any(later > earlier for earlier, later in pairwise(sizes))


def _all_have_bytes(chain: list[Reading], rule: Key) -> bool:
    return all(rule in reading.bytes for reading in chain)


def _may_have_open_sessions(chain: list[Reading], rule: Key, gap: Break | None) -> bool:
    """After a reset that was no boot, unless bytes are counted as well, or the rule is younger than the reset."""
    if chain[-1].sample.counts != "sessions" or gap is None or gap.ends_sessions or gap.key is not None:
        return False
    return not (len(chain) > 1 and _all_have_bytes(chain, rule))


def _counts_at_all(chain: list[Reading], policy: str) -> bool:
    """Lists of routers and switches count in software; where hardware forwards, a whole list may stay at zero (IOS-XE)."""
    return any(hits for reading in chain for (name, _), hits in reading.hits.items() if name == policy)


def _why_short(gap: Break | None, measured: bool, days: dict[str, int]) -> Message:
    if gap is not None:
        said = gettext_noop("%(gap)s; only %(counted)d of %(window)d days are counted without a break")
        return Message(said, {"gap": gap.why, **days})
    if measured:
        return Message(gettext_noop("window too short: %(counted)d of %(window)d days are counted"), days)
    return Message(gettext_noop("window unknown: one reading only, and it does not say since when the device counts"))


def _facts(last: Reading, rule: Key) -> dict[str, Any]:
    return {"hits": last.hits[rule], "counts": last.sample.counts, "read_at": when(last).isoformat()}
