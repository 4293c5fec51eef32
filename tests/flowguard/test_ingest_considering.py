"""Each revision is considered, newest evidence first, and a lost message is no lost consideration."""

import threading
from datetime import timedelta

import pytest
from django.db import OperationalError, connection, transaction

from flowguard.actions import considering, decisions, enforcement
from flowguard.models import Enforcement, NeverTouch, Verdict
from flowguard.queries.due import DECISIONS_AT_ONCE, due_verdicts, newest_due
from policyhub.models import AuditEntry, Realm
from tests.support import enforcing
from tests.support.batches import batch, verdict
from tests.support.enforcing import NOW_NS, SECOND, make_scene
from tests.support.ingesting import NOW, later, queued, take  # noqa: F401

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("queued")]
State = Enforcement.State


@pytest.fixture
def realm():
    return Realm.objects.get_or_create(name="")[0]


@pytest.fixture
def considered(monkeypatch, realm):
    """Primary keys, in order."""
    seen = []
    monkeypatch.setattr(decisions, "decide", lambda row, realm, ground: seen.append(row.pk))
    return seen


def decide(at_most=DECISIONS_AT_ONCE, now=NOW):
    return considering.decide(at_most=at_most, clock=lambda: now)


def flood(scene, count, **changed):
    """Verdicts of as many hosts; the last one has the newest evidence."""
    return [
        scene.another(
            src=f"192.0.2.{100 + n}", first_ns=NOW_NS - 90 * SECOND, last_ns=NOW_NS - (count - n) * SECOND // 8, **changed
        )
        for n in range(count)
    ]


class TestDue:
    def test_a_considered_verdict_is_no_longer_due(self, considered):
        take(batch(verdicts=[verdict()]))
        assert [decide() for _ in range(3)] == [1, 0, 0]
        assert considered == [Verdict.objects.get().pk]
        assert list(due_verdicts(later(days=1))) == []

    def test_while_any_waits_each_turn_of_the_scheduler_queues_one_message(self, considered):
        take(batch(verdicts=[verdict(1), verdict(2)]))
        messages = [message for second in (0, 1) for message in due_verdicts(later(seconds=second))]
        assert [message[:2] for message in messages] == [("flowguard.decide", DECISIONS_AT_ONCE)] * 2
        assert len({stamp for _, _, stamp in messages}) == 2, "the same stamp would be held back as sent lately"

    def test_a_revision_that_comes_during_the_consideration_is_considered_too(self, monkeypatch, realm):
        take(batch(verdicts=[verdict()]))
        monkeypatch.setattr(decisions, "decide", lambda *_: take(batch(2, verdicts=[verdict(revision=2)])))
        decide(at_most=1)
        assert list(due_verdicts(later(seconds=1)))

    def test_a_verdict_that_became_the_network_s_during_the_consideration_stays_due(self, monkeypatch, realm):
        take(batch(verdicts=[verdict()]))
        monkeypatch.setattr(decisions, "decide", lambda *_: Verdict.objects.update(standing="network"))
        decide(at_most=1)
        assert newest_due(NOW, 9) == [Verdict.objects.get().pk]

    @pytest.mark.parametrize("changed", [{"standing": "duplicate"}, {"standing": "network"}, {"severity": "info"}])
    def test_what_calls_for_no_decision_is_never_planned(self, considered, changed):
        take(batch(verdicts=[verdict()]))
        Verdict.objects.update(**changed)
        assert decide() == 1
        assert considered == []
        assert Verdict.objects.get().next_step_at is None

    def test_a_verdict_of_a_realm_that_nobody_set_up_is_not_due_for_ever(self):
        take(batch(verdicts=[verdict(realm="nowhere")]))
        assert decide() == 1
        assert (Enforcement.objects.count(), Verdict.objects.get().next_step_at) == (0, None)


class TestOrder:
    def test_the_newest_evidence_comes_first(self, considered):
        rows = flood(make_scene(), 60)
        Verdict.objects.exclude(pk__in=[row.pk for row in rows]).delete()
        assert decide(at_most=40, now=enforcing.NOW) == 40
        assert considered == [row.pk for row in reversed(rows)][:40]

    def test_at_most_so_many_are_taken_and_the_rest_stays_due(self, considered):
        flood(make_scene(), 30)
        assert decide(at_most=7, now=enforcing.NOW) == 7
        assert Verdict.objects.filter(next_step_at__isnull=False).count() == 24

    def test_a_flood_in_one_realm_leaves_the_other_realms_their_share(self, considered):
        scene = make_scene()
        Realm.objects.create(name="site-b")
        flood(scene, 30)
        quiet = scene.another(realm="site-b", src="192.0.2.9", last_ns=NOW_NS - 10 * SECOND)
        assert decide(at_most=10, now=enforcing.NOW) == 10
        assert quiet.pk in considered

    def test_more_realms_than_may_be_taken_at_once_take_turns(self, considered):
        scene = make_scene()
        for number in range(4):
            Realm.objects.create(name=f"site-{number}")
            scene.another(realm=f"site-{number}", src=f"192.0.2.{number + 1}", last_ns=NOW_NS - number * SECOND)
        Verdict.objects.filter(realm="").delete()
        assert [decide(at_most=3, now=enforcing.NOW) for _ in range(2)] == [3, 1]
        assert len(set(considered)) == 4


