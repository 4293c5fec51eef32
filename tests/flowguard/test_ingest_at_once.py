"""Several at once: threads with their own connections against the real database."""

import threading

import pytest
from django.db import connections

from flowguard.actions import ingest, receive, sensors
from flowguard.models import Verdict, VerdictBatch
from tests.support.batches import T0, batch, observation, verdict
from tests.support.ingesting import NOW, queued, store  # noqa: F401

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("queued")]


def together(*calls):
    """Run all at the same moment; returns what they returned, in order."""
    gate, results = threading.Barrier(len(calls)), [None] * len(calls)

    def run(number, call):
        try:
            gate.wait(60)
            results[number] = call()
        except Exception as error:
            results[number] = error
        finally:
            connections.close_all()

    threads = [threading.Thread(target=run, args=pair) for pair in enumerate(calls)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return results


def test_the_same_batch_sent_by_several_connections_is_stored_once():
    sensor, told = sensors.enrol("core-1"), batch(verdicts=[verdict()])
    answers = together(*[lambda: receive.store(sensor=sensor, batch=told, now=NOW)] * 6)
    assert sorted(answers, key=str) == [False] * 5 + [True]
    assert VerdictBatch.objects.count() == 1


def test_the_same_batch_given_to_several_workers_is_ingested_once():
    row = store(batch(verdicts=[verdict(n) for n in range(20)], observations=[observation(second=n) for n in range(5)]))
    answers = together(*[lambda: ingest.ingest(batch_id=row.pk, now=NOW)] * 5)
    assert sorted(answers) == [0, 0, 0, 0, 20]
    assert Verdict.objects.count() == 20


def test_revisions_in_the_hands_of_several_workers_end_with_the_highest():
    rows = [store(batch(n, verdicts=[verdict(revision=n)])) for n in range(1, 7)]
    together(*[lambda pk=row.pk: ingest.ingest(batch_id=pk, now=NOW) for row in rows])
    assert Verdict.objects.get().revision == 6


def test_two_sensors_at_the_same_moment_leave_one_verdict_standing():
    for name in ("a", "b", "c"):
        sensors.enrol(name)
    for number in range(8):
        told = [
            store(
                batch(number + 1, sensor=name, verdicts=[verdict(number, id=f"{number}{name}".rjust(32, "0"), first_ns=T0 + at)])
            )
            for at, name in enumerate("abc")
        ]
        together(*[lambda pk=row.pk: ingest.ingest(batch_id=pk, now=NOW) for row in told])
    standing = list(Verdict.objects.filter(standing="stands").values_list("sensor__name", flat=True))
    assert standing == ["a"] * 8
    assert Verdict.objects.count() == 24
