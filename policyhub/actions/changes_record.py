"""Writing a change down: one transition, one event, one audit row, in one transaction."""

from __future__ import annotations

import hashlib
import json
from datetime import datetime
from typing import Any

from django.db import transaction

from policyhub import dispatch
from policyhub.actions import audit
from policyhub.domain.change import ChangeKind, Commands, GuardSpec
from policyhub.domain.change_states import may_follow
from policyhub.domain.errors import WrongState
from policyhub.domain.message import Message, gettext_noop
from policyhub.models import Change, ChangeEvent, Device

State = Change.State
# States in which whoever ordered the change has the next move, or has to know.
TELL = frozenset(
    {
        State.REFUSED,
        State.APPROVED,
        State.VERIFIED,
        State.CONFIRMED,
        State.FAILED,
        State.REVERTED,
        State.REVERT_FAILED,
        State.CANCELLED,
    }
)
FINISHED = TELL - {State.APPROVED, State.VERIFIED}


def plan_sha256(device: Device, kind: str, spec: dict[str, Any], commands: Commands) -> str:
    """What an approval binds to: the device, the intent and every line of plan, inverse and reading. Lower-case hex."""
    place = [device.pk, device.name, device.platform, device.host, device.port]
    body = json.dumps([place, kind, spec, commands.sha256], sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(body.encode()).hexdigest()


def commands_of(change: Change) -> Commands:
    return Commands(tuple(change.lines), tuple(change.inverse), tuple(change.reads))


def spec_as_json(spec: GuardSpec, member: str | None) -> dict[str, Any]:
    """GuardSpec and member as `Change.spec` stores them."""
    plain = spec.as_json()
    return plain if member is None else {**plain, "member": member}


def spec_of(change: Change) -> tuple[ChangeKind, GuardSpec, str | None]:
    """The intent of a stored change."""
    plain = dict(change.spec)
    member = plain.pop("member", None)
    return ChangeKind(change.kind), GuardSpec.of_json(plain), member


def create(change: Change, said: Message, *, now: datetime) -> None:
    """The first row of a change, in state PROPOSED or REFUSED."""
    with transaction.atomic():
        change.save(force_insert=True)
        _event(change, said, now, {})
        _audit(change, said, now, change.actor, {})
        _tell(change)


def move(
    change: Change,
    to: State,
    said: Message,
    *,
    now: datetime,
    actor: object = None,
    fencing: int | None = None,
    data: dict[str, Any] | None = None,
    **fields: Any,
) -> None:
    """Take `change` to the next state and write `fields`. fencing: a worker's token; actor None: the change's own.

    Raises WrongState when the step is not in the state machine, somebody moved the change first, or a newer worker holds it.
    """
    before = change.state
    if not may_follow(before, to):
        said_why = gettext_noop("change #%(change)d is %(state)s; it cannot become %(to)s")
        raise WrongState.of(said_why, change=change.pk, state=before, to=str(to))
    fields = {"next_step_at": None, **fields, "state": to}
    if to in FINISHED:
        fields["finished_at"] = now
    held = Change.objects.filter(pk=change.pk, state=before)
    if fencing is not None:
        held = held.filter(fencing=fencing)
    with transaction.atomic():
        if not held.update(**fields):
            said_why = gettext_noop("change #%(change)d was moved by somebody else meanwhile. Read it again")
            raise WrongState.of(said_why, change=change.pk)
        for name, value in fields.items():
            setattr(change, name, value)
        _event(change, said, now, {"from": before, **(data or {})})
        _audit(change, said, now, actor or change.actor, data or {})
        _tell(change)


def note(change: Change, said: Message, *, now: datetime, data: dict[str, Any] | None = None, **fields: Any) -> None:
    """A row of the timeline without a transition."""
    with transaction.atomic():
        if fields:
            Change.objects.filter(pk=change.pk).update(**fields)
            for name, value in fields.items():
                setattr(change, name, value)
        _event(change, said, now, data or {})


def trouble(change: Change) -> str | Message:
    """What `change.error` says, as the message it was when it was written down."""
    for row in change.events.order_by("-pk"):
        stored = row.data.get("said")
        said = Message.of(stored) if isinstance(stored, dict) and "text" in stored else None
        for one in (said, *(said.values.values() if said else ())):
            if isinstance(one, Message) and str(one) == change.error:
                return one
    return change.error


def entered_at(change: Change) -> datetime:
    """When the change came into the state it is in."""
    rows = change.events.filter(state=change.state).order_by("-pk")
    return next((row.at for row in rows if "from" in row.data), change.created_at)


def notes_since_entered(change: Change, key: str) -> int:
    """Timeline rows of the present state that carry `key`, since it was entered: a counter that survives a crash."""
    count = 0
    for row in change.events.order_by("-pk"):
        if row.state != change.state:
            break
        count += key in row.data
        if "from" in row.data:
            break
    return count


def _event(change: Change, said: Message, now: datetime, data: dict[str, Any]) -> None:
    ChangeEvent.objects.create(
        change=change, at=now, state=change.state, message=str(said)[:4000], data={**data, "said": said.as_json()}
    )


def _audit(change: Change, said: Message, now: datetime, actor: object, data: dict[str, Any]) -> None:
    audit.record(
        f"change.{change.state}",
        actor=actor,
        at=now,
        change=change.pk,
        device=change.device.name,
        kind=change.kind,
        plan=change.plan_sha256,
        outcome=change.push_outcome,
        said=said.as_json(),
        **{key: value for key, value in data.items() if key != "said"},
    )


def _tell(change: Change) -> None:
    if change.notify_task and change.notify_id is not None and change.state in TELL:
        dispatch.on_commit(change.notify_task, change.notify_id)
