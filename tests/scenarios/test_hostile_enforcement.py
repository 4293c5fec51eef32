"""An enforcement attacked from all sides: it ends in a known state, and its member is always taken back."""

from __future__ import annotations

import pytest

from flowguard.actions import enforcement, enforcement_steps
from flowguard.models import Enforcement, IdentityEntry, NeverTouch
from policyhub import dispatch
from policyhub.actions import changes, kill_switch
from policyhub.models import Change
from tests.scenarios.test_enforcement_loop import MEMBER, World
from tests.support.devices import PASSWORD, USER, hurry, simulated
from tests.support.enforcing import OFFENDER

pytestmark = [pytest.mark.django_db, pytest.mark.once]
State = Enforcement.State


@pytest.fixture(autouse=True)
def _no_broker(monkeypatch):
    monkeypatch.setattr(dispatch, "on_commit", lambda task, *ids: None)


@pytest.fixture
def world(monkeypatch):
    hurry(monkeypatch, "cisco_ios", 1.0)
    with simulated("cisco_ios") as bench:
        yield World(bench)


def active(world) -> Enforcement:
    row = world.after(world.until_verified(world.offend()), marked=0, total=9_000)
    assert row.state == State.ACTIVE
    return row


def expire(world, row, steps=4) -> Enforcement:
    world.clock.skip(601)
    for _ in range(steps):
        world.step(row)
        world.clock.skip(61)
    return row


class Killed(BaseException):
    """As a kill -9: nothing after it runs."""


def killed_before(monkeypatch, name):
    def die(**_):
        raise Killed

    monkeypatch.setattr(changes, name, die)


def test_a_worker_killed_between_the_plan_and_its_approval_leaves_nothing_stuck(world, monkeypatch):
    row = world.offend()
    with monkeypatch.context() as patch:
        killed_before(patch, "approve_by_policy")
        with pytest.raises(Killed):
            enforcement.step(enforcement_id=row.pk, clock=world.clock)
    world.until_verified(row)
    assert world.members() == {MEMBER}


def test_a_worker_killed_while_it_plans_the_removal_leaves_no_member_behind(world, monkeypatch):
    row = active(world)
    world.clock.skip(601)
    with monkeypatch.context() as patch:
        killed_before(patch, "approve_by_policy")
        with pytest.raises(Killed):
            enforcement.step(enforcement_id=row.pk, clock=world.clock)
    world.step(row)
    world.step(row)
    assert (row.state, world.members()) == (State.EXPIRED, frozenset())


def test_the_kill_switch_does_not_keep_a_member_in_its_guard(world):
    row = active(world)
    kill_switch.engage(scope="", actor="alice", reason="incident", now=world.clock())
    expire(world, row)
    assert (row.state, world.members()) == (State.EXPIRED, frozenset())


def test_a_plan_withdrawn_while_it_was_rendered_cannot_be_approved_any_more(world, monkeypatch):
    row = world.offend()
    real = changes.plan

    def slow(**given):
        change = real(**given)
        enforcement.withdraw(enforcement_id=row.pk, actor="alice", reason="no", now=world.clock())
        return change

    with monkeypatch.context() as patch:
        patch.setattr(enforcement_steps.changes, "plan", slow)
        enforcement.step(enforcement_id=row.pk, clock=world.clock)
    row.refresh_from_db()
    assert row.state == State.REVERTED
    assert [c.state for c in Change.objects.filter(kind="member-add")] == ["cancelled"]


def test_a_decision_that_waited_for_a_worker_for_an_hour_is_not_carried_out(world):
    row = world.offend()
    world.clock.skip(3600)
    world.step(row)
    world.step(row)
    assert (row.state, world.members()) == (State.REFUSED, frozenset())


