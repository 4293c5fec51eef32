"""Reads of work that is due."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from policyhub.models import Change, Device, Preflight, PreflightResult, Schedule, Sweep

HEARTBEAT = "scheduler heartbeat"  # a row without a task: last_run_at says when the scheduler last turned
AT_ONCE = 200
PREFLIGHT_SILENT = timedelta(minutes=22)  # above the wall limits of two sessions
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


def due_collections(now: datetime) -> Iterator[Due]:
    """Devices that said their configuration changed."""
    rows = Device.objects.filter(collect_due_at__lte=now).order_by("collect_due_at")
    for pk, at in rows.values_list("pk", "collect_due_at")[:AT_ONCE]:
        yield "policyhub.collect", pk, at


def due_preflights(now: datetime) -> Iterator[Due]:
    """Devices of a queued preflight whose message was lost, or whose worker was."""
    rows = PreflightResult.objects.filter(preflight__state=Preflight.State.RUNNING, preflight__queued=True)
    waiting = rows.filter(state=PreflightResult.State.WAITING, preflight__started_at__lte=now - timedelta(seconds=10))
    lost = rows.filter(state=PreflightResult.State.RUNNING, started_at__lte=now - PREFLIGHT_SILENT)
    for row in (waiting, lost):
        for pk, at in row.order_by("pk").values_list("pk", "started_at")[:AT_ONCE]:
            yield "policyhub.preflight", pk, at
