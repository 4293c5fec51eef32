"""What an enforcement does in each state. Called by `enforcement.step` only."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from django.db import transaction

from flowguard.actions.enforcement_plans import (
    RELATED,
    REMOVAL_FAILED,
    REMOVE_AGAIN,
    approve_addition,
    approve_removal,
    plan_addition,
    plan_removal,
    removals_failed,
)
from flowguard.actions.timeline import ENDED, move
from flowguard.domain.judgement import SECOND_NS, Judgement, Window, judge
from flowguard.domain.taking_back import ASKED_BACK
from flowguard.models import Enforcement
from flowguard.queries.windows import verifying_points, windows
from policyhub.actions import changes
from policyhub.actions.changes_record import trouble
from policyhub.domain.change import EnforcementOutcome, GuardSpec
from policyhub.domain.message import Message, gettext_noop
from policyhub.models import Change

State = Enforcement.State
Clock = Callable[[], datetime]

BEFORE = timedelta(seconds=10)
SETTLE = timedelta(seconds=1)  # packets on the wire and in queues when the lines were sent
AFTER = timedelta(seconds=30)
POLL = timedelta(seconds=1)
WATCH = timedelta(seconds=5)
FALLBACK = timedelta(seconds=5)  # the change wakes us; this is for a lost message
DEADLINE = {"lab": timedelta(seconds=20), "production": timedelta(seconds=40)}
REMOVAL_TRIES = 3  # then a person is called

CHANGE_GONE = (Change.State.REFUSED, Change.State.FAILED, Change.State.CANCELLED)
WAITING = (
    Change.State.APPROVED,
    Change.State.PREFLIGHT,
    Change.State.ARMED,
    Change.State.PUSHING,
    Change.State.PUSHED,
    Change.State.REVERTING,
)


def step(*, enforcement_id: int, clock: Clock) -> None:
    """One look at the row. Planning talks to the device, so it happens outside the row's lock; its key makes it happen once."""
    row = Enforcement.objects.select_related("guard__device__group", "requested_by").get(pk=enforcement_id)
    if row.state in ENDED or row.guard is None:
        return
    if row.state in (State.PROPOSED, State.APPLYING) and row.add_change_id is None:
        plan_addition(row, clock)
    elif row.state == State.ACTIVE and row.expires_at is not None and clock() >= row.expires_at:
        plan_removal(row, clock)
    with transaction.atomic():
        row = Enforcement.objects.select_for_update(of=("self",)).select_related(*RELATED).get(pk=enforcement_id)
        if row.state == State.WITHDRAWING:
            _follow_removal(row, clock())
        elif row.state not in ENDED and row.add_change_id is not None:
            _follow_addition(row, clock())


def _follow_addition(row: Enforcement, now: datetime) -> None:
    change = row.add_change
    assert change is not None
    if change.state in CHANGE_GONE:
        move(
            row,
            State.FAILED,
            Message(gettext_noop("the change ended without effect: %(error)s"), {"error": trouble(change)}),
            now,
        )
    elif change.state == Change.State.REVERT_FAILED:
        move(
            row,
            State.NEEDS_PERSON,
            Message(gettext_noop("the change could not be taken back: %(error)s"), {"error": trouble(change)}),
            now,
        )
    elif change.state == Change.State.REVERTED:
        row.outcome = row.outcome or EnforcementOutcome.CANNOT_TELL
        move(row, State.REVERTED, Message(gettext_noop("the change was taken back")), now)
    elif change.state == Change.State.PROPOSED and row.state == State.APPLYING:
        _approve(row, change, now)
    elif change.state == Change.State.PROPOSED:
        _later(row, None)
    elif change.state in WAITING:
        _follow_push(row, now)
    elif change.state == Change.State.VERIFIED and row.state == State.ACTIVE:
        _later(row, now + FALLBACK)  # judged and confirmed; the change is still stopping its watchdog
    elif change.state == Change.State.VERIFIED:
        _judge(row, change, now)
    elif change.state == Change.State.CONFIRMED:
        _watch(row, change, now)


def _approve(row: Enforcement, change: Change, now: datetime) -> None:
    if row.verdict is None:
        _later(row, None)  # its verdict was deleted: nobody can check the ground any more, a person decides
        return
    approve_addition(row, change, now)
    if row.state == State.APPLYING:
        _later(row, now + FALLBACK)


def _follow_push(row: Enforcement, now: datetime) -> None:
    if row.state == State.PROPOSED:
        move(row, State.APPLYING, Message(gettext_noop("approved, on its way to the device")), now, again_at=now + FALLBACK)
    else:
        _later(row, now + FALLBACK)


