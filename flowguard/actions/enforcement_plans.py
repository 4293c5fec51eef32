"""An enforcement's two changes: planned once, approved by policy where one stands for it. Called by `enforcement_steps` only.

A worker may die between any two lines here: what is missing is done by the next step, from the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta

from django.db import transaction

from flowguard.actions.timeline import move
from flowguard.domain.guardrails import Decision, Railing, as_rows, evaluate
from flowguard.domain.taking_back import ASKED_BACK
from flowguard.models import Enforcement
from flowguard.queries.ground import Ground
from flowguard.queries.situation import situation
from policyhub.actions import audit, changes, kill_switch
from policyhub.domain.change import ChangeKind, EnforcementOutcome, GuardSpec
from policyhub.domain.change_states import CANCELLABLE
from policyhub.domain.errors import PolicyHubError
from policyhub.domain.message import Message, gettext_noop
from policyhub.models import Change

State = Enforcement.State
Clock = Callable[[], datetime]

POLICY = "policy "  # how actors that are no person are named
TTL_S = 120
REMOVE_AGAIN = timedelta(seconds=30)
STEP_TASK = "flowguard.step_enforcement"
REMOVAL_FAILED = (
    Change.State.REFUSED,
    Change.State.FAILED,
    Change.State.CANCELLED,
    Change.State.REVERTED,
    Change.State.REVERT_FAILED,
)
PLANNABLE = (State.PROPOSED, State.APPLYING)
RELATED = ("requested_by", "verdict__sensor__group", "guard__device__group", "guard__device__realm")
STATE_OF = {Decision.PROPOSE: State.PROPOSED, Decision.OBSERVE: State.OBSERVED, Decision.REFUSE: State.REFUSED}


def plan_addition(row: Enforcement, clock: Clock) -> None:
    """Plan to add the member, if what it was decided on still holds. An addition that cannot be planned ends."""
    if not _still_wanted(row.pk, clock()):
        return
    try:
        change = _change(row, ChangeKind.MEMBER_ADD, changes.key("member", row.pk, ChangeKind.MEMBER_ADD, 0), clock())
    except PolicyHubError as error:
        with transaction.atomic():
            row = Enforcement.objects.select_for_update().get(pk=row.pk)
            if row.state in PLANNABLE and row.add_change_id is None:
                move(row, State.FAILED, _unread(error), clock())
        return
    with transaction.atomic():
        row = Enforcement.objects.select_for_update().get(pk=row.pk)
        row.add_change = change
        row.save(update_fields=["add_change"])
        if row.state not in PLANNABLE:
            drop_addition(row, "flowguard", clock())


def drop_addition(row: Enforcement, actor: str, now: datetime) -> None:
    """Nobody shall approve a plan whose enforcement has ended. Call it under the row's lock."""
    key = changes.key("member", row.pk, ChangeKind.MEMBER_ADD, 0)
    change = Change.objects.filter(idempotency_key=key, state__in=CANCELLABLE).first()
    if change is not None:
        changes.cancel(change_id=change.pk, actor=actor, now=now)


def approve_addition(row: Enforcement, change: Change, now: datetime) -> None:
    """Automatic mode: the policy approves, unless the ground was lost while the plan lay there. Under the row's lock."""
    decision, railings = _allowed_now(row, now)
    if decision is Decision.ACT:
        policy = f"{row.mode}:{row.profile}"
        changes.approve_by_policy(change=change, policy=policy, plan_sha256=change.plan_sha256, now=now)
        return
    row.guardrails = as_rows(railings)
    changes.cancel(change_id=change.pk, actor="flowguard", now=now)
    move(row, State.FAILED, _no_longer(railings), now)


def plan_removal(row: Enforcement, clock: Clock) -> None:
    """Plan to take the member back; tried again for as long as the device cannot be read, since the member is still there."""
    try:
        change = _change(row, ChangeKind.MEMBER_REMOVE, _removal_key(row), clock())
    except PolicyHubError as error:
        with transaction.atomic():
            row = Enforcement.objects.select_for_update().get(pk=row.pk)
            _try_again(row, _unread(error), clock())
        return
    with transaction.atomic():
        row = Enforcement.objects.select_for_update().get(pk=row.pk)
        if row.state == State.ACTIVE:
            row.remove_change = change
            said = Message(gettext_noop("taking %(member)s back"), {"member": row.member})
            move(row, State.WITHDRAWING, said, clock(), again_at=clock())


def approve_removal(row: Enforcement, change: Change, now: datetime) -> None:
    """No person is asked: it only takes back our own member. Who asked for it is named, else why it is over."""
    actor = _ends(row)
    if actor.startswith(POLICY):
        policy = actor.removeprefix(POLICY)
        changes.approve_by_policy(change=change, policy=policy, plan_sha256=change.plan_sha256, now=now)
    else:
        changes.approve_taking_back(change=change, actor=actor, plan_sha256=change.plan_sha256, now=now)


