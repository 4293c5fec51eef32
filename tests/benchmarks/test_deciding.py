"""`make bench`: decisions a second under a flood, on the database of the tests (SQLite without its fsync, or PostgreSQL)."""

from __future__ import annotations

import time

import pytest
from django.db import connection

from flowguard.actions import considering
from flowguard.models import Enforcement, IdentityEntry, Verdict
from flowguard.queries.due import DECISIONS_AT_ONCE
from policyhub import dispatch
from policyhub.models import Realm
from tests.benchmarks.measuring import report
from tests.support.enforcing import NOW, NOW_NS, SECOND, make_scene

pytestmark = [pytest.mark.bench, pytest.mark.django_db(transaction=True)]
SOURCES, LEDGER, DECIDED = 10_000, 2_000, 2_000
NEEDED_PER_S = 50


def flood() -> None:
    scene = make_scene()
    realm = Realm.objects.get(name="")
    IdentityEntry.objects.bulk_create(
        [
            IdentityEntry(realm=realm, prefix=f"10.{n // 250}.{n % 250}.0/24", name=f"net {n}", allowed_dscp=[0])
            for n in range(LEDGER)
        ]
    )
    like = Verdict.objects.get()
    fields = {field.name: getattr(like, field.name) for field in Verdict._meta.concrete_fields if field.name not in ("id", "uid")}
    rows = []
    for number in range(SOURCES):
        seen = NOW_NS - number * SECOND // 4_000
        times = {
            "src": f"10.{number // 62_500}.{number // 250}.{number % 250 + 1}",
            "first_ns": seen - 70 * SECOND,
            "last_ns": seen,
        }
        rows.append(Verdict(**{**fields, **times, "uid": f"{number + 9:032x}"}))
    like.delete()
    Verdict.objects.bulk_create(rows, batch_size=500)
    assert scene.guard.state == "installed"


def decide() -> tuple[float, float]:
    """Decisions per second of the wall clock, and CPU milliseconds of each in this process."""
    began, spent, taken = time.monotonic(), time.process_time(), 0
    while taken < DECIDED:
        taken += considering.decide(at_most=DECISIONS_AT_ONCE, clock=lambda: NOW)
    return taken / (time.monotonic() - began), (time.process_time() - spent) / taken * 1000


def test_ten_thousand_lasting_sources(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatch, "send", lambda *_, **__: True)
    flood()
    new, new_ms = decide()
    Verdict.objects.filter(enforcements__isnull=False).update(next_step_at=NOW, revision=2, last_ns=NOW_NS)
    again, again_ms = decide()
    report(
        f"decisions ({connection.vendor}, {SOURCES} sources, ledger {LEDGER})",
        new_per_s=new, new_cpu_ms=new_ms, again_per_s=again, again_cpu_ms=again_ms,
    )  # fmt: skip
    assert Enforcement.objects.filter(state=Enforcement.State.APPLYING).count() == 3
    assert new_ms < 1000 / NEEDED_PER_S, "by CPU time, so that a busy machine does not decide the test"
