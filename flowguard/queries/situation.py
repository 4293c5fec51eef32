"""Gathers what the guard rails look at."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from flowguard.domain.guardrails import Situation
from flowguard.domain.judgement import SECOND_NS
from flowguard.models import Enforcement, Guard, Verdict
from flowguard.queries.ground import Ground, member_of
from policyhub.models import DeviceGroup, Realm


@dataclass(frozen=True, slots=True)
class _Counts:
    """Members in the guard, pushes in the realm, on the device and of the member; the enforcement in question left out."""

    open_members: int
    pushes_last_hour: int
    since_device_push_s: float | None
    member_pushes_last_day: int


def situation(verdict: Verdict, guard: Guard | None, realm: Realm, ground: Ground, *, leave_out: int | None = None) -> Situation:
    """realm: where it is decided. leave_out: primary key of the enforcement that is being (re)considered."""
    group = guard.device.group if guard else verdict.sensor.group
    device = guard.device if guard else None
    member, identity = member_of(verdict), ground.identity(verdict)
    counts = _counts(guard, realm, member, ground, leave_out)
    return Situation(
        mode=group.mode if group else DeviceGroup.Mode.OBSERVE,
        profile=group.profile if group else DeviceGroup.Profile.PRODUCTION,
        verdict_name=verdict.name,
        standing=verdict.standing,
        confidence=verdict.confidence,
        signals=tuple(verdict.signals),
        persisted_ms=(verdict.last_ns - verdict.first_ns) // 1_000_000,
        seconds_since_packet=ground.now.timestamp() - verdict.last_ns / SECOND_NS,
        ended_after_packet=_ended_after(ground.enforcements(guard, realm, member), verdict),
        taken_back=ground.taken_back(guard, member, frozenset({verdict.dscp})) if guard else None,
        dscp=verdict.dscp,
        source=member,
        identity_core=identity.core if identity else None,
        capture_drop_ratio=_drop_ratio(verdict),
        killed=ground.killed(group.name if group else ""),
        never_touch=ground.never_touch(verdict.realm),
        guard_name=guard.name if guard else "",
        guard_state=guard.state if guard else "",
        guard_marks=frozenset(guard.spec["marks"]) if guard else frozenset(),
        device_role=device.role if device else "",
        device_quarantine=device.quarantine_reason if device else "",
        has_verifying_point=bool(device and ground.has_verifying_point(device)),
        seen_in_tunnel=any(isinstance(fact, dict) and fact.get("kind") == "carried" for fact in verdict.evidence),
        open_members=counts.open_members,
        pushes_last_hour_in_realm=counts.pushes_last_hour,
        seconds_since_device_push=counts.since_device_push_s,
        member_pushes_last_day=counts.member_pushes_last_day,
    )


def asked_for(guard: Guard, member: str, ground: Ground) -> Situation:
    """The situation of an address that a person asks for: nothing was seen, so whatever speaks of evidence is empty."""
    group, realm = guard.device.group, guard.device.realm
    counts = _counts(guard, realm, member, ground, None)
    return Situation(
        mode=DeviceGroup.Mode.PROPOSE,
        profile=group.profile,
        verdict_name="",
        standing="",
        confidence=0.0,
        signals=(),
        persisted_ms=0,
        seconds_since_packet=0.0,
        ended_after_packet=False,
        taken_back=ground.taken_back(guard, member, frozenset(guard.spec["marks"])),
        dscp=min(guard.spec["marks"]),
        source=member,
        identity_core=None,
        capture_drop_ratio=None,
        killed=ground.killed(group.name),
        never_touch=ground.never_touch(realm.name),
        guard_name=guard.name,
        guard_state=guard.state,
        guard_marks=frozenset(guard.spec["marks"]),
        device_role=guard.device.role,
        device_quarantine=guard.device.quarantine_reason,
        has_verifying_point=ground.has_verifying_point(guard.device),
        seen_in_tunnel=False,
        open_members=counts.open_members,
        pushes_last_hour_in_realm=counts.pushes_last_hour,
        seconds_since_device_push=counts.since_device_push_s,
        member_pushes_last_day=counts.member_pushes_last_day,
    )


def _counts(guard: Guard | None, realm: Realm, member: str, ground: Ground, leave_out: int | None) -> _Counts:
    coming = {pk: device for pk, device in ground.on_their_way(realm.pk).items() if pk != leave_out}
    last = ground.last_push(guard.device_id) if guard else None
    if guard and guard.device_id in coming.values():
        last = ground.now
    return _Counts(
        open_members=len(ground.open_members(guard.pk) - {leave_out}) if guard else 0,
        pushes_last_hour=ground.pushes_last_hour(realm.pk) + len(coming),
        since_device_push_s=None if last is None else (ground.now - last).total_seconds(),
        member_pushes_last_day=ground.member_pushes_last_day(realm.pk, member),
    )


def _ended_after(enforcements: Iterable[Enforcement], verdict: Verdict) -> bool:
    ended = max((row.ended_at for row in enforcements if row.ended_at is not None), default=None)
    return ended is not None and ended.timestamp() > verdict.last_ns / SECOND_NS


def _drop_ratio(verdict: Verdict) -> float | None:
    health = verdict.sensor.health
    received, dropped = health.get("received"), health.get("dropped")
    if not received or not dropped or "kernel" not in dropped:
        return None
    lost = sum(dropped.get(cause, 0) for cause in ("interface", "kernel", "ring"))
    return float(lost) / (received + lost)
