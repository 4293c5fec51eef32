"""Reads of work that is due on the traffic side, oldest first but for verdicts: (task, id, what changes when it is worked on)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from django.db.models import Max, Q

from flowguard.models import Enforcement, Guard, Verdict, VerdictBatch
from policyhub.models import Change
from policyhub.queries.schedules import AT_ONCE, Due

NOT_TAKEN_AFTER = timedelta(seconds=10)
DECISIONS_AT_ONCE = 100  # per message, and the scheduler sends one a second


def due_batches(now: datetime) -> Iterator[Due]:
    """Stored batches that no worker took for 10 s: their message was lost, or the queue is long."""
    late = now - NOT_TAKEN_AFTER
    rows = VerdictBatch.objects.filter(
        Q(dispatched_at__lte=late) | Q(dispatched_at__isnull=True, received_at__lte=late), state=VerdictBatch.State.STORED
    )
    for pk, attempts in rows.order_by("pk").values_list("pk", "attempts")[:AT_ONCE]:
        yield "flowguard.ingest_batch", pk, attempts


def due_verdicts(now: datetime) -> Iterator[Due]:
    """One message while any verdict waits to be decided on: the rows are picked when a worker has it, so that the newest come
    first however old the message is. The number in it is how many it may take; the stamp is new each time."""
    if is_any_due(now):
        yield "flowguard.decide", DECISIONS_AT_ONCE, now


def is_any_due(now: datetime) -> bool:
    return Verdict.objects.filter(next_step_at__lte=now).exists()


def newest_due(now: datetime, at_most: int) -> list[int]:
    """Verdicts whose present revision was not considered yet, newest evidence first; every realm gets its share of `at_most`."""
    due = Verdict.objects.filter(next_step_at__lte=now)
    latest = due.order_by().values("realm").annotate(latest=Max("last_ns")).order_by("-latest")
    realms = list(latest.values_list("realm", flat=True)[:at_most])
    share = at_most // max(1, len(realms))
    keys: list[int] = []
    for realm in realms:
        keys += due.filter(realm=realm).order_by("-last_ns", "-pk").values_list("pk", flat=True)[:share]
    return keys


def due_enforcements(now: datetime) -> Iterator[Due]:
    """Enforcements to verify, watch or take back."""
    rows = Enforcement.objects.filter(next_step_at__lte=now).order_by("next_step_at")
    for pk, at in rows.values_list("pk", "next_step_at")[:AT_ONCE]:
        yield "flowguard.step_enforcement", pk, at
    # A proposal waits for a person; when the message that somebody decided was lost, the change's state tells.
    decided = Enforcement.objects.filter(state=Enforcement.State.PROPOSED, next_step_at=None, add_change__isnull=False)
    decided = decided.exclude(add_change__state=Change.State.PROPOSED).order_by("pk")
    for pk, state in decided.values_list("pk", "add_change__state")[:AT_ONCE]:
        yield "flowguard.step_enforcement", pk, state


def due_guards(now: datetime) -> Iterator[Due]:
    """Guards whose change has ended without their hearing of it (a lost message)."""
    ended = (
        Change.State.CONFIRMED,
        Change.State.REVERTED,
        Change.State.REVERT_FAILED,
        Change.State.FAILED,
        Change.State.CANCELLED,
    )
    installing = Q(state=Guard.State.PROPOSED, install_change__state__in=ended)
    removing = Q(remove_change__state=Change.State.CONFIRMED) & ~Q(state=Guard.State.REMOVED)
    for pk, state in Guard.objects.filter(installing | removing).order_by("pk").values_list("pk", "state")[:AT_ONCE]:
        yield "flowguard.step_guard", pk, state
