"""What people decide about findings."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from django.db import transaction

from policyhub.actions import audit
from policyhub.models import Finding

MOST = 1_000
OPEN = (Finding.Status.NEW, Finding.Status.REGRESSED)


def acknowledge(*, finding_ids: Iterable[int], actor: object, now: datetime) -> int:
    """Mark open findings as seen; returns how many changed. At most 1,000 at a time; others are left as they are."""
    chosen = sorted(set(finding_ids))[:MOST]
    with transaction.atomic():
        changed = Finding.objects.filter(pk__in=chosen, status__in=OPEN).update(status=Finding.Status.ACKNOWLEDGED)
        if changed:
            audit.record("finding.acknowledged", actor=actor, at=now, findings=chosen, changed=changed)
    return changed
