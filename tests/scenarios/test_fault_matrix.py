"""Every fault of a push ends in a known state, and the database says which (simulated IOS and VRP)."""

from __future__ import annotations

import pytest

from policyhub import dispatch
from policyhub.actions import audit, changes
from policyhub.domain.change import ChangeKind
from policyhub.domain.errors import DeviceClosed
from policyhub.models import Change
from policyhub.transport import DeviceSession
from policyhub.transport.errors import Unreachable
from tests.support.devices import hurry, simulated

pytestmark = pytest.mark.once
S = Change.State
SIMULATED = pytest.mark.parametrize("bench", ["cisco_ios", "huawei_vrp"], indirect=True)
# What a typed line of the guard looks like on each platform: somewhere in the middle, and the one that attaches.
MIDDLE = {"cisco_ios": r"^policy-map PHG", "huawei_vrp": r"^traffic behavior PHG"}
MEMBER = "198.51.100.7/32"
ADD = ChangeKind.MEMBER_ADD


@pytest.fixture(autouse=True)
def _no_broker(monkeypatch):
    monkeypatch.setattr(dispatch, "on_commit", lambda task, *ids: None)


@pytest.fixture
def bench(request, monkeypatch, db):
    hurry(monkeypatch, request.param, 2.0)
    with simulated(request.param) as bench:
        yield bench


def strike(bench, **faults):
    """Set faults after planning, so that they hit the push."""
    change = bench.approve(bench.plan())
    for name, value in faults.items():
        setattr(bench.device.faults, name, MIDDLE[bench.row.platform] if value == "middle" else value)
    return change


def ends(bench, change, state, outcome, before, *, skip=False):
    bench.finish(change, skip=skip)
    assert (change.state, change.push_outcome) == (state, outcome), bench.said(change)
    assert bench.device.running() == before
    assert audit.verify().broken is None
    return bench.said(change)


@SIMULATED
@pytest.mark.parametrize("applied", [False, True])
def test_connection_cut_in_mid_plan_is_read_back_as_partial_and_taken_back(bench, applied):
    before = bench.device.running()
    said = ends(bench, strike(bench, drop="middle", drop_applied=applied), S.REVERTED, "partial", before)
    assert "connection closed" in said


@SIMULATED
def test_slow_line_that_takes_effect_after_we_gave_up_leaves_nothing_behind(bench):
    before = bench.device.running()
    said = ends(bench, strike(bench, slow="middle", slow_s=3.2), S.REVERTED, "partial", before)
    assert "no prompt after" in said and "reading again" in said


@SIMULATED
def test_slow_last_line_is_found_applied_by_reading_and_kept(bench):
    """The device needs longer than we wait, and then does it: unknown becomes applied by reading, never by sending again."""
    bench.do()
    change = bench.approve(bench.plan(ADD, MEMBER))
    bench.device.faults.slow, bench.device.faults.slow_s = r"198\.51\.100\.7", 3.0
    bench.finish(change)
    assert (change.state, change.push_outcome) == (S.CONFIRMED, "applied"), bench.said(change)
    assert sum("198.51.100.7" in line for line in bench.device.typed) == 1


@SIMULATED
def test_answer_that_never_comes_is_unknown_until_read(bench):
    before = bench.device.running()
    change = strike(bench, mute="middle")
    bench.step(change)
    assert (change.state, change.push_outcome) == (S.PUSHED, "unknown")
    ends(bench, change, S.REVERTED, "partial", before)


@SIMULATED
def test_refused_line_stops_the_plan_and_the_part_is_taken_back(bench):
    before = bench.device.running()
    typed = len(bench.device.typed)
    said = ends(bench, strike(bench, reject="middle"), S.REVERTED, "partial", before)
    assert "was refused" in said
    assert not any(
        "interface" in line and "PHG" not in line and line.startswith("interface") for line in bench.device.typed[typed:]
    )


@SIMULATED
def test_refused_first_line_is_not_applied(bench):
    before = bench.device.running()
    first = {"cisco_ios": "^ip access-list extended PHG", "huawei_vrp": "^acl name PHG"}[bench.row.platform]
    ends(bench, strike(bench, reject=first), S.FAILED, "not-applied", before)


@SIMULATED
def test_line_that_is_accepted_and_has_no_effect_is_found_by_reading(bench):
    before = bench.device.running()
    silent = {"cisco_ios": "^set dscp", "huawei_vrp": "^remark dscp"}[bench.row.platform]
    said = ends(bench, strike(bench, ignore=silent), S.REVERTED, "partial", before)
    assert "only a part" in said


