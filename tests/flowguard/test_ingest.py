"""Exactly once per (sensor, stream, sequence), whatever order, repetition or trouble the delivery meets."""

import itertools

import pytest
from django.db import OperationalError
from django.test import override_settings

from flowguard.actions import ingest, receive, sensors, verdict_rows
from flowguard.actions.prune import prune
from flowguard.domain.errors import BatchConflict
from flowguard.models import IdentityEntry, Observation, ObservationPoint, Sensor, SensorShape, Verdict, VerdictBatch
from flowguard.queries.due import DECISIONS_AT_ONCE
from policyhub.models import Realm
from tests.support.batches import batch, new_stream, observation, source, verdict
from tests.support.ingesting import NOW, later, queued, store, take  # noqa: F401
from tests.support.sample_shape import shape

pytestmark = pytest.mark.django_db
State = VerdictBatch.State


def test_a_batch_becomes_rows_and_its_verdict_is_queued(queued):  # noqa: F811
    assert take(batch(verdicts=[verdict(7, server_port="ephemeral")], observations=[observation()])) == 1
    row = Verdict.objects.get()
    assert (row.uid, row.src, row.server_port, row.dscp, row.standing) == (f"{7:032x}", "10.0.0.7", "ephemeral", 46, "stands")
    assert Observation.objects.get().point.name == "in0"
    stored = VerdictBatch.objects.get()
    assert (stored.state, stored.attempts, stored.ingested_at) == (State.INGESTED, 1, NOW)
    assert queued == [("flowguard.ingest_batch", stored.pk), ("flowguard.decide", DECISIONS_AT_ONCE)]


def test_storing_again_is_no_second_batch(queued):  # noqa: F811
    told, sensor = batch(verdicts=[verdict()]), sensors.enrol("core-1")
    assert receive.store(sensor=sensor, batch=told, now=NOW)
    assert not receive.store(sensor=sensor, batch=dict(reversed(told.items())), now=later(seconds=1))
    assert VerdictBatch.objects.count() == 1
    assert len(queued) == 1


def test_other_content_under_the_same_key_is_a_conflict(queued):  # noqa: F811
    store(batch(verdicts=[verdict(1)]))
    with pytest.raises(BatchConflict, match="stored with other content"):
        receive.store(sensor=sensors.enrol("core-1"), batch=batch(verdicts=[verdict(2)]), now=NOW)
    assert VerdictBatch.objects.count() == 1


def test_a_second_delivery_to_a_worker_changes_nothing(queued):  # noqa: F811
    row = store(batch(verdicts=[verdict()]))
    assert ingest.ingest(batch_id=row.pk, now=NOW) == 1
    assert ingest.ingest(batch_id=row.pk, now=later(seconds=9)) == 0
    assert VerdictBatch.objects.get().ingested_at == NOW
    assert Verdict.objects.count() == 1


def test_a_batch_that_is_gone_is_no_error():
    assert ingest.ingest(batch_id=12345, now=NOW) == 0


@pytest.mark.parametrize("order", list(itertools.permutations([1, 2, 3])))
def test_the_highest_revision_stays_in_whatever_order_they_arrive(queued, order):  # noqa: F811
    for revision in order:
        take(batch(revision, verdicts=[verdict(revision=revision, packets=revision * 100)]))
    row = Verdict.objects.get()
    assert (row.revision, row.packets) == (3, 300)


def test_several_revisions_in_one_batch_are_one_row(queued):  # noqa: F811
    take(batch(verdicts=[verdict(revision=2), verdict(revision=5), verdict(revision=1)]))
    assert Verdict.objects.get().revision == 5


def test_a_later_revision_is_considered_once_while_its_turn_is_still_coming(queued):  # noqa: F811
    for revision in (1, 2, 3):
        take(batch(revision, verdicts=[verdict(revision=revision)]))
    assert [name for name, _ in queued].count("flowguard.decide") == 1
    Verdict.objects.update(next_step_at=None)
    take(batch(4, verdicts=[verdict(revision=4)]))
    assert [name for name, _ in queued].count("flowguard.decide") == 2


def test_the_same_revision_in_another_stream_is_the_same_verdict(queued):  # noqa: F811
    take(batch(verdicts=[verdict()]))
    Verdict.objects.update(next_step_at=None)
    assert take(batch(stream=new_stream(), verdicts=[verdict()])) == 0
    assert Verdict.objects.count() == 1


