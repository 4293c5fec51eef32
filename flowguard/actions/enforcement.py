"""An enforcement from verdict to expiry: one member of a prepared guard, added, proved by packets, taken back.

Every function is safe to call again: the row's state and a lock decide what is left to do.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from django.db import IntegrityError, transaction

from flowguard.actions import enforcement_plans, enforcement_steps
from flowguard.actions.timeline import ASKED_BACK, move
from flowguard.domain.guardrails import ACTIONABLE, EVIDENCE_RAILS, Decision, Situation, as_rows, evaluate, is_too_young
from flowguard.models import Enforcement, Guard, Verdict
from flowguard.queries.situation import OPEN, asked_for, guard_for, identity_of, member_of, situation
from policyhub import dispatch
from policyhub.actions import changes, kill_switch
from policyhub.domain.change import canonical_member
from policyhub.domain.errors import BadInput, PlanRefused
from policyhub.domain.message import Message, gettext_noop
from policyhub.models import Realm

State = Enforcement.State
REUSABLE = (State.OBSERVED, State.REFUSED)
STATE_OF = {
    Decision.ACT: State.APPLYING,
    Decision.PROPOSE: State.PROPOSED,
    Decision.OBSERVE: State.OBSERVED,
    Decision.REFUSE: State.REFUSED,
}
SAID = {
    State.APPLYING: gettext_noop("every guard rail allows it: %(member)s goes into %(guard)s"),
    State.PROPOSED: gettext_noop("proposed: %(member)s into %(guard)s; a person decides"),
    State.OBSERVED: gettext_noop("observed only: %(rails)s"),
    State.REFUSED: gettext_noop("refused: %(rails)s"),
}


def consider(*, verdict_id: int, now: datetime) -> Enforcement | None:
    """Evaluate the guard rails for a verdict; act, propose, observe or refuse.

    One open enforcement per guard and member, however many verdicts, revisions or duplicate deliveries name it. A verdict that
    has not lasted long enough is not decided on yet: its next revision comes within a second of packet time.
    Returns it, or None when the verdict calls for nothing.
    """
    verdict = Verdict.objects.select_related("sensor__group").get(pk=verdict_id)
    if verdict.name not in ACTIONABLE or verdict.standing != Verdict.Standing.STANDS or verdict.severity == "info":
        return None
    guard = guard_for(verdict)
    try:
        with transaction.atomic():
            row = _claim(verdict, guard, now)
            if row is None:
                return None
            group = guard.device.group if guard else verdict.sensor.group
            killed = kill_switch.engaged(group.name if group else "")
            seen = situation(verdict, guard, killed=killed, now=now, leave_out=row.pk)
            if row.pk is None and is_too_young(seen):
                return None
            _decide(row, seen, verdict, guard, now)
            return row
    except IntegrityError:  # another worker created the row of this generation first; it decides
        return Enforcement.objects.filter(idempotency_key=_key(verdict, guard)).first()


def request(*, guard: Guard, member: str, actor: str, reason: str, now: datetime) -> Enforcement:
    """A person asks for one address without a verdict. It is only ever proposed: somebody else approves the plan.

    Rails that speak of evidence do not apply; never-touch, blast radius, kill switch, width and the device's health do.
    Raises BadInput (not one address, already in), PlanRefused naming the rails.
    """
    try:
        prefix = canonical_member(member)
    except ValueError as error:
        raise BadInput(f"{member!r} is not an address ({error}). Write e.g. 10.1.2.3/32") from None
    killed = kill_switch.engaged(guard.device.group.name)
    with transaction.atomic():
        one_decision_at_a_time(guard)
        rows = Enforcement.objects.select_for_update().filter(guard=guard, member=prefix)
        if rows.filter(state__in=OPEN).exists():
            raise BadInput(f"{prefix} is in {guard} already, or on its way. See: policyhub guard list")
        seen = asked_for(guard, prefix, killed=killed, now=now)
        railings = [railing for railing in evaluate(seen)[1] if railing.name not in EVIDENCE_RAILS]
        refused = [
            f"{railing.name}: {railing.reason}" for railing in railings if railing.allows in (Decision.REFUSE, Decision.OBSERVE)
        ]
        if refused:
            raise PlanRefused(f"{prefix}: {'; '.join(refused)}")
        row = rows.filter(state__in=REUSABLE).first() or Enforcement(
            guard=guard, realm=guard.device.realm, member=prefix, created_at=now
        )
        ended = rows.exclude(state__in=(*OPEN, *REUSABLE)).count()
        row.idempotency_key = changes.key("enforcement", guard.device.realm.name, guard.pk, prefix, ended)
        row.mode, row.profile, row.guardrails, row.verdict = "request", seen.profile, as_rows(railings), None
        row.save()
        said = Message(gettext_noop("asked for by %(actor)s: %(reason)s"), {"actor": actor, "reason": reason})
        move(row, State.PROPOSED, said, now, again_at=now)
        dispatch.on_commit("flowguard.step_enforcement", row.pk)
    return row


def step(*, enforcement_id: int, clock: Callable[[], datetime]) -> None:
    """Do what the row's state calls for: plan, verify by packets, watch, take back."""
    enforcement_steps.step(enforcement_id=enforcement_id, clock=clock)