@SIMULATED
def test_log_line_in_the_dialogue_disturbs_nothing(bench):
    text = {
        "cisco_ios": "*Nov 30 08:00:01.123: %SYS-5-CONFIG_I: Configured from console by ops on vty1 (192.0.2.9)",
        "huawei_vrp": "Nov 30 2026 08:00:01 core1 %%01INFO/4/SUPPRESS_LOG(l)[3]:Last message repeated 2 times.",
    }[bench.row.platform]
    change = strike(bench, log="PHG", log_text=text, again=True)
    bench.finish(change)
    assert (change.state, change.push_outcome) == (S.CONFIRMED, "applied"), bench.said(change)


@SIMULATED
def test_wrong_password_is_tried_once_and_quarantines_the_device(bench):
    change = bench.approve(bench.plan())
    before, tried = bench.device.running(), len(bench.sim.logins.attempts)
    bench.sim.logins.passwords.clear()
    ends(bench, change, S.FAILED, "not-applied", before)
    bench.row.refresh_from_db()
    assert len(bench.sim.logins.attempts) == tried + 1 and bench.row.quarantine_reason == "login refused"
    with pytest.raises(DeviceClosed, match="quarantine"):
        bench.plan()
    assert len(bench.sim.logins.attempts) == tried + 1


@pytest.mark.parametrize("bench", ["cisco_ios"], indirect=True)
def test_wrong_enable_secret_sends_nothing_and_quarantines(bench):
    change = bench.approve(bench.plan())
    before, bench.device.enable_secret = bench.device.running(), "another"
    said = ends(bench, change, S.FAILED, "not-applied", before)
    bench.row.refresh_from_db()
    assert "enable secret was refused" in said and bench.row.quarantine_reason


@SIMULATED
def test_changed_host_key_gets_no_password_and_quarantines(bench):
    change = bench.approve(bench.plan())
    before, tried = bench.device.running(), len(bench.sim.logins.attempts)
    bench.sim.swap_host_key()
    said = ends(bench, change, S.FAILED, "not-applied", before)
    bench.row.refresh_from_db()
    assert "host key changed" in said and bench.row.quarantine_reason == "host key changed"
    assert len(bench.sim.logins.attempts) == tried
    assert list(bench.row.host_keys.order_by("pk").values_list("state", flat=True)) == ["trusted", "pending"]


@SIMULATED
def test_device_that_cannot_be_reached_gets_nothing(bench):
    change = bench.approve(bench.plan())
    before = bench.device.running()
    bench.sim.go_dark()
    ends(bench, change, S.FAILED, "not-applied", before, skip=True)
    with pytest.raises(Unreachable):
        bench.plan()


@SIMULATED
def test_device_dark_after_the_push_is_unknown_until_it_is_back(bench, monkeypatch):
    change, push = bench.approve(bench.plan()), DeviceSession.push

    def and_dark(self, lines, **more):
        push(self, lines, **more)
        bench.sim.go_dark()

    monkeypatch.setattr(DeviceSession, "push", and_dark)
    bench.step(change)
    assert (change.state, change.push_outcome) == (S.PUSHED, "unknown") and "cannot be read back" in bench.said(change)
    bench.sim.come_back()
    bench.clock.skip(40)
    bench.finish(change)
    assert (change.state, change.push_outcome) == (S.CONFIRMED, "applied")


@SIMULATED
def test_device_dark_for_good_ends_with_a_call_for_a_person(bench, monkeypatch):
    change, push = bench.approve(bench.plan()), DeviceSession.push

    def and_dark(self, lines, **more):
        push(self, lines, **more)
        bench.sim.go_dark()

    monkeypatch.setattr(DeviceSession, "push", and_dark)
    bench.finish(change, skip=True)
    assert (change.state, change.push_outcome) == (S.REVERT_FAILED, "unknown")
    bench.sim.come_back()
    monkeypatch.setattr(DeviceSession, "push", push)
    changes.revert(change_id=change.pk, actor="ops", reason="device is back", now=bench.clock())
    assert bench.finish(change).state == S.REVERTED


@SIMULATED
def test_inverse_that_is_refused_three_times_calls_a_person(bench):
    change = bench.do()
    bench.device.faults.reject, bench.device.faults.again = "^(?:no|undo) ", True
    changes.revert(change_id=change.pk, actor="ops", reason="test", now=bench.clock())
    bench.finish(change, skip=True)
    assert change.state == S.REVERT_FAILED and "3 times" in change.error and "PHG-CORE1" in bench.device.running()


@pytest.mark.parametrize("bench", ["huawei_vrp"], indirect=True)
def test_device_that_needs_commit_is_refused_before_a_line_leaves(bench):
    bench.device.other["traffic classifier FABRIC type or"] = ["if-match any"]
    change = bench.plan()
    assert change.state == S.REFUSED and "commit" in change.error
