"""A counter as a row of a page: value and growth with their units, why one is not known, and its course as a line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils.translation import gettext as _

from policyhub.console import units
from policyhub.domain.counter_trend import Trend

WIDTH, HEIGHT = 100.0, 20.0


@dataclass(frozen=True, slots=True)
class Row:
    """value, growth: with unit, "" when not known; then `value_why` or `growth_why` says why. lines: `points` of polylines."""

    trend: Trend
    value: str
    value_why: str
    growth: str
    growth_why: str
    lines: tuple[str, ...]


def row(trend: Trend) -> Row:
    value = trend.value
    shown = "" if value is None else _value(value, trend.unit)
    rate = trend.rate
    growth = "" if rate is None else units.rate(rate * 8) if trend.unit == "bytes" else units.pace(rate)
    return Row(trend, shown, _value_why(trend), growth, "" if growth else _growth_why(trend), course(trend))


def course(trend: Trend) -> tuple[str, ...]:
    """Growth over time, of a level the level itself; interrupted where it is not known. () when there is no line to draw."""
    times = [point.at for point in trend.points]
    values: Sequence[float | None] = [point.value for point in trend.points]
    if trend.is_counter:
        times, values = times[1:], trend.rates()
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
    if not trend.is_counter:
        return _("a level, which does not grow")
    if len(trend.points) < 2:
        return _("there is one reading only")
    if trend.value is None:
        return _("the device printed no number")
    if trend.points[-2].value is None:
        return _("the reading before had no number")
    return _("the counter was reset between the last two readings")
