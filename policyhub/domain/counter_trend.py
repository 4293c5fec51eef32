"""What a row of readings says: last value, growth in a second, resets. A counter that fell was reset; no rate is negative."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from itertools import pairwise

from policyhub.domain.counter_series import CounterSeries

COUNTED = ("packets", "bytes", "events", "")
LEVEL = re.compile(
    r"watermark|depth|length|qlen|in buffer|backlog|current|usage|occupancy|maximum|\bmax|_max|active", re.IGNORECASE
)
TROUBLE = re.compile(
    r"drop|discard|pfc|pause|ecn|ce_mark|wred|\bred\b|exceed|violat|overlimit|overflow|storm|_ovr|_drp|_err|\berror",
    re.IGNORECASE,
)


DROPS = re.compile(r"drop|discard|_drp", re.IGNORECASE)
MARKS = re.compile(r"ecn|ce_mark", re.IGNORECASE)
PAUSES = re.compile(r"pfc|pause", re.IGNORECASE)


class Kind(StrEnum):
    """What a counter of a queue counts, in the order in which people look at them. OTHER: levels, rates, errors, times."""

    PACKETS = "packets"
    BYTES = "bytes"
    DROPS = "drops"
    DROPPED_BYTES = "dropped-bytes"
    MARKS = "marks"
    PAUSES = "pauses"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Point:
    """value: None = the device printed none then, or the reading has no such counter."""

    at: datetime
    value: float | None


@dataclass(frozen=True, slots=True)
class Trend:
    """One counter over time; points from the oldest reading to the newest, one of each reading."""

    interface: str
    queue: str
    name: str
    unit: str
    source: str
    points: tuple[Point, ...]

    @property
    def is_counter(self) -> bool:
        """Whether it only grows. Watermarks, lengths, shares and rates are levels: they fall without a reset."""
        return self.unit in COUNTED and LEVEL.search(self.name) is None

    @property
    def is_trouble(self) -> bool:
        """Whether it counts drops, pauses, marks of congestion or errors."""
        return TROUBLE.search(self.name) is not None

    @property
    def kind(self) -> Kind:
        if not self.is_counter:
            return Kind.OTHER
        if DROPS.search(self.name):
            return Kind.DROPPED_BYTES if self.unit == "bytes" else Kind.DROPS
        for words, kind in ((MARKS, Kind.MARKS), (PAUSES, Kind.PAUSES)):
            if words.search(self.name):
                return kind
        sums = {"packets": Kind.PACKETS, "bytes": Kind.BYTES}
        return Kind.OTHER if self.is_trouble else sums.get(self.unit, Kind.OTHER)

    @property
    def value(self) -> float | None:
        """Of the newest reading."""
        return self.points[-1].value if self.points else None

    @property
    def read_at(self) -> datetime | None:
        """When a value was last printed; None when none ever was."""
        return next((point.at for point in reversed(self.points) if point.value is not None), None)

    @property
    def reset_at(self) -> datetime | None:
        """The newest reading that was below the one before: the device restarted, or somebody cleared the counters."""
        if not self.is_counter:
            return None
        known = [(point.at, point.value) for point in self.points if point.value is not None]
        return max((at for (_, old), (at, new) in pairwise(known) if new < old), default=None)

    @property
    def rate(self) -> float | None:
        """Growth in a second between the last two readings; None: a level, one of them unknown, the first, or a reset between."""
        rates = self.rates()
        return rates[-1] if rates else None

    def rates(self) -> list[float | None]:
        """Growth in a second from each point to the next; one less than there are points."""
        return [self._rate(old, new) for old, new in pairwise(self.points)]

    def _rate(self, old: Point, new: Point) -> float | None:
        seconds = (new.at - old.at).total_seconds()
        if not self.is_counter or old.value is None or new.value is None or seconds <= 0 or new.value < old.value:
            return None
        return (new.value - old.value) / seconds


def trends(readings: Sequence[tuple[datetime, Iterable[CounterSeries]]]) -> list[Trend]:
    """Every counter of any reading, in the order in which they first come. readings: oldest first.

    A counter that a reading prints twice (two policies of one class name) keeps its place among its namesakes.
    """
    moments = [at for at, _ in readings]
    found: dict[tuple[str, str, str, str, int], list[float | None]] = {}
    sources: dict[tuple[str, str, str, str, int], str] = {}
    for number, (_, rows) in enumerate(readings):
        seen: dict[tuple[str, str, str, str], int] = {}
        for row in rows:
            name = (row.interface, row.queue, row.name, row.unit)
            seen[name] = seen.get(name, -1) + 1
            key = (*name, seen[name])
            found.setdefault(key, [None] * len(moments))[number] = row.value
            sources[key] = row.source
    return [
        Trend(*key[:4], sources[key], tuple(Point(at, value) for at, value in zip(moments, values, strict=True)))
        for key, values in found.items()
    ]
