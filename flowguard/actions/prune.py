"""Old rows leave; what has not been ingested or accounted for stays."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.db.models import Exists, OuterRef, QuerySet

from flowguard.models import Observation, SensorStream, Verdict, VerdictBatch
from policyhub.models import CounterReading

# A busy point writes some 20 kB of sources a second: 2 GB a day, once as batch and once as observation.
KEEP_BATCHES = timedelta(days=1)
KEEP_OBSERVATIONS = timedelta(days=2)
AT_ONCE = 5_000


def prune(*, now: datetime, keep_counters: timedelta = timedelta(days=30)) -> dict[str, int]:
    """Delete ingested batches after a day, observations after two, readings of counters after `keep_counters`. Verdicts stay.

    Returns how many of each went.

    A batch goes only when its stream's cursor has passed it, so that a late copy of it is still known as a copy.
    """
    passed = SensorStream.objects.filter(
        sensor=OuterRef("sensor"), stream=OuterRef("stream"), contiguous_to__gte=OuterRef("sequence")
    )
    batches = VerdictBatch.objects.filter(Exists(passed), state=VerdictBatch.State.INGESTED, ingested_at__lt=now - KEEP_BATCHES)
    before_ns = int((now - KEEP_OBSERVATIONS).timestamp() * 1e9)
    observations = Observation.objects.filter(end_ns__lt=before_ns)
    readings = CounterReading.objects.filter(read_at__lt=now - keep_counters)
    return {"batches": _delete(batches), "observations": _delete(observations), "readings": _delete(readings)}


def _delete(rows: QuerySet[Any]) -> int:
    """In portions: one long delete would hold SQLite's only write lock and every sensor with it."""
    gone = 0
    while keys := list(rows.values_list("pk", flat=True)[:AT_ONCE]):
        if rows.model is VerdictBatch:
            Verdict.objects.filter(batch__in=keys).update(batch=None)
        gone += rows.model._default_manager.filter(pk__in=keys).delete()[1].get(rows.model._meta.label, 0)
    return gone
