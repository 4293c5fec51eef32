"""Numbers with their unit; spans of time in the reader's words. None is never written as 0: callers show it as unknown."""

from __future__ import annotations

from datetime import UTC, datetime

from django.utils.translation import gettext as _

_DECIMAL = ("", "k", "M", "G", "T", "P")


def _scaled(value: float, unit: str) -> str:
    step = 0
    while abs(value) >= 999.5 and step < len(_DECIMAL) - 1:
        value /= 1000
        step += 1
    digits = f"{value:.0f}" if step == 0 or abs(value) >= 99.5 else f"{value:.1f}"
    return f"{digits}\u00a0{_DECIMAL[step]}{unit}"


def rate(bps: float) -> str:
    """3.2 Gbit/s from bit/s."""
    return _scaled(bps, "bit/s")


def size(count: float) -> str:
    """1.4 GB (decimal) from bytes."""
    return _scaled(count, "B")


def number(value: float) -> str:
    """12 345 with thin grouping."""
    return f"{value:,.0f}".replace(",", "\u202f")


def percent(ratio: float) -> str:
    """A share 0..1 as `12 %`, `0.4 %`, `< 0.1 %`."""
    value = ratio * 100
    if 0 < value < 0.1:
        return "<\u00a00.1\u00a0%"
    return f"{value:.1f}\u00a0%" if 0 < value < 10 else f"{value:.0f}\u00a0%"


def _unbroken(text: str) -> str:
    return text.replace(" ", "\u00a0")


def span(seconds: float) -> str:
    """14 h 06 min, 3 min 20 s, 4.2 s, 850 ms, in the reader's language."""
    if seconds < 0.9995:
        return _unbroken(_("%(n)s ms") % {"n": f"{seconds * 1000:.0f}"})
    if seconds < 59.95:
        return _unbroken(_("%(n)s s") % {"n": f"{seconds:.1f}" if seconds < 10 else f"{seconds:.0f}"})
    whole = round(seconds)
    if whole < 3600:
        return _unbroken(_("%(m)d min %(s)02d s") % {"m": whole // 60, "s": whole % 60})
    if whole < 2 * 86400:
        return _unbroken(_("%(h)d h %(m)02d min") % {"h": whole // 3600, "m": whole % 3600 // 60})
    return _unbroken(_("%(d)d d %(h)02d h") % {"d": whole // 86400, "h": whole % 86400 // 3600})


def short_span(ns: float) -> str:
    """37 µs, 2 ms, 1.2 s from nanoseconds."""
    return _unbroken(_("%(n)s µs") % {"n": f"{ns / 1000:.0f}"}) if ns < 999_500 else span(ns / 1e9)


def pace(per_second: float) -> str:
    """12 /s, 0.25 /s, < 0.01 /s."""
    if 0 < per_second < 0.01:
        return "<\u00a00.01\u00a0/s"
    return f"{per_second:.2f}\u00a0/s" if 0 < per_second < 10 else f"{number(per_second)}\u00a0/s"


def at_ns(ns: int) -> datetime:
    """Packet time (ns since the epoch) as UTC; digits below the microsecond are cut."""
    return datetime.fromtimestamp(ns // 1_000_000_000, tz=UTC).replace(microsecond=ns % 1_000_000_000 // 1000)
