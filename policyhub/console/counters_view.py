"""Counters as a page shows them: a row for each port and queue, a column for each kind of counter, with growth and its course."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from policyhub.console import units
from policyhub.console.labels import Text
from policyhub.domain.counter_trend import Kind, Trend

WIDTH, HEIGHT = 100.0, 20.0
TITLES: dict[Kind, Text] = {
    Kind.PACKETS: lazy("Packets"),
    Kind.BYTES: lazy("Bytes"),
    Kind.DROPS: lazy("Drops"),
    Kind.DROPPED_BYTES: lazy("Dropped bytes"),
    Kind.MARKS: lazy("Congestion marks"),
    Kind.PAUSES: lazy("Pauses"),
    Kind.OTHER: lazy("Other"),
}
# What the one line of a row draws: the worst that happened, else what was sent.
DRAWN = (Kind.DROPS, Kind.DROPPED_BYTES, Kind.MARKS, Kind.PAUSES, Kind.BYTES, Kind.PACKETS)


@dataclass(frozen=True, slots=True)
class Number:
    """value, growth: with unit, "" when not known; then `value_why` or `growth_why` says why. A level has no growth."""

    trend: Trend
    value: str
    value_why: str
    growth: str
    growth_why: str


@dataclass(frozen=True, slots=True)
class Course:
    """Growth over the readings as `points` of polylines; top: what the upper edge stands for, with unit."""

    title: Text
    lines: tuple[str, ...]
    top: str


@dataclass(frozen=True, slots=True)
class Cell:
    """named: the numbers need their names, the column's title does not tell them apart."""

    title: Text
    named: bool
    numbers: tuple[Number, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """One port and queue; a cell for every column of the page."""

    interface: str
    queue: str
    cells: tuple[Cell, ...]
    course: Course | None
    read_at: datetime | None
    sources: str


def grouped(trends: Iterable[Trend]) -> list[list[Trend]]:
    """Those of one port and queue together, in the order in which they first come."""
    found: dict[tuple[str, str], list[Trend]] = {}
    for trend in trends:
        found.setdefault((trend.interface, trend.queue), []).append(trend)
    return list(found.values())


def columns(trends: Iterable[Trend]) -> list[Kind]:
    """Only the kinds that something counts."""
    known = {trend.kind for trend in trends}
    return [kind for kind in Kind if kind in known]


def row(trends: Sequence[Trend], kinds: Sequence[Kind]) -> Row:
    """trends: of one port and queue. kinds: the columns of the page."""
    read = max((trend.read_at for trend in trends if trend.read_at), default=None)
    sources = ", ".join(dict.fromkeys(trend.source for trend in trends))
    return Row(trends[0].interface, trends[0].queue, tuple(_cell(trends, kind) for kind in kinds), _drawn(trends), read, sources)


def _cell(trends: Sequence[Trend], kind: Kind) -> Cell:
    numbers = tuple(number(trend) for trend in trends if trend.kind is kind)
    return Cell(TITLES[kind], len(numbers) > 1 or kind is Kind.OTHER, numbers)


def number(trend: Trend) -> Number:
    value, rate = trend.value, trend.rate
    shown = "" if value is None else _value(value, trend.unit)
    growth = "" if rate is None else _growth(rate, trend.unit)
    return Number(trend, shown, _value_why(trend), growth, "" if growth else _growth_why(trend))


def _growth(rate: float, unit: str) -> str:
    return units.rate(rate * 8) if unit == "bytes" else units.pace(rate)


def _drawn(trends: Sequence[Trend]) -> Course | None:
    for kind in DRAWN:
        for trend in trends:
            if trend.kind is kind and (not trend.is_trouble or trend.value) and (lines := course(trend)):
                top = max(rate for rate in trend.rates() if rate is not None)
                return Course(TITLES[kind], lines, _growth(top, trend.unit))
    return None


def course(trend: Trend) -> tuple[str, ...]:
    """Growth over time; interrupted where it is not known. () when there is no line to draw."""
    times, values = [point.at for point in trend.points][1:], trend.rates()
    known = [value for value in values if value is not None]
    if len(known) < 2 or times[0] == times[-1]:
        return ()
    top = max(max(known), 1e-12)
    lines: list[list[str]] = [[]]
    for at, value in zip(times, values, strict=True):
        if value is None:
            lines.append([])
        else:
            lines[-1].append(_point(at, value, times[0], times[-1], top))
    return tuple(" ".join(line) for line in lines if len(line) > 1)


def _point(at: datetime, value: float, first: datetime, last: datetime, top: float) -> str:
    across = WIDTH * (at - first).total_seconds() / (last - first).total_seconds()
    return f"{across:.1f},{HEIGHT - 1 - (HEIGHT - 2) * value / top:.1f}"


def _value(value: float, unit: str) -> str:
    if unit == "bytes":
        return units.size(value)
    if unit == "bytes/s":
        return units.rate(value * 8)
    if unit == "packets/s":
        return units.pace(value)
    if unit == "percent":
        return units.percent(value / 100)
    if unit in ("microseconds", "milliseconds"):
        return units.span(value / (1e6 if unit == "microseconds" else 1e3))
    return units.number(value)


def _value_why(trend: Trend) -> str:
    return _("the device printed no number") if trend.value is None else ""


def _growth_why(trend: Trend) -> str:
    if len(trend.points) < 2:
        return _("there is one reading only")
    if trend.value is None:
        return _("the device printed no number")
    if trend.points[-2].value is None:
        return _("the reading before had no number")
    return _("the counter was reset between the last two readings")
