"""Periodic work: rows claimed by compare-and-set, so that two schedulers cannot run one period twice."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import F, Max, Q

from policyhub import dispatch
from policyhub.actions import collect, counters
from policyhub.models import CounterReading, Device, Schedule
from policyhub.queries.schedules import HEARTBEAT

RETRY = timedelta(seconds=30)


@dataclass(frozen=True, slots=True)
class Default:
    """A schedule that a new service starts with. first_s: delay of its first run after it was made."""

    name: str
    task: str
    every_s: int
    first_s: int = 0


def ensure(defaults: Iterable[Default], *, now: datetime) -> None:
    """Make the rows that are missing; what an operator has changed stays as it is."""
    for row in defaults:
        first = now + timedelta(seconds=row.first_s)
        Schedule.objects.get_or_create(name=row.name, defaults={"task": row.task, "every_s": row.every_s, "next_due_at": first})


def beat(*, now: datetime) -> None:
    """Note that the scheduler turned."""
    if not Schedule.objects.filter(name=HEARTBEAT).update(last_run_at=now):
        far = now + timedelta(days=36_500)
        row = {"task": "", "every_s": 5, "enabled": False, "next_due_at": far, "last_run_at": now}
        Schedule.objects.get_or_create(name=HEARTBEAT, defaults=row)


def run_due(*, now: datetime, send: Callable[[str], bool]) -> list[str]:
    """Claim and send what is due; the tasks sent. A period that was slept through runs once, not once for each miss.

    send: False when the broker is away; the row is then due again in 30 s.
    """
    sent = []
    for row in Schedule.objects.filter(enabled=True, next_due_at__lte=now).exclude(task=""):
        if not _claim(row, now):
            continue
        if send(row.task):
            sent.append(row.task)
        else:
            Schedule.objects.filter(pk=row.pk).update(next_due_at=now + RETRY, last_run_at=row.last_run_at)
    return sent


def queue_collections() -> int:
    """One task per device that can be read; how many. A device that is on its way already is read twice, which harms nothing."""
    devices = [row.pk for row in Device.objects.select_related("group") if collect.can_collect(row)]
    for pk in devices:
        dispatch.on_commit("policyhub.collect", pk)
    return len(devices)


def queue_polls() -> int:
    """One task per device that can be read and whose platform counts queues, the longest unread first; how many.

    What the workers do not manage in a period expires: the queue does not grow, and those left over come first in the next.
    """
    polled = Max("counter_readings__read_at", filter=Q(counter_readings__origin=CounterReading.Origin.POLL))
    rows = Device.objects.select_related("group").annotate(polled_at=polled).order_by(F("polled_at").asc(nulls_first=True), "pk")
    devices = [row.pk for row in rows if collect.can_collect(row) and counters.can_poll(row)]
    for pk in devices:
        dispatch.on_commit("policyhub.poll_counters", pk, expires_s=counters.PERIOD_S)
    return len(devices)


def _claim(row: Schedule, now: datetime) -> bool:
    period = timedelta(seconds=max(1, row.every_s))
    missed = (now - row.next_due_at) // period
    following = row.next_due_at + period * (missed + 1)
    same = Schedule.objects.filter(pk=row.pk, next_due_at=row.next_due_at)
    return bool(same.update(next_due_at=following, last_run_at=now))
