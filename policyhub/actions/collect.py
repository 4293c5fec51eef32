"""Reading devices: the running configuration and the counters of one moment, kept sealed."""

from __future__ import annotations

from datetime import datetime

from policyhub.actions import configs
from policyhub.actions.sessions import open_session, profile_of
from policyhub.domain.errors import DeviceClosed
from policyhub.models import ConfigSnapshot, Credential, Device
from policyhub.transport.errors import LineRejected


def collect(*, device_id: int, actor: object, now: datetime) -> ConfigSnapshot:
    """Log in, read, keep. Raises DeviceClosed, UnknownPlatform, TransportError; nothing is kept then."""
    device = Device.objects.select_related("group", "collect_credential", "push_credential").get(pk=device_id)
    profile = profile_of(device)
    with open_session(device, Credential.Purpose.COLLECT, now=now) as session:
        text = session.read(profile.snapshot_command)
        counters = "\n".join(session.ask(command) for command in profile.counter_commands)
    if not text.strip():
        raise LineRejected(f"{device}: {profile.snapshot_command!r} printed nothing. Check the login's rights", host=device.host)
    return configs.store(device=device, text=text, counters=counters, source="collect", actor=actor, now=now)


def can_collect(device: Device) -> bool:
    """Whether the device can be read over SSH as it stands in the inventory."""
    try:
        profile_of(device)
    except DeviceClosed:
        return False
    return bool(device.enabled and device.host and not device.quarantine_reason)
