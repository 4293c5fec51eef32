"""Which points packets pass before others, as far as the inventory tells."""

from __future__ import annotations

from flowguard.models import ObservationPoint


def points_before(point: ObservationPoint) -> list[ObservationPoint]:
    """Points of other sensors, in the same realm, on a device that packets have left before they reach `point`."""
    if point.stands_behind_id is None:
        return []
    everywhere = list(ObservationPoint.objects.filter(realm_id=point.realm_id).select_related("sensor").order_by("pk"))
    passed = _passed(point, everywhere)
    return [
        other
        for other in everywhere
        if other.sensor_id != point.sensor_id and other.device_id in passed and _passed(other, everywhere) < passed
    ]


def _passed(point: ObservationPoint, everywhere: list[ObservationPoint]) -> frozenset[int]:
    """Devices that packets have left when they reach the point."""
    passed: set[int] = set()
    waiting = [point.stands_behind_id]
    while waiting:
        device = waiting.pop()
        if device is None or device in passed:
            continue
        passed.add(device)
        waiting += [other.stands_behind_id for other in everywhere if other.device_id == device]
    return frozenset(passed)
