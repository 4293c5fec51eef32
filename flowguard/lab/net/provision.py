"""Rows for the namespace router: realm, group in automatic lab mode, device with a pinned key, identities, sensor and points."""

from __future__ import annotations

from datetime import UTC, datetime

from flowguard.lab.net.topology import Topology
from flowguard.lab.service import Service, wait


def provision(net: Topology, *, core: str, ttl_s: int) -> str:
    """Everything but the guard. Returns the sensor's token."""
    from flowguard.actions.identities import import_identities
    from flowguard.models import ObservationPoint, Sensor
    from policyhub.actions import secrets, sessions, tokens
    from policyhub.models import Credential, Device, DeviceGroup, HostKey, Realm

    now = datetime.now(UTC)
    realm, _ = Realm.objects.get_or_create(name="")
    group = DeviceGroup.objects.create(name="namespaces", mode="auto", profile="lab", enforcement_ttl_s=ttl_s)
    key = secrets.seal((net.folder / "id").read_text())
    logins = [
        Credential.objects.create(name=purpose, username="root", purpose=purpose, private_key_envelope=key)
        for purpose in ("collect", "push")
    ]
    router = Device.objects.create(
        name="router",
        realm=realm,
        group=group,
        platform="linux_nftables",
        role="router",
        host=net.management_router,
        port=net.ssh_port,
        collect_credential=logins[0],
        push_credential=logins[1],
    )
    offered = sessions.remember_offered_key(router, now=now)
    HostKey.objects.filter(pk=offered.pk).update(state=HostKey.State.TRUSTED, decided_by="lab", decided_at=now)
    clients = net.client_addresses[0].rpartition(".")[0]
    servers = net.server_addresses[0].rpartition(".")[0]
    text = (
        "prefix,name,business,owner,class,allowed_dscp,active_window,peak_mbps\n"
        f"{clients}.0/24,batch hosts,experiments,,non-core,0 8,,\n"
        f"{core}/32,trading,orders,,core,46,,\n"
        f"{servers}.0/24,servers,orders,,core,0 46,,\n"
    )
    import_identities(text=text, file="lab", actor="lab", now=now)
    sensor = Sensor.objects.create(name="mirror", group=group)
    ObservationPoint.objects.create(sensor=sensor, name="before", realm=realm, device=router, interface="in0")
    ObservationPoint.objects.create(sensor=sensor, name="behind", realm=realm, stands_behind=router)
    return tokens.create(name="mirror", scopes=["ingest"], sensor="mirror", actor="lab", now=now)[1]


def install_guard(device: str, interface: str, service: Service, *, remove: bool = False) -> None:
    """Propose, approve as a person would, and wait until the guard is there (or gone)."""
    from django.contrib.auth.models import User

    from flowguard.actions import guards
    from flowguard.models import Guard
    from policyhub.actions import changes
    from policyhub.models import Device

    approver, _ = User.objects.get_or_create(username="change-board")
    asker, _ = User.objects.get_or_create(username="network-team")
    now = datetime.now(UTC)
    if remove:
        guard = guards.remove(guard=Guard.objects.get(), reason="end of the demonstration", requested_by=asker, now=now)
        change, goal = guard.remove_change, Guard.State.REMOVED
    else:
        row = Device.objects.select_related("group", "realm").get(name=device)
        guard = guards.propose(
            device=row, name="LAB", interfaces=[interface], reason="change window", requested_by=asker, now=now
        )
        change, goal = guard.install_change, Guard.State.INSTALLED
    if change is None or change.state != "proposed":
        raise RuntimeError(f"the guard's plan is not there: {change and change.error}")
    changes.approve(change=change, approver=approver, plan_sha256=change.plan_sha256, now=now)
    wait(f"the guard is {goal}", lambda: Guard.objects.filter(pk=guard.pk, state=goal).exists(), 60)
