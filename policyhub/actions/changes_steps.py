"""What a worker does in each state of a change on its way to the device. Called by `changes.step` only.

A handler returns True when the change moved and the next handler may run at once, False when it has to wait.
"""

from __future__ import annotations

import hashlib
from datetime import timedelta

from policyhub.actions import configs, kill_switch, secrets
from policyhub.actions.changes_device import Reading, Work, armed_token, limits_of, observe, render
from policyhub.actions.changes_record import State, commands_of, entered_at, move, note, notes_since_entered, plan_sha256
from policyhub.domain.change import PushOutcome
from policyhub.domain.errors import LeaseLost, PolicyHubError, Stopped
from policyhub.domain.message import Message, gettext_noop
from policyhub.domain.plan_lint import lint
from policyhub.models import Change
from policyhub.transport.errors import ConnectionLost, TimedOut, TransportError

KILLED_RETRY = timedelta(seconds=10)
REACH_RETRY = timedelta(seconds=5)
REACH_TRIES = 3
APPROVAL_LASTS = timedelta(minutes=10)  # a kill switch or an outage later, nobody knows whether it is still wanted
SETTLE = "settle"
OF_CHANGE = "change #"


def advance(work: Work, to: State, said: Message, **more: object) -> bool:
    move(work.change, to, said, now=work.clock(), fencing=work.lease.token, **more)  # type: ignore[arg-type]
    return True


def fail(work: Work, said: Message, outcome: PushOutcome = PushOutcome.NOT_APPLIED) -> bool:
    return advance(work, State.FAILED, said, error=str(said), push_outcome=outcome)


def wait(work: Work, pause: timedelta, said: Message | None = None, **data: object) -> bool:
    """Stay in this state; the sentence enters the timeline unless it is the last one there.

    Somebody who asked for an earlier step meanwhile (a confirmation) is not overruled.
    """
    change, again = work.change, work.clock() + pause
    mine = Change.objects.filter(pk=change.pk)
    held = change.next_step_at
    mine = mine.filter(next_step_at__isnull=True) if held is None else mine.filter(next_step_at=held)
    if mine.update(next_step_at=again):
        change.next_step_at = again
    last = change.events.order_by("-pk").first()
    if said is not None and (last is None or last.message != str(said)):
        note(change, said, now=work.clock(), data=data)
    return False


def approved(work: Work) -> bool:
    """Nothing has been sent. The approved text must be the text that is stored."""
    change = work.change
    if plan_sha256(work.device, change.kind, change.spec, commands_of(change)) != change.plan_sha256:
        return fail(work, Message(gettext_noop("the stored plan is not the one that was approved; plan again")))
    if work.clock() - entered_at(change) > APPROVAL_LASTS and not work.takes_back:
        return fail(work, Message(gettext_noop("approved too long ago; nothing was sent, plan again")))
    if not work.takes_back and kill_switch.engaged(work.device.group.name):
        return wait(work, KILLED_RETRY, Message(gettext_noop("waiting: the kill switch is engaged")))
    return advance(work, State.PREFLIGHT, Message(gettext_noop("reading the device before the push")), error="")


def preflight(work: Work) -> bool:
    """Read in a fresh session, render again: an approval is void when the device no longer calls for exactly these lines."""
    change = work.change
    try:
        reading = work.read_fresh()
        commands = render(work.renderer, work.kind, work.spec, work.member, reading.running)
        lint(work.kind, work.spec, commands, work.renderer.owns, limits_of(work.profile))
    except LeaseLost:
        raise
    except PolicyHubError as error:
        return _cannot_start(work, error)
    if not commands.lines:
        said = Message(gettext_noop("the device is already as planned; nothing was sent"))
        return advance(work, State.CONFIRMED, said, push_outcome=PushOutcome.APPLIED, pushed_at=work.clock())
    if commands.sha256 != commands_of(change).sha256:
        return fail(work, Message(gettext_noop("the device changed since the plan was read; the approval is void, plan again")))
    keep_reading(work, reading, "pre-push")
    said = Message(gettext_noop("%(lines)d lines and their inverse are ready"), {"lines": len(change.lines)})
    return advance(
        work,
        State.ARMED,
        said,
        data={"token": _token(work)} if work.profile.watchdog else {},
        before_section=reading.picture.text,
        before_foreign_sha256=reading.foreign_sha256,
    )


