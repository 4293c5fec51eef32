"""Which of our own enforcements rewrote a mark."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from django.db.models import Q

from flowguard.domain.judgement import SECOND_NS
from flowguard.models import Enforcement, Verdict
from flowguard.queries.ground import OPEN, member_of

REWRITTEN = "dscp-rewritten"


def rewriters(verdicts: Iterable[Verdict]) -> dict[int, Enforcement]:
    """Verdict (pk) on a rewritten mark -> the newest enforcement whose guard took that mark off its sender at that time.

    What no guard of ours explains is left out. One query, none without such verdicts.
    """
    rewrites = [row for row in verdicts if row.name == REWRITTEN]
    if not rewrites:
        return {}
    members = {member_of(row) for row in rewrites}
    told = Enforcement.objects.filter(Q(state__in=OPEN) | Q(ended_at__isnull=False), member__in=members, guard__isnull=False)
    known: dict[tuple[str, str], list[Enforcement]] = {}
    for row in told.select_related("guard__device", "realm", "requested_by", "verdict", "add_change").order_by("-pk"):
        known.setdefault((row.realm.name, row.member), []).append(row)
    found = {row.pk: _first(row, known.get((row.realm, member_of(row)), [])) for row in rewrites}
    return {pk: by for pk, by in found.items() if by is not None}


def _first(verdict: Verdict, enforcements: Iterable[Enforcement]) -> Enforcement | None:
    """Of several, one that was on the device before the packets came; a clock that is off must not hide the only one."""
    fitting = [row for row in enforcements if _covers(row, verdict)]
    last = datetime.fromtimestamp(verdict.last_ns // SECOND_NS, tz=UTC)
    pushed = (row for row in fitting if row.add_change and row.add_change.pushed_at and row.add_change.pushed_at <= last)
    return next(pushed, fitting[0] if fitting else None)


def _covers(row: Enforcement, verdict: Verdict) -> bool:
    """A rewrite that began before the enforcement ended; it may be told until 60 s after its last packet."""
    began = verdict.first_ns / SECOND_NS
    assert row.guard is not None
    return verdict.dscp in row.guard.spec["marks"] and (row.ended_at is None or began <= row.ended_at.timestamp())
