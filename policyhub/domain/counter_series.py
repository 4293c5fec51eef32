"""Readings of queues and ports (packets, bytes, drops, pauses, watermarks). "No data" is never "zero"."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class CounterSeries:
    """One number of one reading.

    interface: as the device names it. queue: "UC3", "PG3", "PFC3", "" for the port. name: the device's title of what is counted.
    value: None when the device prints none (N/A). unit: packets, bytes, microseconds, percent, events, "" when it is not told.
    read_at: when it was read; None when the text does not say. source: the command or table it comes from; line: 1-based.
    """

    interface: str
    queue: str
    name: str
    value: float | None
    unit: str = ""
    read_at: datetime | None = None
    source: str = ""
    line: int | None = None


@dataclass(frozen=True, slots=True)
class CounterText:
    """What one text of a device holds. unread: numbers of the lines with figures that nobody understood.

    shifted: numbers of lines of a table whose columns do not stand under their headings (an editor or a chat squeezed blanks).
    """

    rows: tuple[CounterSeries, ...] = ()
    unread: tuple[int, ...] = ()
    shifted: tuple[int, ...] = ()
