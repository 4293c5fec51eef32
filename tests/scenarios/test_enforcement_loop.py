"""Verdict to expiry against simulated switches over real SSH; the seconds at the point behind are written by the test."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.utils import translation

from flowguard.actions import enforcement, guards
from flowguard.models import Enforcement, Guard, IdentityEntry, NeverTouch, Observation, ObservationPoint, Sensor
from policyhub import dispatch
from policyhub.actions import changes, kill_switch
from policyhub.actions.configs import store
from policyhub.console import labels
from policyhub.domain.change import GuardSpec
from policyhub.domain.errors import BadInput, PlanRefused, SelfApproval
from policyhub.models import Change
from policyhub.vendorkit.registry import REGISTRY
from tests.support.devices import hurry, simulated
from tests.support.enforcing import OFFENDER, SECOND, make_verdict

pytestmark = pytest.mark.django_db
BOTH = pytest.mark.parametrize("world", ["cisco_ios", pytest.param("huawei_vrp", marks=pytest.mark.once)], indirect=True)
State = Enforcement.State
MEMBER = f"{OFFENDER}/32"


class World:
    """A simulated switch with an installed guard, a sensor behind it, and an offender."""

    def __init__(self, bench) -> None:
        self.bench, self.clock, row = bench, bench.clock, bench.row
        row.group.enforcement_ttl_s = 600
        row.group.save()
        now = self.clock()
        self.sensor = Sensor.objects.create(
            name="m", group=row.group, health={"received": 9, "dropped": {"kernel": 0, "ring": 0}}
        )
        ObservationPoint.objects.create(sensor=self.sensor, name="before", realm=row.realm, device=row)
        self.behind = ObservationPoint.objects.create(sensor=self.sensor, name="behind", realm=row.realm, stands_behind=row)
        IdentityEntry.objects.create(realm=row.realm, prefix="192.0.2.0/24", name="batch", allowed_dscp=[0])
        self.alice = User.objects.create(username="alice")
        self.guard = guards.propose(
            device=row, name="LOOP", interfaces=bench.spec.interfaces, reason="window", requested_by=self.alice, now=now
        )
        self.approver = User.objects.create(username="board")
        self.approve(self.guard.install_change)
        guards.step(guard_id=self.guard.pk, clock=self.clock)
        self.guard.refresh_from_db()
        self.installed = bench.device.running()

    def approve(self, change: Change) -> None:
        changes.approve(change=change, approver=self.approver, plan_sha256=change.plan_sha256, now=self.clock())
        self.bench.finish(change)

    def offend(self) -> Enforcement:
        now_ns = int(self.clock().timestamp() * 1e9)
        verdict = make_verdict(self.sensor, first_ns=now_ns - 5 * SECOND, last_ns=now_ns)
        row = enforcement.consider(verdict_id=verdict.pk, now=self.clock())
        assert row is not None
        return row

    def seconds(self, start, count, *, marked, total, again=1, complete=True):
        """Whole seconds of packets at the point behind; 1000 core segments each, `again` of them repeated."""
        first = int(start.timestamp()) * SECOND
        for index in range(count):
            at = first + index * SECOND
            sources = [{"src": OFFENDER, "dscp": 46, "packets": 1, "bytes": marked}] if marked else []
            sources += [{"src": OFFENDER, "dscp": 0, "packets": 1, "bytes": total - marked}] if total > marked else []
            tcp = [{"dscp": 46, "data_segments": 1000, "retransmitted": again, "syn_retransmitted": 0, "zero_window": 0}]
            Observation.objects.get_or_create(
                point=self.behind,
                start_ns=at,
                defaults={"end_ns": at + SECOND, "complete": complete, "sources": sources, "tcp": tcp},
            )

    def step(self, row: Enforcement) -> Enforcement:
        """One step, and every device step that it started."""
        enforcement.step(enforcement_id=row.pk, clock=self.clock)
        row.refresh_from_db()
        for change in (row.add_change, row.remove_change):
            if change is not None and change.state not in ("confirmed", "proposed", "reverted"):
                self.bench.finish(change)
        row.refresh_from_db()
        return row

    def until_verified(self, row: Enforcement) -> Enforcement:
        self.seconds(self.clock() - timedelta(seconds=9), 9, marked=9_000, total=9_000, again=50)
        self.step(row)
        assert row.add_change is not None and row.add_change.state == Change.State.VERIFIED
        return row

    def after(self, row: Enforcement, count=3, **seen) -> Enforcement:
        """Packets after the push, then a look at them."""
        assert row.add_change is not None and row.add_change.pushed_at is not None
        self.seconds(row.add_change.pushed_at + timedelta(seconds=2), count, **seen)
        self.clock.skip(count + 4)
        return self.step(row)

    def members(self) -> frozenset[str]:
        render = REGISTRY.get(self.bench.row.platform).render
        assert render is not None
        spec = GuardSpec.of_json(self.guard.spec)
        outputs = {command: self.bench.device.running() for command in render.reads(spec)}
        return render.read(spec, outputs).members


@pytest.fixture(autouse=True)
def _no_broker(monkeypatch):
    monkeypatch.setattr(dispatch, "on_commit", lambda task, *ids: None)


@pytest.fixture
def world(request, monkeypatch):
    hurry(monkeypatch, request.param, 1.0)
    with simulated(request.param) as bench:
        yield World(bench)


@BOTH
def test_the_offender_goes_in_is_judged_by_packets_and_taken_back_at_expiry(world):
    row = world.until_verified(world.offend())
    assert world.members() == {MEMBER}
    assert (row.state, row.outcome) == (State.APPLYING, "")
    world.after(row, marked=0, total=9_000)
    assert (row.state, row.outcome, row.add_change.state) == (State.ACTIVE, "helped", "confirmed")
    assert row.after["before"]["marked_share"] == 1.0 and row.after["after"]["marked_share"] == 0.0
    world.clock.skip(601)
    world.step(row)
    world.step(row)
    assert (row.state, row.remove_change.state, world.members()) == (State.EXPIRED, "confirmed", frozenset())
    assert world.bench.device.running() == world.installed


@BOTH
def test_harm_to_core_traffic_takes_it_back_at_once(world):
    row = world.until_verified(world.offend())
    world.after(row, marked=0, total=9_000, again=200)
    world.step(row)
    assert (row.state, row.outcome, row.add_change.state) == (State.REVERTED, "harmed", "reverted")
    assert world.bench.device.running() == world.installed


@BOTH
def test_a_guard_is_removed_without_a_trace_once_it_is_empty(world):
    row = world.until_verified(world.offend())
    with pytest.raises(guards.GuardInUse, match=rf"holds members, or is about to: #{row.pk} {MEMBER}\. Take these"):
        guards.remove(guard=world.guard, reason="end", requested_by=world.alice, now=world.clock())
    world.after(row, marked=0, total=9_000)
    enforcement.withdraw(enforcement_id=row.pk, actor="alice", reason="enough", now=world.clock())
    world.step(row)
    world.step(row)
    assert row.state == State.REVERTED  # by a person, before its time: not "expired"
    asked = row.remove_change.events.get(state="approved")
    assert (asked.data["said"]["values"], row.remove_change.actor) == ({"who": "alice"}, "alice")
    guard = guards.remove(guard=world.guard, reason="end", requested_by=world.alice, now=world.clock())
    world.approve(guard.remove_change)
    guards.step(guard_id=guard.pk, clock=world.clock)
    guard.refresh_from_db()
    assert guard.state == Guard.State.REMOVED
    assert "PHG-" not in world.bench.device.running()


IOS = pytest.mark.parametrize("world", ["cisco_ios"], indirect=True)


@IOS
def test_removal_of_a_guard_for_which_an_address_is_only_proposed_says_to_decline_it(world):
    asked = enforcement.request(guard=world.guard, member=MEMBER, requested_by=world.alice, reason="odd", now=world.clock())
    with pytest.raises(guards.GuardInUse, match=rf"proposed for it: #{asked.pk} {MEMBER}\. Decline them first") as refused:
        guards.remove(guard=world.guard, reason="end", requested_by=world.alice, now=world.clock())
    with translation.override("zh-hans"):
        assert "请先拒绝它们" in labels.error_said(refused.value)
    enforcement.withdraw(enforcement_id=asked.pk, actor="alice", reason="declined", now=world.clock())
    assert guards.remove(guard=world.guard, reason="end", requested_by=world.alice, now=world.clock()).remove_change


@IOS
def test_reasons_of_its_changes_are_read_in_the_readers_language(world):
    install = world.guard.install_change
    row = world.until_verified(world.offend())
    assert install.reason == "window (mode auto, profile lab)"
    assert row.add_change.reason == (
        f"enforcement #{row.pk}, mode auto, profile lab: class-not-allowed {OFFENDER} > 198.51.100.5 DSCP 46"
    )
    with translation.override("zh-hans"):
        assert labels.change_reason(install) == "window（自动模式，实验档位）"
        said = f"纠正 #{row.pk}，自动模式，实验档位：越权标记 {OFFENDER} > 198.51.100.5 DSCP 46"
        assert labels.change_reason(row.add_change) == said


@IOS
def test_an_offender_that_stopped_is_said_to_have_stopped(world):
    row = world.until_verified(world.offend())
    world.after(row, marked=0, total=0)
    assert (row.state, row.outcome) == (State.ACTIVE, "offender-stopped")


@IOS
def test_a_silent_sensor_ends_in_cannot_tell_and_the_member_still_expires(world):
    row = world.until_verified(world.offend())
    world.clock.skip(5)
    world.step(row)
    assert row.outcome == ""
    world.clock.skip(20)
    world.step(row)
    assert (row.state, row.outcome) == (State.ACTIVE, "cannot-tell")
    world.clock.skip(601)
    world.step(row)
    world.step(row)
    assert (row.state, world.members()) == (State.EXPIRED, frozenset())


@IOS
def test_harm_that_shows_later_ends_an_active_enforcement(world):
    row = world.until_verified(world.offend())
    world.after(row, marked=0, total=9_000)
    world.seconds(world.clock() - timedelta(seconds=1), 4, marked=0, total=9_000, again=300)
    world.clock.skip(4)
    for _ in range(3):
        world.step(row)
    assert (row.state, row.outcome) == (State.REVERTED, "harmed")
    assert row.remove_change.actor == "policy harm"  # not its time
    assert world.bench.device.running() == world.installed


@IOS
def test_the_kill_switch_between_decision_and_push_leaves_the_device_alone(world):
    row = world.offend()
    kill_switch.engage(scope="", actor="alice", reason="drill", now=world.clock())
    world.step(row)
    assert (row.state, row.add_change) == (State.REFUSED, None)
    assert world.bench.device.running() == world.installed


@IOS
def test_a_dead_device_ends_the_plan_and_not_the_worker(world):
    row = world.offend()
    world.bench.row.__class__.objects.update(port=1)
    enforcement.step(enforcement_id=row.pk, clock=world.clock)
    row.refresh_from_db()
    assert row.state == State.FAILED
    assert "could not be read" in row.events.last().message


@IOS
def test_cs1_is_refused_as_target_while_a_hop_serves_it_better_or_is_unknown(world):
    device = world.bench.row
    with pytest.raises(guards.TargetClassRefused, match="CS1 refused"):
        guards.require_target_class(device, 8)
    store(device=device, text=world.installed, source="upload", actor="alice", now=world.clock())
    with pytest.raises(guards.TargetClassRefused):
        guards.require_target_class(device, 8)
    with pytest.raises(guards.TargetClassRefused, match="not DF"):
        guards.require_target_class(device, 46)
    guards.require_target_class(device, 0)


@IOS
def test_attach_on_demand_is_two_approvals_and_never_automatic(world):
    device = world.bench.row
    enforcement_rows = Enforcement.objects.filter(member="192.0.2.200/32")
    row = enforcement.request(
        guard=world.guard, member="192.0.2.200", requested_by=world.alice, reason="incident", now=world.clock()
    )
    world.step(row)
    assert (row.state, row.add_change.state, world.members()) == (State.PROPOSED, "proposed", frozenset())
    with pytest.raises(SelfApproval):
        changes.approve(change=row.add_change, approver=world.alice, plan_sha256=row.add_change.plan_sha256, now=world.clock())
    world.approve(row.add_change)
    world.step(row)
    assert world.members() == {"192.0.2.200/32"}
    with pytest.raises(BadInput, match="already"):
        enforcement.request(
            guard=world.guard, member="192.0.2.200/32", requested_by=world.approver, reason="again", now=world.clock()
        )
    assert enforcement_rows.count() == 1 and device.group.mode == "auto"


@IOS
@pytest.mark.parametrize(
    ("member", "error", "why"),
    [
        ("192.0.2.0/24", PlanRefused, "source-width"),
        ("198.51.100.9/32", PlanRefused, "never-touch"),
        ("nonsense", BadInput, "not an"),
    ],
)
def test_a_person_cannot_ask_past_the_rails_either(world, member, error, why):
    NeverTouch.objects.create(realm=world.bench.row.realm, prefix="198.51.100.0/24", reason="management")
    with pytest.raises(error, match=why):
        enforcement.request(guard=world.guard, member=member, requested_by=world.alice, reason="incident", now=world.clock())
    assert Enforcement.objects.count() == 0
