"""Celery doors of the policy side: an id in, one action called. Each may come twice; the row's state decides."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from celery import shared_task

from policyhub.actions import changes, collect, sweeps


def _now() -> datetime:
    return datetime.now(UTC)


@shared_task(bind=True, name="policyhub.step_change")
def step_change(self: Any, change_id: int) -> None:
    """Move one change as far as it goes now."""
    changes.step(change_id=change_id, worker=f"{self.request.hostname}/{self.request.id}", clock=_now)


@shared_task(name="policyhub.start_sweep")
def start_sweep() -> None:
    """The daily sweep."""
    sweeps.start(actor="schedule", now=_now())


@shared_task(name="policyhub.sweep")
def sweep(sweep_id: int) -> None:
    """Run one sweep from its beginning; twice finds the same."""
    sweeps.run(sweep_id=sweep_id, clock=_now)


@shared_task(name="policyhub.collect")
def collect_device(device_id: int) -> None:
    """Read one device now."""
    collect.collect(device_id=device_id, actor="schedule", now=_now())
