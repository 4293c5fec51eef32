"""Marks that our own guards rewrote: true observations, but nobody's fault and nobody's alarm."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from django.db.models import Q

from flowguard.models import Enforcement, Verdict
from flowguard.queries.ground import OPEN, member_of

Standing = Verdict.Standing
NANOSECONDS = 1_000_000_000


def tell_apart(touched: Iterable[Verdict]) -> None:
    """Give rewrites of a member of one of our guards the standing OWN. Call it in the ingest transaction."""
    rewrites = [row for row in touched if row.name == "dscp-rewritten" and row.standing == Standing.STANDS]
    if not rewrites:
        return
    members = {(row.realm, member_of(row)) for row in rewrites}
    names = {member for _, member in members}
    found = Enforcement.objects.filter(member__in=names, guard__isnull=False).filter(
        Q(state__in=OPEN) | Q(ended_at__isnull=False)
    )
    spans: dict[tuple[str, str], list[tuple[frozenset[int], datetime | None]]] = {}
    for known in found.select_related("guard", "realm"):
        spans.setdefault((known.realm.name, known.member), []).append((frozenset(known.guard.spec["marks"]), known.ended_at))  # type: ignore[union-attr]
    own = [row for row in rewrites if any(_covers(row, *span) for span in spans.get((row.realm, member_of(row)), []))]
    for row in own:
        row.standing = Standing.OWN
    Verdict.objects.bulk_update(own, ["standing"], batch_size=100)


def _covers(row: Verdict, marks: frozenset[int], ended_at: datetime | None) -> bool:
    """A rewrite that began before the enforcement ended; it may be told until 60 s after its last packet."""
    return row.dscp in marks and (ended_at is None or row.first_ns / NANOSECONDS <= ended_at.timestamp())