@pytest.mark.parametrize("what", ["core", "never-touch", "observe", "broken"])
def test_a_decision_that_lost_its_ground_before_the_plan_is_not_carried_out(world, what):
    row = world.offend()
    if what == "core":
        IdentityEntry.objects.create(realm=world.bench.row.realm, prefix=MEMBER, name="now core", core=True, allowed_dscp=[46])
    elif what == "never-touch":
        NeverTouch.objects.create(realm=world.bench.row.realm, prefix=MEMBER, reason="storage")
    elif what == "observe":
        world.bench.row.group.mode = "observe"
        world.bench.row.group.save()
    else:
        world.guard.state = "broken"
        world.guard.save()
    world.step(row)
    world.step(row)
    assert row.state in (State.REFUSED, State.OBSERVED)
    assert world.members() == frozenset()


def test_a_removal_that_failed_is_tried_again(world):
    row = active(world)
    port = world.bench.row.port
    world.clock.skip(601)
    enforcement.step(enforcement_id=row.pk, clock=world.clock)
    row.refresh_from_db()
    type(world.bench.row).objects.update(port=1)
    world.bench.finish(row.remove_change, skip=True)
    world.step(row)
    type(world.bench.row).objects.update(port=port)
    for _ in range(4):
        world.clock.skip(61)
        world.step(row)
    assert (row.state, world.members()) == (State.EXPIRED, frozenset())


def test_a_kill_switch_released_an_hour_later_does_not_let_the_old_push_go(world):
    row = world.offend()
    enforcement.step(enforcement_id=row.pk, clock=world.clock)
    row.refresh_from_db()
    kill_switch.engage(scope="", actor="alice", reason="incident", now=world.clock())
    world.bench.step(row.add_change)
    assert row.add_change.state == Change.State.APPROVED
    world.clock.skip(3600)
    kill_switch.release(scope="", actor="alice", reason="over", now=world.clock())
    world.step(row)
    world.step(row)
    assert (row.add_change.state, row.state, world.members()) == ("failed", State.FAILED, frozenset())


def by_hand(world, edit):
    """A person at the switch: its configuration is another one now."""
    text = world.bench.device.running()
    edited = edit(text)
    assert edited != text
    world.bench.device.load(edited)


def without(text, word):
    return "".join(line for line in text.splitlines(keepends=True) if word not in line)


EDITS = {
    "our entry taken out": lambda text: without(text, f"host {OFFENDER}"),
    "our policy detached": lambda text: without(text, "service-policy input PHG"),
    "another policy in its place": lambda text: text.replace("service-policy input PHG-LOOP", "service-policy input UPLINK"),
    "an interface renamed": lambda text: text.replace("description desks", "description printers"),
    "an entry of theirs in our list": lambda text: text.replace(
        f" permit ip host {OFFENDER} any", f" permit ip host {OFFENDER} any\n 999 permit ip host 198.51.100.77 any"
    ),
}


@pytest.mark.parametrize("what", EDITS)
def test_a_person_who_edits_the_switch_meanwhile_keeps_the_edit_and_ours_is_taken_back(world, what):
    row = active(world)
    by_hand(world, EDITS[what])
    edited = world.bench.device.running()
    expire(world, row, steps=5)
    assert row.state == State.EXPIRED, [event.message for event in row.events.all()]
    assert f"host {OFFENDER}" not in world.bench.device.running()
    assert [line for line in edited.splitlines() if OFFENDER not in line] == [
        line for line in world.bench.device.running().splitlines() if OFFENDER not in line
    ]


@pytest.mark.parametrize("trouble", ["host key", "login"])
def test_a_switch_that_does_not_know_us_any_more_at_expiry_is_quarantined_and_served_after_release(world, trouble):
    row = active(world)
    device = world.bench.row
    if trouble == "host key":
        world.bench.sim.swap_host_key()
    else:
        world.bench.sim.logins.passwords[USER] = "changed-by-somebody"
    expire(world, row, steps=3)
    device.refresh_from_db()
    assert (row.state, world.members()) == (State.ACTIVE, {MEMBER})
    assert device.quarantine_reason
    if trouble == "host key":
        device.host_keys.filter(state="trusted").update(state="revoked")
        assert device.host_keys.filter(state="pending").update(state="trusted") == 1
    else:
        world.bench.sim.logins.passwords[USER] = PASSWORD
    type(device).objects.filter(pk=device.pk).update(quarantine_reason="")
    expire(world, row)
    assert (row.state, world.members()) == (State.EXPIRED, frozenset())
