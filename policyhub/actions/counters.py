"""Counters of ports and queues: read often and without the configuration, kept as numbers, for a while."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from django.db import transaction

from policyhub.actions import audit
from policyhub.actions.sessions import READING_WALL_S, RELATED, answers, joined, open_session, reading_of
from policyhub.domain.counter_series import CounterText
from policyhub.domain.errors import BadInput, DeviceClosed, PolicyHubError
from policyhub.domain.message import gettext_noop
from policyhub.models import CounterReading, Credential, Device
from policyhub.models.counters import pack
from policyhub.transport.errors import LineRejected
from policyhub.vendorkit.registry import REGISTRY

SCHEDULE = "schedule"
PERIOD_S = 900
PAUSE = timedelta(minutes=2)  # tasks of one device that piled up while the workers were away are one reading


def keep(device: Device, text: str, *, origin: str, read_at: datetime) -> CounterReading | None:
    """Store the numbers in the outputs of the commands that count; None when there is no text or nobody reads the platform's.

    A text without a number is kept as well: it was read, and printed none. Raises UnknownPlatform.
    """
    series = REGISTRY.get(device.platform).series
    if series is None or not text.strip():
        return None
    found = series(text, read_at)
    return CounterReading.objects.create(
        device=device, read_at=read_at, origin=origin, packed=pack(found.rows), count=len(found.rows), unread=len(found.unread)
    )


def poll(*, device_id: int, actor: str, clock: Callable[[], datetime]) -> CounterReading | None:
    """Log in, send the platform's commands that count queues and nothing else, keep the numbers.

    None: the schedule asked within two minutes of the last poll. Raises DeviceClosed, UnknownPlatform, TransportError;
    LineRejected when the device knows none of the commands.
    """
    device = Device.objects.select_related(*RELATED).get(pk=device_id)
    commands = reading_of(device).queues
    if not commands or REGISTRY.get(device.platform).series is None:
        said = gettext_noop("%(device)s: nothing that counts queues is known for %(platform)s")
        raise DeviceClosed.of(said, device=device.name, platform=device.platform)
    polls = device.counter_readings.filter(origin=CounterReading.Origin.POLL)
    if actor == SCHEDULE and polls.filter(read_at__gt=clock() - PAUSE).exists():
        return None
    with open_session(device, Credential.Purpose.COLLECT, now=clock(), wall_s=READING_WALL_S) as session:
        texts = answers(session, commands)
        read_at = clock()
    reading = keep(device, joined(texts, commands), origin=CounterReading.Origin.POLL, read_at=read_at)
    if reading is None:
        said = gettext_noop("%(device)s: none of these commands printed anything: %(commands)s")
        raise LineRejected.of(said, device=device.name, commands=", ".join(commands), host=device.host)
    return reading


def upload(*, device: Device, text: str, actor: str, read_at: datetime, now: datetime) -> CounterReading:
    """Keep what a person brought in a file. Raises BadInput when nobody reads the platform's counters or the text holds none."""
    with transaction.atomic():
        reading = keep(device, text, origin=CounterReading.Origin.UPLOAD, read_at=read_at)
        if reading is None or not reading.count:
            raise _no_counters(device, text)
        audit.record("counters.stored", actor=actor, at=now, device=device.name, count=reading.count, read_at=str(read_at))
    return reading


def _no_counters(device: Device, text: str) -> BadInput:
    """With the first line that stands in the way, where there is one."""
    series = REGISTRY.get(device.platform).series
    found = series(text, None) if series is not None else CounterText()
    values = {"device": device.name, "platform": device.platform}
    if found.shifted:
        said = gettext_noop(
            "%(device)s: line %(line)d: its columns do not stand under their headings. Give the table as %(platform)s prints it,"
            " with its blanks"
        )
        return BadInput.of(said, **values, line=min(found.shifted))
    if found.unread:
        said = gettext_noop(
            "%(device)s: the text holds no counters of queues that are known of %(platform)s. The first line with figures is"
            " line %(line)d"
        )
        return BadInput.of(said, **values, line=min(found.unread))
    said = gettext_noop("%(device)s: the text holds no counters of queues that are known of %(platform)s")
    return BadInput.of(said, **values)


def can_poll(device: Device) -> bool:
    """Whether anything counts its queues; that it can be reached is `collect.can_collect`'s business."""
    try:
        return bool(reading_of(device).queues) and REGISTRY.get(device.platform).series is not None
    except PolicyHubError:
        return False
