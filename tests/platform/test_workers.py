"""Celery on a real Redis under SIGKILL: a task comes back, whoever dies."""

from __future__ import annotations

import os
import signal
from datetime import UTC, datetime
from pathlib import Path

import pytest

from flowguard.models import Sensor, VerdictBatch
from policyhub import dispatch
from tests.support.services import Processes, RedisServer, wait_until

pytestmark = pytest.mark.waits
POISON = b"not zlib"


@pytest.fixture
def batch(transactional_db: None) -> VerdictBatch:
    """A batch that no code can read: each delivery leaves a mark in `attempts`."""
    sensor = Sensor.objects.create(name="s")
    now = datetime.now(UTC)
    return VerdictBatch.objects.create(
        sensor=sensor, stream="00000000-0000-4000-8000-000000000001", sequence=1, sha256="0" * 64, body=POISON,
        received_at=now, dispatched_at=now,
    )  # fmt: skip


def taken(batch: VerdictBatch) -> int:
    batch.refresh_from_db()
    return batch.attempts


def test_a_worker_takes_what_was_queued(service: Processes, batch: VerdictBatch) -> None:
    service.worker("ingest", concurrency=1)
    dispatch.send("flowguard.ingest_batch", batch.pk)
    wait_until(lambda: taken(batch) == 1, "delivery")


def test_workers_go_on_after_redis_was_killed_and_its_file_keeps_the_queue(
    service: Processes, batch: VerdictBatch, redis_server: RedisServer
) -> None:
    worker = service.worker("ingest", concurrency=1)
    dispatch.send("flowguard.ingest_batch", batch.pk)
    wait_until(lambda: taken(batch) == 1, "first delivery")
    redis_server.kill()
    assert dispatch.send("flowguard.ingest_batch", batch.pk) is False
    redis_server.start()
    wait_until(lambda: dispatch.send("flowguard.ingest_batch", batch.pk), "broker back")
    wait_until(lambda: taken(batch) == 2, "second delivery")
    assert worker.poll() is None


def test_a_message_outlives_the_worker_that_never_took_it(service: Processes, batch: VerdictBatch) -> None:
    service.worker("ingest", concurrency=1, name="first")
    service.kill("first")
    dispatch.send("flowguard.ingest_batch", batch.pk)
    service.worker("ingest", concurrency=1, name="second")
    wait_until(lambda: taken(batch) == 1, "delivery")


def test_a_killed_child_of_the_pool_is_replaced(service: Processes, batch: VerdictBatch) -> None:
    worker = service.worker("ingest", concurrency=1)
    children = _children(worker.pid)
    assert len(children) == 1
    os.kill(children[0], signal.SIGKILL)
    dispatch.send("flowguard.ingest_batch", batch.pk)
    wait_until(lambda: taken(batch) >= 1, "delivery")
    assert worker.poll() is None


def test_a_worker_listens_only_to_its_own_queues(service: Processes, batch: VerdictBatch, empty_redis: RedisServer) -> None:
    from policyhub.conf.scheduler import queue_length

    service.worker("ingest", "sweep", concurrency=1)
    dispatch.send("policyhub.step_change", 1)
    dispatch.send("flowguard.ingest_batch", batch.pk)
    wait_until(lambda: taken(batch) == 1, "delivery")
    assert queue_length("enforce") == 1


def _children(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
