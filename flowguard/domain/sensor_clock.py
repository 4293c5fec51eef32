"""What a sensor's kernel says of the clock that stamps its frames: `health.clock` of a batch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class SensorClock:
    """estimated_error_ns, max_error_ns: as chronyd or ntpd tell them; None = nobody tells, or the clock is not synchronised."""

    synchronised: bool
    estimated_error_ns: int | None
    max_error_ns: int | None

    def __str__(self) -> str:
        if not self.synchronised:
            return "clock not synchronised"
        if self.estimated_error_ns is None or self.max_error_ns is None:
            return "clock synchronised, its error not told"
        return f"clock off by about {_ms(self.estimated_error_ns)}, at most {_ms(self.max_error_ns)}"


def read_clock(told: dict[str, Any] | None) -> SensorClock | None:
    """None = the kernel was not asked, or does not say."""
    if told is None:
        return None
    return SensorClock(told["synchronised"], told["estimated_error_ns"], told["max_error_ns"])


@dataclass(frozen=True, slots=True)
class Apart:
    """How far the clocks of two sensors may be apart. error_ns: None = one of them has a keeper that tells no error.

    is_told: False when neither says anything of its clock (replays have none): their times are taken as they are.
    synchronised: False when one says that nobody keeps it: it may be off by anything.
    """

    is_told: bool
    synchronised: bool
    error_ns: int | None

    def may_exceed(self, ns: int) -> bool:
        """Whether what happened within `ns` for one sensor may have been at another time for the other."""
        return not self.synchronised or (self.error_ns or 0) > ns


def apart(one: SensorClock | None, other: SensorClock | None) -> Apart:
    """Both errors at their greatest, added."""
    told = [clock for clock in (one, other) if clock is not None]
    known = [clock.max_error_ns for clock in told if clock.max_error_ns is not None]
    error_ns = sum(known) if told and len(known) == len(told) else None
    return Apart(bool(told), all(clock.synchronised for clock in told), error_ns)


def _ms(ns: int) -> str:
    return f"{ns / 1e6:.3f} ms"
