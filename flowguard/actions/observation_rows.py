"""Per-second observations of a sensor's points."""

from __future__ import annotations

from typing import Any

from flowguard.domain.errors import BadBatch
from flowguard.models import Observation, ObservationPoint, Sensor
from policyhub.models import Realm

MAX_POINTS = 64


def keep(sensor: Sensor, told: list[dict[str, Any]]) -> None:
    """Save them. A second that is known stays, unless the new row of it counted more packets (a sensor restarted in it)."""
    if not told:
        return
    points = _points(sensor, {row["point"]: row["realm"] for row in told})
    fullest: dict[tuple[int, int], dict[str, Any]] = {}
    for row in told:
        key = (points[row["point"]], row["start_ns"])
        if key not in fullest or _packets(row["sources"]) > _packets(fullest[key]["sources"]):
            fullest[key] = row
    starts = [start for _, start in fullest]
    known = {
        (row.point_id, row.start_ns): row
        for row in Observation.objects.filter(
            point__in=set(points.values()), start_ns__gte=min(starts), start_ns__lte=max(starts)
        )
    }
    created, fuller = [], []
    for (point, start), row in fullest.items():
        old = known.get((point, start))
        if old is None:
            created.append(_fill(Observation(point_id=point, start_ns=start), row))
        elif _packets(row["sources"]) > _packets(old.sources):
            fuller.append(_fill(old, row))
    Observation.objects.bulk_create(created, batch_size=100)
    Observation.objects.bulk_update(fuller, ["end_ns", "complete", "sources", "tcp"], batch_size=100)


def _fill(to: Observation, row: dict[str, Any]) -> Observation:
    to.end_ns, to.complete, to.sources, to.tcp = row["end_ns"], row["complete"], row["sources"], row["tcp"]
    return to


def _packets(sources: list[dict[str, Any]]) -> int:
    return sum(source["packets"] for source in sources)


def _points(sensor: Sensor, realms: dict[str, str]) -> dict[str, int]:
    """Names to primary keys; a point is enrolled when it first reports. Its realm is then a person's to change."""
    known = dict(ObservationPoint.objects.filter(sensor=sensor).values_list("name", "pk"))
    for name in realms.keys() - known.keys():
        if len(known) >= MAX_POINTS:
            raise BadBatch(f"sensor {sensor.name} has {MAX_POINTS} points already. Remove unused ones")
        realm = Realm.objects.filter(name=realms[name]).first() or Realm.objects.get_or_create(name="")[0]
        known[name] = ObservationPoint.objects.create(sensor=sensor, name=name, realm=realm).pk
    return known
