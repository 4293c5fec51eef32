"""A sensor process whose verdicts are known beforehand: the real spool, sender and bundle keeper behind a scripted engine.

    python -m tests.support.verdict_source --config sensor.toml --seed 7 --verdicts 1000 --position FILE

The position is written when the next poll begins, that is, when what the last poll told is safely spooled. Killed in between, it
tells the same again in a new stream, as a sensor does that sees an offender again.
"""

from __future__ import annotations

import argparse
import json
import random
import signal
import sys
import uuid
from pathlib import Path
from typing import Any

from flowguard.sensor import process
from flowguard.sensor.cli import set_by_signals
from flowguard.sensor.config import read_config
from tests.support.batches import SECOND, T0, observation, source, verdict

CHUNK = 8
# Long enough for every enforcement profile to decide on its first revision.
PERSISTS_S = 120


def story(seed: int, verdicts: int) -> list[dict[str, Any]]:
    """Everything the source tells, in order: each verdict in one to three revisions, mixed with its neighbours'."""
    chance = random.Random(seed)
    told: list[tuple[float, dict[str, Any]]] = []
    for number in range(1, verdicts + 1):
        at = float(number)
        for revision in range(1, chance.choice((1, 1, 1, 2, 3)) + 1):
            told.append(
                (at, verdict(number, revision=revision, packets=100 * revision, last_ns=T0 + (PERSISTS_S + revision) * SECOND))
            )
            at += chance.uniform(0.5, 60.0)
    return [verdict for _, verdict in sorted(told, key=lambda pair: pair[0])]


def truth(seed: int, verdicts: int) -> dict[str, tuple[int, int]]:
    """id -> (highest revision, its packets)."""
    return {
        told["id"]: (told["revision"], told["packets"]) for told in sorted(story(seed, verdicts), key=lambda v: v["revision"])
    }


class ScriptedEngine:
    def __init__(self, told: list[dict[str, Any]], position: Path) -> None:
        self._told, self._position = told, position
        self._next = int(position.read_text()) if position.exists() else 0
        self._after = self._next

    def poll(self, timeout_ms: int, /) -> bytes:
        self._advance()
        chunk = self._told[self._next : self._next + CHUNK]
        self._after = self._next + len(chunk)
        second = self._next // CHUNK
        seen = [observation(second=second, sources=[source(chunk[0]["src"], 46, 10)])] if chunk else []
        health = {"received": 1000 + second, "dropped": {"kernel": 0, "ring": 0, "spool": 0}, "decode_errors": 0}
        return json.dumps(
            {"judging": True, "bundle": None, "verdicts": chunk, "observations": seen, "health": health}
        ).encode()  # fmt: skip

    def set_bundle(self, bundle: bytes, /) -> str:
        return "any"

    def close(self) -> None:
        self._advance()

    def _advance(self) -> None:
        if self._after != self._next:
            self._next = self._after
            new = self._position.with_suffix(".new")
            new.write_text(str(self._next))
            new.rename(self._position)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", type=Path, required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--verdicts", type=int, required=True)
    parser.add_argument("--position", type=Path, required=True)
    args = parser.parse_args()
    engine = ScriptedEngine(story(args.seed, args.verdicts), args.position)
    process.run(
        read_config(args.config), open_engine=lambda *_: engine, check_bundle=lambda body: "any", stream=uuid.uuid4(),
        stop=set_by_signals(signal.SIGTERM), chance=random.Random(args.seed),
    )  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())