def withdraw(*, enforcement_id: int, actor: str, reason: str, now: datetime) -> None:
    """Take the member back now; nothing happens when it is gone or on its way out already."""
    with transaction.atomic():
        row = Enforcement.objects.select_for_update().get(pk=enforcement_id)
        if row.state in (State.PROPOSED, State.APPLYING) and row.add_change is None:
            move(
                row,
                State.REVERTED,
                Message(gettext_noop("withdrawn by %(actor)s before anything was planned"), {"actor": actor}),
                now,
            )
            enforcement_plans.drop_addition(row, actor, now)
        elif row.state == State.PROPOSED and row.add_change_id is not None:
            changes.cancel(change_id=row.add_change_id, actor=actor, now=now)
            move(row, State.REVERTED, Message(gettext_noop("declined by %(actor)s"), {"actor": actor}), now)
        elif row.state in (State.APPLYING, State.ACTIVE, State.NEEDS_PERSON):
            row.expires_at = now
            values = {"actor": actor, "reason": reason}
            state = State.ACTIVE if row.state == State.NEEDS_PERSON else row.state
            move(row, state, Message(ASKED_BACK, values), now, again_at=now)
            dispatch.on_commit("flowguard.step_enforcement", row.pk)


def _claim(verdict: Verdict, guard: Guard | None, now: datetime) -> Enforcement | None:
    """The row to decide on: a reusable one, a new one, or None while one is open."""
    member = member_of(verdict)
    one_decision_at_a_time(guard)
    rows = Enforcement.objects.select_for_update().filter(guard=guard, member=member, realm__name=verdict.realm)
    if rows.filter(state__in=OPEN).exists():
        return None
    known = rows.filter(state__in=REUSABLE).first()
    if known:
        known.verdict = verdict
        return known
    realm = guard.device.realm if guard else Realm.objects.filter(name=verdict.realm).first()
    if realm is None:  # a sensor names a realm that nobody set up here
        return None
    return Enforcement(
        guard=guard,
        verdict=verdict,
        realm=realm,
        member=member,
        idempotency_key=_key(verdict, guard),
        notice_ns=verdict.first_ns,
        created_at=now,
    )


def one_decision_at_a_time(guard: Guard | None) -> None:
    """Rails that count (blast radius, rates) hold only when nobody decides beside us: lock the guard's realm until we commit."""
    if guard is not None:
        list(Realm.objects.select_for_update().filter(pk=guard.device.realm_id))


def _key(verdict: Verdict, guard: Guard | None) -> str:
    member = member_of(verdict)
    ended = Enforcement.objects.filter(guard=guard, member=member, realm__name=verdict.realm).exclude(
        state__in=(*OPEN, *REUSABLE)
    )
    return changes.key("enforcement", verdict.realm, guard.pk if guard else 0, member, ended.count())


def _decide(row: Enforcement, seen: Situation, verdict: Verdict, guard: Guard | None, now: datetime) -> None:
    decision, railings = evaluate(seen)
    before = (row.state, row.guardrails)
    row.mode, row.profile, row.guardrails = seen.mode, seen.profile, as_rows(railings)
    state = STATE_OF[decision]
    row.save()
    if (state, [r["name"] for r in row.guardrails if not r["passed"]]) == (
        before[0],
        [r["name"] for r in before[1] if not r["passed"]],
    ):
        return
    rails = ", ".join(railing.name for railing in railings if not railing.passed)
    identity = identity_of(verdict)
    values = {
        "member": row.member,
        "guard": guard.name if guard else "-",
        "rails": rails,
        "identity": identity.name if identity else "-",
    }
    move(row, state, Message(SAID[state], values), now, again_at=now if state in (State.APPLYING, State.PROPOSED) else None)
    if state in (State.APPLYING, State.PROPOSED):
        dispatch.on_commit("flowguard.step_enforcement", row.pk)
