"""Reads of work that is due."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from django.db.models import Exists, OuterRef, Q

from policyhub.models import Change, Device, Preflight, PreflightResult, Schedule, Sweep

HEARTBEAT = "scheduler heartbeat"  # a row without a task: last_run_at says when the scheduler last turned
AT_ONCE = 200
MESSAGE_LATE = timedelta(seconds=10)
SWEEP_SILENT = timedelta(minutes=10)  # longer than any one device takes
READING_SILENT = timedelta(minutes=22)  # above the wall limits of two sessions

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
    """Sweeps whose message or worker was lost."""
    lost = Q(moved_at=None, started_at__lte=now - MESSAGE_LATE) | Q(moved_at__lte=now - SWEEP_SILENT)
    for pk, at in Sweep.objects.filter(lost, state=Sweep.State.RUNNING).order_by("pk").values_list("pk", "moved_at")[:AT_ONCE]:
        yield "policyhub.sweep", pk, at


def due_collections(now: datetime) -> Iterator[Due]:
    """Devices that said their configuration changed."""
    rows = Device.objects.filter(collect_due_at__lte=now).order_by("collect_due_at")
    for pk, at in rows.values_list("pk", "collect_due_at")[:AT_ONCE]:
        yield "policyhub.collect", pk, at


def due_preflights(now: datetime) -> Iterator[Due]:
    """Devices of a preflight whose message was lost, or whose worker was, or the command that looked at them."""
    rows = PreflightResult.objects.filter(preflight__state=Preflight.State.RUNNING)
    waiting = rows.filter(state=PreflightResult.State.WAITING)
    unsent = waiting.filter(preflight__queued=True, preflight__started_at__lte=now - MESSAGE_LATE)
    silent = now - READING_SILENT
    at_work = PreflightResult.objects.filter(preflight=OuterRef("preflight"), started_at__gt=silent)
    left = waiting.filter(~Exists(at_work), preflight__queued=False, preflight__started_at__lte=silent)
    lost = rows.filter(state=PreflightResult.State.RUNNING, started_at__lte=silent)
    for row in (unsent, left, lost):
        for pk, at in row.order_by("pk").values_list("pk", "started_at")[:AT_ONCE]:
            yield "policyhub.preflight", pk, at
