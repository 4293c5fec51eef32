"""The states of a change and which may follow which. Pure; actions.changes is the only one that moves a change."""

from __future__ import annotations

from enum import StrEnum


class ChangeState(StrEnum):
    """Same values as policyhub.models.Change.State (a test holds them together)."""

    DRAFT = "draft"
    REFUSED = "refused"
    PROPOSED = "proposed"
    APPROVED = "approved"
    PREFLIGHT = "preflight"
    ARMED = "armed"
    PUSHING = "pushing"
    PUSHED = "pushed"
    VERIFIED = "verified"
    CONFIRMED = "confirmed"
    REVERTING = "reverting"
    REVERTED = "reverted"
    FAILED = "failed"
    REVERT_FAILED = "revert-failed"
    CANCELLED = "cancelled"


S = ChangeState
FOLLOWS: dict[ChangeState, frozenset[ChangeState]] = {
    S.DRAFT: frozenset({S.PROPOSED, S.REFUSED}),
    S.REFUSED: frozenset(),
    S.PROPOSED: frozenset({S.APPROVED, S.CANCELLED, S.CONFIRMED}),  # CONFIRMED: nothing to do, the device is as planned
    S.APPROVED: frozenset({S.PREFLIGHT, S.CANCELLED, S.FAILED}),
    S.PREFLIGHT: frozenset({S.ARMED, S.FAILED, S.CONFIRMED}),
    S.ARMED: frozenset({S.PUSHING, S.FAILED}),
    S.PUSHING: frozenset({S.PUSHED}),  # whatever happened: from here on the device is read before anything is decided
    S.PUSHED: frozenset({S.VERIFIED, S.FAILED, S.REVERTING, S.REVERTED}),
    S.VERIFIED: frozenset({S.CONFIRMED, S.REVERTING, S.REVERTED}),
    S.CONFIRMED: frozenset({S.REVERTING}),
    S.REVERTING: frozenset({S.REVERTED, S.REVERT_FAILED}),
    S.REVERTED: frozenset(),
    S.FAILED: frozenset(),
    S.REVERT_FAILED: frozenset({S.REVERTING}),
    S.CANCELLED: frozenset(),
}
# States in which a worker has the next move; a lost worker's change is picked up again from them.
WORKING = frozenset({S.APPROVED, S.PREFLIGHT, S.ARMED, S.PUSHING, S.PUSHED, S.VERIFIED, S.REVERTING})
# States in which lines may have left: after a crash the device is read back first.
MAY_HAVE_SENT = frozenset({S.PUSHING, S.PUSHED, S.VERIFIED, S.CONFIRMED, S.REVERTING, S.REVERT_FAILED})
REVERTIBLE = frozenset({S.PUSHED, S.VERIFIED, S.CONFIRMED, S.REVERT_FAILED})
CANCELLABLE = frozenset({S.PROPOSED, S.APPROVED})
FINAL = frozenset(state for state, after in FOLLOWS.items() if not after)


def may_follow(before: str, after: str) -> bool:
    return ChangeState(after) in FOLLOWS[ChangeState(before)]
