"""From verdict to decision: one enforcement however often it is asked for, and none where a rail says no."""

from datetime import timedelta

import pytest

from flowguard.actions import enforcement
from flowguard.models import Enforcement, Guard, NeverTouch, Verdict
from flowguard.queries.ground import Ground
from policyhub.actions import kill_switch
from policyhub.models import AuditEntry, Realm
from tests.support.enforcing import NOW, NOW_NS, OFFENDER, SECOND, make_scene

pytestmark = pytest.mark.django_db
State = Enforcement.State


def decide(scene, verdict=None, now=NOW):
    return enforcement.consider(verdict_id=(verdict or scene.verdict).pk, now=now)


def failed(row):
    return [rail["name"] for rail in row.guardrails if not rail["passed"]]


def test_in_auto_mode_a_clear_verdict_is_acted_on():
    row = decide(make_scene())
    assert (row.state, row.member, row.next_step_at) == (State.APPLYING, f"{OFFENDER}/32", NOW)
    assert failed(row) == []
    assert AuditEntry.objects.filter(action="enforcement.applying").count() == 1


@pytest.mark.parametrize(("mode", "state"), [("observe", State.OBSERVED), ("propose", State.PROPOSED)])
def test_the_mode_of_the_group_bounds_what_happens(mode, state):
    assert decide(make_scene(mode=mode)).state == state


def test_a_hundred_deliveries_of_one_verdict_make_one_enforcement():
    scene = make_scene()
    for _ in range(100):
        decide(scene)
    assert Enforcement.objects.count() == 1
    assert Enforcement.objects.get().events.count() == 1


def test_several_verdicts_of_one_host_make_one_enforcement():
    scene = make_scene()
    decide(scene)
    decide(scene, scene.another(dst="198.51.100.6", server_port="ephemeral"))
    assert Enforcement.objects.count() == 1


def test_an_observed_row_becomes_an_enforcement_when_the_mode_is_opened():
    scene = make_scene(mode="observe")
    first = decide(scene)
    scene.group.mode = "auto"
    scene.group.save()
    again = decide(scene)
    assert (again.pk, again.state) == (first.pk, State.APPLYING)
    assert [event.state for event in again.events.all()] == [State.OBSERVED, State.APPLYING]


def test_an_unchanged_refusal_is_not_written_again():
    scene = make_scene(mode="observe")
    for second in range(5):
        decide(scene, now=NOW + timedelta(seconds=second))
    assert Enforcement.objects.get().events.count() == 1


def test_core_business_is_refused_whatever_its_mark():
    scene = make_scene()
    row = decide(scene, scene.another(src="192.0.2.10"))
    assert (row.state, failed(row)) == (State.REFUSED, ["never-core"])


def test_an_unknown_host_is_only_proposed():
    scene = make_scene()
    row = decide(scene, scene.another(src="203.0.113.9", name="unknown-identity-in-priority"))
    assert (row.state, failed(row)) == (State.PROPOSED, ["never-core"])


def test_the_kill_switch_of_the_group_refuses():
    scene = make_scene()
    kill_switch.engage(scope="edge", actor="alice", reason="drill", now=NOW)
    row = decide(scene)
    assert (row.state, failed(row)) == (State.REFUSED, ["kill-switch"])


def test_the_never_touch_list_speaks_for_its_own_realm_only():
    scene = make_scene()
    elsewhere = Realm.objects.create(name="site-b")
    NeverTouch.objects.create(realm=elsewhere, prefix=f"{OFFENDER}/32", reason="their storage")
    assert decide(scene).state == State.APPLYING
    NeverTouch.objects.create(realm=scene.device.realm, prefix="192.0.2.64/26", reason="our storage")
    row = decide(scene, scene.another(src="192.0.2.78"))
    assert (row.state, failed(row)) == (State.REFUSED, ["never-touch"])


def test_a_fourth_host_does_not_fit_the_blast_radius():
    scene = make_scene()
    states = [decide(scene, scene.another(src=f"192.0.2.{host}")).state for host in (81, 82, 83, 84)]
    assert states == [State.APPLYING] * 3 + [State.REFUSED]


def test_without_a_guard_it_is_observed_and_said_so():
    scene = make_scene()
    Guard.objects.update(state=Guard.State.REMOVED)
    row = decide(scene)
    assert (row.guard, row.state) == (None, State.OBSERVED)
    assert "prepared-guard" in failed(row)


def test_a_guard_that_is_not_as_installed_is_left_alone():
    scene = make_scene()
    Guard.objects.update(state=Guard.State.BROKEN)
    assert decide(scene).state == State.OBSERVED


def test_a_mark_that_the_network_wrote_is_nobodys_fault():
    scene = make_scene()
    assert decide(scene, scene.another(standing="network")) is None
    assert decide(scene, scene.another(name="dscp-rewritten")) is None


