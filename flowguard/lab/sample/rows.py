"""Rows of the sample network, made with the service's own actions. A second call changes nothing that is there."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from importlib.resources import files

SWITCH = "access-sw1"
# (name, platform, role): devices whose configuration came from a file
FROM_FILES = (
    ("core-sw1", "huawei_vrp", "core"),
    ("dc-fw", "linux_nftables", "firewall"),
    ("edge-fw", "cisco_asa", "firewall"),
)
ENFORCEMENT_TTL_S = 1800
SENSOR = "sample"
WINDOW = timedelta(days=120)  # between the two counter readings of the sample firewall


def seed_rows(*, port: int, password: str, host_key: str, now: datetime) -> str:
    """Everything but the guard. host_key: OpenSSH text. Returns the sensor's token when it was made now, else ""."""
    from policyhub.actions import sweeps
    from policyhub.models import Device, Realm

    realm, _ = Realm.objects.get_or_create(name="")
    if not Device.objects.filter(name=SWITCH).exists():
        _devices(realm, now)
        _switch(realm, port, password, now)
        _identities(realm, now)
        sweeps.run(sweep_id=sweeps.start(actor="sample network", now=now).pk, clock=lambda: now)
    _pin(host_key, now)
    return _sensor(realm, now)


def _text(name: str) -> str:
    return (files("flowguard.lab.sample") / "configs" / name).read_text(encoding="utf-8")


def _devices(realm, now: datetime) -> None:
    from policyhub.actions import configs
    from policyhub.models import Device, DeviceGroup

    group = DeviceGroup.objects.create(name="sample: firewalls and core", mode="observe", profile="production", is_sample=True)
    for name, platform, role in FROM_FILES:
        device = Device.objects.create(name=name, realm=realm, group=group, platform=platform, role=role)
        text = _text(f"{name}.{platform}.txt")
        readings: tuple[tuple[datetime, str], ...] = ((now, ""),)
        if name == "edge-fw":
            counters = _text(f"{name}.counters.txt")
            readings = ((now - WINDOW, _earlier(counters)), (now, counters))
        for at, counters in readings:
            configs.store(device=device, text=text, counters=counters, source="upload", actor="sample network", now=at)


def _earlier(counters: str) -> str:
    """The same rules four months ago: two thirds of the hits."""
    return re.sub(r"hitcnt=(\d+)", lambda found: f"hitcnt={int(found.group(1)) * 2 // 3}", counters)


def _switch(realm, port: int, password: str, now: datetime) -> None:
    from policyhub.actions import configs, secrets
    from policyhub.models import Credential, Device, DeviceGroup

    group = DeviceGroup.objects.create(
        name="sample: simulated switch", mode="auto", profile="lab", enforcement_ttl_s=ENFORCEMENT_TTL_S, is_sample=True
    )
    logins = {
        purpose: Credential.objects.create(
            name=f"sample {purpose}", username="policyhub", purpose=purpose, password_envelope=secrets.seal(password)
        )
        for purpose in ("collect", "push")
    }
    device = Device.objects.create(
        name=SWITCH,
        realm=realm,
        group=group,
        platform="cisco_ios",
        host="127.0.0.1",
        port=port,
        collect_credential=logins["collect"],
        push_credential=logins["push"],
    )
    text = _text(f"{SWITCH}.cisco_ios.txt")
    configs.store(device=device, text=text, source="upload", actor="sample network", now=now)


def _identities(realm, now: datetime) -> None:
    """The ledger is an owner's: it is filled only where it is empty."""
    from flowguard.actions.identities import import_identities
    from flowguard.models import IdentityEntry, NeverTouch

    NeverTouch.objects.get_or_create(realm=realm, prefix="10.60.0.0/16", defaults={"reason": "sample: management"})
    if not IdentityEntry.objects.exists():
        text = (files("flowguard.lab.sample") / "identities.csv").read_text(encoding="utf-8")
        import_identities(text=text, file="identities.csv", actor="sample network", now=now)


def _pin(host_key: str, now: datetime) -> None:
    """The simulated switch's own key, trusted from the start: it never left this machine."""
    from policyhub.models import Device, HostKey
    from policyhub.transport import PublicKey

    algorithm, body = host_key.split()[:2]
    HostKey.objects.update_or_create(
        device=Device.objects.get(name=SWITCH),
        fingerprint=PublicKey(algorithm, body).fingerprint,
        defaults={
            "algorithm": algorithm,
            "public_key": body,
            "state": HostKey.State.TRUSTED,
            "first_seen_at": now,
            "decided_by": "sample network",
            "decided_at": now,
        },
    )


def _sensor(realm, now: datetime) -> str:
    from flowguard.models import ObservationPoint, Sensor
    from policyhub.actions import tokens
    from policyhub.models import Device

    switch = Device.objects.select_related("group").get(name=SWITCH)
    sensor, made = Sensor.objects.get_or_create(name=SENSOR, defaults={"group": switch.group})
    ObservationPoint.objects.get_or_create(
        sensor=sensor, name="access", defaults={"realm": realm, "device": switch, "interface": "GigabitEthernet1/0/1"}
    )
    ObservationPoint.objects.get_or_create(sensor=sensor, name="uplink", defaults={"realm": realm, "stands_behind": switch})
    if not made:
        return ""
    return tokens.create(name="sample sensor", scopes=["ingest"], sensor=SENSOR, actor="sample network", now=now)[1]
