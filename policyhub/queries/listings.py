"""Devices, changes and the audit chain as the console and the API list them: a constant number of queries each."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Count, Exists, IntegerField, OuterRef, Prefetch, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce

from policyhub.models import (
    AuditEntry,
    Change,
    ChangeEvent,
    ConfigSnapshot,
    Device,
    DeviceGroup,
    Finding,
    HostKey,
    Preflight,
    PreflightResult,
    Sweep,
)
from policyhub.queries.findings import OPEN
from policyhub.queries.snapshots import versions


@dataclass(frozen=True, slots=True)
class DeviceFilter:
    text: str = ""
    group: str = ""
    state: str = ""
    realm: str | None = None


def devices(wish: DeviceFilter) -> QuerySet[Device]:
    """By name, with the latest snapshot's figures, open findings and whether a host key waits."""
    latest = ConfigSnapshot.objects.filter(device=OuterRef("pk")).order_by("-taken_at", "-pk")
    found = Finding.objects.filter(device=OuterRef("pk"), status__in=OPEN).order_by().values("device").annotate(n=Count("pk"))
    rows = Device.objects.select_related("realm", "group").annotate(
        taken_at=Subquery(latest.values("taken_at")[:1]),
        rule_count=Subquery(latest.values("rules")[:1]),
        unparsed_count=Subquery(latest.values("unparsed")[:1]),
        open_findings=Coalesce(Subquery(found.values("n"), output_field=IntegerField()), 0),
        key_waits=Exists(HostKey.objects.filter(device=OuterRef("pk"), state=HostKey.State.PENDING)),
        key_trusted=Exists(HostKey.objects.filter(device=OuterRef("pk"), state=HostKey.State.TRUSTED)),
    )
    if wish.text:
        rows = rows.filter(Q(name__icontains=wish.text) | Q(host__icontains=wish.text) | Q(platform__icontains=wish.text))
    if wish.group:
        rows = rows.filter(group__name=wish.group)
    if wish.state == "quarantined":
        rows = rows.exclude(quarantine_reason="")
    elif wish.state == "key":
        rows = rows.filter(key_waits=True)
    elif wish.state == "disabled":
        rows = rows.filter(enabled=False)
    if wish.realm is not None:
        rows = rows.filter(realm__name=wish.realm)
    return rows.order_by("name")


def device(pk: int) -> QuerySet[Device]:
    """One device with everything its page shows."""
    return (
        Device.objects.filter(pk=pk)
        .select_related("realm", "group", "bastion", "collect_credential", "push_credential")
        .prefetch_related(
            Prefetch("host_keys", HostKey.objects.order_by("state", "-first_seen_at")),
            Prefetch("snapshots", versions()[:20], to_attr="recent_snapshots"),
            Prefetch(
                "findings", Finding.objects.filter(status__in=OPEN).order_by("-last_seen_at")[:10], to_attr="recent_findings"
            ),
            Prefetch("changes", Change.objects.order_by("-pk")[:10], to_attr="recent_changes"),
        )
    )


def preflights() -> QuerySet[Preflight]:
    """Newest first, with how many devices each has (`size`), is done with (`done`) and failed at (`bad`)."""
    waiting = (PreflightResult.State.WAITING, PreflightResult.State.RUNNING)
    return Preflight.objects.annotate(
        size=Count("results"),
        done=Count("results", filter=~Q(results__state__in=waiting)),
        bad=Count("results", filter=Q(results__state=PreflightResult.State.FAILED)),
    ).order_by("-pk")


def examinable(only: int | None = None) -> QuerySet[Device]:
    """Devices that a preflight looks at: enabled, with an address, no bastion; or just the one that was asked for."""
    if only is not None:
        return Device.objects.filter(pk=only)
    return Device.objects.filter(enabled=True).exclude(host="").exclude(role=Device.Role.BASTION)


def groups() -> QuerySet[DeviceGroup]:
    """By name, with the number of devices (`size`)."""
    return DeviceGroup.objects.annotate(size=Count("devices")).order_by("name")


def open_findings(device: Device) -> list[Finding]:
    """All open findings of one device."""
    return list(Finding.objects.filter(device=device, status__in=OPEN).order_by("pk"))


@dataclass(frozen=True, slots=True)
class ChangeFilter:
    """state "" = all; "waiting" = proposed; "running" = a worker has it; "person" = somebody must act."""

    state: str = ""
    device: int | None = None
    realm: str | None = None


RUNNING = ("approved", "preflight", "armed", "pushing", "pushed", "verified", "reverting")


def changes(wish: ChangeFilter) -> QuerySet[Change]:
    """Newest first."""
    groups = {"waiting": ("proposed",), "running": RUNNING, "person": ("revert-failed",)}
    rows = Change.objects.select_related("device", "requested_by").defer("transcript_envelope", "before_section", "after_section")
    if wish.state:
        rows = rows.filter(state__in=groups.get(wish.state, (wish.state,)))
    if wish.device:
        rows = rows.filter(device_id=wish.device)
    if wish.realm is not None:
        rows = rows.filter(device__realm__name=wish.realm)
    return rows.order_by("-pk")


def change(pk: int) -> QuerySet[Change]:
    """One change with its timeline and approvals."""
    return (
        Change.objects.filter(pk=pk)
        .select_related("device__group", "device__realm", "requested_by")
        .prefetch_related(Prefetch("events", ChangeEvent.objects.order_by("pk")), "approvals__approver")
    )


def audit(actor: str = "", action: str = "") -> QuerySet[AuditEntry]:
    """Newest first; action is a prefix such as `change.`."""
    rows = AuditEntry.objects.order_by("-sequence")
    if actor:
        rows = rows.filter(actor__icontains=actor)
    if action:
        rows = rows.filter(action__istartswith=action)
    return rows


def latest_sweep() -> Sweep | None:
    return Sweep.objects.order_by("-started_at").first()
