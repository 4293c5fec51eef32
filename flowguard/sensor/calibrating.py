"""An engine whose points were tried with marked probes: verdicts that their mirrors cannot bear are told as information only."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from flowguard.domain.point_facts import doubt
from flowguard.domain.probe import PointFacts
from flowguard.sensor.contract import Engine


class CalibratedEngine:
    """facts: by the names of the points."""

    def __init__(self, engine: Engine, facts: Mapping[str, PointFacts]) -> None:
        self._engine, self._facts = engine, facts

    def poll(self, timeout_ms: int, /) -> bytes:
        told: dict[str, Any] = json.loads(self._engine.poll(timeout_ms))
        doubt(told["verdicts"], self._facts)
        return json.dumps(told).encode()

    def set_bundle(self, bundle: bytes, /) -> str:
        return self._engine.set_bundle(bundle)

    def close(self) -> None:
        self._engine.close()
