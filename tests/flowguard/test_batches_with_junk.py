"""What a sensor may say about its health and evidence: junk is refused at the door, before a page or a worker trips over it."""

from __future__ import annotations

import json

import pytest

from flowguard.domain.batch import read_batch
from flowguard.domain.errors import BadBatch
from flowguard.queries.situation import _drop_ratio
from tests.support.batches import batch as make_batch
from tests.support.batches import verdict as make_verdict
from tests.support.enforcing import make_scene


def read(batch):
    return read_batch(json.dumps(batch).encode(), sensor=batch["sensor"])


@pytest.mark.parametrize("dropped", [{"kernel": "x"}, {"kernel": -5}, {"kernel": None}, {"ring": [1]}, {"a": True}, [], "no"])
def test_dropped_packets_are_counts(dropped):
    batch = make_batch()
    batch["health"]["dropped"] = dropped
    with pytest.raises(BadBatch, match=r"health\.dropped"):
        read(batch)


@pytest.mark.parametrize("signals", [[{"a": 1}], [[2]], [None], [1], ["x" * 65]])
def test_signals_are_names(signals):
    with pytest.raises(BadBatch, match="signals"):
        read(make_batch(verdicts=[{**make_verdict(), "signals": signals}]))


@pytest.mark.parametrize("evidence", [["x"], [5], [None], [{"first_ns": 10**30}]])
def test_evidence_is_objects_with_numbers_that_fit(evidence):
    with pytest.raises(BadBatch, match="evidence"):
        read(make_batch(verdicts=[{**make_verdict(), "evidence": evidence}]))


@pytest.mark.django_db
def test_a_capture_that_does_not_report_its_own_losses_is_not_taken_for_lossless():
    scene = make_scene()
    scene.sensor.health = {"received": 9, "dropped": {}}
    assert _drop_ratio(scene.verdict) is None
