"""The one hand on the devices, against simulated switches over real SSH."""

import threading

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.utils import translation

from policyhub import dispatch
from policyhub.actions import audit, changes, changes_device, changes_record, kill_switch, leases, secrets
from policyhub.console import labels
from policyhub.domain.change import ChangeKind, GuardSpec
from policyhub.domain.errors import DeviceBusy, DeviceClosed, LeaseLost, PlanChanged, SelfApproval, WrongState
from policyhub.models import AuditEntry, Change, DeviceLease
from policyhub.transport import DeviceSession
from policyhub.vendorkit.registry import REGISTRY
from tests.support.devices import ENABLE, PASSWORD, PORTS, TAKEN, hurry, simulated

pytestmark = pytest.mark.django_db
BOTH = pytest.mark.parametrize("bench", ["cisco_ios", pytest.param("huawei_vrp", marks=pytest.mark.once)], indirect=True)
IOS = pytest.mark.parametrize("bench", ["cisco_ios"], indirect=True)
INSTALL, ADD, REMOVE = ChangeKind.GUARD_INSTALL, ChangeKind.MEMBER_ADD, ChangeKind.MEMBER_REMOVE
S = Change.State
WAY = [S.PROPOSED, S.APPROVED, S.PREFLIGHT, S.ARMED, S.PUSHING, S.PUSHED, S.VERIFIED, S.CONFIRMED]
MEMBER = "198.51.100.7/32"


@pytest.fixture(autouse=True)
def told(monkeypatch):
    """Queued work as (task, id), instead of a broker."""
    queued: list[tuple] = []
    monkeypatch.setattr(dispatch, "on_commit", lambda task, *ids: queued.append((task, *ids)))
    return queued


@pytest.fixture
def bench(request, monkeypatch):
    hurry(monkeypatch, request.param, 1.0)
    with simulated(request.param) as bench:
        yield bench


class Killed(BaseException):
    """As a SIGKILL: nothing of ours runs afterwards."""


def kill_in(monkeypatch, state):
    """The next worker dies as soon as the change is in `state`; its lease stays, as it would."""

    def die(work):
        raise Killed

    monkeypatch.setitem(changes.HANDLERS, state, die)
    monkeypatch.setattr(leases, "release", lambda lease: None)


def revive(monkeypatch, bench):
    monkeypatch.undo()
    monkeypatch.setattr(dispatch, "on_commit", lambda task, *ids: None)
    hurry(monkeypatch, bench.row.platform, 1.0)
    bench.clock.skip(changes.LOST_WORKER.total_seconds() + 1)


@BOTH
def test_guard_is_installed_verified_in_a_new_session_and_never_saved(bench):
    startup = bench.device.saved
    change = bench.do()
    assert change.state == S.CONFIRMED and change.push_outcome == "applied" and bench.story(change) == WAY
    running = bench.device.running()
    assert "PHG-CORE1" in running and bench.device.saved == startup
    assert change.after_section.startswith("guard: installed, intact") and "not installed" in change.before_section
    state = REGISTRY.get(bench.row.platform).parse(running)
    policy = next(p for p in state.qos_policies if p.name == "PHG-CORE1")
    assert [a.interface for a in policy.attachments] == [PORTS[bench.row.platform]]
    assert policy.classes[0].marker.dscp == 0 and policy.classes[0].match.dscp == frozenset({46, 40})
    assert audit.verify().broken is None


@BOTH
def test_member_comes_and_goes_and_leaves_the_configuration_byte_equal(bench):
    bench.do()
    before = bench.device.running()
    added = bench.do(ADD, MEMBER)
    assert added.state == S.CONFIRMED and "198.51.100.7" in bench.device.running()
    removed = bench.do(REMOVE, MEMBER)
    assert removed.state == S.CONFIRMED and bench.device.running() == before
    gone = bench.do(ChangeKind.GUARD_REMOVE)
    assert gone.state == S.CONFIRMED and "PHG" not in bench.device.running()


