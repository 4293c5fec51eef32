"""An enforcement from verdict to expiry: one member of a prepared guard, added, proved by packets, taken back.

Every function is safe to call again: the row's state and a lock decide what is left to do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from django.contrib.auth.models import User
from django.db import transaction

from flowguard.actions import decisions, enforcement_plans, enforcement_steps
from flowguard.actions.timeline import move
from flowguard.domain.guardrails import EVIDENCE_RAILS, Decision, Railing, as_rows, evaluate
from flowguard.domain.taking_back import ASKED_BACK, DECLINED, WITHDRAWN
from flowguard.models import Enforcement, Guard, Verdict
from flowguard.queries.ground import OPEN, Ground, member_of
from flowguard.queries.situation import asked_for
from policyhub import dispatch
from policyhub.actions import audit, changes, kill_switch
from policyhub.domain.change import canonical_member
from policyhub.domain.errors import BadInput, PlanRefused
from policyhub.domain.message import Message, gettext_noop

State = Enforcement.State


def consider(*, verdict_id: int, now: datetime) -> Enforcement | None:
    """Decide on one verdict (see `decisions.decide`). None: nothing is called for now."""
    verdict = Verdict.objects.select_related("sensor__group").get(pk=verdict_id)
    realm = Ground(now, kill_switch.engaged).realm_of(verdict)
    if realm is None or not decisions.calls_for_one(verdict):
        return None
    with transaction.atomic():
        decisions.lock_realm(realm)
        ground = Ground(now, kill_switch.engaged)
        ground.lock([member_of(verdict)])
        return decisions.decide(verdict, realm, ground) if ground.realm_of(verdict) == realm else None


def request(*, guard: Guard, member: str, requested_by: User, via: str = "", reason: str | Message, now: datetime) -> Enforcement:
    """A person asks for one address without a verdict. It is only ever proposed: somebody else approves the plan.

    Rails that speak of evidence do not apply; never-touch, blast radius, kill switch, width and the device's health do.
    Raises BadInput (not one address, already in), PlanRefused naming the rails.
    """
    try:
        prefix = canonical_member(member)
    except ValueError as error:
        wrong = gettext_noop("%(member)r is not an address (%(error)s). Write e.g. 10.1.2.3/32")
        raise BadInput.of(wrong, member=member, error=str(error)) from None
    realm = guard.device.realm
    with transaction.atomic():
        decisions.lock_realm(realm)
        rows = Enforcement.objects.select_for_update().filter(guard=guard, member=prefix)
        if rows.filter(state__in=OPEN).exists():
            wrong = gettext_noop("%(member)s is in %(guard)s already, or on its way. See: policyhub guard list")
            raise BadInput.of(wrong, member=prefix, guard=str(guard))
        seen = asked_for(guard, prefix, Ground(now, kill_switch.engaged))
        railings = [railing for railing in evaluate(seen)[1] if railing.name not in EVIDENCE_RAILS]
        refused = [railing for railing in railings if railing.allows in (Decision.REFUSE, Decision.OBSERVE)]
        if refused:
            raise PlanRefused(Message("%(member)s: %(rails)s", {"member": prefix, "rails": _told(refused)}))
        row = rows.filter(state__in=decisions.REUSABLE).first() or Enforcement(
            guard=guard, realm=realm, member=prefix, created_at=now
        )
        ended = rows.exclude(state__in=(*OPEN, *decisions.REUSABLE)).count()
        row.idempotency_key = decisions.key(realm, guard, prefix, ended)
        row.mode, row.profile, row.guardrails, row.verdict = "request", seen.profile, as_rows(railings), None
        row.requested_by = requested_by
        values = {"actor": audit.who(requested_by, via), "reason": reason}
        said = Message(gettext_noop("asked for by %(actor)s: %(reason)s"), values)
        move(row, State.PROPOSED, said, now, again_at=now)
        dispatch.on_commit("flowguard.step_enforcement", row.pk)
    return row


def _told(railings: Sequence[Railing]) -> Message:
    """`name: reason; name: reason`."""
    first, *rest = railings
    said = Message("%(rail)s: %(reason)s", {"rail": first.name, "reason": first.reason})
    return Message("%(said)s; %(more)s", {"said": said, "more": _told(rest)}) if rest else said


def step(*, enforcement_id: int, clock: Callable[[], datetime]) -> None:
    """Do what the row's state calls for: plan, verify by packets, watch, take back."""
    enforcement_steps.step(enforcement_id=enforcement_id, clock=clock)


def withdraw(*, enforcement_id: int, actor: str, reason: str | Message, now: datetime) -> None:
    """Take the member back now; nothing happens when it is gone or on its way out already."""
    with transaction.atomic():
        row = Enforcement.objects.select_for_update().get(pk=enforcement_id)
        if row.state in (State.PROPOSED, State.APPLYING) and row.add_change is None:
            move(row, State.REVERTED, Message(WITHDRAWN, {"actor": actor}), now)
            enforcement_plans.drop_addition(row, actor, now)
        elif row.state == State.PROPOSED and row.add_change_id is not None:
            changes.cancel(change_id=row.add_change_id, actor=actor, now=now)
            move(row, State.REVERTED, Message(DECLINED, {"actor": actor}), now)
        elif row.state in (State.APPLYING, State.ACTIVE, State.NEEDS_PERSON):
            row.expires_at = now
            values = {"actor": actor, "reason": reason}
            state = State.ACTIVE if row.state == State.NEEDS_PERSON else row.state
            move(row, state, Message(ASKED_BACK, values), now, again_at=now)
            dispatch.on_commit("flowguard.step_enforcement", row.pk)
