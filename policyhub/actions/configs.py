"""A device's latest configuration as the model, opened from its sealed snapshot."""

from __future__ import annotations

from policyhub.actions import secrets
from policyhub.domain.device_config import DeviceConfig
from policyhub.models import Device
from policyhub.vendorkit.registry import REGISTRY


def latest_config(device: Device) -> DeviceConfig | None:
    """None when nothing was collected yet. Raises UnknownPlatform, CannotOpen."""
    snapshot = device.snapshots.order_by("-taken_at", "-pk").first()
    if snapshot is None:
        return None
    return REGISTRY.get(device.platform).parse(secrets.unseal(snapshot.text_envelope))