@IOS
def test_audit_row_is_written_before_the_first_line_leaves(bench, monkeypatch):
    seen = []
    push = DeviceSession.push

    def watched(self, lines, **more):
        seen.append(AuditEntry.objects.filter(action="change.pushing").first())
        assert not connection.in_atomic_block or connection.savepoint_ids in ([], connection.savepoint_ids)
        return push(self, lines, **more)

    monkeypatch.setattr(DeviceSession, "push", watched)
    change = bench.do()
    assert seen[0].data["lines"] == change.lines and seen[0].data["plan"] == change.plan_sha256


@BOTH
def test_waits_for_packets_then_confirms(bench, told):
    bench.do()
    change = bench.do(ADD, MEMBER, confirm_by="packets", notify_task="flowguard.step_enforcement", notify_id=5)
    assert change.state == S.VERIFIED and ("flowguard.step_enforcement", 5) in told
    changes.confirm(change_id=change.pk, actor="flowguard", now=bench.clock())
    assert bench.finish(change).state == S.CONFIRMED
    assert told.count(("flowguard.step_enforcement", 5)) == 3  # approved, verified, confirmed


@IOS
def test_confirmation_that_comes_while_a_worker_looks_is_not_lost(bench, monkeypatch):
    bench.do()
    change = bench.approve(bench.plan(ADD, MEMBER, confirm_by="packets"))
    verified = changes.HANDLERS[S.VERIFIED]

    def and_confirmed_meanwhile(work):
        changes.confirm(change_id=change.pk, actor="flowguard", now=bench.clock())
        return verified(work)

    monkeypatch.setitem(changes.HANDLERS, S.VERIFIED, and_confirmed_meanwhile)
    bench.step(change)
    monkeypatch.setitem(changes.HANDLERS, S.VERIFIED, verified)
    assert change.state == S.VERIFIED and change.next_step_at <= bench.clock()
    assert bench.finish(change).state == S.CONFIRMED


@BOTH
def test_taken_back_when_nobody_confirms_in_time(bench):
    bench.do()
    before = bench.device.running()
    change = bench.do(ADD, MEMBER, confirm_by="packets", ttl_s=30)
    assert change.state == S.VERIFIED and "198.51.100.7" in bench.device.running()
    bench.clock.skip(31)
    assert bench.finish(change).state == S.REVERTED and bench.device.running() == before
    assert "no confirmation within 30 s" in change.error


def readings(bench):
    """(source, as the page says it, whether guard and member are in it), the newest first."""
    rows = [(row, secrets.unseal(row.text_envelope)) for row in bench.row.snapshots.order_by("-taken_at", "-pk")]
    return [(row.source, labels.taken_by(row), "PHG-CORE1" in text, "198.51.100.7" in text) for row, text in rows]


@BOTH
def test_the_newest_reading_is_the_one_after_the_push_and_after_it_was_taken_back(bench):
    install = bench.do()
    before = ("pre-push", f"before change #{install.pk}", False, False)
    assert readings(bench) == [("post-push", f"after change #{install.pk}", True, False), before]
    member = bench.do(ADD, MEMBER)
    assert readings(bench)[0] == ("post-push", f"after change #{member.pk}", True, True)
    changes.revert(change_id=member.pk, actor="ops", reason="wrong host", now=bench.clock())
    bench.finish(member)
    assert readings(bench)[0] == ("taken-back", f"after change #{member.pk} was taken back", True, False)
    assert len(readings(bench)) == 4, "what was read before the second push is what was read after the first"


@BOTH
def test_same_key_is_one_change_and_one_push(bench):
    bench.do()
    first = bench.plan(ADD, MEMBER, idempotency_key=changes.key("storm"))
    for _ in range(200):
        assert bench.plan(ADD, MEMBER, idempotency_key=changes.key("storm")).pk == first.pk
    bench.finish(bench.approve(first))
    for _ in range(5):
        bench.step(first)
    assert sum("198.51.100.7" in line for line in bench.device.typed if "no " not in line and "undo" not in line) == 1


