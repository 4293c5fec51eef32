"""Rows for every page: a small network in the middle of an incident."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.contrib.auth.models import User

from flowguard.models import (
    Enforcement,
    EnforcementEvent,
    Guard,
    IdentityEntry,
    ObservationPoint,
    Sensor,
    SensorShape,
    StreamGap,
    Verdict,
)
from policyhub.actions import audit
from policyhub.actions.secrets import seal
from policyhub.models import (
    Change,
    ConfigSnapshot,
    Device,
    DeviceGroup,
    Finding,
    HostKey,
    KillSwitch,
    Preflight,
    PreflightResult,
    Realm,
    Schedule,
)
from tests.support.sample_incident import SPEC, change, incident, timeline, verdict
from tests.support.sample_network import (
    PASSWORD,
    devices,
    findings,
    identities,
    inventory,
    nanoseconds,
    queue_counters,
    sensors,
    users,
)
from tests.support.sample_shape import shape

__all__ = ["PASSWORD", "SPEC", "Sample", "findings", "more_of_everything", "sample", "verdict"]


@dataclass(frozen=True)
class Sample:
    admin: User
    viewer: User
    approver: User
    device: Device
    guard: Guard
    proposed: Change
    confirmed: Change
    verdict: Verdict
    enforcement: Enforcement
    finding: Finding
    snapshot: ConfigSnapshot
    key: HostKey
    preflight: Preflight


def sample(now: datetime | None = None) -> Sample:
    """Everything at once; needs the roles that migrations make."""
    now = now or datetime.now(tz=UTC)
    admin, viewer, approver = users()
    core, edge, _ = devices(now)
    snapshot, key = inventory(core, edge, now)
    finding = findings(edge, now)
    identities(core.realm)
    sensor = sensors(core, now)
    guard, proposed, confirmed, seen, active = incident(core, sensor, now)
    stuck = change(
        edge,
        now - timedelta(hours=3),
        "guard-remove",
        "revert-failed",
        9,
        push_outcome="partial",
        error="the inverse did not take effect 2 times",
    )
    timeline(stuck, now, ("revert-failed", "something that is not ours changed while the inverse was sent; look at the device"))
    Schedule.objects.create(name="sample", task="policyhub.start_sweep", every_s=86400, next_due_at=now + timedelta(days=1))
    KillSwitch.objects.create(
        scope="campus", engaged=True, changed_by="wang.fang", changed_at=now, reason="frozen for the quarter's end"
    )
    audit.record("sample.made", actor=admin, at=now, devices=3)
    return Sample(
        admin,
        viewer,
        approver,
        core,
        guard,
        proposed,
        confirmed,
        seen,
        active,
        finding,
        snapshot,
        key,
        preflight(core, edge, now),
    )


def preflight(core: Device, edge: Device, now: datetime) -> Preflight:
    """One device that is ready, one that is not, with its cure."""
    run = Preflight.objects.create(state="running", started_at=now, started_by="li.wei", collect=True)
    good = [{"name": name, "state": "ok", "said": {"text": ""}, "cure": {"text": ""}} for name in ("reachable", "show version")]
    text = "check address, port, routing and the access list of its management port"
    said = {"text": "%(words)s", "values": {"words": "no connection"}}
    bad = [
        {"name": "reachable", "state": "failed", "said": said, "cure": {"text": text}},
        {"name": "login", "state": "not-tried"},
    ]
    for device, state, steps in ((core, "ok", good), (edge, "failed", bad)):
        PreflightResult.objects.create(preflight=run, device=device, state=state, steps=steps, finished_at=now, version="17.9")
    return run


def more_of_everything(rows: Sample, sensor: Sensor, now: datetime, number: int) -> None:
    """One more row in every list."""
    realm = rows.device.realm
    device = Device.objects.create(
        name=f"more-{number}",
        realm=realm,
        group=rows.device.group,
        platform="cisco_ios",
        host="192.0.2.1",
        quarantine_reason="sample",
    )
    HostKey.objects.create(
        device=device, algorithm="ssh-ed25519", public_key="A", fingerprint=f"SHA256:{number}", first_seen_at=now
    )
    PreflightResult.objects.create(preflight=rows.preflight, device=device, state="waiting")
    HostKey.objects.create(
        device=rows.device, algorithm="ssh-rsa", public_key="A", fingerprint=f"SHA256:{number}", first_seen_at=now
    )
    ConfigSnapshot.objects.create(
        device=rows.device, taken_at=now, taken_by="sweep", sha256=f"{number:064d}", text_envelope=seal("x"), lines=1
    )
    queue_counters(rows.device, now + timedelta(days=number + 1))
    stuck = change(rows.device, now, "member-add", "revert-failed", 1000 + number, error="sample")
    asked = change(rows.device, now, "member-add", "proposed", 2000 + number)
    timeline(asked, now, ("proposed", "sample"), ("confirmed", "sample"))
    timeline(rows.confirmed, now, ("confirmed", "sample"))
    more_enforcements(rows, sensor, now, number, device, stuck, asked)
    IdentityEntry.objects.create(realm=realm, prefix=f"10.99.{number}.0/24", name=f"more {number}")
    extra = Sensor.objects.create(name=f"sensor-{number}", group=rows.device.group, last_seen_at=now, judging=True)
    SensorShape.objects.filter(sensor=sensor).update(told=shape(nanoseconds(now), rows=number + 2))
    ObservationPoint.objects.create(sensor=extra, name="in0", realm=realm, device=device, stands_behind=rows.device)
    StreamGap.objects.create(
        sensor=extra, stream=uuid.UUID(int=number), from_sequence=1, to_sequence=2, reason="spool-full", noticed_at=now
    )
    DeviceGroup.objects.create(name=f"group-{number}", mode="observe")
    Realm.objects.create(name=f"realm-{number}")
    KillSwitch.objects.create(scope=f"scope-{number}", engaged=True)
    audit.record("sample.more", actor="test", at=now, number=number)


def more_enforcements(
    rows: Sample, sensor: Sensor, now: datetime, number: int, device: Device, stuck: Change, asked: Change
) -> None:
    realm = rows.device.realm
    guard = Guard.objects.create(device=device, name="PHG-MORE", spec=SPEC, install_change=asked, created_at=now)
    seen = verdict(sensor, now, 1000 + number, business=f"business {number}")
    for index, (place, state) in enumerate(((guard, "active"), (rows.guard, "needs-person"))):
        row = Enforcement.objects.create(
            guard=place,
            verdict=seen if index else rows.verdict,
            realm=realm,
            member=f"10.77.{index}.{number}/32",
            state=state,
            mode="auto",
            profile="lab",
            add_change=stuck,
            idempotency_key=f"more-{number}-{index}",
            created_at=now,
        )
        EnforcementEvent.objects.create(enforcement=row, at=now, state=state, message="sample")
    EnforcementEvent.objects.create(enforcement=rows.enforcement, at=now, state="active", message="sample")
    verdict(sensor, now, 2000 + number, src=rows.verdict.src, dst=f"10.20.9.{number}")
