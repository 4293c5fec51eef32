"""What the page of one change shows, computed from its row: track, diff, decisions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.http import HttpRequest
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from policyhub.console import labels
from policyhub.console.diff import DiffRow, expected, side_by_side
from policyhub.console.forms import ApproveForm, ReasonForm
from policyhub.domain.change_outcome import GuardPicture
from policyhub.models import Change

S = Change.State
REVERTIBLE = (S.PUSHED, S.VERIFIED, S.CONFIRMED, S.REVERT_FAILED)
CANCELLABLE = (S.PROPOSED, S.APPROVED)
ENDED_EARLY = (S.REFUSED, S.FAILED, S.CANCELLED)
TAKEN_BACK = (S.REVERTING, S.REVERTED, S.REVERT_FAILED)
# Which states lead to a milestone that is not reached yet.
LEADS_TO: dict[str, tuple[str, ...]] = {
    S.APPROVED: (S.PROPOSED,),
    S.ARMED: (S.APPROVED, S.PREFLIGHT),
    S.PUSHED: (S.ARMED, S.PUSHING),
    S.VERIFIED: (S.PUSHED,),
    S.CONFIRMED: (S.VERIFIED,),
    S.REVERTED: (S.REVERTING,),
}


@dataclass(frozen=True, slots=True)
class Step:
    """status: done, now, todo or bad. at None: not yet."""

    label: str | Promise
    status: str
    at: datetime | None = None


def track(change: Change) -> list[Step]:
    """The way of a change from plan to end, with what has happened so far. Reads `change.events` as prefetched."""
    reached = {event.state: event.at for event in change.events.all()}
    way: list[tuple[str, str | Promise]] = [
        (S.PROPOSED, _("planned")),
        (S.APPROVED, _("approved")),
        (S.ARMED, _("armed")),
        (S.PUSHED, _("applied")),
        (S.VERIFIED, _("verified by configuration")),
        (S.CONFIRMED, _("verified by packets") if change.confirm_by == "packets" else _("confirmed")),
    ]
    if change.state == S.CONFIRMED:  # one that found nothing to do skipped most of the way
        way = [step for step in way if step[0] in reached]
    elif change.state in ENDED_EARLY:
        way = [step for step in way if step[0] in reached] + [(change.state, change.get_state_display())]
    elif change.state in TAKEN_BACK:
        last = S.REVERT_FAILED if change.state == S.REVERT_FAILED else S.REVERTED
        way = [step for step in way if step[0] in reached] + [(last, S(last).label if last != S.REVERTED else _("taken back"))]
    return [Step(label, _status(change, state, reached), reached.get(state)) for state, label in way]


def _status(change: Change, state: str, reached: dict[str, datetime]) -> str:
    if state in (*ENDED_EARLY, S.REVERT_FAILED):
        return "bad"
    if state in reached:
        return "done"
    return "now" if change.state in LEADS_TO.get(state, ()) else "todo"


def named(events: Iterable[Any], choices: Iterable[tuple[str, Any]]) -> list[Any]:
    """The events of a timeline, each with the word for its state in `state_label`."""
    words = dict(choices)
    rows = list(events)
    for row in rows:
        row.state_label = words.get(row.state, row.state)
    return rows


def context(request: HttpRequest, change: Change) -> dict[str, Any]:
    """Everything the template needs; forms only for what this person may do in this state."""
    user = request.user
    own = change.requested_by_id is not None and change.requested_by_id == user.pk
    may_approve = change.state == S.PROPOSED and user.has_perm("policyhub.approve_change")
    may_revert = change.state in REVERTIBLE and user.has_perm("policyhub.push_change")
    events = named(change.events.all(), S.choices)
    return {
        "change": change,
        "events": events,
        "last_event": events[-1].pk if events else 0,
        "track": track(change),
        "diff": section_diff(change),
        "expected": expected_diff(change),
        "trouble": labels.last_said(events) or change.error if labels.tone(change.state) == "bad" else "",
        "own": own,
        "approve_form": ApproveForm(request=request, initial={"plan_sha256": change.plan_sha256})
        if may_approve and not own
        else None,
        "waits_for_other": change.state == S.PROPOSED and (own or not user.has_perm("policyhub.approve_change")),
        "revert_form": ReasonForm(request=request) if may_revert else None,
        "may_cancel": change.state in CANCELLABLE and user.has_perm("policyhub.change_change"),
        "failed_rails": [rail for rail in change.guardrails if not rail.get("passed")],
        "passed_rails": [rail for rail in change.guardrails if rail.get("passed")],
    }


def expected_diff(change: Change) -> list[DiffRow]:
    """Until the device was read back; empty for a plan without lines."""
    return [] if change.after_section else expected(change.lines, change.inverse)


def section_diff(change: Change) -> list[Any]:
    """Our section of the device before and after; empty until it was read back."""
    if not change.after_section:
        return []
    return side_by_side(section_lines(change.before_section), section_lines(change.after_section))


def section_lines(text: str) -> list[str]:
    """A stored picture of the guard in the reader's language; anything else as it stands."""
    try:
        picture = GuardPicture.of_text(text)
    except ValueError:
        return text.splitlines()
    return [labels.said(message.template, message.values) for message in picture.words]
