"""Configurations as kept: sealed snapshots in, the model of the latest one out."""

from __future__ import annotations

import hashlib
from datetime import datetime, timedelta

from django.db import transaction

from policyhub.actions import audit, secrets
from policyhub.domain.device_config import DeviceConfig
from policyhub.domain.hits import HitSample
from policyhub.models import ConfigSnapshot, Device
from policyhub.vendorkit.registry import REGISTRY

HISTORY = timedelta(days=400)


def store(
    *,
    device: Device,
    text: str,
    counters: str = "",
    version: str = "",
    source: str,
    actor: object,
    now: datetime,
) -> ConfigSnapshot:
    """Keep a configuration as read. The same text without counters twice in a row is one snapshot.

    source: collect, upload, or of a change: pre-push, post-push, taken-back.
    counters: outputs of the commands that count hits, read at the same time.
    version: as the device said; "" takes what the configuration says. The device's own version and manager follow.
    Raises UnknownPlatform.
    """
    config = REGISTRY.get(device.platform).parse(text)
    digest = hashlib.sha256(text.encode()).hexdigest()
    with transaction.atomic():
        version = (version or config.version)[:64]
        Device.objects.filter(pk=device.pk).update(version=version or device.version, managed_by=config.managed_by[:64])
        device.version, device.managed_by = version or device.version, config.managed_by[:64]
        last = device.snapshots.order_by("-taken_at", "-pk").first()
        if last is not None and last.sha256 == digest and not counters:
            return last
        snapshot = ConfigSnapshot.objects.create(
            device=device,
            taken_at=now,
            taken_by=str(actor)[:150],
            source=source,
            sha256=digest,
            text_envelope=secrets.seal(text),
            counters_envelope=secrets.seal(counters) if counters else "",
            version=version,
            lines=config.lines,
            rules=config.rule_count,
            unparsed=len(config.unparsed),
        )
        audit.record("config.stored", actor=actor, at=now, device=device.name, source=source, sha256=digest, lines=config.lines)
    return snapshot


def latest_config(device: Device) -> DeviceConfig | None:
    """None when nothing was collected yet. Raises UnknownPlatform, CannotOpen."""
    snapshot = device.snapshots.order_by("-taken_at", "-pk").first()
    return parsed(device, snapshot) if snapshot else None


def parsed(device: Device, snapshot: ConfigSnapshot) -> DeviceConfig:
    """A snapshot as the model. Raises UnknownPlatform, CannotOpen."""
    return REGISTRY.get(device.platform).parse(secrets.unseal(snapshot.text_envelope))


def shown(snapshot: ConfigSnapshot) -> list[str]:
    """The lines that a person may see: secrets masked. Raises CannotOpen."""
    return secrets.redact(secrets.unseal(snapshot.text_envelope)).splitlines()


def hit_samples(device: Device, *, now: datetime) -> tuple[HitSample, ...]:
    """Counter readings of the last 400 days, oldest first; a reading's time is its snapshot's.

    Platforms that print counters inside the configuration (nftables) need no counters of their own.
    """
    vendor = REGISTRY.get(device.platform)
    rows = device.snapshots.filter(taken_at__gte=now - HISTORY).order_by("taken_at", "pk")
    read = (vendor.counters(secrets.unseal(row.counters_envelope or row.text_envelope), row.taken_at) for row in rows)
    return tuple(sample for sample in read if sample is not None)
