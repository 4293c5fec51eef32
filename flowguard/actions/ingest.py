"""A stored batch becomes verdicts and observations, exactly once, in one transaction."""

from __future__ import annotations

import json
import logging
import zlib
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import InterfaceError, OperationalError, transaction
from django.db.models import F

from flowguard.actions import observation_rows, own_remarks, reconcile, streams, verdict_rows
from flowguard.actions.receive import deduplicates
from flowguard.actions.writers import one_ingest_at_a_time
from flowguard.models import Sensor, SensorShape, SensorStream, VerdictBatch
from flowguard.queries.due import DECISIONS_AT_ONCE, is_any_due
from policyhub import dispatch

# Three refusals by our own code make a poison batch. A killed worker refuses nothing, yet what kills workers must stop too.
MAX_REFUSALS = 3
MAX_DELIVERIES = 12

log = logging.getLogger(__name__)
State = VerdictBatch.State


def ingest(*, batch_id: int, now: datetime) -> int:
    """Returns the number of verdicts to consider; 0 also when the batch was ingested before, is poisoned or gone.

    A batch that our code cannot take is tried again by the scheduler and POISONED at the third refusal; the database being
    away or locked raises and counts as no refusal.
    """
    if not _take(batch_id):
        return 0
    try:
        with transaction.atomic(), one_ingest_at_a_time():
            batch = VerdictBatch.objects.select_for_update().select_related("sensor").filter(pk=batch_id).first()
            if batch is None or (batch.state != State.STORED and deduplicates()):
                return 0
            waiting = is_any_due(now)
            due = _apply(batch, now)
            batch.state, batch.ingested_at, batch.error = State.INGESTED, now, ""
            batch.save(update_fields=["state", "ingested_at", "error"])
            if due and not waiting:  # else a worker is at it, or the scheduler sends one within a second
                dispatch.on_commit("flowguard.decide", DECISIONS_AT_ONCE)
            return len(due)
    except (OperationalError, InterfaceError):
        raise
    except Exception as error:
        log.exception("batch %s refused", batch_id)
        _refused(batch_id, error)
        return 0


def retry(*, batch_id: int, now: datetime) -> None:
    """Give a poisoned batch another three tries, after the cause was mended."""
    with transaction.atomic():
        again = VerdictBatch.objects.filter(pk=batch_id, state=State.POISONED)
        if again.update(state=State.STORED, attempts=0, refusals=0, dispatched_at=now):
            dispatch.on_commit("flowguard.ingest_batch", batch_id)


def _take(batch_id: int) -> bool:
    """Count the delivery before anything can go wrong, in a transaction of its own."""
    waiting = VerdictBatch.objects.filter(pk=batch_id)
    if deduplicates():
        waiting = waiting.filter(state=State.STORED)
    too_often = waiting.filter(attempts__gte=MAX_DELIVERIES, state=State.STORED)
    if too_often.update(state=State.POISONED, error=f"{MAX_DELIVERIES} workers ended while they ingested it"):
        return False
    return bool(waiting.update(attempts=F("attempts") + 1))


def _refused(batch_id: int, error: Exception) -> None:
    text = f"{type(error).__name__}: {error}"[:2000].replace("\x00", "")
    stored = VerdictBatch.objects.filter(pk=batch_id, state=State.STORED)
    stored.update(refusals=F("refusals") + 1, error=text)
    stored.filter(refusals__gte=MAX_REFUSALS).update(state=State.POISONED)


def _apply(batch: VerdictBatch, now: datetime) -> list[int]:
    body: dict[str, Any] = json.loads(zlib.decompress(batch.body))
    sensor = batch.sensor
    stream = streams.arrived(sensor=sensor, stream=batch.stream, sequence=batch.sequence, received_at=batch.received_at)
    streams.declare(sensor=sensor, gaps=body["gaps"], noticed_at=batch.received_at)
    observation_rows.keep(sensor, body["observations"])
    _note_health(batch, body["health"])
    if body.get("shape"):
        _note_shape(batch, stream, body["shape"])
    touched = verdict_rows.keep(batch, body["verdicts"], due_at=now)
    reconcile.settle(touched, seen_by=sensor, observations=body["observations"], now=now)
    own_remarks.tell_apart(touched)
    return verdict_rows.due(touched)


def _note_health(batch: VerdictBatch, health: dict[str, Any]) -> None:
    """Batches may come and be ingested in any order: only a later one of the sensor replaces what is known.

    Later is a higher sequence of the same stream, or a stream that began later: neither asks a clock.
    """
    sensor = Sensor.objects.get(pk=batch.sensor_id)
    place = [_begun(batch.sensor_id, batch.stream), batch.sequence]
    if place >= sensor.health.get("told_in", [0, 0]):
        sensor.health = {**health, "told_in": place}
        sensor.save(update_fields=["health"])


def _begun(sensor_id: int, stream: UUID) -> int:
    """Orders streams by when they came to the door first: the order of ingestion may be another one.

    Of the lowest numbers that are kept, for those may come late, too; a stream has too many batches to ask all of them each time.
    """
    kept = VerdictBatch.objects.filter(sensor=sensor_id, stream=stream).order_by("sequence").values_list("pk", flat=True)
    return min(kept[:32], default=0)


def _note_shape(batch: VerdictBatch, stream: SensorStream, told: dict[str, Any]) -> None:
    """As with health."""
    known = SensorShape.objects.filter(sensor=batch.sensor_id).select_related("stream").only("stream__stream", "sequence").first()
    place = (_begun(batch.sensor_id, batch.stream), batch.sequence)
    if known is None or place > (_begun(batch.sensor_id, known.stream.stream), known.sequence):
        fresh = {"stream": stream, "sequence": batch.sequence, "received_at": batch.received_at, "told": told}
        SensorShape.objects.update_or_create(sensor_id=batch.sensor_id, defaults=fresh)
