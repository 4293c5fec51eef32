"""Gathers what the guard rails look at."""

from __future__ import annotations

import ipaddress
from datetime import datetime, timedelta

from django.db.models import QuerySet

from flowguard.domain.guardrails import Situation
from flowguard.models import Enforcement, Guard, NeverTouch, ObservationPoint, Verdict
from flowguard.queries.identities import identity_table
from flowguard.queries.windows import SECOND_NS, verifying_points
from policyhub.domain.change import ChangeKind
from policyhub.domain.identity import Identity
from policyhub.models import Change, DeviceGroup

OPEN = (
    Enforcement.State.PROPOSED,
    Enforcement.State.APPLYING,
    Enforcement.State.ACTIVE,
    Enforcement.State.WITHDRAWING,
    Enforcement.State.NEEDS_PERSON,
)
PUSHED = ("pushed", "verified", "confirmed", "reverting", "reverted", "revert-failed")


def member_of(verdict: Verdict) -> str:
    """The one address that an enforcement of this verdict names, as a prefix."""
    address = ipaddress.ip_address(verdict.src)
    return f"{address}/{address.max_prefixlen}"


def identity_of(verdict: Verdict) -> Identity | None:
    """Longest prefix inside the verdict's realm."""
    return identity_table().find(verdict.src, verdict.realm)


def guard_for(verdict: Verdict) -> Guard | None:
    """A guard in the verdict's path: on the device of its point, else on one that a point of its sensor stands behind."""
    points = ObservationPoint.objects.filter(sensor_id=verdict.sensor_id, realm__name=verdict.realm)
    here = [p.device_id for p in points if p.name == verdict.point and p.device_id]
    behind = [p.stands_behind_id for p in points if p.stands_behind_id]
    guards = list(
        Guard.objects.filter(device_id__in=[*here, *behind], state__in=(Guard.State.INSTALLED, Guard.State.BROKEN))
        .select_related("device__group", "device__realm")
        .order_by("pk")
    )
    ranked = sorted(
        guards, key=lambda g: (g.state != Guard.State.INSTALLED, g.device_id not in here, verdict.dscp not in g.spec["marks"])
    )
    return ranked[0] if ranked else None


def situation(verdict: Verdict, guard: Guard | None, *, killed: bool, now: datetime, leave_out: int | None = None) -> Situation:
    """leave_out: primary key of the enforcement that is being (re)considered."""
    group = _group(verdict, guard)
    member = member_of(verdict)
    identity = identity_of(verdict)
    device = guard.device if guard else None
    others = Enforcement.objects.exclude(pk=leave_out) if leave_out else Enforcement.objects.all()
    last, coming = _last_push(guard, now), _on_their_way(others, verdict.realm)
    if guard and coming.filter(guard__device=guard.device_id).exists():
        last = now
    return Situation(
        mode=group.mode if group else DeviceGroup.Mode.OBSERVE,
        profile=group.profile if group else DeviceGroup.Profile.PRODUCTION,
        verdict_name=verdict.name,
        standing=verdict.standing,
        confidence=verdict.confidence,
        signals=tuple(verdict.signals),
        persisted_ms=(verdict.last_ns - verdict.first_ns) // 1_000_000,
        seconds_since_packet=now.timestamp() - verdict.last_ns / SECOND_NS,
        ended_after_packet=_ended_after(verdict, guard),
        dscp=verdict.dscp,
        source=member,
        identity_core=identity.core if identity else None,
        capture_drop_ratio=_drop_ratio(verdict),
        killed=killed,
        never_touch=tuple(NeverTouch.objects.filter(realm__name=verdict.realm).values_list("prefix", "reason")),
        guard_name=guard.name if guard else "",
        guard_state=guard.state if guard else "",
        guard_marks=frozenset(guard.spec["marks"]) if guard else frozenset(),
        device_role=device.role if device else "",
        device_quarantine=device.quarantine_reason if device else "",
        has_verifying_point=bool(device and verifying_points(device)),
        open_members=others.filter(guard=guard, state__in=OPEN).count() if guard else 0,
        pushes_last_hour_in_realm=_pushes(verdict, now - timedelta(hours=1)).count() + coming.count(),
        seconds_since_device_push=None if last is None else (now - last).total_seconds(),
        member_pushes_last_day=_pushes(verdict, now - timedelta(days=1)).filter(spec__member=member).count(),
    )


def asked_for(guard: Guard, member: str, *, killed: bool, now: datetime) -> Situation:
    """The situation of an address that a person asks for: nothing was seen, so whatever speaks of evidence is empty."""
    group, realm = guard.device.group, guard.device.realm
    adds = Change.objects.filter(kind=ChangeKind.MEMBER_ADD, state__in=PUSHED, device__realm=realm)
    last = _last_push(guard, now)
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
        dscp=min(guard.spec["marks"]),
        source=member,
        identity_core=None,
        capture_drop_ratio=None,
        killed=killed,
        never_touch=tuple(NeverTouch.objects.filter(realm=realm).values_list("prefix", "reason")),
        guard_name=guard.name,
        guard_state=guard.state,
        guard_marks=frozenset(guard.spec["marks"]),
        device_role=guard.device.role,
        device_quarantine=guard.device.quarantine_reason,
        has_verifying_point=bool(verifying_points(guard.device)),
        open_members=Enforcement.objects.filter(guard=guard, state__in=OPEN).count(),
        pushes_last_hour_in_realm=adds.filter(pushed_at__gte=now - timedelta(hours=1)).count(),
        seconds_since_device_push=None if last is None else (now - last).total_seconds(),
        member_pushes_last_day=adds.filter(pushed_at__gte=now - timedelta(days=1), spec__member=member).count(),
    )


def _group(verdict: Verdict, guard: Guard | None) -> DeviceGroup | None:
    return guard.device.group if guard else verdict.sensor.group


def _pushes(verdict: Verdict, since: datetime) -> QuerySet[Change]:
    adds = Change.objects.filter(kind=ChangeKind.MEMBER_ADD, state__in=PUSHED, pushed_at__gte=since)
    return adds.filter(device__realm__name=verdict.realm)


def _on_their_way(others: QuerySet[Enforcement], realm: str) -> QuerySet[Enforcement]:
    """Decided, not pushed yet: they count as pushes, or a burst of decisions would pass every rate."""
    return others.filter(state=Enforcement.State.APPLYING, realm__name=realm).exclude(add_change__state__in=PUSHED)


def _last_push(guard: Guard | None, now: datetime) -> datetime | None:
    if guard is None:
        return None
    adds = Change.objects.filter(device=guard.device_id, kind=ChangeKind.MEMBER_ADD, state__in=PUSHED, pushed_at__lte=now)
    return adds.order_by("-pushed_at").values_list("pushed_at", flat=True).first()


def _ended_after(verdict: Verdict, guard: Guard | None) -> bool:
    earlier = Enforcement.objects.filter(
        guard=guard, member=member_of(verdict), realm__name=verdict.realm, ended_at__isnull=False
    )
    ended = earlier.order_by("-ended_at").values_list("ended_at", flat=True).first()
    return ended is not None and ended.timestamp() > verdict.last_ns / SECOND_NS


def _drop_ratio(verdict: Verdict) -> float | None:
    health = verdict.sensor.health
    received, dropped = health.get("received"), health.get("dropped")
    if not received or not dropped or "kernel" not in dropped:
        return None
    lost = sum(dropped.get(cause, 0) for cause in ("kernel", "ring"))
    return float(lost) / (received + lost)