def _ends(row: Enforcement) -> str:
    """On whose account the member leaves: who asked last, harm, or its time."""
    asked = row.events.filter(message=ASKED_BACK).order_by("-pk").first()
    if asked is not None:
        return str(asked.data["actor"])
    return f"{POLICY}harm" if row.outcome == EnforcementOutcome.HARMED else f"{POLICY}expiry"


def removals_failed(row: Enforcement) -> int:
    """Removals that ended without taking the member back; the next attempt is another change."""
    mine = Change.objects.filter(notify_task=STEP_TASK, notify_id=row.pk, kind=ChangeKind.MEMBER_REMOVE)
    return mine.filter(state__in=REMOVAL_FAILED).count()


def _removal_key(row: Enforcement) -> str:
    return changes.key("member", row.pk, ChangeKind.MEMBER_REMOVE, removals_failed(row))


def _change(row: Enforcement, kind: ChangeKind, key: str, now: datetime) -> Change:
    assert row.guard is not None
    adding = kind is ChangeKind.MEMBER_ADD
    return changes.plan(
        device=row.guard.device,
        kind=kind,
        spec=GuardSpec.of_json(row.guard.spec),
        member=row.member,
        reason=_reason(row, adding),
        actor=_asks(row, adding),
        requested_by=row.requested_by if adding else None,
        idempotency_key=key,
        guardrails=row.guardrails if adding else [],
        ttl_s=TTL_S,
        confirm_by="packets" if adding else "config",
        notify_task=STEP_TASK,
        notify_id=row.pk,
        now=now,
    )


def _allowed_now(row: Enforcement, now: datetime) -> tuple[Decision, tuple[Railing, ...]]:
    """What the rails say now: workers may have been away for hours, and people change their minds."""
    assert row.guard is not None and row.verdict is not None
    ground = Ground(now, kill_switch.engaged)
    return evaluate(situation(row.verdict, row.guard, row.guard.device.realm, ground, leave_out=row.pk))


def _still_wanted(pk: int, now: datetime) -> bool:
    """Whether a plan is still called for. When the rails allow less than was decided, the row goes back to that.

    What a person asked for has no verdict and is a person's to decline.
    """
    with transaction.atomic():
        row = Enforcement.objects.select_for_update(of=("self",)).select_related(*RELATED).get(pk=pk)
        if row.state not in PLANNABLE or row.verdict is None:
            return row.state in PLANNABLE
        decision, railings = _allowed_now(row, now)
        wanted = Decision.ACT if row.state == State.APPLYING else Decision.PROPOSE
        if decision.strictness > wanted.strictness:
            row.guardrails = as_rows(railings)
            move(row, STATE_OF[decision], _no_longer(railings), now, again_at=now if decision is Decision.PROPOSE else None)
        return row.state in PLANNABLE


def _no_longer(railings: Iterable[Railing]) -> Message:
    return Message(gettext_noop("no longer: %(rails)s"), {"rails": ", ".join(r.name for r in railings if not r.passed)})


def _asks(row: Enforcement, adding: bool) -> str:
    """In automatic mode, and where the rails propose, the policy is who asks; at expiry nobody has to."""
    if not adding:
        return _ends(row)
    return audit.who(row.requested_by) if row.requested_by else f"{POLICY}{row.mode}:{row.profile}"


def _reason(row: Enforcement, adding: bool) -> Message:
    if not adding:
        return Message(gettext_noop("enforcement #%(number)d is over"), {"number": row.pk})
    what = Message(gettext_noop("asked for by a person"))
    if row.verdict:
        values = {"verdict": row.verdict.name, "src": row.verdict.src, "dst": row.verdict.dst, "dscp": row.verdict.dscp}
        what = Message(gettext_noop("%(verdict)s %(src)s > %(dst)s DSCP %(dscp)d"), values)
    said = gettext_noop("enforcement #%(number)d, mode %(mode)s, profile %(profile)s: %(what)s")
    return Message(said, {"number": row.pk, "mode": row.mode, "profile": row.profile, "what": what})


def _unread(error: PolicyHubError) -> Message:
    return Message(gettext_noop("the device could not be read for the plan: %(error)s"), {"error": error.told})


def _try_again(row: Enforcement, said: Message, now: datetime) -> None:
    """The same sentence is written once, however long the device stays away."""
    if row.state != State.ACTIVE:
        return
    last = row.events.order_by("-pk").first()
    if last is None or last.message != said.template or last.data != said.as_json()["values"]:
        move(row, row.state, said, now, again_at=now + REMOVE_AGAIN)
        return
    row.next_step_at = now + REMOVE_AGAIN
    row.save(update_fields=["next_step_at"])