def test_two_sensors_may_use_the_same_stream_and_id(queued):  # noqa: F811
    take(batch(verdicts=[verdict()]))
    take(batch(sensor="core-2", verdicts=[verdict(first_ns=1, last_ns=2)]))
    assert Verdict.objects.count() == 2


def test_the_verdict_says_who_the_source_is(queued):  # noqa: F811
    realm = Realm.objects.create(name="")
    IdentityEntry.objects.create(realm=realm, prefix="10.0.0.0/16", name="wide", business="all")
    IdentityEntry.objects.create(realm=realm, prefix="10.0.0.0/24", name="algo", business="algorithm test")
    other = Realm.objects.create(name="site-b")
    IdentityEntry.objects.create(realm=other, prefix="10.0.0.7/32", name="elsewhere")
    take(batch(verdicts=[verdict(7)]))
    row = Verdict.objects.get()
    assert (row.identity_name, row.business) == ("algo", "algorithm test")


def test_a_refused_batch_leaves_nothing_half_done_and_is_poisoned_at_the_third_refusal(queued, monkeypatch):  # noqa: F811
    def broken(*_args, **_more):
        raise ValueError("verdict rows are broken")

    monkeypatch.setattr(verdict_rows, "keep", broken)
    row = store(batch(verdicts=[verdict()], observations=[observation()]))
    for state in (State.STORED, State.STORED, State.POISONED, State.POISONED):
        assert ingest.ingest(batch_id=row.pk, now=NOW) == 0
        row.refresh_from_db()
        assert row.state == state
    assert (row.attempts, row.refusals, row.error) == (3, 3, "ValueError: verdict rows are broken")
    assert not Observation.objects.exists()


def test_a_poisoned_batch_can_be_given_another_try(queued, monkeypatch):  # noqa: F811
    row = store(batch(verdicts=[verdict()]))
    VerdictBatch.objects.update(state=State.POISONED, attempts=3, refusals=3, error="x")
    ingest.retry(batch_id=row.pk, now=NOW)
    assert ingest.ingest(batch_id=row.pk, now=NOW) == 1
    row.refresh_from_db()
    assert (row.state, row.error) == (State.INGESTED, "")


def test_a_database_that_is_away_is_not_the_batch_s_fault(queued, monkeypatch):  # noqa: F811
    def locked(*_args, **_more):
        raise OperationalError("database is locked")

    row = store(batch(verdicts=[verdict()]))
    for _ in range(4):
        with monkeypatch.context() as patch:
            patch.setattr(verdict_rows, "keep", locked)
            with pytest.raises(OperationalError):
                ingest.ingest(batch_id=row.pk, now=NOW)
    assert ingest.ingest(batch_id=row.pk, now=NOW) == 1


def test_a_batch_that_ends_every_worker_is_stopped(queued):  # noqa: F811
    row = store(batch(verdicts=[verdict()]))
    VerdictBatch.objects.update(attempts=ingest.MAX_DELIVERIES)
    assert ingest.ingest(batch_id=row.pk, now=NOW) == 0
    row.refresh_from_db()
    assert row.state == State.POISONED
    assert "workers ended" in row.error


def test_the_shape_told_last_is_kept_whatever_order_batches_come_in(queued):  # noqa: F811
    told = [store(batch(number, shape=shape(number)), later(seconds=number)) for number in (1, 2, 3)]
    told.append(store(batch(4, shape=None), later(seconds=4)))
    for row in (told[1], told[0], told[3]):
        ingest.ingest(batch_id=row.pk, now=NOW)
    kept = SensorShape.objects.get()
    assert (kept.told, kept.sequence) == (shape(2), 2)
    ingest.ingest(batch_id=told[2].pk, now=NOW)
    assert SensorShape.objects.get().told == shape(3)


def test_what_comes_late_from_before_replaces_neither_shape_nor_health(queued):  # noqa: F811
    def health(received):
        return {"received": received, "dropped": {"kernel": 0}, "decode_errors": 0}

    def known():
        return SensorShape.objects.get().told, Sensor.objects.get().health["received"]

    first, second = new_stream(), new_stream()
    for number, stream, at in ((2, first, 2), (1, second, 1), (3, first, 3), (1, first, 9)):
        row = store(batch(number, stream=stream, shape=shape(at), health=health(at)), later(seconds=at + number))
        ingest.ingest(batch_id=row.pk, now=NOW)
        assert known() == ((shape(2), 2) if at == 2 else (shape(1), 1)), (
            "a stream that began later, not a clock, says what is newer"
        )


