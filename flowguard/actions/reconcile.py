"""What one sensor cannot know: another saw the verdict first, or saw the packets before the network changed their mark."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Q

from flowguard.domain.across import HOST_VERDICTS, Marks, Sighting, allowed_marks, marks_of, rewritten_on_the_way
from flowguard.domain.judgement import SECOND_NS
from flowguard.domain.sensor_clock import Apart, apart, read_clock
from flowguard.models import Observation, ObservationPoint, Sensor, Verdict
from flowguard.queries.identities import identity_table
from flowguard.queries.path import points_before

Standing = Verdict.Standing
# Two sensors' clocks, and a verdict that is closed 60 s after its last packet.
OVERLAP_NS = 60 * SECOND_NS
# What is looked at before and after a verdict's own seconds. Clocks that may be further apart speak of other packets.
MARGIN_NS = SECOND_NS
# As much of a long verdict as is compared packet by packet.
WINDOW_S = 30
# How long planning waits for the seconds of an earlier point that are still on their way.
HOLD = timedelta(seconds=5)
CHUNK = 50


def settle(touched: list[Verdict], *, seen_by: Sensor, observations: list[dict[str, Any]], now: datetime) -> None:
    """Set the standing of every verdict that these rows bear on. Call it in the ingest transaction, under its lock."""
    if not Sensor.objects.exclude(pk=seen_by.pk).exists():
        return
    beaten = _duplicates(touched)
    for row in touched:
        if row.standing != Standing.DUPLICATE:
            row.standing = _blame(row, now)
    late = _waiting_for(observations, seen_by)
    for row in late:
        row.standing = _blame(row, now)
    Verdict.objects.bulk_update([*touched, *beaten, *late], ["standing", "next_step_at", "evidence"], batch_size=100)


def _duplicates(touched: list[Verdict]) -> list[Verdict]:
    """Of one event told by several sensors the earliest stands. Returns other sensors' rows that no longer do."""
    beaten: dict[int, Verdict] = {}
    for start in range(0, len(touched), CHUNK):
        chunk = touched[start : start + CHUNK]
        rivals = _rivals(chunk)
        for row in chunk:
            mine = _sighting(row)
            if any(_sighting(rival).beats(mine, OVERLAP_NS) for rival in rivals):
                row.standing = Standing.DUPLICATE
            for rival in rivals:
                if mine.beats(_sighting(rival), OVERLAP_NS):
                    rival.standing = Standing.DUPLICATE
                    beaten[rival.pk] = rival
    return list(beaten.values())


def _sighting(row: Verdict) -> Sighting:
    key = (row.realm, row.src, row.dst, row.proto, row.server_port, row.dscp, row.name)
    return Sighting(row.sensor_id, key, row.first_ns, row.last_ns)


def _rivals(rows: list[Verdict]) -> list[Verdict]:
    wanted = Q(pk__in=[])
    for row in rows:
        same = Q(realm=row.realm, src=row.src, dst=row.dst, proto=row.proto, server_port=row.server_port)
        near = Q(first_ns__lte=row.last_ns + OVERLAP_NS, last_ns__gte=row.first_ns - OVERLAP_NS)
        wanted |= same & near & Q(dscp=row.dscp, name=row.name) & ~Q(sensor_id=row.sensor_id)
    return list(Verdict.objects.filter(wanted))


def _waiting_for(observations: list[dict[str, Any]], seen_by: Sensor) -> list[Verdict]:
    """Standing host verdicts of other sensors whose source is in these observations of an earlier point."""
    if not observations or not ObservationPoint.objects.exclude(sensor=seen_by).filter(stands_behind__isnull=False).exists():
        return []
    start = min(row["start_ns"] for row in observations)
    end = max(row["end_ns"] for row in observations)
    sources = {source["src"] for row in observations for source in row["sources"]}
    rows = Verdict.objects.exclude(sensor=seen_by).filter(
        standing=Standing.STANDS, name__in=HOST_VERDICTS, first_ns__lt=end, last_ns__gte=start - SECOND_NS
    )
    return [row for row in rows if row.src in sources]


def _blame(row: Verdict, now: datetime) -> str:
    """NETWORK when an earlier point saw the packets rightly marked. A young verdict waits for that point's seconds.

    Both sensors' clocks must be right to the margin of that comparison; the evidence says how right they are.
    """
    if row.name not in HOST_VERDICTS:
        return Standing.STANDS
    point = ObservationPoint.objects.filter(sensor_id=row.sensor_id, name=row.point).select_related("sensor").first()
    earlier = points_before(point) if point else []
    if not point or not earlier:
        return Standing.STANDS
    allowed = allowed_marks(row.name, identity_table().find(row.src, row.realm))
    packets = _packets_in_window(row, point)
    seen = [_marks(other, row) for other in earlier]
    rewrote = [
        other
        for other, marks in zip(earlier, seen, strict=True)
        if rewritten_on_the_way(marks, dscp=row.dscp, packets=packets, allowed=allowed)
    ]
    if rewrote and _clocks_agree(row, point, rewrote):
        row.next_step_at = now  # the scheduler hands it to considering, which takes back what was done on its account
        return Standing.NETWORK
    if row.next_step_at and not any(marks.complete for marks in seen) and row.received_at > now - HOLD:
        row.next_step_at = now + HOLD
        row.was_waiting = True  # type: ignore[attr-defined]
    return Standing.STANDS


def _clocks_agree(row: Verdict, point: ObservationPoint, others: list[ObservationPoint]) -> bool:
    """Whether the times of any of these points may be held against those of `point`; the evidence carries the errors."""
    mine = read_clock(point.sensor.health.get("clock"))
    all_apart = [apart(mine, read_clock(other.sensor.health.get("clock"))) for other in others]
    best = min(all_apart, key=lambda found: (found.may_exceed(MARGIN_NS), found.error_ns or 0))
    row.evidence = [fact for fact in row.evidence if fact.get("kind") != "clocks"]
    if best.is_told:
        row.evidence.append(_fact(best))
    return not best.may_exceed(MARGIN_NS)


def _fact(found: Apart) -> dict[str, Any]:
    error_ms = None if found.error_ns is None else found.error_ns / 1e6
    return {
        "kind": "clocks", "error_ms": error_ms, "granted_ms": MARGIN_NS / 1e6, "withheld": found.may_exceed(MARGIN_NS),
    }  # fmt: skip


def _seconds(row: Verdict) -> frozenset[int]:
    first = row.first_ns // SECOND_NS
    last = min(row.last_ns // SECOND_NS, first + WINDOW_S - 1)
    return frozenset(second * SECOND_NS for second in range(first, last + 1))


def _marks(point: ObservationPoint, row: Verdict, *, margin: int = MARGIN_NS) -> Marks:
    """margin: ns that are looked at beyond the verdict's own seconds; packets may have passed the earlier point before."""
    seconds = _seconds(row)
    rows: Iterable[tuple[int, bool, list[dict[str, object]]]] = Observation.objects.filter(
        point=point, start_ns__gte=min(seconds) - margin, start_ns__lte=max(seconds) + margin
    ).values_list("start_ns", "complete", "sources")
    return marks_of(row.src, rows, seconds=seconds)


def _packets_in_window(row: Verdict, point: ObservationPoint) -> int:
    if row.last_ns - row.first_ns < (WINDOW_S - 1) * SECOND_NS:
        return row.packets
    return _marks(point, row, margin=0).packets.get(row.dscp, 0)
