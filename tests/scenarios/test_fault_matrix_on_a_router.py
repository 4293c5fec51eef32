"""Every fault of a push ends in a known state, and the database says which: a real nftables router behind a real sshd."""

from __future__ import annotations

import time

import pytest

from policyhub import dispatch
from policyhub.actions import changes
from policyhub.domain.change import ChangeKind
from policyhub.models import Change
from policyhub.transport import DeviceSession, fetch
from policyhub.transport.errors import AuthenticationFailed, HostKeyChanged, Unreachable
from tests.support.devices import Bench, hurry, make_row, trust
from tests.support.routers import Router
from tests.support.services import wait_until

pytestmark = [pytest.mark.root, pytest.mark.once]
S = Change.State
MEMBER = "198.51.100.7/32"
ADD = ChangeKind.MEMBER_ADD


@pytest.fixture(autouse=True)
def _no_broker(monkeypatch):
    monkeypatch.setattr(dispatch, "on_commit", lambda task, *ids: None)


@pytest.fixture
def router(tmp_path, monkeypatch, db):
    hurry(monkeypatch, "linux_nftables", 3.0)
    with Router(tmp_path / "r") as router:
        row = make_row("linux_nftables", router.host, router.port, key=router.key)
        trust(row)
        bench = Bench(row, "eth0")
        yield router, bench


def on_router(router, bench, change, state, outcome, before, *, skip=False):
    bench.finish(change, skip=skip)
    assert (change.state, change.push_outcome) == (state, outcome), bench.said(change)
    assert router.ruleset() == before
    return bench.said(change)


def test_router_takes_a_guard_and_a_member_and_is_byte_equal_afterwards(router):
    router, bench = router
    bare = router.ruleset()
    installed = bench.do()
    assert installed.state == S.CONFIRMED, bench.said(installed)
    before = router.ruleset()
    added = bench.do(ADD, MEMBER, confirm_by="packets")
    assert added.state == S.VERIFIED and "198.51.100.7" in router.ruleset()
    changes.confirm(change_id=added.pk, actor="x", now=bench.clock())
    assert bench.finish(added).state == S.CONFIRMED
    assert bench.do(ChangeKind.MEMBER_REMOVE, MEMBER).state == S.CONFIRMED and router.ruleset() == before
    assert bench.do(ChangeKind.GUARD_REMOVE).state == S.CONFIRMED and router.ruleset() == bare


@pytest.mark.parametrize(
    ("fault", "seconds", "after", "state", "outcome"),
    [
        ("drop", 0, 4, S.REVERTED, "partial"),
        ("drop-after", 0, 4, S.REVERTED, "partial"),
        ("reject", 0, 4, S.REVERTED, "partial"),
        ("reject", 0, 0, S.FAILED, "not-applied"),
        ("ignore", 0, 6, S.REVERTED, "partial"),
        ("slow", 4.5, 4, S.REVERTED, "partial"),
    ],
)
def test_router_fault_ends_in_a_known_state(router, fault, seconds, after, state, outcome):
    router, bench = router
    before, change = router.ruleset(), bench.approve(bench.plan())
    router.fault(fault, seconds=seconds, after=after)
    on_router(router, bench, change, state, outcome, before)


def test_router_that_talks_on_the_side_is_understood(router):
    router, bench = router
    change = bench.approve(bench.plan())
    router.fault("log", after=2)
    assert bench.finish(change).state == S.CONFIRMED, bench.said(change)


def test_router_refuses_the_login_once_and_is_quarantined(router):
    router, bench = router
    change = bench.approve(bench.plan())
    before = router.ruleset()
    router.forget_the_login()
    on_router(router, bench, change, S.FAILED, "not-applied", before)
    bench.row.refresh_from_db()
    assert bench.row.quarantine_reason == "login refused"


def test_router_with_another_host_key_gets_nothing(router):
    router, bench = router
    change = bench.approve(bench.plan())
    before = router.ruleset()
    router.swap_host_key()
    on_router(router, bench, change, S.FAILED, "not-applied", before)
    bench.row.refresh_from_db()
    assert bench.row.quarantine_reason == "host key changed"


def test_routers_own_watchdog_takes_out_what_nobody_confirmed_and_leaves_what_was(router):
    router, bench = router
    bench.do()
    kept = bench.do(ADD, "198.51.100.8/32", ttl_s=12)
    before = router.ruleset()
    change = bench.do(ADD, MEMBER, confirm_by="packets", ttl_s=12)
    assert (kept.state, change.state) == (S.CONFIRMED, S.VERIFIED) and "198.51.100.7" in router.ruleset()
    wait_until(lambda: router.ruleset() == before, "taken out by the watchdog")  # nobody of ours is running
    bench.clock.skip(6)
    assert bench.finish(change).state == S.REVERTED, bench.said(change)
    time.sleep(2)
    assert router.ruleset() == before and "198.51.100.8" in before


def test_worker_killed_after_arming_leaves_no_watchdog_that_undoes_the_next_push(router, monkeypatch):
    router, bench = router
    bench.do()
    change = bench.approve(bench.plan(ADD, MEMBER, ttl_s=15))

    class Killed(BaseException):
        pass

    def killed_between(scope=""):
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr("policyhub.actions.kill_switch.check", killed_between)
        patched.setattr("policyhub.actions.leases.release", lambda lease: None)
        with pytest.raises(Killed):
            bench.step(change)
    change.refresh_from_db()
    assert change.state == S.ARMED
    bench.clock.skip(changes.LOST_WORKER.total_seconds() + 1)
    assert bench.finish(change).state == S.CONFIRMED, bench.said(change)
    time.sleep(16)
    assert "198.51.100.7" in router.ruleset()


def test_lock_out_pushed_on_purpose_is_reverted_by_its_own_watchdog(router, monkeypatch):
    """The plan lint would never let this line out, so it joins behind the lint, inside the transport."""
    router, bench = router
    before, change, push = router.ruleset(), bench.approve(bench.plan(ttl_s=15)), DeviceSession.push
    lock = 'nft add chain inet phg_core1 lock "{ type filter hook input priority 0; policy drop; }"'

    def and_lock_out(self, lines, **more):
        push(self, [*lines, lock], **more)

    monkeypatch.setattr(DeviceSession, "push", and_lock_out)
    bench.step(change)
    monkeypatch.setattr(DeviceSession, "push", push)
    assert change.state == S.PUSHED and change.push_outcome == "unknown"
    with pytest.raises(Unreachable):
        fetch(router.host, router.port, timeout_s=0.5)
    on_router(router, bench, change, S.REVERTED, "unknown", before)
    assert "watchdog took the change back" in bench.said(change)
    assert fetch(router.host, router.port).algorithm


def test_readings_fail_with_one_clear_line_each(router):
    router, bench = router
    router.swap_host_key()
    with pytest.raises(HostKeyChanged, match="PH-E023"):
        bench.plan()
    bench.row.quarantine_reason = ""
    bench.row.save()
    bench.row.host_keys.all().delete()
    trust(bench.row)
    router.forget_the_login()
    with pytest.raises(AuthenticationFailed, match="PH-E022"):
        bench.plan()
    bench.row.quarantine_reason = ""
    bench.row.save()
    router.go_dark()
    with pytest.raises(Unreachable, match="PH-E021"):
        bench.plan()
