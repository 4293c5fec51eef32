"""Named reasons to refuse an automatic remark. Every rail is evaluated and shown; one that fails is enough to refuse.

Source of the defaults: change-board practice as collected in docs/operations.md ("Guard rails").
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

from flowguard.domain.taking_back import TakenBack
from policyhub.domain.message import Message, gettext_noop

ACTIONABLE = frozenset({"class-not-allowed", "unknown-identity-in-priority"})
# Rails about what was seen; a person who asks for an address answers for them.
EVIDENCE_RAILS = frozenset({"mode", "verdict-kind", "evidence", "persistence", "fresh-evidence", "capture-loss", "never-core"})
MAX_CAPTURE_DROP_RATIO = 0.001
MIN_CONFIDENCE = 0.9
MAX_CLOCK_AHEAD_S = 5.0  # of a sensor; evidence from the future would stay fresh for as long as its clock is wrong


class Decision(StrEnum):
    """What may happen. The strictest rail decides."""

    ACT = "act"
    PROPOSE = "propose"
    OBSERVE = "observe"
    REFUSE = "refuse"

    @property
    def strictness(self) -> int:
        return list(Decision).index(self)


@dataclass(frozen=True, slots=True)
class Limits:
    """Per enforcement profile. Rates count pushes of members, adds only."""

    min_signals: int
    persistence_ms: int
    stale_after_s: int
    pushes_per_realm_hour: int
    device_interval_s: int
    member_per_day: int
    members_per_guard: int


LIMITS = {
    "lab": Limits(1, 1_000, 15, 60, 0, 20, 3),
    "production": Limits(2, 60_000, 60, 6, 600, 2, 3),
}


@dataclass(frozen=True, slots=True)
class Situation:
    """Everything the rails look at; gathered by the caller, nothing is read here.

    seconds_since_packet: age of the last offending packet. ended_after_packet: an earlier enforcement of this member ended later
    than that packet, so it proves nothing about what the host does now.
    capture_drop_ratio: lost / received at the sensor; None = not reported. identity_core: None when the source has no identity.
    seen_in_tunnel: the offending packets were carried in others. taken_back: by a person, lately, from this device.
    open_members: members of the guard that are active or on their way, this one left out. guard_marks: empty without a guard.
    """

    mode: str
    profile: str
    verdict_name: str
    standing: str
    confidence: float
    signals: tuple[str, ...]
    persisted_ms: int
    seconds_since_packet: float
    ended_after_packet: bool
    taken_back: TakenBack | None
    dscp: int
    source: str
    identity_core: bool | None
    capture_drop_ratio: float | None
    killed: bool
    never_touch: tuple[tuple[str, str], ...]
    guard_name: str
    guard_state: str
    guard_marks: frozenset[int]
    device_role: str
    device_quarantine: str
    has_verifying_point: bool
    seen_in_tunnel: bool
    open_members: int
    pushes_last_hour_in_realm: int
    seconds_since_device_push: float | None
    member_pushes_last_day: int


@dataclass(frozen=True, slots=True)
class Railing:
    """One rail's answer. `allows` is the most that this rail permits."""

    name: str
    allows: Decision
    reason: Message

    @property
    def passed(self) -> bool:
        return self.allows is Decision.ACT


def evaluate(situation: Situation) -> tuple[Decision, tuple[Railing, ...]]:
    """All rails in order and the strictest answer."""
    railings = tuple(rail(situation, LIMITS[situation.profile]) for rail in RAILS)
    decision = max((railing.allows for railing in railings), key=lambda d: d.strictness)
    return decision, railings


def is_too_young(situation: Situation) -> bool:
    """The verdict has not lasted as long as the profile asks; there is nothing to decide yet."""
    return situation.persisted_ms < LIMITS[situation.profile].persistence_ms


def _rail(name: str, ok: bool, reason: Message, otherwise: Decision = Decision.REFUSE) -> Railing:
    return Railing(name, Decision.ACT if ok else otherwise, reason)


def mode(s: Situation, _: Limits) -> Railing:
    allows = {"auto": Decision.ACT, "propose": Decision.PROPOSE}.get(s.mode, Decision.OBSERVE)
    said = gettext_noop("the device group is in %(mode)s mode, profile %(profile)s")
    return Railing("mode", allows, Message(said, {"mode": s.mode, "profile": s.profile}))


