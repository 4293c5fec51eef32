"""What a sensor told last of its links, of tunnels and of bulk."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from django.utils.translation import gettext

from flowguard.domain.judgement import SECOND_NS
from flowguard.domain.link_ends import DCBX_NAMES, Said, disagreements, numbers, said
from flowguard.models import ObservationPoint, Sensor, SensorShape
from policyhub.domain.qos import dscp_name

Row = dict[str, Any]
MOST_NEIGHBOURS, MOST_DISAGREEMENTS, MOST_ROWS = 50, 20, 50


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
    neighbours, differ = list(_neighbours(told["points"], MOST_NEIGHBOURS)), list(_disagreements(told["points"]))
    behaviour = told["behaviour"] or {"bulk": [], "groups": [], "bulk_total": 0}
    return {
        **context,
        "at_ns": told["at_ns"],
        "has_minute": told["to_ns"] is not None,
        "neighbours": neighbours,
        "neighbours_left_out": sum(point["lldp_total"] for point in told["points"]) - len({id(one.row) for one in neighbours}),
        "disagreements": differ[:MOST_DISAGREEMENTS],
        "disagreements_left_out": max(0, len(differ) - MOST_DISAGREEMENTS),
        "carried": list(islice(_carried(told["points"]), MOST_ROWS)),
        "carried_total": sum(point["carried"]["total"] for point in told["points"] if point["carried"]),
        "bulk": [_lasting(bulk) for bulk in behaviour["bulk"][:MOST_ROWS]],
        "bulk_total": behaviour["bulk_total"],
        "groups": [_lasting(group) for group in behaviour["groups"][:MOST_ROWS]],
    }


def _neighbours(points: list[Row], most: int) -> Iterator[Neighbour]:
    """Of at most so many neighbours; points that show many do not push the others out."""
    share = max(1, most // max(1, sum(1 for point in points if point["lldp"])))
    told = ((point, row) for point in points for row in point["lldp"][:share])
    for point, row in islice(told, most):
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
