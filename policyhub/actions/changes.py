"""The one hand on the devices: plan, approve, push, verify, take back (docs/architecture.md, section 7)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from datetime import datetime, timedelta

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction

from policyhub import dispatch
from policyhub.actions import audit, changes_record, leases
from policyhub.actions.changes_device import LEASE_S, Work, limits_of, observe, render, renderer_of
from policyhub.actions.changes_readback import pushed, reverting, verified
from policyhub.actions.changes_record import State, commands_of, create, move, note, spec_as_json
from policyhub.actions.changes_steps import approved, armed, preflight, pushing
from policyhub.actions.sessions import open_session, profile_of
from policyhub.domain.change import ChangeKind, Commands, GuardSpec, PushOutcome, canonical_member
from policyhub.domain.change_states import CANCELLABLE, REVERTIBLE, WORKING
from policyhub.domain.errors import (
    BadInput,
    CannotRender,
    DeviceBusy,
    LeaseLost,
    PlanChanged,
    PlanRefused,
    SelfApproval,
    WrongState,
)
from policyhub.domain.message import Message, gettext_noop
from policyhub.domain.plan_lint import lint
from policyhub.models import Approval, Change, Credential, Device

STEP_TASK = "policyhub.step_change"
BY_POLICY = (ChangeKind.MEMBER_ADD, ChangeKind.MEMBER_REMOVE)  # what people prepared a guard for; all else a named user proposes
TAKING_BACK = (ChangeKind.MEMBER_REMOVE, ChangeKind.GUARD_REMOVE)  # never held up, also where a manager has taken over since
BUSY_RETRY = timedelta(seconds=2)
LOST_WORKER = timedelta(seconds=LEASE_S + 5)  # when a step ends without a word, the next worker comes
HANDLERS = {
    State.APPROVED: approved,
    State.PREFLIGHT: preflight,
    State.ARMED: armed,
    State.PUSHING: pushing,
    State.PUSHED: pushed,
    State.VERIFIED: verified,
    State.REVERTING: reverting,
}


def key(*parts: object) -> str:
    """An idempotency key: 64 hex digits of what makes a change the same change."""
    return hashlib.sha256(json.dumps([str(part) for part in parts], ensure_ascii=False).encode()).hexdigest()


def plan(
    *,
    device: Device,
    kind: ChangeKind,
    spec: GuardSpec,
    member: str | None = None,
    reason: str | Message,
    actor: str,
    requested_by: User | None,
    idempotency_key: str,
    guardrails: list[dict[str, object]],
    ttl_s: int = 120,
    confirm_by: str = "config",
    notify_task: str = "",
    notify_id: int | None = None,
    now: datetime,
) -> Change:
    """Read the device in a fresh session, render lines and inverse, lint: PROPOSED, or REFUSED with the reason.

    A device of a central manager (Device.managed_by) is not read: its plans are REFUSED, they leave through the manager.

    reason: a person's words, or a message of ours with theirs as a value.
    The same key returns the first change. Nothing to do: CONFIRMED at once, nothing is sent.
    requested_by: the user who proposes it. None: a policy does, which `actor` names; for members only, else BadInput.
    Raises TransportError and DeviceClosed when the device cannot be read; nothing is stored then, so that it can be tried again.
    """
    existing = Change.objects.filter(idempotency_key=idempotency_key).first()
    if existing is not None:
        return existing
    if requested_by is None and kind not in BY_POLICY:
        said = gettext_noop("%(kind)s on %(device)s: nobody proposes it. Name the user of the service who does")
        raise BadInput.of(said, kind=str(kind), device=device.name)
    member = _canonical(member)
    change = Change(
        device=device,
        kind=kind,
        spec=spec_as_json(spec, member),
        reason=str(reason),
        reason_said=reason.as_json() if isinstance(reason, Message) else {},
        actor=actor,
        requested_by=requested_by,
        idempotency_key=idempotency_key,
        guardrails=guardrails,
        ttl_s=ttl_s,
        confirm_by=confirm_by,
        notify_task=notify_task,
        notify_id=notify_id,
        created_at=now,
    )
    return _store(change, _fill(change, kind, spec, member, now), now)


def _store(change: Change, said: Message, now: datetime) -> Change:
    """Keep the plan; one without lines has reached its end. When somebody planned the same a moment earlier, theirs counts."""
    try:
        with transaction.atomic():
            create(change, said, now=now)
            if change.state == State.PROPOSED and not change.lines:
                already = Message(gettext_noop("the device is already as planned; nothing was sent"))
                move(change, State.CONFIRMED, already, now=now, push_outcome=PushOutcome.APPLIED, pushed_at=now)
    except IntegrityError:
        return Change.objects.get(idempotency_key=change.idempotency_key)
    return change


def _canonical(member: str | None) -> str | None:
    try:
        return canonical_member(member) if member else None
    except ValueError as error:
        said = gettext_noop("%(member)r is not an address or prefix (%(error)s). Give it as 10.1.2.3/32")
        raise BadInput.of(said, member=member, error=str(error)) from error


def _fill(change: Change, kind: ChangeKind, spec: GuardSpec, member: str | None, now: datetime) -> Message:
    """Read, render, lint; writes the plan or the refusal into the unsaved row."""
    device, commands = change.device, Commands((), (), ())
    if device.managed_by and kind not in TAKING_BACK:
        said = Message(gettext_noop("leaves through %(manager)s, which owns this device"), {"manager": device.managed_by})
        change.state, change.error, change.finished_at = State.REFUSED, str(said), now
        return said
    profile = profile_of(device)
    try:
        renderer = renderer_of(device)
        with open_session(device, Credential.Purpose.PUSH, now=now) as session:
            reading = observe(session, renderer, profile, spec)
        change.before_section, change.before_foreign_sha256 = reading.picture.text, reading.foreign_sha256
        commands = render(renderer, kind, spec, member, reading.running)
        lint(kind, spec, commands, renderer.owns, limits_of(profile))
    except (CannotRender, PlanRefused) as error:
        change.state, change.error, change.finished_at = State.REFUSED, str(error), now
        return Message(gettext_noop("refused: %(error)s"), {"error": error.told})
    change.state = State.PROPOSED
    change.lines, change.inverse, change.reads = list(commands.lines), list(commands.inverse), list(commands.reads)
    change.plan_sha256 = changes_record.plan_sha256(device, kind, change.spec, commands)
    return Message(gettext_noop("planned: %(lines)d lines, inverse ready"), {"lines": len(commands.lines)})


def approve(*, change: Change, approver: User, plan_sha256: str, via: str = "", now: datetime) -> Approval:
    """Approve exactly the plan that was read; the same approval twice is one. via: see `audit.who`.

    Raises PlanChanged when the plan was rendered anew since, SelfApproval when requester and approver are one person, WrongState.
    """
    with transaction.atomic():
        row = Change.objects.select_for_update(of=("self",)).select_related("device").get(pk=change.pk)
        given = row.approvals.filter(approver=approver, plan_sha256=plan_sha256).first()
        if given is not None:
            return given
        _require_plan(row, plan_sha256)
        if row.requested_by_id == approver.pk:
            wrong = gettext_noop("change #%(change)d was requested by %(who)s; somebody else has to approve it")
            raise SelfApproval.of(wrong, change=row.pk, who=approver.get_username())
        approval = Approval.objects.create(change=row, approver=approver, plan_sha256=plan_sha256, at=now)
        said = Message(gettext_noop("approved by %(who)s"), {"who": approver.get_username()})
        _approved(row, said, audit.who(approver, via), now)
    return approval


def approve_by_policy(*, change: Change, policy: str, plan_sha256: str, now: datetime) -> None:
    """Automatic mode: a policy that people switched on stands for the approval, and the audit names it."""
    said = Message(gettext_noop("approved by policy %(policy)s"), {"policy": policy})
    _approved_unread(change, said, f"policy {policy}"[:150], plan_sha256, now)


def approve_taking_back(*, change: Change, actor: str, plan_sha256: str, now: datetime) -> None:
    """Somebody asked to have our own member taken out: that is the approval, and no second person is needed for it."""
    assert change.kind == ChangeKind.MEMBER_REMOVE
    said = Message(gettext_noop("%(who)s asked to take it back; that is the approval"), {"who": actor})
    _approved_unread(change, said, actor[:150], plan_sha256, now)


def _approved_unread(change: Change, said: Message, actor: str, plan_sha256: str, now: datetime) -> None:
    with transaction.atomic():
        row = Change.objects.select_for_update(of=("self",)).select_related("device").get(pk=change.pk)
        if row.state != State.PROPOSED and row.plan_sha256 == plan_sha256:
            return
        _require_plan(row, plan_sha256)
        _approved(row, said, actor, now)


def _require_plan(row: Change, read_sha256: str) -> None:
    if (
        row.plan_sha256 != read_sha256
        or changes_record.plan_sha256(row.device, row.kind, row.spec, commands_of(row)) != read_sha256
    ):
        raise PlanChanged.of(
            gettext_noop("change #%(change)d: the plan is not the one that was read. Read it again"), change=row.pk
        )


def _approved(row: Change, said: Message, actor: object, now: datetime) -> None:
    move(row, State.APPROVED, said, now=now, actor=actor, next_step_at=now)
    dispatch.on_commit(STEP_TASK, row.pk)


def step(*, change_id: int, worker: str, clock: Callable[[], datetime]) -> None:
    """Move the change as far as it goes now. Safe to call any number of times, by any number of workers."""
    change = Change.objects.select_related("device__group").get(pk=change_id)
    now = clock()
    if change.state not in WORKING or (change.next_step_at is not None and change.next_step_at > now):
        return
    try:
        lease = leases.acquire(device_id=change.device_id, holder=worker, ttl_s=LEASE_S, now=now)
    except DeviceBusy:
        Change.objects.filter(pk=change.pk, state=change.state).update(next_step_at=now + BUSY_RETRY)
        return
    try:
        _take(change, lease, now)
        _walk(change, lease, clock)
    except (LeaseLost, WrongState):
        return  # somebody newer has the change; what they read decides
    except Exception as error:
        said = Message(gettext_noop("the step ended unexpectedly: %(error)s"), {"error": f"{type(error).__name__}: {error}"})
        note(change, said, now=clock(), error=str(said))
        raise  # the row stays due: the next worker comes after LOST_WORKER
    finally:
        leases.release(lease)


def _walk(change: Change, lease: leases.Lease, clock: Callable[[], datetime]) -> None:
    work = Work(change, lease, clock)
    try:
        while (handler := HANDLERS.get(State(change.state))) and handler(work):
            pass
    finally:
        work.close()


def _take(change: Change, lease: leases.Lease, now: datetime) -> None:
    """Fence older workers off, and make sure that somebody comes back should we vanish. Raises WrongState."""
    due = now + LOST_WORKER
    if not Change.objects.filter(pk=change.pk, state=change.state).update(
        fencing=lease.token, next_step_at=due, attempts=change.attempts + 1
    ):
        raise WrongState.of(gettext_noop("change #%(change)d was moved meanwhile"), change=change.pk)
    change.fencing, change.next_step_at = lease.token, due


def confirm(*, change_id: int, actor: str, now: datetime) -> None:
    """VERIFIED -> CONFIRMED. A watchdog is stopped by the next step, which this queues; without one it is confirmed at once."""
    with transaction.atomic():
        row = Change.objects.select_for_update(of=("self",)).select_related("device").get(pk=change_id)
        if row.state == State.CONFIRMED or (row.state == State.VERIFIED and row.confirm_by == "config"):
            return
        if row.state != State.VERIFIED:
            wrong = gettext_noop("change #%(change)d is %(state)s; only a verified change can be confirmed")
            raise WrongState.of(wrong, change=row.pk, state=row.state)
        said = Message(gettext_noop("confirmation by %(who)s"), {"who": actor})
        note(row, said, now=now, confirm_by="config", next_step_at=now)
        audit.record("change.confirm", actor=actor, at=now, change=row.pk)
        dispatch.on_commit(STEP_TASK, row.pk)


def revert(*, change_id: int, actor: str, reason: str | Message, now: datetime) -> None:
    """Take the change back: the inverse is pushed and verified by the next step. Raises WrongState."""
    with transaction.atomic():
        row = Change.objects.select_for_update(of=("self",)).select_related("device").get(pk=change_id)
        if row.state == State.REVERTING:
            return
        if row.state not in REVERTIBLE:
            wrong = gettext_noop("change #%(change)d is %(state)s; there is nothing to take back")
            raise WrongState.of(wrong, change=row.pk, state=row.state)
        said = Message(gettext_noop("to be taken back by %(who)s: %(reason)s"), {"who": actor, "reason": reason})
        move(row, State.REVERTING, said, now=now, actor=actor, next_step_at=now)
        dispatch.on_commit(STEP_TASK, row.pk)


def cancel(*, change_id: int, actor: str, now: datetime) -> None:
    """Before anything was sent. Raises WrongState afterwards: then it is `revert`."""
    with transaction.atomic():
        row = Change.objects.select_for_update(of=("self",)).select_related("device").get(pk=change_id)
        if row.state not in CANCELLABLE:
            wrong = gettext_noop("change #%(change)d is %(state)s; it can no longer be cancelled")
            raise WrongState.of(wrong, change=row.pk, state=row.state)
        move(row, State.CANCELLED, Message(gettext_noop("cancelled by %(who)s"), {"who": actor}), now=now, actor=actor)
