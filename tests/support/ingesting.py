"""Short ways to store and ingest batches in tests, and to see what was queued."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from flowguard.actions import ingest, receive, sensors
from flowguard.models import VerdictBatch
from policyhub import dispatch

NOW = datetime(2026, 6, 1, 8, 0, tzinfo=UTC)


def later(**difference: float) -> datetime:
    return NOW + timedelta(**difference)


@pytest.fixture
def queued(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """What was handed to dispatch, in order: (task name, ids...)."""
    seen: list[tuple[Any, ...]] = []
    monkeypatch.setattr(dispatch, "on_commit", lambda *told: seen.append(told))
    return seen


def store(told: dict[str, Any], now: datetime = NOW) -> VerdictBatch:
    receive.store(sensor=sensors.enrol(told["sensor"]), batch=told, now=now)
    return VerdictBatch.objects.get(sensor__name=told["sensor"], stream=told["stream"], sequence=told["sequence"])


def take(told: dict[str, Any], now: datetime = NOW) -> int:
    """Store and ingest; returns the number of verdicts to consider."""
    return ingest.ingest(batch_id=store(told, now).pk, now=now)
