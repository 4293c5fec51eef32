"""What a worker does once lines may have left: read back in a new session, keep, or take back. Called by `changes.step` only."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from policyhub.actions import secrets
from policyhub.actions.changes_device import OPPOSITE, Reading, Work, armed_token, observe, render
from policyhub.actions.changes_record import State, entered_at, note, notes_since_entered
from policyhub.actions.changes_record import trouble as told_error
from policyhub.actions.changes_steps import SETTLE, advance, fail, keep_reading, wait
from policyhub.domain.change import PushOutcome
from policyhub.domain.change_outcome import GuardPicture, is_taken_back, judge_push
from policyhub.domain.errors import CannotRender, LeaseLost, PolicyHubError
from policyhub.domain.message import Message, gettext_noop
from policyhub.domain.plan_lint import lint_lines
from policyhub.transport.errors import TransportError

GIVE_UP = timedelta(minutes=10)  # after the watchdog's time; then a person is needed
REVERT_TRIES = 3
SOONEST, LATEST = timedelta(seconds=2), timedelta(seconds=30)
WATCHDOG_GRACE = timedelta(seconds=2)


def pushed(work: Work) -> bool:
    """Decide by reading, in a new session. Silence is neither success nor failure."""
    reading = _read_or_wait(work)
    if reading is None:
        return False
    change = work.change
    before = GuardPicture.of_text(change.before_section)
    outcome = judge_push(work.kind, work.member, before, reading.picture)
    if outcome is not PushOutcome.APPLIED and _must_settle(work) and not _settled(work, reading):
        return False
    fields: dict[str, object] = {"push_outcome": outcome, "after_section": reading.picture.text}
    if outcome is PushOutcome.APPLIED and reading.foreign_sha256 == change.before_foreign_sha256:
        advance(work, State.VERIFIED, Message(gettext_noop("a new session reads exactly what was planned")), **fields)
        keep_reading(work, reading, "post-push")
        return True
    if outcome is PushOutcome.APPLIED:
        said = Message(gettext_noop("something else on the device changed during the push; taking ours back"))
        return advance(work, State.REVERTING, said, error=str(said), **fields)
    if outcome is PushOutcome.PARTIAL:
        said = Message(gettext_noop("only a part is on the device; taking it back"))
        return advance(work, State.REVERTING, said, **{**fields, "error": change.error or str(said)})
    return _nothing_there(work, reading, fields)


def _nothing_there(work: Work, reading: Reading, fields: dict[str, object]) -> bool:
    """As before the push: refused by the device, or taken back by its own watchdog; after its time nobody can tell which."""
    change = work.change
    if armed_token(change) and work.clock() >= _deadline(work) - 2 * WATCHDOG_GRACE:
        keep_reading(work, reading, "taken-back")
        said = Message(gettext_noop("nobody could confirm in time; the device's own watchdog took the change back"))
        return advance(work, State.REVERTED, said, **{**fields, "push_outcome": PushOutcome.UNKNOWN, "error": str(said)})
    trouble = work.disarm()
    said = Message(gettext_noop("read back: nothing of it is on the device. %(error)s"), {"error": told_error(change) or trouble})
    return fail(work, said)


def _must_settle(work: Work) -> bool:
    return notes_since_entered(work.change, SETTLE) > 0


def _settled(work: Work, reading: Reading) -> bool:
    """A line without an answer may still be carried out: two readings, `settle_s` apart, have to agree."""
    seen = f"{reading.picture.text}\n{reading.foreign_sha256}"
    last = work.change.events.filter(state=State.PUSHED, data__has_key="seen").order_by("-pk").first()
    if last is not None and last.data["seen"] == seen:
        return True
    said = Message(gettext_noop("read back once; reading again after %(pause).0f s"), {"pause": work.settle_s})
    again = work.clock() + timedelta(seconds=work.settle_s)
    note(work.change, said, now=work.clock(), data={"seen": seen}, next_step_at=again)
    return False


def verified(work: Work) -> bool:
    """Keep it when configuration is enough or somebody confirmed; else wait for the packets until the time is up."""
    change = work.change
    if change.confirm_by == "config":
        return _confirm(work)
    if work.clock() < _deadline(work):
        return wait(work, _deadline(work) - work.clock())
    said = Message(gettext_noop("no confirmation within %(ttl)d s; taking it back"), {"ttl": change.ttl_s})
    return advance(work, State.REVERTING, said, error=str(said))


def _confirm(work: Work) -> bool:
    """Stop the watchdog, then make sure that it had not fired yet."""
    kept = Message(gettext_noop("confirmed"))
    if not armed_token(work.change):
        return advance(work, State.CONFIRMED, kept)
    reading = _read_or_wait(work, first=work.disarm)
    if reading is None:
        return False
    before = GuardPicture.of_text(work.change.before_section)
    if judge_push(work.kind, work.member, before, reading.picture) is PushOutcome.APPLIED:
        return advance(work, State.CONFIRMED, kept, error="")
    if is_taken_back(work.kind, work.member, before, reading.picture):
        said = Message(gettext_noop("the device's own watchdog took the change back before it was confirmed"))
        keep_reading(work, reading, "taken-back")
        return advance(work, State.REVERTED, said, error=str(said), after_section=reading.picture.text)
    said = Message(gettext_noop("the device no longer is as verified; taking ours back"))
    return advance(work, State.REVERTING, said, error=str(said))


def reverting(work: Work) -> bool:
    """Read, send the inverse, read again in a new session; a second and third try before a person is called."""
    reading = _read_or_wait(work)
    if reading is None:
        return False
    before = GuardPicture.of_text(work.change.before_section)
    if is_taken_back(work.kind, work.member, before, reading.picture):
        return _taken_back(work, reading)
    tries = notes_since_entered(work.change, "inverse")
    if tries >= REVERT_TRIES:
        said = Message(gettext_noop("the inverse did not take effect %(tries)d times; a person is needed"), {"tries": tries})
        return advance(work, State.REVERT_FAILED, said, error=str(said), after_section=reading.picture.text)
    try:
        lines = _inverse(work, reading)
    except PolicyHubError as error:
        said = Message(gettext_noop("no inverse can be sent: %(error)s; a person is needed"), {"error": error.told})
        return advance(work, State.REVERT_FAILED, said, error=str(said), after_section=reading.picture.text)
    _send_inverse(work, lines)
    again = _read_or_wait(work)
    if again is None:
        return False
    if again.foreign_sha256 != reading.foreign_sha256:
        said = Message(gettext_noop("something that is not ours changed while the inverse was sent; look at the device"))
        note(work.change, said, now=work.clock())
    if is_taken_back(work.kind, work.member, before, again.picture):
        return _taken_back(work, again)
    return wait(work, SOONEST)


def _inverse(work: Work, reading: Reading) -> tuple[str, ...]:
    """The inverse rendered before the push, where the change stands whole; else what takes away just what is there."""
    before = GuardPicture.of_text(work.change.before_section)
    whole = judge_push(work.kind, work.member, before, reading.picture) is PushOutcome.APPLIED
    lines = tuple(work.change.inverse)
    if not whole or not lines:
        try:
            lines = render(work.renderer, OPPOSITE[work.kind], work.spec, work.member, reading.running).lines or lines
        except CannotRender:
            if not lines:
                raise
    lint_lines(work.spec, lines, work.renderer.owns, "inverse")
    return lines


def _send_inverse(work: Work, lines: tuple[str, ...]) -> None:
    """A refused line is no end: what counts is what the next reading finds."""
    number = notes_since_entered(work.change, "inverse") + 1
    said = Message(gettext_noop("sending the inverse, try %(number)d"), {"number": number})
    note(work.change, said, now=work.clock(), data={"inverse": list(lines), "try": number})
    session = work.session
    assert session is not None
    try:
        session.push(lines, before_line=work.before_inverse)
    except LeaseLost:
        raise
    except PolicyHubError as error:
        said = Message(gettext_noop("the inverse was not answered cleanly: %(error)s"), {"error": error.told})
        note(work.change, said, now=work.clock())
    earlier = secrets.unseal(work.change.transcript_envelope)
    envelope = secrets.seal(f"{earlier}\n{session.transcript}")
    type(work.change).objects.filter(pk=work.change.pk).update(transcript_envelope=envelope)
    work.change.transcript_envelope = envelope
    work.close()


def _taken_back(work: Work, reading: Reading) -> bool:
    work.disarm()
    said = Message(gettext_noop("taken back: a new session finds nothing of the change"))
    keep_reading(work, reading, "taken-back")
    return advance(work, State.REVERTED, said, after_section=reading.picture.text)


def _read_or_wait(work: Work, *, first: Callable[[], str] = lambda: "") -> Reading | None:
    """A reading in a new session, or None after scheduling the next try; long silence calls a person.

    first: what to do in that session before reading; returns what went wrong.
    """
    try:
        session = work.fresh()
        trouble = first()
        if trouble and work.clock() < _deadline(work):
            raise TransportError(trouble)
        return observe(session, work.renderer, work.profile, work.spec)
    except LeaseLost:
        raise
    except PolicyHubError as error:
        said = Message(gettext_noop("the device cannot be read back: %(error)s"), {"error": error.told})
    since = max(entered_at(work.change), _deadline(work))
    now = work.clock()
    if now > since + GIVE_UP:
        to = State.REVERT_FAILED if work.change.state == State.REVERTING else State.REVERTING
        advance(work, to, said, error=str(said), push_outcome=work.change.push_outcome or PushOutcome.UNKNOWN, next_step_at=now)
        return None
    wait(work, min(LATEST, max(SOONEST, (now - entered_at(work.change)) / 4)), said)
    return None


def _deadline(work: Work) -> datetime:
    """When the watchdog fires, or where there is none, when we take back what nobody confirmed."""
    pushed_at = work.change.pushed_at or work.change.created_at
    grace = WATCHDOG_GRACE if armed_token(work.change) else timedelta()
    return pushed_at + timedelta(seconds=work.change.ttl_s) + grace
