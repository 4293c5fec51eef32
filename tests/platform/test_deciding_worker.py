"""Deciding has a worker of its own: a flood is worked off in bounded pieces, and a killed worker loses and doubles nothing."""

from __future__ import annotations

import os
import signal
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from django.db.models import F

from flowguard.models import Enforcement, Verdict
from policyhub import dispatch
from policyhub.actions import audit
from policyhub.conf.scheduler import queue_length
from policyhub.models import AuditEntry
from policyhub.queries.schedules import heartbeat
from tests.support.enforcing import SECOND, make_scene
from tests.support.services import Processes, wait_until

pytestmark = pytest.mark.waits
FLOOD = 200
State = Enforcement.State


def hosts(count: int) -> None:
    """So many hosts whose verdicts nobody has to consider yet."""
    scene = make_scene()
    Verdict.objects.all().delete()
    for number in range(count):
        scene.another(src=f"192.0.{2 + number // 250}.{number % 250 + 1}", next_step_at=None)


def flood() -> None:
    """All of them have broken the rules for a minute, and this moment: evidence is stale after 15 s, however slow the machine."""
    now = datetime.now(UTC)
    seen = int(now.timestamp()) * SECOND
    Verdict.objects.update(
        first_ns=seen - 90 * SECOND, last_ns=seen - F("pk") * 1_000, received_at=now, next_step_at=now - timedelta(seconds=1)
    )


def waiting() -> int:
    return Verdict.objects.filter(next_step_at__isnull=False).count()


def child_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0])


def test_one_message_takes_no_more_than_it_says(service: Processes) -> None:
    hosts(30)
    flood()
    service.worker("decide", name="worker-decide", concurrency=1)
    dispatch.send("flowguard.decide", 10)
    wait_until(lambda: waiting() <= 20, "ten decisions")
    dispatch.send("flowguard.decide", 0)
    wait_until(lambda: queue_length("decide") == 0, "the queue")
    assert waiting() == 20


def test_a_worker_killed_while_it_decides_leaves_every_verdict_decided_once(service: Processes) -> None:
    hosts(FLOOD)
    worker = service.worker("decide", name="worker-decide", concurrency=1)
    service.scheduler()
    wait_until(lambda: heartbeat() is not None, "the scheduler")
    flood()
    wait_until(lambda: waiting() < FLOOD - 20, "the first decisions")
    os.kill(child_of(worker.pid), signal.SIGKILL)
    wait_until(lambda: waiting() < FLOOD // 2, "half of them, by a new child")
    service.kill("worker-decide")
    service.worker("decide", name="again", concurrency=1)
    wait_until(lambda: waiting() == 0, "all of them")
    members = list(Enforcement.objects.values_list("member", flat=True))
    assert (len(members), len(set(members))) == (FLOOD, FLOOD)
    assert Enforcement.objects.filter(state=State.APPLYING).count() == 3
    assert audit.verify().broken is None
    assert AuditEntry.objects.filter(action__startswith="enforcement.").count() == FLOOD


def test_a_long_queue_of_batches_does_not_hold_up_a_decision(service: Processes) -> None:
    hosts(1)
    flood()
    for number in range(50):
        dispatch.send("flowguard.ingest_batch", 10_000 + number)
    service.worker("decide", name="worker-decide", concurrency=1)
    service.scheduler()
    wait_until(lambda: waiting() == 0, "the decision")
    assert queue_length("ingest") >= 50
