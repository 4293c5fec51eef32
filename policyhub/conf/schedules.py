"""What the scheduler watches: default periodic work, and the reads that name due rows of both sides."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime

from flowguard.queries.due import due_batches, due_enforcements, due_guards, due_verdicts
from policyhub.actions.counters import PERIOD_S
from policyhub.actions.schedules import Default
from policyhub.queries.schedules import Due, due_changes, due_collections, due_preflights, due_sweeps

HOUR_S = 3600
DAY_S = 24 * HOUR_S

DEFAULTS = (
    Default("daily collection", "policyhub.collect_all", every_s=DAY_S, first_s=HOUR_S),
    Default("daily sweep", "policyhub.start_sweep", every_s=DAY_S, first_s=2 * HOUR_S),  # over what was collected
    Default("queue counters", "policyhub.poll_all_counters", every_s=PERIOD_S, first_s=PERIOD_S),
    Default("prune", "flowguard.prune", every_s=HOUR_S, first_s=600),
    Default("notice gaps", "flowguard.notice_gaps", every_s=60, first_s=60),
)

DUE: tuple[Callable[[datetime], Iterator[Due]], ...] = (
    due_changes,
    due_enforcements,
    due_guards,
    due_verdicts,
    due_batches,
    due_sweeps,
    due_collections,
    due_preflights,
)
