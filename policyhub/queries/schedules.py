"""Reads of work that is due."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from policyhub.models import Change, Schedule

HEARTBEAT = "scheduler heartbeat"  # a row without a task: last_run_at says when the scheduler last turned
AT_ONCE = 200

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
