"""Marks that our own guards rewrote: true observations, but no alarm. `queries.own_guards` names the enforcement."""

from __future__ import annotations

from collections.abc import Iterable

from flowguard.models import Verdict
from flowguard.queries.own_guards import rewriters

Standing = Verdict.Standing


def tell_apart(touched: Iterable[Verdict]) -> None:
    """Give rewrites of a member of one of our guards the standing OWN. Call it in the ingest transaction."""
    standing = [row for row in touched if row.standing == Standing.STANDS]
    ours = rewriters(standing)
    own = [row for row in standing if row.pk in ours]
    for row in own:
        row.standing = Standing.OWN
    Verdict.objects.bulk_update(own, ["standing"], batch_size=100)
