"""Reads of work that is due."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from policyhub.models import Change, Schedule, Sweep

HEARTBEAT = "scheduler heartbeat"  # a row without a task: last_run_at says when the scheduler last turned
AT_ONCE = 200
SWEEP_SILENT = timedelta(minutes=30)

# Task, id, and what changes when the row is worked on: the scheduler repeats the same three only after a pause.
Due = tuple[str, int, object]


def heartbeat() -> datetime | None:
    """When the scheduler last turned; None when it never did."""
    return Schedule.objects.filter(name=HEARTBEAT).values_list("last_run_at", flat=True).first()


def due_changes(now: datetime) -> Iterator[Due]:
    """Changes whose next step is due, oldest first."""
    rows = Change.objects.filter(next_step_at__lte=now).order_by("next_step_at")
    for pk, at in rows.values_list("pk", "next_step_at")[:AT_ONCE]:
        yield "policyhub.step_change", pk, at


def due_sweeps(now: datetime) -> Iterator[Due]:
    """Sweeps that should have ended: their worker or their message was lost."""
    rows = Sweep.objects.filter(state=Sweep.State.RUNNING, started_at__lte=now - SWEEP_SILENT).order_by("pk")
    for pk, done in rows.values_list("pk", "devices_done")[:AT_ONCE]:
        yield "policyhub.sweep", pk, done