def kill_switch(s: Situation, _: Limits) -> Railing:
    return _rail(
        "kill-switch",
        not s.killed,
        Message(gettext_noop("the kill switch is engaged") if s.killed else gettext_noop("not engaged")),
    )


def verdict_kind(s: Situation, _: Limits) -> Railing:
    ok = s.verdict_name in ACTIONABLE and s.standing == "stands"
    return _rail(
        "verdict-kind",
        ok,
        Message(gettext_noop("%(verdict)s, %(standing)s"), {"verdict": s.verdict_name, "standing": s.standing}),
    )


def evidence(s: Situation, limits: Limits) -> Railing:
    signals = len(set(s.signals))
    ok = s.confidence >= MIN_CONFIDENCE and signals >= limits.min_signals
    said = gettext_noop("confidence %(confidence).2f (at least %(floor).2f), signals: %(signals)d (at least %(needed)d)")
    values = {"confidence": s.confidence, "floor": MIN_CONFIDENCE, "signals": signals, "needed": limits.min_signals}
    return _rail("evidence", ok, Message(said, values))


def persistence(s: Situation, limits: Limits) -> Railing:
    values = {"seen": s.persisted_ms / 1000, "needed": limits.persistence_ms / 1000}
    said = gettext_noop("seen for %(seen).1f s (at least %(needed).0f s)")
    return _rail("persistence", s.persisted_ms >= limits.persistence_ms, Message(said, values))


def fresh_evidence(s: Situation, limits: Limits) -> Railing:
    if s.ended_after_packet:
        said = Message(gettext_noop("no offending packet since the last enforcement of this host ended"))
        return Railing("fresh-evidence", Decision.REFUSE, said)
    if s.seconds_since_packet < -MAX_CLOCK_AHEAD_S:
        said = Message(gettext_noop("the sensor's clock is %(ahead).0f s ahead of ours"), {"ahead": -s.seconds_since_packet})
        return Railing("fresh-evidence", Decision.REFUSE, said)
    values = {"age": s.seconds_since_packet, "limit": limits.stale_after_s}
    said = Message(gettext_noop("last offending packet %(age).0f s ago (at most %(limit)d s)"), values)
    return _rail("fresh-evidence", s.seconds_since_packet <= limits.stale_after_s, said)


def taken_back(s: Situation, _: Limits) -> Railing:
    if s.taken_back is None:
        return Railing("taken-back", Decision.ACT, Message(gettext_noop("no person took it back lately")))
    said = gettext_noop("%(who)s took it back at %(at)s; until %(until)s it waits for a person")
    values = {"who": s.taken_back.who, "at": _moment(s.taken_back.at), "until": _moment(s.taken_back.until)}
    return Railing("taken-back", Decision.PROPOSE, Message(said, values))