@BOTH
def test_nothing_to_do_is_confirmed_without_approval_or_line(bench):
    bench.do()
    bench.do(ADD, MEMBER)
    typed = len(bench.device.typed)
    change = bench.plan(ADD, MEMBER)
    assert change.state == S.CONFIRMED and change.lines == [] and change.pushed_at is not None
    assert not any("198.51" in line for line in bench.device.typed[typed:])


@BOTH
def test_interface_with_a_foreign_policy_is_refused_with_the_reason(bench):
    bench.spec = GuardSpec("PHG-CORE1", (TAKEN[bench.row.platform],), frozenset({46}))
    change = bench.plan()
    assert change.state == S.REFUSED and "UPLINK" in change.error and change.lines == []
    assert str(changes_record.trouble(change)) == change.error
    with translation.override("zh-hans"):
        assert "不是我方的" in labels.last_said(change.events.all()) and "which is not ours" not in labels.last_said(
            change.events.all()
        )
    with pytest.raises(WrongState):
        changes.cancel(change_id=change.pk, actor="x", now=bench.clock())


@IOS
def test_platform_that_is_only_read_takes_no_change(bench):
    bench.row.platform = "cisco_asa"
    bench.row.save()
    with pytest.raises(DeviceClosed, match="only read"):
        bench.plan()
    assert Change.objects.count() == 0


@IOS
def test_approval_binds_to_the_plan_that_was_read(bench):
    change = bench.plan()
    requester = User.objects.get(username="requester")
    with pytest.raises(PlanChanged):
        changes.approve(change=change, approver=User.objects.create_user("a"), plan_sha256="0" * 64, now=bench.clock())
    with pytest.raises(SelfApproval):
        changes.approve(change=change, approver=requester, plan_sha256=change.plan_sha256, now=bench.clock())
    Change.objects.filter(pk=change.pk).update(lines=[*change.lines, "interface GigabitEthernet1/0/24"])
    with pytest.raises(PlanChanged):
        changes.approve_by_policy(change=change, policy="auto", plan_sha256=change.plan_sha256, now=bench.clock())
    change.refresh_from_db()
    assert change.state == S.PROPOSED


@IOS
def test_plan_edited_after_approval_never_leaves(bench):
    change = bench.approve(bench.plan())
    Change.objects.filter(pk=change.pk).update(lines=["interface GigabitEthernet1/0/24", " shutdown"])
    typed = len(bench.device.typed)
    assert bench.finish(change).state == S.FAILED and "not the one that was approved" in change.error
    assert bench.device.typed[typed:] == []


@BOTH
def test_approval_is_void_when_the_device_changed_under_the_plan(bench):
    change = bench.approve(bench.plan())
    lines = bench.device.interfaces[PORTS[bench.row.platform]]
    lines.append("service-policy input UPLINK" if bench.row.platform == "cisco_ios" else "traffic-policy UPLINK inbound")
    assert bench.finish(change).state == S.FAILED and "PHG" not in bench.device.running()
    assert change.push_outcome == "not-applied"


@BOTH
def test_foreign_edit_during_the_push_takes_ours_back_and_leaves_theirs(bench, monkeypatch):
    bench.do()
    change = bench.approve(bench.plan(ADD, MEMBER))
    push = DeviceSession.push

    def and_somebody_else(self, lines, **more):
        push(self, lines, **more)
        bench.device.interfaces[TAKEN[bench.row.platform]].append("description somebody else")

    monkeypatch.setattr(DeviceSession, "push", and_somebody_else)
    bench.step(change)
    monkeypatch.setattr(DeviceSession, "push", push)
    assert bench.finish(change).state == S.REVERTED and "something else" in change.error
    assert "somebody else" in bench.device.running() and "198.51.100.7" not in bench.device.running()


@BOTH
def test_revert_of_a_confirmed_member_leaves_other_members_alone(bench):
    bench.do()
    first, _ = bench.do(ADD, MEMBER), bench.do(ADD, "198.51.100.8/32")
    changes.revert(change_id=first.pk, actor="ops", reason="wrong host", now=bench.clock())
    assert bench.finish(first).state == S.REVERTED
    assert "198.51.100.8" in bench.device.running() and "198.51.100.7" not in bench.device.running()
    with pytest.raises(WrongState):
        changes.revert(change_id=first.pk, actor="ops", reason="again", now=bench.clock())


