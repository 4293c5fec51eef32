"""The one way an enforcement changes state: row, timeline and audit together."""

from __future__ import annotations

from datetime import datetime

from flowguard.models import Enforcement, EnforcementEvent
from policyhub.actions import audit
from policyhub.domain.message import Message

ENDED = (
    Enforcement.State.EXPIRED,
    Enforcement.State.REVERTED,
    Enforcement.State.FAILED,
)


def move(row: Enforcement, state: str, said: Message, now: datetime, *, again_at: datetime | None = None) -> None:
    """again_at: when `step` shall look again even if nobody calls; None = nothing is due."""
    row.state = state
    row.next_step_at = again_at
    if state in ENDED:
        row.ended_at = now
    row.save()
    EnforcementEvent.objects.create(enforcement=row, at=now, state=state, message=said.template, data=said.as_json()["values"])
    audit.record(f"enforcement.{state}", actor="system", at=now, enforcement=row.pk, member=row.member, said=said.as_json())
