"""One writer per device: a lease in the database whose token only rises.

The device cannot check a token, so the holder does, before every line: `renew` raises once somebody newer holds the device.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import F, Q

from policyhub.domain.errors import DeviceBusy, LeaseLost
from policyhub.domain.message import gettext_noop
from policyhub.models import DeviceLease


@dataclass(frozen=True, slots=True)
class Lease:
    """token: higher than every token of this device before."""

    device_id: int
    token: int
    holder: str


def acquire(*, device_id: int, holder: str, ttl_s: float, now: datetime) -> Lease:
    """Raises DeviceBusy while an unexpired lease exists, the same holder's too: a task may be delivered twice at once."""
    DeviceLease.objects.get_or_create(device_id=device_id)
    free = Q(expires_at__isnull=True) | Q(expires_at__lte=now)
    with transaction.atomic():
        taken = DeviceLease.objects.filter(free, device_id=device_id).update(
            holder=holder[:150], token=F("token") + 1, expires_at=now + timedelta(seconds=ttl_s)
        )
        row = DeviceLease.objects.get(device_id=device_id)
    if not taken:
        said = gettext_noop("device %(device)d is held by %(holder)s until %(until)s UTC")
        raise DeviceBusy.of(said, device=device_id, holder=row.holder, until=f"{row.expires_at:%H:%M:%S}")
    return Lease(device_id, row.token, holder)


def renew(lease: Lease, *, ttl_s: float, now: datetime) -> None:
    """Keep it for another `ttl_s` seconds. Raises LeaseLost when a newer one exists."""
    kept = DeviceLease.objects.filter(device_id=lease.device_id, token=lease.token).update(
        expires_at=now + timedelta(seconds=ttl_s)
    )
    if not kept:
        said = gettext_noop("device %(device)d: lease %(lease)d was replaced by a newer one. Nothing more is sent")
        raise LeaseLost.of(said, device=lease.device_id, lease=lease.token)


def release(lease: Lease) -> None:
    """Give it back; a newer lease is left alone."""
    DeviceLease.objects.filter(device_id=lease.device_id, token=lease.token).update(holder="", expires_at=None)
