"""A guard's stored specification as a value."""

from __future__ import annotations

from flowguard.models import Guard
from policyhub.domain.change import GuardSpec


def spec_of(guard: Guard) -> GuardSpec:
    """What the guard was installed with."""
    raw = guard.spec
    return GuardSpec(
        name=raw["name"],
        interfaces=tuple(raw["interfaces"]),
        marks=frozenset(raw["marks"]),
        target_dscp=raw["target_dscp"],
        rate_bps=raw["rate_bps"],
        families=tuple(raw["families"]),
    )
