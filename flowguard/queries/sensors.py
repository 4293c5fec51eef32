"""How each sensor is: contact, judging, drops, gaps, and what of it waits or cannot be read."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count, DateTimeField, IntegerField, Min, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce

from flowguard.domain.judgement import SECOND_NS
from flowguard.domain.sensor_clock import SensorClock, read_clock
from flowguard.models import Sensor, StreamGap, VerdictBatch

SILENT_AFTER_S = 30
NO_PACKETS_AFTER_S = 60
BEHIND_AFTER_S = 30
State = VerdictBatch.State
CLOCKS = ("hardware", "system", "stray")


@dataclass(frozen=True, slots=True)
class SensorRow:
    """silent_s: seconds since the last contact, None = never. dropped: packets and batches lost by cause, None = not reported.

    packet_s: age of the newest packet that it told of, in seconds; None = not reported. sees_nothing: see there.
    waiting: batches that came and are not ingested. spooled: batches still on its own disk, None = not reported.
    behind_s: see there.
    """

    pk: int
    name: str
    silent_s: float | None
    judging: bool
    packet_s: float | None
    sees_nothing: bool
    bundle_version: str
    dropped: int | None
    gaps: int
    waiting: int
    spooled: int | None
    behind_s: float | None
    poisoned: int
    health: dict[str, Any]

    @property
    def clock(self) -> SensorClock | None:
        """None = not reported."""
        return read_clock(self.health.get("clock"))

    @property
    def stamps(self) -> dict[str, int]:
        """Frames of all points by the clock that stamped them; empty where none is told."""
        told = [point["stamps"] for point in self.health.get("points") or () if point.get("stamps")]
        return {clock: sum(stamps[clock] for stamps in told) for clock in CLOCKS if told}

    @property
    def is_silent(self) -> bool:
        return self.silent_s is None or self.silent_s > SILENT_AFTER_S

    @property
    def is_behind(self) -> bool:
        return self.behind_s is not None and self.behind_s > BEHIND_AFTER_S


def sensor_rows(*, now: datetime) -> list[SensorRow]:
    """Every sensor in one query."""
    batches = VerdictBatch.objects.filter(sensor=OuterRef("pk"))
    rows = with_oldest(Sensor.objects.order_by("name")).annotate(
        gap_count=_count(StreamGap.objects.filter(sensor=OuterRef("pk"))),
        waiting_count=_count(batches.filter(state=State.STORED)),
        poisoned_count=_count(batches.filter(state=State.POISONED)),
    )
    return [_row(sensor, now) for sensor in rows]


def with_oldest(sensors: QuerySet[Sensor]) -> QuerySet[Any]:
    """With `oldest_at`: since when the oldest batch waits here to be ingested."""
    waiting = VerdictBatch.objects.filter(sensor=OuterRef("pk"), state=State.STORED).order_by().values("sensor")
    oldest = waiting.annotate(at=Min("received_at")).values("at")
    return sensors.annotate(oldest_at=Subquery(oldest, output_field=DateTimeField()))


def behind_s(sensor: Any, now: datetime) -> float | None:
    """How old the oldest is that the sensor told and nobody looked at yet, in seconds; None = it does not say. See `with_oldest`.

    What waits on its disk ages until the next contact; what waits here is younger than that.
    """
    here = 0.0 if sensor.oldest_at is None else (now - sensor.oldest_at).total_seconds()
    if sensor.spooled is None or sensor.last_seen_at is None:
        return here or None
    there = sensor.spooled_s + (now - sensor.last_seen_at).total_seconds() if sensor.spooled else 0.0
    return max(here, float(there))


def packet_age_s(health: dict[str, Any], now: datetime) -> float | None:
    """Seconds since the newest packet that the sensor told of, by packet time; None = it does not say."""
    newest = health.get("last_packet_ns")
    return max(0.0, now.timestamp() - newest / SECOND_NS) if isinstance(newest, int) and newest else None


def sees_nothing(health: dict[str, Any], now: datetime) -> bool:
    """Whether it says itself that no packet came, or none lately: then its judging proves nothing. Not to say so is no sign."""
    age = packet_age_s(health, now)
    return health.get("received") == 0 or (age is not None and age > NO_PACKETS_AFTER_S)


def _count(rows: Any) -> Any:
    counted = rows.order_by().values("sensor").annotate(n=Count("pk")).values("n")
    return Coalesce(Subquery(counted, output_field=IntegerField()), 0)


def _row(sensor: Any, now: datetime) -> SensorRow:
    seen = sensor.last_seen_at
    dropped = sensor.health.get("dropped")
    return SensorRow(
        sensor.pk, sensor.name, (now - seen).total_seconds() if seen else None, sensor.judging,
        packet_age_s(sensor.health, now), sees_nothing(sensor.health, now), sensor.bundle_version,
        None if dropped is None else sum(count for count in dropped.values() if isinstance(count, int)),
        sensor.gap_count, sensor.waiting_count, sensor.spooled, behind_s(sensor, now), sensor.poisoned_count, sensor.health,
    )  # fmt: skip
