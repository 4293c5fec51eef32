"""What a sensor told last of its links, of tunnels and of bulk."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext

from flowguard.domain.link_ends import DCBX_NAMES, Said, disagreements, numbers, said
from flowguard.models import ObservationPoint, Sensor, SensorShape
from flowguard.queries.windows import SECOND_NS
from policyhub.domain.qos import dscp_name

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Neighbour:
    """One word of one neighbour; `word` None: it speaks no DCBX. marks: what goes by which priority, e.g. `EF: 5`."""

    point: str
    row: Row
    dialect: str
    word: Said | None
    marks: str


def sensor(row: Sensor) -> dict[str, Any]:
    """Two queries beside the sensor's own."""
    points = ObservationPoint.objects.filter(sensor=row).select_related("device", "stands_behind", "realm").order_by("name")
    shape = SensorShape.objects.filter(sensor=row).first()
    context: dict[str, Any] = {"sensor": row, "points": points, "told": shape}
    if shape is None:
        return context
    told = shape.told
    behaviour = told["behaviour"] or {"bulk": [], "groups": [], "bulk_total": 0}
    return {
        **context,
        "at_ns": told["at_ns"],
        "has_minute": told["to_ns"] is not None,
        "neighbours": list(_neighbours(told["points"])),
        "neighbours_left_out": sum(point["lldp_total"] - len(point["lldp"]) for point in told["points"]),
        "disagreements": list(_disagreements(told["points"])),
        "carried": list(_carried(told["points"])),
        "carried_total": sum(point["carried"]["total"] for point in told["points"] if point["carried"]),
        "bulk": [_lasting(bulk) for bulk in behaviour["bulk"]],
        "bulk_total": behaviour["bulk_total"],
        "groups": [_lasting(group) for group in behaviour["groups"]],
    }


def _neighbours(points: list[Row]) -> Iterator[Neighbour]:
    for point in points:
        for row in point["lldp"]:
            words = said(row)
            for dialect, word in words.items() or [("", None)]:
                marks = "; ".join(f"{dscp_name(mark)}: {numbers(to)}" for mark, to in sorted(word.dscp.items())) if word else ""
                yield Neighbour(point["point"], row, DCBX_NAMES.get(dialect, dialect), word, marks)


def _disagreements(points: list[Row]) -> Iterator[tuple[str, str]]:
    for point in points:
        for found in disagreements(point["lldp"]):
            yield point["point"], found.read(gettext)


def _carried(points: list[Row]) -> Iterator[Row]:
    """With the point and the marks as numbers."""
    for point in points:
        for row in point["carried"]["rows"] if point["carried"] else []:
            yield {**row, "point": point["point"], "marks": sorted(map(int, row["dscp"]))}


def _lasting(row: Row) -> Row:
    return {**row, "lasted_s": (row["last_ns"] - row["first_ns"]) / SECOND_NS}
