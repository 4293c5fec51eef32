"""What a mirror session would send to its destination."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from flowguard.domain.mirror import Reading
from policyhub.domain.mirroring import Copied, MirrorKind

ASSUMED_USE = 0.3
ASSUMED_FRAME = 500  # bytes; RFC 6985 mixes are near it
# Outer headers of a copy: Ethernet 14, IPv4 20, GRE 8 (with sequence), ERSPAN II 8; RSPAN one tag.
ADDED = {MirrorKind.SPAN: 0, MirrorKind.RSPAN: 4, MirrorKind.ERSPAN: 50}


@dataclass(frozen=True, slots=True)
class Load:
    """Copied bit/s without and with outer headers; None when nothing tells.

    basis: given, counters (the busiest interval between two readings), assumed (configured speed x `use`) or unknown.
    frames_ps: copies a second, from the counters, else by `ASSUMED_FRAME`.
    """

    basis: str
    copied_bps: float | None = None
    frames_ps: float | None = None
    added_bytes: int = 0
    use: float | None = None

    @property
    def total_bps(self) -> float | None:
        if self.copied_bps is None:
            return None
        return self.copied_bps + 8 * self.added_bytes * (self.frames_ps or 0)


def load_of(
    kind: MirrorKind,
    copied: Copied,
    *,
    rate_bps: float | None = None,
    readings: Sequence[Reading] = (),
    speed_bps: int | None = None,
    use: float = ASSUMED_USE,
) -> Load:
    """The best that is known: a given rate, else counters of the copied direction(s), else the configured speed, each way."""
    added = ADDED[kind]
    if rate_bps is not None:
        return Load("given", rate_bps, _frames(rate_bps), added)
    busiest = _busiest(readings)
    if busiest is not None:
        return Load("counters", *busiest, added)
    if speed_bps is not None:
        rate = speed_bps * use * len(copied.ways)
        return Load("assumed", rate, _frames(rate), added, use)
    return Load("unknown", added_bytes=added)


def _frames(rate_bps: float) -> float:
    return rate_bps / 8 / ASSUMED_FRAME


def _busiest(readings: Sequence[Reading]) -> tuple[float, float] | None:
    """(bit/s, frames/s) of the interval with most octets; resets and readings without octets are left out."""
    found = []
    for before, after in pairwise(readings):
        seconds = (after.time_ns - before.time_ns) / 1e9
        if before.octets is None or after.octets is None or after.octets < before.octets or after.packets < before.packets:
            continue
        found.append(((after.octets - before.octets) * 8 / seconds, (after.packets - before.packets) / seconds))
    return max(found, default=None)