def _moment(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%m-%d %H:%M:%S UTC")


def capture_loss(s: Situation, _: Limits) -> Railing:
    if s.capture_drop_ratio is None:
        return Railing("capture-loss", Decision.PROPOSE, Message(gettext_noop("the sensor does not report its drops")))
    values = {"percent": s.capture_drop_ratio * 100, "limit": MAX_CAPTURE_DROP_RATIO * 100}
    said = gettext_noop("the capture lost %(percent).3f %% of its packets (below %(limit).1f %%)")
    return _rail("capture-loss", s.capture_drop_ratio < MAX_CAPTURE_DROP_RATIO, Message(said, values))


def never_core(s: Situation, _: Limits) -> Railing:
    if s.identity_core is None:
        return Railing("never-core", Decision.PROPOSE, Message(gettext_noop("the source has no identity; a person decides")))
    said = gettext_noop("the source is core business") if s.identity_core else gettext_noop("the source is not core business")
    return _rail("never-core", not s.identity_core, Message(said))


def never_touch(s: Situation, _: Limits) -> Railing:
    source = ipaddress.ip_network(s.source)
    for prefix, reason in s.never_touch:
        try:
            protected = ipaddress.ip_network(prefix, strict=False)
        except ValueError:
            said = Message(gettext_noop("%(prefix)s on the never-touch list is no prefix; correct it"), {"prefix": prefix})
            return Railing("never-touch", Decision.REFUSE, said)
        if protected.version == source.version and protected.overlaps(source):
            said = Message(
                gettext_noop("%(prefix)s is on the never-touch list: %(reason)s"), {"prefix": prefix, "reason": reason}
            )
            return Railing("never-touch", Decision.REFUSE, said)
    return Railing("never-touch", Decision.ACT, Message(gettext_noop("not on the never-touch list")))


def source_width(s: Situation, _: Limits) -> Railing:
    network = ipaddress.ip_network(s.source)
    values = {"source": str(network), "addresses": network.num_addresses}
    return _rail(
        "source-width",
        network.num_addresses == 1,
        Message(gettext_noop("%(source)s: addresses %(addresses)d (exactly 1)"), values),
    )


def prepared_guard(s: Situation, _: Limits) -> Railing:
    if not s.guard_name:
        said = Message(gettext_noop("no installed guard stands in the path; install one in a change window"))
        return Railing("prepared-guard", Decision.OBSERVE, said)
    ok = s.guard_state == "installed" and s.dscp in s.guard_marks
    values = {"guard": s.guard_name, "state": s.guard_state, "marks": ", ".join(map(str, sorted(s.guard_marks)))}
    return _rail(
        "prepared-guard", ok, Message(gettext_noop("%(guard)s is %(state)s and takes DSCP %(marks)s"), values), Decision.OBSERVE
    )


def device_health(s: Situation, _: Limits) -> Railing:
    said = (
        Message(gettext_noop("quarantined: %(reason)s"), {"reason": s.device_quarantine})
        if s.device_quarantine
        else Message(gettext_noop("not quarantined"))
    )
    return _rail("device-health", not s.device_quarantine, said)


def device_role(s: Situation, _: Limits) -> Railing:
    ok = s.profile == "lab" or s.device_role != "core"
    return _rail("device-role", ok, Message(gettext_noop("role %(role)s"), {"role": s.device_role or "-"}), Decision.PROPOSE)


def verifying_point(s: Situation, _: Limits) -> Railing:
    if s.seen_in_tunnel:
        said = Message(gettext_noop("seen inside a tunnel: points count its ends as senders, so packets cannot prove the effect"))
        return Railing("verifying-point", Decision.PROPOSE, said)
    if s.has_verifying_point:
        return Railing("verifying-point", Decision.ACT, Message(gettext_noop("a point stands behind the device")))
    said = Message(gettext_noop("no point stands behind the device: packets cannot prove the effect"))
    return Railing("verifying-point", Decision.PROPOSE, said)


def blast_radius(s: Situation, limits: Limits) -> Railing:
    values = {"used": s.open_members, "limit": limits.members_per_guard}
    said = Message(gettext_noop("%(used)d of %(limit)d members in use"), values)
    return _rail("blast-radius", s.open_members < limits.members_per_guard, said)


def rate_of_pushes(s: Situation, limits: Limits) -> Railing:
    if s.pushes_last_hour_in_realm >= limits.pushes_per_realm_hour:
        values: dict[str, object] = {"pushes": s.pushes_last_hour_in_realm, "limit": limits.pushes_per_realm_hour}
        return Railing(
            "rate-of-pushes",
            Decision.PROPOSE,
            Message(
                gettext_noop("%(pushes)d additions to guards in the last hour (at most %(limit)d); removals do not count"), values
            ),
        )
    since = s.seconds_since_device_push
    if since is None:
        return Railing("rate-of-pushes", Decision.ACT, Message(gettext_noop("nothing was added to a guard of the device before")))
    said = Message(
        gettext_noop("last addition to a guard of the device %(since).0f s ago (at least %(apart)d s apart)"),
        {"since": since, "apart": limits.device_interval_s},
    )
    return _rail("rate-of-pushes", since >= limits.device_interval_s, said, Decision.PROPOSE)


def flapping(s: Situation, limits: Limits) -> Railing:
    values = {"times": s.member_pushes_last_day, "limit": limits.member_per_day}
    said = Message(gettext_noop("added %(times)d times in 24 h (at most %(limit)d)"), values)
    return _rail("flapping", s.member_pushes_last_day < limits.member_per_day, said, Decision.PROPOSE)


RAILS: tuple[Callable[[Situation, Limits], Railing], ...] = (
    mode,
    kill_switch,
    verdict_kind,
    evidence,
    persistence,
    fresh_evidence,
    taken_back,
    capture_loss,
    never_core,
    never_touch,
    source_width,
    prepared_guard,
    device_health,
    device_role,
    verifying_point,
    blast_radius,
    rate_of_pushes,
    flapping,
)


def as_rows(railings: Iterable[Railing]) -> list[dict[str, object]]:
    """For storing and showing."""
    return [{"name": r.name, "passed": r.passed, "allows": r.allows.value, **r.reason.as_json()} for r in railings]
