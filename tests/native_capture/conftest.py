"""A router in a network namespace of its own, for what captures from interfaces."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.wires import Router


@pytest.fixture
def router() -> Iterator[Router]:
    router = Router()
    try:
        yield router.start()
    finally:
        router.stop()