def test_a_stream_that_came_first_and_is_ingested_last_does_not_stand_in_the_way(queued):  # noqa: F811
    before, after = new_stream(), new_stream()
    rows = [store(batch(1, stream=before, shape=shape(1)), NOW), store(batch(1, stream=after, shape=shape(2)), later(seconds=1))]
    for row in reversed(rows):
        ingest.ingest(batch_id=row.pk, now=NOW)
    assert SensorShape.objects.get().told == shape(2)
    ingest.ingest(batch_id=store(batch(2, stream=after, shape=shape(3)), later(seconds=2)).pk, now=NOW)
    assert SensorShape.objects.get().told == shape(3)
    assert Sensor.objects.get().health["told_in"][1] == 2


def test_health_is_that_of_the_latest_batch(queued):  # noqa: F811
    first = store(batch(1, health={"received": 10, "dropped": {"kernel": 1}, "decode_errors": 0}), NOW)
    second = store(batch(2, health={"received": 20, "dropped": {"kernel": 5}, "decode_errors": 0}), later(seconds=1))
    ingest.ingest(batch_id=second.pk, now=later(seconds=2))
    ingest.ingest(batch_id=first.pk, now=later(seconds=2))
    assert Sensor.objects.get().health["received"] == 20


def test_every_batch_is_a_sign_of_life(queued):  # noqa: F811
    version = "ab" * 32
    store(batch(judging=True, bundle=version), later(seconds=3))
    sensor = Sensor.objects.get()
    assert (sensor.last_seen_at, sensor.judging, sensor.bundle_version) == (later(seconds=3), True, version)
    store(batch(2, judging=False, bundle=None), later(seconds=4))
    sensor.refresh_from_db()
    assert (sensor.judging, sensor.bundle_version) == (False, "")


def test_a_second_is_kept_once_and_its_fuller_count_wins(queued):  # noqa: F811
    take(batch(1, observations=[observation(sources=[source("10.0.0.1", 46, 5)])]))
    take(batch(2, observations=[observation(sources=[source("10.0.0.1", 46, 9)], complete=False)]))
    take(batch(3, observations=[observation(sources=[source("10.0.0.1", 46, 2)])]))
    row = Observation.objects.get()
    assert (row.sources[0]["packets"], row.complete) == (9, False)


def test_a_point_is_enrolled_in_the_realm_it_names_if_that_is_known(queued):  # noqa: F811
    Realm.objects.create(name="site-b")
    take(batch(observations=[observation("a", realm="site-b"), observation("b", realm="no such")]))
    assert dict(ObservationPoint.objects.values_list("name", "realm__name")) == {"a": "site-b", "b": ""}


def test_a_sensor_cannot_enrol_points_without_end(queued):  # noqa: F811
    row = store(batch(observations=[observation(f"p{n}") for n in range(65)]))
    ingest.ingest(batch_id=row.pk, now=NOW)
    row.refresh_from_db()
    assert "has 64 points already" in row.error
    assert not ObservationPoint.objects.exists()


def test_pruning_takes_old_ingested_batches_and_a_late_copy_is_still_a_copy(queued):  # noqa: F811
    told = batch(verdicts=[verdict()], observations=[observation()])
    take(told)
    waiting = store(batch(2))
    assert prune(now=later(hours=23))["batches"] == 0
    assert prune(now=later(hours=25))["batches"] == 1
    assert list(VerdictBatch.objects.all()) == [waiting]
    assert Verdict.objects.get().batch is None
    assert not receive.store(sensor=sensors.enrol("core-1"), batch=told, now=later(days=8))


def test_old_observations_are_pruned(queued):  # noqa: F811
    old, new = int(later(days=-3).timestamp()), int(later(days=-1).timestamp())
    rows = [observation(start_ns=s * 10**9, end_ns=(s + 1) * 10**9) for s in (old, new)]
    take(batch(observations=rows))
    assert prune(now=NOW)["observations"] == 1
    assert Observation.objects.get().start_ns == new * 10**9


@override_settings(FLOWGUARD_DEDUPLICATION=False)
def test_without_deduplication_a_repeated_batch_is_doubled(queued):  # noqa: F811
    told, sensor = batch(verdicts=[verdict()]), sensors.enrol("core-1")
    for _ in range(2):
        assert receive.store(sensor=sensor, batch=told, now=NOW)
    for row in VerdictBatch.objects.all():
        ingest.ingest(batch_id=row.pk, now=NOW)
    assert Verdict.objects.count() == 2
