"""Handing a sensor its bundle, and noting that it asked."""

from __future__ import annotations

from datetime import datetime

from flowguard.models import Sensor
from flowguard.queries.bundles import Bundle, bundle_for


def hand_out(*, sensor: Sensor, now: datetime) -> Bundle:
    """The bundle for this sensor as the ledger stands now."""
    Sensor.objects.filter(pk=sensor.pk).update(last_seen_at=now)
    return bundle_for(sensor)