@IOS
def test_cancelled_before_the_push_sends_nothing(bench):
    change = bench.approve(bench.plan())
    typed = len(bench.device.typed)
    changes.cancel(change_id=change.pk, actor="ops", now=bench.clock())
    assert bench.step(change).state == S.CANCELLED and bench.device.typed[typed:] == []


@BOTH
@pytest.mark.parametrize("state", [S.PREFLIGHT, S.ARMED, S.PUSHING, S.PUSHED, S.VERIFIED])
def test_worker_killed_in_any_state_is_followed_by_one_that_reads_before_it_sends(bench, monkeypatch, state):
    change = bench.approve(bench.plan())
    before = bench.device.running()
    kill_in(monkeypatch, state)
    with pytest.raises(Killed):
        bench.step(change, "first")
    change.refresh_from_db()
    assert change.state == state
    bench.step(change, "too early")
    assert change.state == state, "the dead worker's lease still stands"
    revive(monkeypatch, bench)
    typed = len(bench.device.typed)
    bench.finish(change, skip=True)
    if state == S.PUSHING:  # killed between the transition and the first line
        assert change.state == S.FAILED and change.push_outcome == "not-applied" and bench.device.running() == before
    else:
        assert change.state == S.CONFIRMED and bench.story(change)[-1] == S.CONFIRMED
    if state in (S.PUSHING, S.PUSHED, S.VERIFIED):
        assert not any(line.strip() in [text.strip() for text in change.lines] for line in bench.device.typed[typed:]), (
            "sent twice"
        )
    assert audit.verify().broken is None


@BOTH
@pytest.mark.parametrize("number", [0, 4, 14])
def test_worker_killed_between_two_lines_is_followed_by_one_that_takes_the_part_back(bench, monkeypatch, number):
    change, before = bench.approve(bench.plan()), bench.device.running()

    def die(self, count, line):
        if count == number:
            raise Killed

    monkeypatch.setattr(changes_device.Work, "before_line", die)
    monkeypatch.setattr(leases, "release", lambda lease: None)
    with pytest.raises(Killed):
        bench.step(change)
    change.refresh_from_db()
    assert change.state == S.PUSHING and (bench.device.running() != before) == (number > 0)
    revive(monkeypatch, bench)
    bench.finish(change, skip=True)
    assert change.state == (S.REVERTED if number else S.FAILED)
    assert change.push_outcome == ("partial" if number else "not-applied") and bench.device.running() == before


@BOTH
def test_worker_killed_while_taking_back_is_followed_by_one_that_ends_it(bench, monkeypatch):
    before = bench.device.running()
    change = bench.do()
    changes.revert(change_id=change.pk, actor="ops", reason="test", now=bench.clock())

    def die(self, count, line):
        if count == 3:
            raise Killed

    monkeypatch.setattr(changes_device.Work, "before_inverse", die)
    monkeypatch.setattr(leases, "release", lambda lease: None)
    with pytest.raises(Killed):
        bench.step(change)
    revive(monkeypatch, bench)
    assert bench.finish(change, skip=True).state == S.REVERTED and bench.device.running() == before


@BOTH
def test_kill_switch_in_the_middle_of_a_plan_stops_it_and_the_part_is_taken_back(bench, monkeypatch):
    change, before = bench.approve(bench.plan()), bench.device.running()
    check, count = kill_switch.check, [0]

    def engage_after_five(scope=""):
        count[0] += 1
        if count[0] == 6:
            kill_switch.engage(scope="lab", actor="ops", reason="stop", now=bench.clock())
        check(scope)

    monkeypatch.setattr(kill_switch, "check", engage_after_five)
    assert bench.finish(change).state == S.REVERTED and bench.device.running() == before
    assert change.push_outcome == "partial" and "kill switch" in bench.said(change)


