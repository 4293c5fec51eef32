"""How far each stream of a sensor has come, and what of it never came."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import F, Min

from flowguard.actions.writers import one_ingest_at_a_time
from flowguard.models import Sensor, SensorStream, StreamGap, VerdictBatch

NEVER_ARRIVED = "never-arrived"
# A sensor sends in order, so a hole means a lost file; the time allows for two senders of one spool overlapping at a restart.
PATIENCE = timedelta(minutes=5)


def arrived(*, sensor: Sensor, stream: UUID, sequence: int, received_at: datetime) -> SensorStream:
    """Note one sequence. Call it in the batch's own transaction."""
    cursor = _cursor(sensor, stream, received_at)
    if sequence <= cursor.contiguous_to:
        _carve(cursor, sequence, sequence)
    elif sequence == cursor.contiguous_to + 1 and cursor.highest < sequence:
        cursor.contiguous_to = sequence
    cursor.highest = max(cursor.highest, sequence)
    cursor.last_received_at = max(cursor.last_received_at, received_at)
    _advance(cursor)
    return cursor


def declare(*, sensor: Sensor, gaps: Iterable[Mapping[str, Any]], noticed_at: datetime) -> None:
    """Keep what the sensor says it left out; it replaces what the service had only noticed."""
    for gap in gaps:
        first, last = gap["from_sequence"], gap["to_sequence"]
        if _all_here(sensor, UUID(gap["stream"]), first, last):
            continue  # a file was found damaged after the service had it
        cursor = _cursor(sensor, UUID(gap["stream"]), noticed_at)
        _carve(cursor, first, last)
        StreamGap.objects.get_or_create(
            sensor=sensor, stream=cursor.stream, from_sequence=first, reason=gap["reason"],
            defaults={"to_sequence": last, "verdicts": gap["verdicts"], "noticed_at": noticed_at},
        )  # fmt: skip
        cursor.highest = max(cursor.highest, last)
        _advance(cursor)


def notice_gaps(*, now: datetime, patience: timedelta = PATIENCE) -> int:
    """Record sequences that are missing for longer than `patience` after a later one came. Returns how many gaps are new."""
    found = 0
    for key in SensorStream.objects.filter(contiguous_to__lt=F("highest")).values_list("pk", flat=True):
        with transaction.atomic(), one_ingest_at_a_time():
            cursor = SensorStream.objects.select_related("sensor").get(pk=key)
            for first, last in _holes(cursor):
                if not _overdue(cursor, last, now - patience):
                    continue
                found += 1
                StreamGap.objects.create(
                    sensor=cursor.sensor, stream=cursor.stream, from_sequence=first, to_sequence=last, verdicts=None,
                    reason=NEVER_ARRIVED, noticed_at=now,
                )  # fmt: skip
            _advance(cursor)
    return found


def already_had(*, sensor: Sensor, stream: UUID, sequence: int) -> bool:
    """Whether a sequence without a row was ingested and pruned since."""
    passed = SensorStream.objects.filter(sensor=sensor, stream=stream, contiguous_to__gte=sequence).exists()
    return passed and not _gaps(sensor, stream, sequence, sequence).exists()


def _cursor(sensor: Sensor, stream: UUID, at: datetime) -> SensorStream:
    return SensorStream.objects.get_or_create(sensor=sensor, stream=stream, defaults={"last_received_at": at})[0]


def _all_here(sensor: Sensor, stream: UUID, first: int, last: int) -> bool:
    rows = VerdictBatch.objects.filter(sensor=sensor, stream=stream, sequence__range=(first, last))
    return rows.count() == last - first + 1


def _gaps(sensor: Sensor, stream: UUID, first: int, last: int) -> Any:
    return StreamGap.objects.filter(sensor=sensor, stream=stream, from_sequence__lte=last, to_sequence__gte=first)


def _advance(cursor: SensorStream) -> None:
    if cursor.contiguous_to < cursor.highest:
        holes = _holes(cursor)
        cursor.contiguous_to = holes[0][0] - 1 if holes else cursor.highest
    cursor.save(update_fields=["contiguous_to", "highest", "last_received_at"])


def _holes(cursor: SensorStream) -> list[tuple[int, int]]:
    """Closed intervals in (contiguous_to, highest] that neither a batch nor a gap accounts for."""
    low, high = cursor.contiguous_to + 1, cursor.highest
    rows = VerdictBatch.objects.filter(sensor_id=cursor.sensor_id, stream=cursor.stream, sequence__range=(low, high))
    known = [(n, n) for n in rows.values_list("sequence", flat=True)]
    known += _gaps(cursor.sensor, cursor.stream, low, high).values_list("from_sequence", "to_sequence")
    holes, at = [], low
    for first, last in sorted(known):
        if first > at:
            holes.append((at, first - 1))
        at = max(at, last + 1)
    if at <= high:
        holes.append((at, high))
    return holes


def _overdue(cursor: SensorStream, last: int, since: datetime) -> bool:
    later = VerdictBatch.objects.filter(sensor_id=cursor.sensor_id, stream=cursor.stream, sequence__gt=last)
    first_later = later.aggregate(at=Min("received_at"))["at"]
    if first_later is None:  # only a declared gap stands behind the hole
        first_later = cursor.last_received_at
    return bool(first_later <= since)


def _carve(cursor: SensorStream, first: int, last: int) -> None:
    """Take [first, last] out of the gaps that were only noticed."""
    for gap in _gaps(cursor.sensor, cursor.stream, first, last).filter(reason=NEVER_ARRIVED):
        parts = [(gap.from_sequence, first - 1), (last + 1, gap.to_sequence)]
        gap.delete()
        for low, high in parts:
            if low <= high:
                StreamGap.objects.create(
                    sensor=cursor.sensor, stream=cursor.stream, from_sequence=low, to_sequence=high, verdicts=None,
                    reason=NEVER_ARRIVED, noticed_at=gap.noticed_at,
                )  # fmt: skip
