"""Sensor batches as plain values, right in every field until a test makes one wrong."""

from __future__ import annotations

import uuid
from typing import Any

SECOND = 1_000_000_000
T0 = 1_780_000_000 * SECOND
STREAM = "11111111-2222-4333-8444-555555555555"


def verdict(number: int = 1, **changes: Any) -> dict[str, Any]:
    """Verdict `number`: its own source address and id."""
    told = {
        "id": f"{number:032x}", "revision": 1, "name": "class-not-allowed", "realm": "", "point": "in0",
        "src": f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}", "dst": "10.200.0.1", "proto": "tcp",
        "server_port": 5001, "dscp": 46, "packets": 100, "bytes": 150_000, "first_ns": T0, "last_ns": T0 + SECOND,
        "severity": "high", "confidence": 0.99, "signals": ["dscp-outside-allowance"], "evidence": [],
    }  # fmt: skip
    return {**told, **changes}


def observation(
    point: str = "in0", second: int = 0, sources: list[dict[str, Any]] | None = None, **changes: Any
) -> dict[str, Any]:
    start = T0 + second * SECOND
    told = {
        "point": point,
        "realm": "",
        "start_ns": start,
        "end_ns": start + SECOND,
        "complete": True,
        "sources": sources or [],
        "tcp": [],
    }
    return {**told, **changes}


def source(src: str | None, dscp: int, packets: int) -> dict[str, Any]:
    return {"src": src, "dscp": dscp, "packets": packets, "bytes": packets * 1500}


def batch(sequence: int = 1, *, sensor: str = "core-1", stream: str = STREAM, **changes: Any) -> dict[str, Any]:
    told = {
        "schema": "flowguard.batch/1", "sensor": sensor, "stream": stream, "sequence": sequence, "bundle": None, "judging": True,
        "verdicts": [], "observations": [], "gaps": [],
        "health": {"received": 1, "dropped": {"kernel": 0, "ring": 0, "spool": 0}, "decode_errors": 0, "last_packet_ns": None,
                   "engine": "0.1.0"},
    }  # fmt: skip
    return {**told, **changes}


def new_stream() -> str:
    return str(uuid.uuid4())
