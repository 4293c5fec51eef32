"""Seeds that are new in every run and the same in all its processes; POLICYHUB_TEST_SEED repeats a run."""

from __future__ import annotations

import os
import random


def fresh_seeds(count: int) -> list[int]:
    """Named in the tests' ids, so that a failure can be repeated."""
    run = os.environ.get("POLICYHUB_TEST_SEED") or os.environ.get("PYTEST_XDIST_TESTRUNUID") or os.urandom(8).hex()
    chance = random.Random(run)
    return [chance.getrandbits(32) for _ in range(count)]
