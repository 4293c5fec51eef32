"""Reading devices: the running configuration and the counters of one moment, kept sealed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime

from policyhub.actions import configs, counters
from policyhub.actions.sessions import READING_WALL_S, RELATED, answers, joined, open_session, reading_of
from policyhub.domain.errors import PolicyHubError
from policyhub.domain.message import gettext_noop
from policyhub.models import ConfigSnapshot, CounterReading, Credential, Device
from policyhub.queries.schedules import READING_SILENT
from policyhub.transport.errors import LineRejected
from policyhub.vendorkit.collecting import ReadProfile


def collect(*, device_id: int, actor: object, now: datetime) -> ConfigSnapshot:
    """Log in, read, keep. Raises DeviceClosed, UnknownPlatform, TransportError; nothing is kept then.

    Counters that this model does not have, or this login may not read, are missing in the snapshot and nothing else is.
    A device that was due stays so until this has ended: it is due again when whoever reads it is killed.
    """
    again = now + READING_SILENT
    # Before the reading: what changes during it makes the device due sooner.
    Device.objects.filter(pk=device_id, collect_due_at__lte=now).update(collect_due_at=again)
    mine = Device.objects.filter(pk=device_id, collect_due_at=again)
    try:
        snapshot = _read(device_id, actor=actor, now=now)
    except Exception:
        mine.update(collect_due_at=None)
        raise
    mine.update(collect_due_at=None)
    return snapshot


def _read(device_id: int, *, actor: object, now: datetime) -> ConfigSnapshot:
    device = Device.objects.select_related(*RELATED).get(pk=device_id)
    profile = reading_of(device)
    with open_session(device, Credential.Purpose.COLLECT, now=now, wall_s=READING_WALL_S) as session:
        texts = answers(session, profile.commands, profile.needed)
    return keep(device, profile, texts, actor=actor, now=now)


def keep(device: Device, profile: ReadProfile, texts: Mapping[str, str], *, actor: object, now: datetime) -> ConfigSnapshot:
    """Store what the commands of the profile answered. Raises LineRejected when there is no configuration among it."""
    text = texts.get(profile.configuration, "")
    if not text.strip():
        said = gettext_noop("%(device)s: %(command)r printed nothing. Check the login's rights")
        raise LineRejected.of(said, device=device.name, command=profile.configuration, host=device.host)
    snapshot = configs.store(
        device=device,
        text=text,
        counters=joined(texts, profile.counters),
        version=release_in(profile, texts.get(profile.version_command, "")),
        source="collect",
        actor=actor,
        now=now,
    )
    counters.keep(device, joined(texts, profile.queues), origin=CounterReading.Origin.COLLECT, read_at=now)
    return snapshot


def release_in(profile: ReadProfile, answer: str) -> str:
    """The release in the answer of the version command, "" when it is not there."""
    found = re.search(profile.release_regex, answer)
    return next((group for group in found.groups() if group), "")[:64] if found else ""


def can_collect(device: Device) -> bool:
    """Whether the device can be read over SSH as it stands in the inventory."""
    try:
        reading_of(device)
    except PolicyHubError:
        return False
    return bool(device.enabled and device.host and not device.quarantine_reason and device.role != Device.Role.BASTION)
