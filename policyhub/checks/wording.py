"""Words that several checks share."""

from __future__ import annotations

from collections.abc import Sequence

SHOWN = 6


def listed(names: Sequence[str]) -> str:
    """`a, b, c and 12 more`: the evidence holds them all."""
    if len(names) <= SHOWN:
        return ", ".join(names)
    return f"{', '.join(names[:SHOWN])} and {len(names) - SHOWN} more"
