"""The door to planning: one consideration per revision, and again when its message was lost."""

from __future__ import annotations

from datetime import datetime

from flowguard.actions import enforcement
from flowguard.models import Verdict
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
    same = Verdict.objects.filter(pk=row.pk, revision=row.revision, standing=row.standing)
    if not same.update(next_step_at=None):
        dispatch.on_commit("flowguard.consider_verdict", row.pk)