def keep_reading(work: Work, reading: Reading, source: str) -> None:
    """What was read on account of the change is the device's newest configuration, too."""
    actor = f"{OF_CHANGE}{work.change.pk}"
    configs.store(device=work.device, text=reading.running, source=source, actor=actor, now=work.clock())


def _cannot_start(work: Work, error: PolicyHubError) -> bool:
    said = Message(gettext_noop("nothing was sent: %(error)s"), {"error": error.told})
    if isinstance(error, TransportError) and not error.permanent:
        tries = notes_since_entered(work.change, "unreachable") + 1
        if tries < REACH_TRIES:
            note(work.change, said, now=work.clock(), data={"unreachable": tries})
            return wait(work, REACH_RETRY)
    return fail(work, said)


def _token(work: Work) -> str:
    """Names one arming and no other, of this service or of another one that works on the same device."""
    change = work.change
    parts = f"{change.pk} {work.lease.token} {change.idempotency_key} {change.created_at.isoformat()}"
    return hashlib.sha256(parts.encode()).hexdigest()[:16]


def armed(work: Work) -> bool:
    """Start the watchdog, write the audit row, then let the first line leave. After a crash: read, and arm anew."""
    try:
        if work.session is None and not _rearmed(work):
            return fail(work, Message(gettext_noop("the device changed before a line was sent; plan again")))
        work.arm(armed_token(work.change))
        work.check_kill_switch()
    except LeaseLost:
        raise
    except PolicyHubError as error:
        work.disarm()
        return fail(work, Message(gettext_noop("nothing was sent: %(error)s"), {"error": error.told}))
    said = Message(gettext_noop("sending %(lines)d lines"), {"lines": len(work.change.lines)})
    work.may_push = advance(
        work,
        State.PUSHING,
        said,
        data={"lines": work.change.lines, "fencing": work.lease.token},
        pushed_at=work.clock(),
        push_outcome=PushOutcome.UNKNOWN,
        next_step_at=work.clock() + timedelta(seconds=60),
    )
    return True


def _rearmed(work: Work) -> bool:
    """The worker before us may have started a watchdog: stop it, or it would take back what we send now."""
    reading = observe(work.fresh(), work.renderer, work.profile, work.spec)
    work.disarm()
    said = Message(gettext_noop("taken over from a worker that stopped; the device was read again"))
    data = {"token": _token(work)} if work.profile.watchdog else {}
    note(work.change, said, now=work.clock(), data=data)
    return reading.picture.text == work.change.before_section


def pushing(work: Work) -> bool:
    """Send once, in the process that made the transition. Anybody else finds a push that may have happened: read it back."""
    if not work.may_push or work.session is None:
        said = Message(gettext_noop("the worker stopped while sending; nothing is sent again, the device is read back"))
        return _sent(work, said, error=str(said), settle=True)
    work.may_push = False
    session, trouble = work.session, None
    settle = False
    try:
        session.push(work.change.lines, before_line=work.before_line)
    except (TransportError, Stopped) as problem:
        trouble, settle = problem.told, isinstance(problem, TimedOut | ConnectionLost)
    envelope = secrets.seal(session.transcript)
    work.close()
    if trouble is not None:
        said = Message(
            gettext_noop("stopped after %(sent)d of %(lines)d lines: %(error)s"),
            {"sent": session.sent, "lines": len(work.change.lines), "error": trouble},
        )
    else:
        said = Message(gettext_noop("all lines sent, no line was refused"))
    return _sent(work, said, error=str(trouble or ""), settle=settle, transcript_envelope=envelope)


def _sent(work: Work, said: Message, *, error: str, settle: bool, **fields: object) -> bool:
    """Whatever happened, the outcome is unknown until a new session has read the device."""
    again = work.clock() + timedelta(seconds=work.settle_s) if settle else None
    data = {SETTLE: work.settle_s} if settle else {}
    advance(work, State.PUSHED, said, data=data, error=error, next_step_at=again or work.clock(), **fields)
    return not settle
