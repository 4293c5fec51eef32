"""What is due is queued: once per period, again when a message was lost, never in a flood."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from django.db import transaction

from flowguard.models import Sensor, VerdictBatch
from policyhub import dispatch
from policyhub.actions import schedules
from policyhub.conf import scheduler
from policyhub.conf.scheduler import Recently, Scheduler, send_due
from policyhub.conf.schedules import DEFAULTS
from policyhub.models import Device, DeviceGroup, Realm, Schedule
from policyhub.queries.schedules import heartbeat
from tests.platform.running import clean_environment
from tests.support.services import Processes, RedisServer, wait_until

T0 = datetime(2026, 1, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)
Sent = list[tuple[object, ...]]


@pytest.fixture
def daily() -> Schedule:
    return Schedule.objects.create(name="daily", task="policyhub.start_sweep", every_s=86_400, next_due_at=T0)


@pytest.mark.django_db
class TestPeriods:
    def run(self, now: datetime, *, reachable: bool = True) -> list[str]:
        return schedules.run_due(now=now, send=lambda task: reachable)

    def test_nothing_runs_before_it_is_due(self, daily: Schedule) -> None:
        assert self.run(T0 - timedelta(seconds=1)) == []

    def test_a_due_row_runs_once_per_period(self, daily: Schedule) -> None:
        assert self.run(T0) == ["policyhub.start_sweep"]
        assert self.run(T0 + timedelta(hours=23)) == []
        assert self.run(T0 + DAY) == ["policyhub.start_sweep"]

    def test_periods_that_were_slept_through_run_once(self, daily: Schedule) -> None:
        assert self.run(T0 + 3.5 * DAY) == ["policyhub.start_sweep"]
        daily.refresh_from_db()
        assert daily.next_due_at == T0 + 4 * DAY
        assert daily.last_run_at == T0 + 3.5 * DAY

    def test_two_schedulers_claim_a_period_once(self, daily: Schedule) -> None:
        stale = Schedule.objects.get(pk=daily.pk)
        assert schedules._claim(daily, T0)
        assert not schedules._claim(stale, T0)

    def test_a_period_is_not_lost_when_the_broker_is_away(self, daily: Schedule) -> None:
        assert self.run(T0, reachable=False) == []
        assert self.run(T0 + timedelta(seconds=29)) == []
        assert self.run(T0 + timedelta(seconds=30)) == ["policyhub.start_sweep"]

    def test_a_disabled_row_does_not_run(self, daily: Schedule) -> None:
        Schedule.objects.update(enabled=False)
        assert self.run(T0 + DAY) == []

    def test_defaults_are_made_once_and_an_operators_change_stays(self) -> None:
        schedules.ensure(DEFAULTS, now=T0)
        Schedule.objects.filter(name=DEFAULTS[0].name).update(every_s=7 * 86_400, enabled=False)
        schedules.ensure(DEFAULTS, now=T0 + DAY)
        assert Schedule.objects.count() == len(DEFAULTS)
        row = Schedule.objects.get(name=DEFAULTS[0].name)
        assert (row.every_s, row.enabled) == (7 * 86_400, False)

    def test_the_heartbeat_is_a_row_that_never_runs(self) -> None:
        assert heartbeat() is None
        schedules.beat(now=T0)
        schedules.beat(now=T0 + DAY)
        assert heartbeat() == T0 + DAY
        assert self.run(T0 + 1000 * DAY) == []


@pytest.mark.django_db(transaction=True)
def test_the_daily_collection_queues_each_device_that_can_be_read(dispatched: Sent, monkeypatch: pytest.MonkeyPatch) -> None:
    realm, group = Realm.objects.create(name="r"), DeviceGroup.objects.create(name="g")
    for name in ("a", "b", "c"):
        Device.objects.create(name=name, realm=realm, group=group, platform="cisco_ios", host="192.0.2.1")
    monkeypatch.setattr(schedules.collect, "can_collect", lambda device: device.name != "b")
    assert schedules.queue_collections() == 2
    readable = Device.objects.exclude(name="b").values_list("pk", flat=True)
    assert sorted(dispatched) == sorted(("policyhub.collect", pk) for pk in readable)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


class TestRecently:
    @pytest.fixture
    def clock(self) -> Clock:
        return Clock()

    def test_a_waiting_row_is_repeated_with_growing_pauses(self, clock: Clock) -> None:
        recently = Recently(clock)
        sent = []
        for second in range(0, 700):
            clock.now = float(second)
            if recently.first_or_again("task", 1, "stamp"):
                sent.append(second)
        assert sent == [0, 10, 30, 70, 150, 310, 610]

    def test_a_row_that_moved_on_goes_at_once(self, clock: Clock) -> None:
        recently = Recently(clock)
        assert recently.first_or_again("task", 1, "a")
        assert recently.first_or_again("task", 1, "b")
        assert not recently.first_or_again("task", 1, "b")

    def test_what_could_not_be_sent_counts_as_not_sent(self, clock: Clock) -> None:
        recently = Recently(clock)
        recently.first_or_again("task", 1, "a")
        recently.forget("task", 1)
        assert recently.first_or_again("task", 1, "a")


def rows(*due: tuple[str, int, object]) -> list[object]:
    def read(_now: datetime) -> Iterator[tuple[str, int, object]]:
        yield from due

    return [read]


class TestSending:
    def test_due_rows_are_sent_once(self, dispatched: Sent, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(scheduler, "queue_length", lambda queue: 0)
        due, recently = rows(("policyhub.step_change", 7, T0), ("flowguard.ingest_batch", 8, 0)), Recently()
        assert send_due(due, recently, T0) == 2  # type: ignore[arg-type]
        assert send_due(due, recently, T0) == 0  # type: ignore[arg-type]
        assert dispatched == [("policyhub.step_change", 7), ("flowguard.ingest_batch", 8)]

    def test_a_long_queue_is_not_made_longer_and_does_not_hold_up_the_others(
        self, dispatched: Sent, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(scheduler, "queue_length", lambda queue: scheduler.FULL if queue == "ingest" else 0)
        due = rows(("flowguard.ingest_batch", 8, 0), ("policyhub.step_change", 7, T0))
        assert send_due(due, Recently(), T0) == 1  # type: ignore[arg-type]
        assert dispatched == [("policyhub.step_change", 7)]

    def test_deciding_is_asked_for_each_second_but_never_twice_in_a_row(
        self, dispatched: Sent, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        waiting = iter([0, 1, 0])
        monkeypatch.setattr(scheduler, "queue_length", lambda queue: next(waiting))
        recently = Recently()
        for second in range(3):
            now = T0 + timedelta(seconds=second)
            send_due(rows(("flowguard.decide", 100, now)), recently, now)  # type: ignore[arg-type]
        assert dispatched == [("flowguard.decide", 100)] * 2

    def test_a_failed_send_is_tried_again_next_time(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(scheduler, "queue_length", lambda queue: 0)
        answers = iter([False, True])
        monkeypatch.setattr(dispatch, "send", lambda task, *ids: next(answers))
        due, recently = rows(("policyhub.step_change", 7, T0)), Recently()
        assert [send_due(due, recently, T0), send_due(due, recently, T0)] == [0, 1]  # type: ignore[arg-type]


@pytest.mark.django_db
def test_the_scheduler_outlives_an_outage_and_says_it_once(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    turning = Scheduler()
    monkeypatch.setattr(turning, "_turn", lambda now: (_ for _ in ()).throw(ConnectionError("gone")))
    with caplog.at_level("INFO", logger="policyhub.conf.scheduler"):
        turning.turn(T0)
        turning.turn(T0)
        monkeypatch.setattr(turning, "_turn", lambda now: None)
        turning.turn(T0)
    assert [record.getMessage() for record in caplog.records] == [
        "scheduler waits: ConnectionError: gone",
        "scheduler works again",
    ]


@pytest.mark.django_db
def test_work_is_queued_when_the_transaction_commits_and_not_when_it_rolls_back(
    dispatched: Sent, django_capture_on_commit_callbacks: object
) -> None:
    with django_capture_on_commit_callbacks(execute=True):  # type: ignore[operator]
        dispatch.on_commit("flowguard.ingest_batch", 1)
        assert dispatched == []
        with transaction.atomic():
            dispatch.on_commit("flowguard.ingest_batch", 2)
            transaction.set_rollback(True)
    assert dispatched == [("flowguard.ingest_batch", 1)]


def test_a_broker_that_is_away_costs_a_request_no_error_and_little_time() -> None:
    code = (
        "import time, django; django.setup(); from policyhub import dispatch\n"
        "began = time.monotonic(); sent = dispatch.send('flowguard.ingest_batch', 1)\n"
        "print(sent, time.monotonic() - began < 20)"
    )
    nowhere = clean_environment(DJANGO_SETTINGS_MODULE="policyhub.conf.settings.test")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=180, env=nowhere)
    assert done.stdout.split() == ["False", "True"], done.stderr


def test_the_length_of_a_queue_is_read_from_the_broker(empty_redis: RedisServer) -> None:
    assert scheduler.queue_length("ingest") == 0
    for number in range(3):
        assert dispatch.send("flowguard.ingest_batch", number)
    assert scheduler.queue_length("ingest") == 3
    assert scheduler.queue_length("enforce") == 0


def test_scheduler_broker_and_worker_carry_a_batch_whose_message_was_lost(service: Processes) -> None:
    Schedule.objects.create(name="at once", task="flowguard.prune", every_s=3600, next_due_at=datetime.now(UTC))
    long_ago = datetime.now(UTC) - timedelta(seconds=60)
    batch = VerdictBatch.objects.create(
        sensor=Sensor.objects.create(name="s"), stream="00000000-0000-4000-8000-000000000001", sequence=1, sha256="0" * 64,
        body=b"cannot be read", received_at=long_ago, dispatched_at=long_ago,
    )  # fmt: skip
    service.worker("ingest", concurrency=1)
    service.scheduler()
    wait_until(lambda: VerdictBatch.objects.get(pk=batch.pk).attempts == 1, "delivery")
    wait_until(lambda: Schedule.objects.get(name="at once").last_run_at is not None, "the period")
    wait_until(lambda: heartbeat() is not None, "heartbeat")
