"""Celery doors of the traffic side: an id in, one action called. Each may come twice; the row's state decides."""

from __future__ import annotations

from datetime import UTC, datetime

from celery import shared_task
from django.conf import settings

from flowguard.actions import considering, enforcement, guards, ingest, streams
from flowguard.actions import prune as pruning


def _now() -> datetime:
    return datetime.now(UTC)


@shared_task(name="flowguard.ingest_batch")
def ingest_batch(batch_id: int) -> None:
    """Verdicts and observations of one stored batch."""
    ingest.ingest(batch_id=batch_id, now=_now())


@shared_task(name="flowguard.decide")
def decide(at_most: int) -> None:
    """Guard rails for the due verdicts with the newest evidence; acts, proposes, observes or refuses."""
    considering.decide(at_most=at_most, clock=_now)


@shared_task(name="flowguard.step_enforcement")
def step_enforcement(enforcement_id: int) -> None:
    """Verify, watch or take back one enforcement."""
    enforcement.step(enforcement_id=enforcement_id, clock=_now)


@shared_task(name="flowguard.step_guard")
def step_guard(guard_id: int) -> None:
    """Follow the change that installs or removes one guard."""
    guards.step(guard_id=guard_id, clock=_now)


@shared_task(name="flowguard.notice_gaps")
def notice_gaps() -> None:
    """Write down sequences that never came."""
    streams.notice_gaps(now=_now())


@shared_task(name="flowguard.prune")
def prune() -> None:
    """Old batches, observations and readings of counters leave."""
    pruning.prune(now=_now(), keep_counters=settings.POLICYHUB_KEEP_COUNTERS)
