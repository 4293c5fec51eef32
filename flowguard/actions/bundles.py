"""Handing a sensor its bundle, and noting that it asked."""

from __future__ import annotations

from datetime import datetime
from functools import lru_cache

from django.db.models import Max, Q

from flowguard.actions.sensors import heard
from flowguard.models import Sensor
from flowguard.queries.bundles import Bundle, bundle_for
from policyhub.actions.configs import latest_config
from policyhub.domain.errors import PolicyHubError
from policyhub.domain.qos import DscpMap
from policyhub.models import Device


def hand_out(*, sensor: Sensor, backlog: tuple[int, float] | None = None, now: datetime) -> Bundle:
    """The bundle for this sensor as ledger, groups and collected configurations stand now. backlog: see `sensors.heard`."""
    heard(sensor, backlog=backlog, now=now)
    return bundle_for(sensor, maps=maps_behind(sensor))


def maps_behind(sensor: Sensor) -> tuple[DscpMap, ...]:
    """The DSCP maps of every device at the sensor's points; none at all when one hop's map is not known: unknown is not worse."""
    here = Q(points__sensor=sensor) | Q(downstream_points__sensor=sensor)
    devices = Device.objects.filter(here, enabled=True).annotate(snapshot=Max("snapshots__pk")).distinct().order_by("pk")
    found = [_maps(device.pk, device.snapshot) if device.snapshot else () for device in devices]
    return tuple(known for maps in found for known in maps) if all(found) else ()


@lru_cache(maxsize=256)
def _maps(device: int, snapshot: int) -> tuple[DscpMap, ...]:
    """snapshot: only names the configuration that is parsed, so that it is parsed once and not each time a sensor asks."""
    try:
        config = latest_config(Device.objects.get(pk=device))
    except PolicyHubError:  # no parser for it, or sealed with a key that is gone
        return ()
    return config.dscp_maps if config else ()
