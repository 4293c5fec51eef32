"""Decisions that come in a burst, at the same moment, or with evidence from a wrong clock: the limits hold all the same."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier

import pytest
from django.db import OperationalError, connection

from flowguard.actions import enforcement
from flowguard.models import Enforcement
from flowguard.queries import ground as reads
from flowguard.queries.due import due_enforcements
from policyhub.models import Change
from tests.support.enforcing import NOW, NOW_NS, SECOND, make_scene

State = Enforcement.State
WORKERS = 8


@pytest.mark.django_db(transaction=True)
def test_workers_that_decide_at_once_stay_within_the_blast_radius(monkeypatch):
    scene = make_scene()
    verdicts = [scene.another(src=f"192.0.2.{host}").pk for host in range(101, 101 + WORKERS)]
    start, real = Barrier(WORKERS), reads.verifying_points

    def slow(device):
        with connection.cursor() as cursor:
            if connection.vendor == "postgresql":
                cursor.execute("SELECT pg_sleep(0.2)")
        return real(device)

    monkeypatch.setattr(reads, "verifying_points", slow)

    def decide(pk):
        start.wait(30)
        try:
            for _ in range(20):
                try:
                    return enforcement.consider(verdict_id=pk, now=NOW)
                except OperationalError:
                    continue
        finally:
            connection.close()

    with ThreadPoolExecutor(WORKERS) as pool:
        list(pool.map(decide, verdicts))
    states = list(Enforcement.objects.values_list("state", flat=True))
    assert (states.count(State.APPLYING), states.count(State.REFUSED)) == (3, WORKERS - 3)


@pytest.mark.django_db
def test_in_production_a_burst_of_decisions_counts_as_pushes_before_any_was_pushed():
    scene = make_scene(profile="production")
    first = enforcement.consider(verdict_id=scene.verdict.pk, now=NOW)
    second = enforcement.consider(verdict_id=scene.another(src="192.0.2.78").pk, now=NOW)
    assert [row and row.state for row in (first, second)] == [State.APPLYING, State.PROPOSED]


@pytest.mark.django_db
@pytest.mark.parametrize("ahead_s", [60, 3 * 3600])
def test_evidence_from_a_clock_that_is_ahead_is_not_fresh(ahead_s):
    scene = make_scene()
    late = scene.another(first_ns=NOW_NS, last_ns=NOW_NS + ahead_s * SECOND)
    row = enforcement.consider(verdict_id=late.pk, now=NOW)
    assert row is not None and row.state == State.REFUSED
    assert [rail["name"] for rail in row.guardrails if not rail["passed"]] == ["fresh-evidence"]


@pytest.mark.django_db
def test_a_proposal_that_was_decided_while_the_broker_was_away_is_not_forgotten():
    scene = make_scene(mode="propose")
    row = enforcement.consider(verdict_id=scene.verdict.pk, now=NOW)
    assert row is not None
    change = Change.objects.create(
        device=scene.device, kind="member-add", state="proposed", spec={}, reason="", actor="flowguard", idempotency_key="k",
        ttl_s=120, created_at=NOW,
    )  # fmt: skip
    Enforcement.objects.filter(pk=row.pk).update(add_change=change, next_step_at=None)
    later = NOW + timedelta(hours=1)
    assert [pk for _, pk, _ in due_enforcements(later)] == []
    Change.objects.filter(pk=change.pk).update(state="cancelled")
    assert [pk for _, pk, _ in due_enforcements(later)] == [row.pk]


@pytest.mark.django_db
def test_a_verdict_of_a_realm_that_nobody_set_up_calls_for_nothing():
    scene = make_scene()
    assert enforcement.consider(verdict_id=scene.another(realm="elsewhere").pk, now=NOW) is None
    assert Enforcement.objects.count() == 0