class TestOnlyOne:
    def test_counts_are_kept_in_step_within_one_transaction(self):
        scene = make_scene()
        rows = flood(scene, 20)
        decide(now=enforcing.NOW)
        assert Enforcement.objects.filter(state=State.APPLYING).count() == 3
        newest = {f"{row.src}/32" for row in rows[-2:]} | {f"{scene.verdict.src}/32"}
        assert set(Enforcement.objects.filter(state=State.APPLYING).values_list("member", flat=True)) == newest
        assert Enforcement.objects.filter(state=State.REFUSED).count() == 18

    def test_in_production_a_burst_in_one_transaction_counts_as_pushes_before_any_was_pushed(self):
        flood(make_scene(profile="production"), 5)
        decide(now=enforcing.NOW)
        states = list(Enforcement.objects.values_list("state", flat=True))
        assert (states.count(State.APPLYING), states.count(State.PROPOSED)) == (1, 2)

    def test_several_verdicts_of_one_host_in_one_transaction_make_one_enforcement(self):
        scene = make_scene(mode="observe")
        for port in range(6):
            scene.another(server_port=str(9_100 + port))
        assert decide(now=enforcing.NOW) == 7
        assert Enforcement.objects.get().events.count() == 1

    def test_never_touch_holds_for_each_of_many(self):
        scene = make_scene()
        NeverTouch.objects.create(realm=scene.device.realm, prefix="192.0.2.64/26", reason="storage")
        flood(scene, 10)
        decide(now=enforcing.NOW)
        refused = Enforcement.objects.filter(state=State.REFUSED)
        assert {rail["name"] for row in refused for rail in row.guardrails if not rail["passed"]} >= {"never-touch"}
        assert (
            not Enforcement.objects.exclude(state=State.REFUSED).filter(member__in=["192.0.2.77/32", "192.0.2.100/32"]).exists()
        )

    def test_queries_do_not_grow_with_the_number_that_is_decided_together_but_for_what_is_written(
        self, django_assert_max_num_queries
    ):
        flood(make_scene(mode="observe"), considering.TOGETHER - 1)
        decide(now=enforcing.NOW)
        again = {"next_step_at": enforcing.NOW, "revision": 2, "last_ns": NOW_NS}
        Verdict.objects.update(**again)
        with django_assert_max_num_queries(35 + 3 * considering.TOGETHER):  # a savepoint and an update for each that is known
            decide(now=enforcing.NOW)


class TestTrouble:
    def test_one_that_cannot_be_decided_holds_up_neither_the_others_nor_itself_for_ever(self, monkeypatch):
        scene = make_scene()
        rows, real = flood(scene, 6), decisions.decide

        def fails(row, realm, ground):
            if row.pk == rows[-1].pk:
                real(row, realm, ground)
                raise RuntimeError("guard rails are broken")
            return real(row, realm, ground)

        monkeypatch.setattr(decisions, "decide", fails)
        assert decide(now=enforcing.NOW) == 7
        assert Enforcement.objects.filter(member=f"{rows[-1].src}/32").count() == 0, "what it wrote is rolled back"
        assert Enforcement.objects.filter(state=State.APPLYING).count() == 3
        assert newest_due(enforcing.NOW + timedelta(seconds=59), 9) == []
        monkeypatch.setattr(decisions, "decide", real)
        assert decide(now=enforcing.NOW + timedelta(seconds=61)) == 1
        assert Enforcement.objects.filter(member=f"{rows[-1].src}/32").count() == 1

    def test_a_guard_whose_row_cannot_be_read_puts_its_verdicts_off(self):
        scene = make_scene()
        scene.guard.spec = {}
        scene.guard.save()
        assert decide(now=enforcing.NOW) == 1
        assert newest_due(enforcing.NOW, 9) == []
        assert newest_due(enforcing.NOW + timedelta(minutes=2), 9) == [scene.verdict.pk]

    def test_when_the_database_goes_away_nothing_is_half_decided_and_all_stay_due(self, monkeypatch):
        rows, real, calls = flood(make_scene(), 10), decisions.decide, []

        def away(row, realm, ground):
            calls.append(row.pk)
            if len(calls) == 6:
                raise OperationalError("database is locked")
            return real(row, realm, ground)

        monkeypatch.setattr(decisions, "decide", away)
        with pytest.raises(OperationalError):
            decide(now=enforcing.NOW)
        assert (Enforcement.objects.count(), AuditEntry.objects.count()) == (0, 0)
        monkeypatch.setattr(decisions, "decide", real)
        assert decide(now=enforcing.NOW) == len(rows) + 1
        assert Enforcement.objects.count() == len(rows) + 1


class TestBlamedTooEarly:
    def planned(self):
        scene = make_scene()
        return scene, enforcement.consider(verdict_id=scene.verdict.pk, now=enforcing.NOW)

    def rewritten(self, verdict):
        Verdict.objects.exclude(pk=verdict.pk).update(next_step_at=None)
        Verdict.objects.filter(pk=verdict.pk).update(standing="network", next_step_at=NOW)
        decide()

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


@pytest.mark.django_db(transaction=True)
def test_a_row_that_is_being_revised_right_now_is_neither_waited_for_nor_forgotten(considered):
    take(batch(verdicts=[verdict(1), verdict(2)]))
    if connection.vendor != "postgresql":  # one writer: nobody can be revising
        assert decide() == 2
        return
    held, free = Verdict.objects.order_by("pk")
    locked, done = threading.Event(), threading.Event()

    def revise():
        with transaction.atomic():
            Verdict.objects.filter(pk=held.pk).update(revision=7)
            locked.set()
            done.wait(60)
        connection.close()

    reviser = threading.Thread(target=revise)
    reviser.start()
    assert locked.wait(60)
    decide(at_most=2)
    done.set()
    reviser.join(60)
    assert newest_due(NOW, 9) == [held.pk]
    assert free.pk not in newest_due(NOW, 9)
