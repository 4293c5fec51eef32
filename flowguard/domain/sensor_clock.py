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


def _ms(ns: int) -> str:
    return f"{ns / 1e6:.3f} ms"
