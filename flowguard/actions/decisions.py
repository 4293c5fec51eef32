"""One verdict, one decision: act, propose, observe or refuse. Called under the realm's lock, inside a transaction."""

from __future__ import annotations

from datetime import datetime

from flowguard.actions.timeline import move
from flowguard.domain.guardrails import ACTIONABLE, Decision, Situation, as_rows, evaluate, is_too_young
from flowguard.models import Enforcement, Guard, Verdict
from flowguard.queries.ground import OPEN, Ground, member_of
from flowguard.queries.situation import situation
from policyhub import dispatch
from policyhub.actions import changes
from policyhub.domain.message import Message, gettext_noop
from policyhub.models import Realm

State = Enforcement.State
REUSABLE = (State.OBSERVED, State.REFUSED)
GOES_ON = (State.APPLYING, State.PROPOSED)
STATE_OF = {
    Decision.ACT: State.APPLYING,
    Decision.PROPOSE: State.PROPOSED,
    Decision.OBSERVE: State.OBSERVED,
    Decision.REFUSE: State.REFUSED,
}
SAID = {
    State.APPLYING: gettext_noop("every guard rail allows it: %(member)s goes into %(guard)s"),
    State.PROPOSED: gettext_noop("proposed: %(member)s into %(guard)s; a person decides"),
    State.OBSERVED: gettext_noop("observed only; not met: %(rails)s"),
    State.REFUSED: gettext_noop("refused; not met: %(rails)s"),
}


def calls_for_one(verdict: Verdict) -> bool:
    """Whether there is anything to decide, whatever the guard rails say."""
    return verdict.name in ACTIONABLE and verdict.standing == Verdict.Standing.STANDS and verdict.severity != "info"


def lock_realm(realm: Realm) -> None:
    """Rails that count (blast radius, rates) hold only when nobody decides beside us: the realm is ours until we commit."""
    list(Realm.objects.select_for_update(no_key=True).filter(pk=realm.pk))


def decide(verdict: Verdict, realm: Realm, ground: Ground) -> Enforcement | None:
    """Evaluate the guard rails and write what follows from them. realm: as `ground.realm_of` says, and locked.

    One open enforcement per guard and member, however many verdicts, revisions or duplicate deliveries name it. A verdict that
    has not lasted long enough is not decided on yet: its next revision comes within a second of packet time.
    Returns the enforcement, or None when there is nothing to decide now.
    """
    guard, member = ground.guard_for(verdict), member_of(verdict)
    known = ground.enforcements(guard, realm, member)
    if any(row.state in OPEN for row in known):
        return None
    row = next((row for row in known if row.state in REUSABLE), None)
    seen = situation(verdict, guard, realm, ground, leave_out=row.pk if row else None)
    if row is None:
        if is_too_young(seen):
            return None
        ended = sum(earlier.state not in REUSABLE for earlier in known)
        row = Enforcement(
            member=member,
            idempotency_key=key(realm, guard, member, ended),
            notice_ns=verdict.first_ns,
            created_at=ground.now,
        )
    row.guard, row.realm, row.verdict, row.requested_by = guard, realm, verdict, None
    identity = ground.identity(verdict)
    _write(row, seen, identity.name if identity else "-", ground.now)
    ground.decided(row)
    return row


def key(realm: Realm, guard: Guard | None, member: str, ended: int) -> str:
    """ended: how many enforcements of this member have come to an end; the next one is another."""
    return changes.key("enforcement", realm.name, guard.pk if guard else 0, member, ended)


def _write(row: Enforcement, seen: Situation, identity: str, now: datetime) -> None:
    """The timeline and the audit tell only what is new: another state, or another rail that says no."""
    decision, railings = evaluate(seen)
    state, failed = STATE_OF[decision], [railing.name for railing in railings if not railing.passed]
    is_new = (state, failed) != (row.state, [rail["name"] for rail in row.guardrails if not rail["passed"]])
    row.mode, row.profile, row.guardrails = seen.mode, seen.profile, as_rows(railings)
    if not is_new:
        row.save(update_fields=["verdict", "mode", "profile", "guardrails"])
        return
    values = {
        "member": row.member,
        "guard": row.guard.name if row.guard else "-",
        "rails": ", ".join(failed),
        "identity": identity,
    }
    move(row, state, Message(SAID[state], values), now, again_at=now if state in GOES_ON else None)
    if state in GOES_ON:
        dispatch.on_commit("flowguard.step_enforcement", row.pk)
