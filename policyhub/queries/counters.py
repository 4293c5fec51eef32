"""Reads of what the queues and ports of a device counted."""

from __future__ import annotations

from dataclasses import dataclass

from policyhub.domain.counter_trend import Trend, trends
from policyhub.models import CounterReading, Device

HISTORY = 48  # readings: twelve hours at the usual pace


@dataclass(frozen=True, slots=True)
class Counted:
    """readings: oldest first; trends: one for each counter of any of them."""

    readings: tuple[CounterReading, ...]
    trends: tuple[Trend, ...]

    @property
    def latest(self) -> CounterReading | None:
        return self.readings[-1] if self.readings else None


def counted(device: Device, *, at_most: int = HISTORY) -> Counted:
    """The newest readings of a device, at most so many."""
    readings = tuple(reversed(device.counter_readings.order_by("-read_at", "-pk")[:at_most]))
    return Counted(readings, tuple(trends([(row.read_at, row.rows()) for row in readings])))


def fitting(rows: tuple[Trend, ...], *, text: str = "", only_trouble: bool = False) -> list[Trend]:
    """Those with the text in port, queue or name; only_trouble: drops, pauses, marks and errors that are not 0."""
    wanted = text.lower()
    return [
        row
        for row in rows
        if wanted in f"{row.interface} {row.queue} {row.name}".lower() and (not only_trouble or (row.is_trouble and row.value))
    ]
