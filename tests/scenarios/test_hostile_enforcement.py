"""An enforcement attacked from all sides: it ends in a known state, and its member is always taken back."""

from __future__ import annotations

import pytest

from flowguard.actions import enforcement, enforcement_steps
from flowguard.models import Enforcement, IdentityEntry, NeverTouch
from policyhub import dispatch
from policyhub.actions import changes, kill_switch
from policyhub.models import Change
from tests.scenarios.test_enforcement_loop import MEMBER, World
from tests.support.devices import hurry, simulated

pytestmark = pytest.mark.django_db
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
