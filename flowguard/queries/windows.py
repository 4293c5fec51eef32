"""Per-second windows of one offender at the points that stand behind a device."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable

from flowguard.domain.judgement import Window
from flowguard.models import Observation, ObservationPoint
from policyhub.models import Device


def verifying_points(device: Device) -> list[ObservationPoint]:
    """Points that packets pass after they left the device."""
    return list(ObservationPoint.objects.filter(stands_behind=device).select_related("realm").order_by("pk"))


def windows(points: Iterable[ObservationPoint], *, member: str, marks: frozenset[int], from_ns: int, to_ns: int) -> list[Window]:
    """Windows that lie wholly in [from_ns, to_ns), oldest first; several points of one second are added up.

    A second is complete only when every row of it is.
    """
    rows = Observation.objects.filter(point__in=list(points), start_ns__gte=from_ns, end_ns__lte=to_ns).order_by("start_ns")
    by_second: dict[int, list[Observation]] = {}
    for row in rows:
        by_second.setdefault(row.start_ns, []).append(row)
    network = ipaddress.ip_network(member)
    return [_window(start, group, network, marks) for start, group in sorted(by_second.items())]


def _window(
    start_ns: int,
    rows: list[Observation],
    member: ipaddress.IPv4Network | ipaddress.IPv6Network,
    marks: frozenset[int],
) -> Window:
    marked = total = 0
    segments: dict[int, int] = {}
    repeated: dict[int, int] = {}
    for row in rows:
        for source in row.sources:
            if source["src"] is None or ipaddress.ip_address(source["src"]) not in member:
                continue
            total += source["bytes"]
            marked += source["bytes"] if source["dscp"] in marks else 0
        for figures in row.tcp:
            dscp = figures["dscp"]
            segments[dscp] = segments.get(dscp, 0) + figures["data_segments"]
            repeated[dscp] = repeated.get(dscp, 0) + figures["retransmitted"]
    complete = all(row.complete for row in rows)
    return Window(start_ns, complete, marked, total, tuple(sorted(segments.items())), tuple(sorted(repeated.items())))