def _later(row: Enforcement, at: datetime | None) -> None:
    row.next_step_at = at
    row.save(update_fields=["next_step_at"])


def _look(row: Enforcement, change: Change, now: datetime, *, deadline: bool) -> Judgement:
    assert row.guard is not None and change.pushed_at is not None
    spec = GuardSpec.of_json(row.guard.spec)
    points = verifying_points(row.guard.device)
    pushed, until = _ns(change.pushed_at), _ns(now)
    recent = max(pushed + _span(SETTLE), until - _span(AFTER))

    def seen(start: int, end: int) -> list[Window]:
        return windows(points, member=row.member, marks=spec.marks, from_ns=start, to_ns=end)

    before = seen(pushed - _span(BEFORE), pushed)
    return judge(before, seen(recent, until), marks=spec.marks, target_dscp=spec.target_dscp, deadline=deadline)


def _judge(row: Enforcement, change: Change, now: datetime) -> None:
    """After the configuration was verified: what do the packets say?"""
    assert change.pushed_at is not None
    withdrawn = row.expires_at is not None and now >= row.expires_at
    judgement = _look(row, change, now, deadline=withdrawn or now >= change.pushed_at + DEADLINE[row.profile])
    row.after = judgement.figures
    if judgement.outcome is None:
        row.save(update_fields=["after"])
        _later(row, now + POLL)
        return
    row.outcome = judgement.outcome
    values = {"outcome": judgement.outcome.value, "reason": judgement.reason}
    said = Message(gettext_noop("judged by packets: %(outcome)s (%(reason)s)"), values)
    if judgement.outcome is EnforcementOutcome.HARMED:
        move(row, State.APPLYING, said, now, again_at=now + FALLBACK)
        changes.revert(change_id=change.pk, actor="flowguard", reason=judgement.reason, now=now)
        return
    group = row.guard.device.group  # type: ignore[union-attr]
    row.active_at = now
    row.expires_at = row.expires_at or now + timedelta(seconds=group.enforcement_ttl_s)
    if row.notice_ns is not None:
        row.after["seconds_from_first_packet"] = round((_ns(now) - row.notice_ns) / SECOND_NS, 3)
    changes.confirm(change_id=change.pk, actor="flowguard", now=now)
    move(row, State.ACTIVE, said, now, again_at=min(row.expires_at, now + WATCH))


def _watch(row: Enforcement, change: Change, now: datetime) -> None:
    """While active: only harm ends it early."""
    if row.expires_at is None:
        row.expires_at = now + timedelta(seconds=row.guard.device.group.enforcement_ttl_s)  # type: ignore[union-attr]
        row.active_at = row.active_at or now
        row.state = State.ACTIVE
        row.save()
    if now >= row.expires_at:
        _later(row, now + POLL)
        return
    judgement = _look(row, change, now, deadline=False)
    if judgement.outcome is EnforcementOutcome.HARMED:
        row.outcome, row.expires_at = judgement.outcome, now
        said = Message(gettext_noop("harm seen while active (%(reason)s): taking it back"), {"reason": judgement.reason})
        move(row, State.ACTIVE, said, now, again_at=now)
        return
    if judgement.outcome is EnforcementOutcome.OFFENDER_STOPPED and row.outcome == EnforcementOutcome.CANNOT_TELL:
        row.outcome = judgement.outcome
        row.save(update_fields=["outcome"])
    _later(row, min(row.expires_at, now + WATCH))


def _follow_removal(row: Enforcement, now: datetime) -> None:
    change = row.remove_change
    assert change is not None
    if change.state == Change.State.CONFIRMED:
        asked = row.events.filter(message=ASKED_BACK).exists()
        early = asked or row.outcome == EnforcementOutcome.HARMED or row.active_at is None
        said = Message(gettext_noop("%(member)s is out of the guard, the device is as before"), {"member": row.member})
        move(row, State.REVERTED if early else State.EXPIRED, said, now)
    elif change.state in REMOVAL_FAILED:
        values = {"member": row.member, "error": trouble(change)}
        said = Message(gettext_noop("%(member)s could not be taken back: %(error)s"), values)
        if change.state == Change.State.FAILED and removals_failed(row) < REMOVAL_TRIES:
            move(row, State.ACTIVE, said, now, again_at=now + REMOVE_AGAIN)
        else:
            move(row, State.NEEDS_PERSON, said, now)
    elif change.state == Change.State.PROPOSED:
        approve_removal(row, change, now)
        _later(row, now + FALLBACK)
    else:
        _later(row, now + FALLBACK)


def _ns(at: datetime) -> int:
    return int(at.timestamp() * 1_000_000) * 1_000


def _span(delta: timedelta) -> int:
    return int(delta.total_seconds() * SECOND_NS)
