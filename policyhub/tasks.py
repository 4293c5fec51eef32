"""Celery doors of the policy side: an id in, one action called. Each may come twice; the row's state decides."""

from __future__ import annotations

import logging
from datetime import UTC, datetime, timedelta
from typing import Any

from celery import shared_task

from policyhub.actions import changes, collect, counters, preflights, schedules, sweeps
from policyhub.domain.errors import PolicyHubError

log = logging.getLogger(__name__)
SWEEP_TURN = timedelta(minutes=20)  # below the time limit of a task


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
    """Run one sweep, or what a lost worker left of it; a large one takes several turns."""
    sweeps.run(sweep_id=sweep_id, clock=_now, turn=SWEEP_TURN)


@shared_task(name="policyhub.collect")
def collect_device(device_id: int) -> None:
    """Read one device now; what is wrong with it stands in its row, and the next ones go on."""
    try:
        collect.collect(device_id=device_id, actor="schedule", now=_now())
    except PolicyHubError as error:
        log.warning("device %s not collected: %s", device_id, error)


@shared_task(name="policyhub.poll_counters")
def poll_counters(device_id: int) -> None:
    """Read the queue counters of one device; one that cannot be reached leaves a gap in its series, and the next ones go on."""
    try:
        counters.poll(device_id=device_id, actor=counters.SCHEDULE, clock=_now)
    except PolicyHubError as error:
        log.warning("counters of device %s not read: %s", device_id, error)


@shared_task(name="policyhub.poll_all_counters")
def poll_all_counters() -> None:
    """Every 15 minutes: one task per device whose queues are counted."""
    schedules.queue_polls()


@shared_task(name="policyhub.preflight")
def preflight_device(result_id: int) -> None:
    """Look at one device of a preflight; a row that is done or cancelled stays as it is."""
    preflights.run_one(result_id=result_id, clock=_now)


@shared_task(name="policyhub.collect_all")
def collect_all() -> None:
    """The daily collection: one task per device that can be read."""
    schedules.queue_collections()