def test_a_lower_served_mark_of_severity_info_calls_for_nothing():
    scene = make_scene()
    assert decide(scene, scene.another(dscp=8, severity="info")) is None


def test_a_capture_that_loses_packets_is_no_ground_to_act():
    scene = make_scene()
    scene.sensor.health = {"received": 900, "dropped": {"kernel": 100, "ring": 0, "spool": 0}}
    scene.sensor.save()
    row = decide(scene)
    assert (row.state, failed(row)) == (State.REFUSED, ["capture-loss"])


def test_production_waits_for_a_minute_of_the_same():
    scene = make_scene(profile="production")
    early = scene.another(first_ns=scene.verdict.last_ns - 30 * 10**9, src="192.0.2.90")
    assert decide(scene, early) is None
    assert Enforcement.objects.count() == 0
    assert decide(scene).state == State.APPLYING


def test_withdrawing_before_anything_was_planned_ends_it():
    scene = make_scene()
    row = decide(scene)
    enforcement.withdraw(enforcement_id=row.pk, actor="alice", reason="not now", now=NOW)
    row.refresh_from_db()
    assert (row.state, row.ended_at) == (State.REVERTED, NOW)


def test_after_one_has_ended_only_a_newer_packet_starts_another():
    scene = make_scene()
    first = decide(scene)
    enforcement.withdraw(enforcement_id=first.pk, actor="alice", reason="not now", now=NOW + timedelta(seconds=1))
    stale = decide(scene, now=NOW + timedelta(seconds=2))
    assert (stale.state, failed(stale)) == (State.REFUSED, ["fresh-evidence", "taken-back"])
    Verdict.objects.filter(pk=scene.verdict.pk).update(last_ns=NOW_NS + 3 * SECOND)
    again = decide(scene, now=NOW + timedelta(seconds=4))
    assert again.pk != first.pk
    assert (again.state, failed(again)) == (State.PROPOSED, ["taken-back"])


def ended_by(scene, actor, guard=None):
    """The first enforcement of the scene, ended a second after it was decided on; the host goes on for two more."""
    first = decide(scene)
    if guard is not None:
        Enforcement.objects.filter(pk=first.pk).update(guard=guard, idempotency_key="of another guard")
    enforcement.withdraw(enforcement_id=first.pk, actor=actor, reason="not now", now=NOW + timedelta(seconds=1))
    Verdict.objects.filter(pk=scene.verdict.pk).update(last_ns=NOW_NS + 3 * SECOND)


def test_what_a_person_took_back_waits_for_a_person_as_long_as_an_enforcement_lives():
    scene = make_scene()
    ended_by(scene, "alice")
    for after_s in (4, 600):
        Verdict.objects.filter(pk=scene.verdict.pk).update(last_ns=NOW_NS + after_s * SECOND)
        ground = Ground(NOW + timedelta(seconds=after_s), kill_switch.engaged)
        taken = ground.taken_back(scene.guard, f"{OFFENDER}/32", frozenset({46}))
        assert taken is not None
        assert (taken.who, taken.until) == ("alice", NOW + timedelta(seconds=601))
    assert decide(scene, scene.another(src="192.0.2.78", last_ns=NOW_NS)).state == State.APPLYING
    Verdict.objects.filter(pk=scene.verdict.pk).update(last_ns=NOW_NS + 601 * SECOND)
    assert decide(scene, now=NOW + timedelta(seconds=601)).state == State.APPLYING


def test_another_guard_of_the_device_does_not_bring_it_back_but_one_for_other_marks_may():
    scene = make_scene()
    spec = {**scene.guard.spec, "name": "PHG-OTHER"}
    other = Guard.objects.create(device=scene.device, name="PHG-OTHER", spec=spec, state=Guard.State.REMOVED, created_at=NOW)
    ended_by(scene, "alice", other)
    Guard.objects.filter(pk=other.pk).update(spec={**spec, "marks": [34]})
    assert decide(scene, now=NOW + timedelta(seconds=4)).state == State.APPLYING
    Enforcement.objects.filter(guard=scene.guard).delete()
    Guard.objects.filter(pk=other.pk).update(spec=spec)
    assert failed(decide(scene, now=NOW + timedelta(seconds=4))) == ["taken-back"]


def test_what_the_service_itself_took_back_is_judged_anew():
    scene = make_scene()
    ended_by(scene, "system")
    assert decide(scene, now=NOW + timedelta(seconds=4)).state == State.APPLYING


def test_yesterdays_verdict_that_arrives_late_is_not_acted_on():
    scene = make_scene()
    row = decide(scene, now=NOW + timedelta(hours=12))
    assert (row.state, failed(row)) == (State.REFUSED, ["fresh-evidence"])
