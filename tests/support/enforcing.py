"""Rows for tests of enforcement: a group, a device with an installed guard, a sensor with two points, identities, one verdict."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from flowguard.models import Guard, IdentityEntry, ObservationPoint, Sensor, Verdict
from policyhub.models import Device, DeviceGroup, Realm

NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
NOW_NS = int(NOW.timestamp()) * 1_000_000_000
SECOND = 1_000_000_000
OFFENDER = "192.0.2.77"


@dataclass
class Scene:
    group: DeviceGroup
    device: Device
    guard: Guard
    sensor: Sensor
    verdict: Verdict

    def another(self, **changed: Any) -> Verdict:
        """One more verdict of the same sensor."""
        return make_verdict(self.sensor, **changed)


def make_verdict(sensor: Sensor, **changed: Any) -> Verdict:
    fields: dict[str, Any] = {
        "uid": f"{Verdict.objects.count() + 1:032x}",
        "point": "before",
        "realm": "",
        "name": "class-not-allowed",
        "src": OFFENDER,
        "dst": "198.51.100.5",
        "proto": "tcp",
        "server_port": "9000",
        "dscp": 46,
        "packets": 5_000,
        "bytes": 7_000_000,
        "first_ns": NOW_NS - 70 * SECOND,
        "last_ns": NOW_NS,
        "revision": 1,
        "severity": "high",
        "confidence": 0.97,
        "signals": ["dscp-outside-allowance", "volume"],
        "received_at": NOW,
        "next_step_at": NOW,
        **changed,
    }
    return Verdict.objects.create(sensor=sensor, **fields)


def make_scene(mode: str = "auto", profile: str = "lab", platform: str = "cisco_ios", **device: Any) -> Scene:
    realm, _ = Realm.objects.get_or_create(name="")
    group = DeviceGroup.objects.create(name="edge", mode=mode, profile=profile, enforcement_ttl_s=600)
    row = Device.objects.create(name="edge-1", realm=realm, group=group, platform=platform, **device)
    spec = {
        "name": "PHG-EDGE",
        "interfaces": ["Gi1/0/1"],
        "marks": [40, 44, 46],
        "target_dscp": 0,
        "rate_bps": None,
        "families": [4, 6],
    }
    guard = Guard.objects.create(device=row, name="PHG-EDGE", spec=spec, state=Guard.State.INSTALLED, created_at=NOW)
    health = {"received": 1_000_000, "dropped": {"kernel": 0, "ring": 0, "spool": 0}}
    sensor = Sensor.objects.create(name="mirror-1", group=group, health=health)
    ObservationPoint.objects.create(sensor=sensor, name="before", realm=realm, device=row)
    ObservationPoint.objects.create(sensor=sensor, name="behind", realm=realm, stands_behind=row)
    IdentityEntry.objects.create(realm=realm, prefix="192.0.2.0/24", name="lab hosts", core=False, allowed_dscp=[0, 8])
    IdentityEntry.objects.create(realm=realm, prefix="192.0.2.10/32", name="trading", core=True, allowed_dscp=[46])
    return Scene(group, row, guard, sensor, make_verdict(sensor))
