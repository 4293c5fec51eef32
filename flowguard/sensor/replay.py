"""Captures played back as if they happened now: the engine judges by their own times, what leaves carries today's."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any

from flowguard.sensor.contract import Engine

SECOND_NS = 1_000_000_000
# A pipe that a live source writes into is on time already.
ON_TIME_NS = 5 * SECOND_NS
POINTS_IN_TIME = ("at_ns", "from_ns", "to_ns", "first_ns", "last_ns")


class ShiftedReplay:
    """Moves every time by one whole number of seconds, so that the first packet was captured when playing began.

    Playing the same file again is a new event, so a verdict's id is derived anew; its evidence says `replayed`.
    """

    def __init__(self, engine: Engine, clock_ns: Callable[[], int]) -> None:
        """clock_ns: wall clock in ns."""
        self._engine, self._clock_ns = engine, clock_ns
        self._shift: int | None = None

    def poll(self, timeout_ms: int, /) -> bytes:
        told: dict[str, Any] = json.loads(self._engine.poll(timeout_ms))
        newest = told["health"].get("last_packet_ns")
        if self._shift is None and newest is not None:
            late = self._clock_ns() - newest
            self._shift = 0 if abs(late) < ON_TIME_NS else late // SECOND_NS * SECOND_NS
        if self._shift:
            self._move(told, self._shift)
        return json.dumps(told).encode()

    def set_bundle(self, bundle: bytes, /) -> str:
        return self._engine.set_bundle(bundle)

    def close(self) -> None:
        self._engine.close()

    def _move(self, told: dict[str, Any], shift: int) -> None:
        told["health"]["last_packet_ns"] += shift
        for row in told["observations"]:
            row["start_ns"] += shift
            row["end_ns"] += shift
        if told.get("shape"):
            told["shape"] = _moved(told["shape"], shift)
        for verdict in told["verdicts"]:
            verdict["id"] = hashlib.sha256(f"{verdict['id']} {shift}".encode()).hexdigest()[:32]
            verdict["first_ns"] += shift
            verdict["last_ns"] += shift
            verdict["evidence"] = [*verdict["evidence"], {"kind": "replayed", "shift_ns": shift}]


def _moved(value: Any, shift: int) -> Any:
    """With every point in time in it moved; lengths of time stay."""
    match value:
        case dict():
            return {
                key: found + shift if key in POINTS_IN_TIME and isinstance(found, int) else _moved(found, shift)
                for key, found in value.items()
            }
        case list():
            return [_moved(item, shift) for item in value]
    return value
