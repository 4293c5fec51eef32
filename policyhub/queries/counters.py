"""Reads of what the queues and ports of a device counted."""

from __future__ import annotations

from dataclasses import dataclass

from policyhub.domain.counter_trend import Trend, trends
from policyhub.domain.errors import BadInput
from policyhub.domain.mirroring import Copied
from policyhub.domain.port_traffic import PortTraffic, port_named, traffic_of
from policyhub.models import CounterReading, Device

HISTORY = 48  # readings: twelve hours at the usual pace
A_WEEK = 700


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


def traffic(device: Device, interface: str, direction: Copied) -> tuple[str, list[PortTraffic]]:
    """The port as its counters call it, and what crossed it by the readings of about a week, oldest first.

    Raises BadInput when no reading has a counter of that port.
    """
    found: list[PortTraffic] = []
    port = ""
    for reading in reversed(device.counter_readings.order_by("-read_at", "-pk")[:A_WEEK]):
        rows = reading.rows()
        try:
            port = port or port_named(interface, (row.interface for row in rows))
        except BadInput:
            continue
        row = traffic_of((row for row in rows if row.interface == port), direction, reading.read_at)
        if row is not None and not (found and found[-1].at >= row.at):
            found.append(row)
    if not port:
        latest = device.counter_readings.order_by("-read_at", "-pk").first()
        port_named(interface, (row.interface for row in latest.rows()) if latest else ())
    return port, found


def fitting(rows: tuple[Trend, ...], *, text: str = "", only_trouble: bool = False) -> list[Trend]:
    """Those with the text in port, queue or name; only_trouble: drops, pauses, marks and errors that are not 0."""
    wanted = text.lower()
    return [
        row
        for row in rows
        if wanted in f"{row.interface} {row.queue} {row.name}".lower() and (not only_trouble or (row.is_trouble and row.value))
    ]
