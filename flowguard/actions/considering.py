"""The door to planning: one consideration per revision, and again when its message was lost."""

from __future__ import annotations

from datetime import datetime

from flowguard.actions import enforcement
from flowguard.domain.across import HOST_VERDICTS
from flowguard.models import Enforcement, Verdict
from flowguard.queries.situation import OPEN
from policyhub import dispatch


def consider(*, verdict_id: int, now: datetime) -> None:
    """Consider the verdict as it stands now. Nothing is done for one that is gone or was considered in its present revision.

    An error leaves the row due, so the scheduler dispatches it again.
    """
    row = Verdict.objects.filter(pk=verdict_id, next_step_at__isnull=False).first()
    if row is None:
        return
    if row.standing == Verdict.Standing.STANDS:
        enforcement.consider(verdict_id=row.pk, now=now)
    elif row.standing == Verdict.Standing.NETWORK:
        _take_back(row, now)
    same = Verdict.objects.filter(pk=row.pk, revision=row.revision, standing=row.standing)
    if not same.update(next_step_at=None):
        dispatch.on_commit("flowguard.consider_verdict", row.pk)


def _take_back(row: Verdict, now: datetime) -> None:
    """The host was blamed too early: its enforcement ends, unless another verdict of the same source still stands."""
    same_source = Verdict.objects.filter(realm=row.realm, src=row.src, name__in=HOST_VERDICTS, last_ns__gte=row.first_ns)
    if same_source.filter(standing=Verdict.Standing.STANDS).exists():
        return
    for key in Enforcement.objects.filter(verdict=row, state__in=OPEN).values_list("pk", flat=True):
        enforcement.withdraw(enforcement_id=key, actor="system", reason="the network rewrote the mark", now=now)
