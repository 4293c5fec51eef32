"""Each revision is considered, and a lost message is no lost consideration."""

import pytest

from flowguard.actions import considering, enforcement
from flowguard.models import Verdict
from flowguard.queries.due import due_verdicts
from tests.support import enforcing
from tests.support.batches import batch, verdict
from tests.support.enforcing import make_scene
from tests.support.ingesting import NOW, later, queued, take  # noqa: F401

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("queued")]


@pytest.fixture
def considered(monkeypatch):
    seen = []
    monkeypatch.setattr(enforcement, "consider", lambda *, verdict_id, now: seen.append(verdict_id))
    return seen


def test_a_considered_verdict_is_no_longer_due(considered):
    take(batch(verdicts=[verdict()]))
    row = Verdict.objects.get()
    for _ in range(3):
        considering.consider(verdict_id=row.pk, now=NOW)
    assert considered == [row.pk]
    assert list(due_verdicts(later(days=1))) == []


def test_a_lost_message_makes_it_due_again(considered):
    take(batch(verdicts=[verdict()]))
    assert list(due_verdicts(later(seconds=9))) == []
    assert [(task, pk) for task, pk, _ in due_verdicts(later(seconds=11))] == [
        ("flowguard.consider_verdict", Verdict.objects.get().pk)
    ]


def test_a_revision_that_comes_during_the_consideration_is_considered_too(monkeypatch, queued):  # noqa: F811
    take(batch(verdicts=[verdict()]))
    row = Verdict.objects.get()
    monkeypatch.setattr(enforcement, "consider", lambda **_: take(batch(2, verdicts=[verdict(revision=2)])))
    queued.clear()
    considering.consider(verdict_id=row.pk, now=NOW)
    assert ("flowguard.consider_verdict", row.pk) in queued
    assert Verdict.objects.get().next_step_at is not None


def test_a_failed_consideration_stays_due(monkeypatch):
    def fails(**_):
        raise RuntimeError("guard rails are broken")

    take(batch(verdicts=[verdict()]))
    monkeypatch.setattr(enforcement, "consider", fails)
    with pytest.raises(RuntimeError):
        considering.consider(verdict_id=Verdict.objects.get().pk, now=NOW)
    assert list(due_verdicts(later(seconds=11)))


@pytest.mark.parametrize("standing", ["duplicate", "network"])
def test_what_does_not_stand_is_never_planned(considered, standing):
    take(batch(verdicts=[verdict()]))
    Verdict.objects.update(standing=standing)
    considering.consider(verdict_id=Verdict.objects.get().pk, now=NOW)
    assert considered == []
    assert Verdict.objects.get().next_step_at is None


def test_a_verdict_that_is_gone_is_no_error(considered):
    considering.consider(verdict_id=4711, now=NOW)
    assert considered == []


class TestBlamedTooEarly:
    def planned(self):
        scene = make_scene()
        return scene, enforcement.consider(verdict_id=scene.verdict.pk, now=enforcing.NOW)

    def rewritten(self, verdict):
        Verdict.objects.filter(pk=verdict.pk).update(standing="network", next_step_at=NOW)
        considering.consider(verdict_id=verdict.pk, now=NOW)

    def test_what_was_done_on_account_of_a_rewritten_mark_is_taken_back(self):
        scene, row = self.planned()
        assert row.state == "applying"
        self.rewritten(scene.verdict)
        row.refresh_from_db()
        assert row.state == "reverted"

    def test_but_not_while_another_verdict_of_the_source_stands(self):
        scene, row = self.planned()
        scene.another(dscp=40)
        self.rewritten(scene.verdict)
        row.refresh_from_db()
        assert row.state == "applying"
