"""What the scheduler watches: default periodic work, and the reads that name due rows of both sides."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime

from flowguard.queries.due import due_batches, due_enforcements, due_guards, due_verdicts
from policyhub.actions.schedules import Default
from policyhub.queries.schedules import Due, due_changes, due_sweeps

DAY_S = 24 * 3600

DEFAULTS = (
    Default("daily sweep", "policyhub.start_sweep", every_s=DAY_S, first_s=300),
    Default("prune", "flowguard.prune", every_s=3600, first_s=600),
    Default("notice gaps", "flowguard.notice_gaps", every_s=60, first_s=60),
)

DUE: tuple[Callable[[datetime], Iterator[Due]], ...] = (
    due_changes,
    due_enforcements,
    due_guards,
    due_verdicts,
    due_batches,
    due_sweeps,
)