@IOS
def test_engaged_kill_switch_holds_an_approved_change_until_it_is_released(bench, settings, tmp_path):
    settings.POLICYHUB_DATA_DIR = tmp_path
    change = bench.approve(bench.plan())
    (tmp_path / "KILL").touch()
    typed = len(bench.device.typed)
    assert bench.step(change).state == S.APPROVED and "kill switch" in bench.said(change) and bench.device.typed[typed:] == []
    (tmp_path / "KILL").unlink()
    kill_switch.engage(actor="ops", reason="everything", now=bench.clock())
    bench.clock.skip(11)
    assert bench.step(change).state == S.APPROVED
    kill_switch.release(actor="ops", reason="done", now=bench.clock())
    bench.clock.skip(11)
    assert bench.finish(change).state == S.CONFIRMED


@IOS
def test_a_newer_lease_fences_the_older_worker_off(bench):
    now = bench.clock()
    old = leases.acquire(device_id=bench.row.pk, holder="a", ttl_s=10, now=now)
    with pytest.raises(DeviceBusy):
        leases.acquire(device_id=bench.row.pk, holder="a", ttl_s=10, now=now)
    bench.clock.skip(11)
    new = leases.acquire(device_id=bench.row.pk, holder="b", ttl_s=10, now=bench.clock())
    assert new.token == old.token + 1
    with pytest.raises(LeaseLost):
        leases.renew(old, ttl_s=10, now=bench.clock())
    leases.release(old)
    assert DeviceLease.objects.get().holder == "b"


@IOS
def test_worker_whose_lease_was_taken_sends_no_further_line_and_writes_no_result(bench, monkeypatch):
    change, renew, count = bench.approve(bench.plan()), leases.renew, [0]

    def taken_over(lease, **more):
        count[0] += 1
        if count[0] == 6:
            DeviceLease.objects.update(token=lease.token + 1)
            Change.objects.filter(pk=change.pk).update(fencing=lease.token + 1)
        renew(lease, **more)

    monkeypatch.setattr(leases, "renew", taken_over)
    bench.step(change)
    sent = [line for line in bench.device.typed if line.strip() in {text.strip() for text in change.lines}]
    assert change.state == S.PUSHING and 0 < len(sent) < len(change.lines)
    monkeypatch.setattr(leases, "renew", renew)
    DeviceLease.objects.update(expires_at=bench.clock())
    bench.clock.skip(61)
    assert bench.finish(change, skip=True).state == S.REVERTED


@IOS
def test_defect_in_a_step_is_written_down_and_the_next_worker_goes_on(bench, monkeypatch):
    change = bench.approve(bench.plan())
    observe = changes_device.observe

    def broken(*args):
        raise KeyError("a defect")

    monkeypatch.setattr(changes_device, "observe", broken)
    with pytest.raises(KeyError):
        bench.step(change)
    change.refresh_from_db()
    assert change.state == S.PREFLIGHT and "a defect" in change.error and DeviceLease.objects.get().expires_at is None
    monkeypatch.setattr(changes_device, "observe", observe)
    assert bench.finish(change, skip=True).state == S.CONFIRMED and change.error == ""


@BOTH
def test_transcript_is_sealed_and_holds_no_secret(bench):
    change = bench.do()
    assert "PHG-CORE1" not in change.transcript_envelope
    text = secrets.unseal(change.transcript_envelope)
    assert "> " in text and "PHG-CORE1" in text and PASSWORD not in text and ENABLE not in text


@pytest.mark.django_db(transaction=True)
@IOS
def test_many_workers_at_once_push_once(bench):
    change = bench.approve(bench.plan())
    problems = []

    def work(number):
        try:
            changes.step(change_id=change.pk, worker=f"w{number}", clock=bench.clock)
        except Exception as error:
            problems.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    bench.clock.skip(3)
    assert problems == [] and bench.finish(change).state == S.CONFIRMED
    assert bench.device.typed.count("policy-map PHG-CORE1") == 1
