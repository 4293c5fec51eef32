"""A batch is checked to the last field: what its schema allows at each edge, and one step beyond."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from flowguard.domain.batch import MAX_DEPTH, MAX_INT32, MAX_INT64, MAX_SEQUENCE, canonical, digest, read_batch
from flowguard.domain.errors import BadBatch

UUID = "12345678-1234-4234-8234-123456789abc"
SOURCE = {"src": "10.0.0.1", "dscp": 46, "packets": 1, "bytes": 2}
TCP = {"dscp": 0, "data_segments": 1, "retransmitted": 0, "syn_retransmitted": 0, "zero_window": 0}
VERDICT = {
    "id": "0" * 32, "revision": 1, "name": "n", "realm": "", "point": "p", "src": "::1", "dst": "10.0.0.2", "proto": "tcp",
    "server_port": 443, "dscp": 46, "packets": 1, "bytes": 2, "first_ns": 5, "last_ns": 5, "severity": "high",
    "confidence": 0.5, "signals": ["s"], "evidence": [{}],
}  # fmt: skip
OBSERVATION = {
    "point": "p", "realm": "", "start_ns": 0, "end_ns": 1, "complete": True, "sources": [SOURCE], "tcp": [TCP],
}  # fmt: skip
BATCH: dict[str, Any] = {
    "schema": "flowguard.batch/1", "sensor": "s1", "stream": UUID, "sequence": 1, "bundle": None, "judging": False,
    "verdicts": [VERDICT], "observations": [OBSERVATION],
    "gaps": [{"stream": UUID, "from_sequence": 1, "to_sequence": 1, "verdicts": None, "reason": "r"}],
    "health": {
        "received": 1, "dropped": {"ring": 0}, "decode_errors": None,
        "clock": {"synchronised": True, "estimated_error_ns": 5, "max_error_ns": None},
        "points": [{"point": "p", "stamps": {"hardware": 0, "system": 1, "stray": 0, "clock": None}}],
    },
}  # fmt: skip


def nested(depth: int) -> Any:
    value: Any = 0
    for _ in range(depth):
        value = [value]
    return value


def changed(path: str, value: object) -> dict[str, Any]:
    batch = copy.deepcopy(BATCH)
    *steps, last = path.split(".")
    place: Any = batch
    for step in steps:
        place = place[int(step)] if step.isdigit() else place[step]
    place[last] = value
    return batch


def read(batch: object) -> dict[str, Any]:
    return read_batch(json.dumps(batch).encode(), sensor="s1")


@pytest.mark.parametrize(
    ("path", "good", "bad"),
    [
        ("schema", ["flowguard.batch/1"], ["flowguard.batch/2", 1]),
        ("sensor", ["s1"], ["s2", "", 1]),
        ("stream", [UUID, UUID.upper()], [UUID[:-1], UUID.replace("-", ""), "x" * 36, None]),
        ("health.clock", [None], [{}, 1, {"synchronised": True, "estimated_error_ns": 5}]),
        ("health.clock.synchronised", [True, False], [None, 1]),
        ("health.clock.max_error_ns", [None, 0, MAX_INT64], [-1, 1.5, "1"]),
        ("health.points", [[], [{"point": "p"}]], [None, [1]]),
        ("health.points.0.stamps", [None], [1, {"hardware": 1}]),
        ("health.points.0.stamps.stray", [0, MAX_INT64], [None, -1]),
        ("sequence", [1, MAX_SEQUENCE], [0, MAX_SEQUENCE + 1, True, 1.0]),
        ("bundle", [None, "a" * 64], ["a" * 63, "g" * 64, 1]),
        ("judging", [True, False], [1, None]),
        ("verdicts.0.id", ["f" * 32], ["f" * 33, "F" * 32]),
        ("verdicts.0.revision", [MAX_INT32], [0, MAX_INT32 + 1]),
        ("verdicts.0.name", ["n" * 40], ["n" * 41, "", None]),
        ("verdicts.0.realm", ["", "r" * 64], ["r" * 65, None]),
        ("verdicts.0.src", ["10.0.0.1"], ["10.0.0.0/8", "fe80::1%eth0", 1, None]),
        ("verdicts.0.server_port", [0, 65_535, "ephemeral"], [-1, 65_536, "443"]),
        ("verdicts.0.dscp", [0, 63], [-1, 64]),
        ("verdicts.0.packets", [0, MAX_INT64], [-1, True]),
        ("verdicts.0.last_ns", [6], [4]),
        ("verdicts.0.severity", ["info"], ["bad"]),
        ("verdicts.0.confidence", [0, 1], [-0.1, 1.1, True, "1"]),
        ("verdicts.0.signals", [[], ["x"] * 64], [["x"] * 65, "x"]),
        ("verdicts.0.more", [1, "x", 1.5, nested(MAX_DEPTH - 3)], [MAX_INT64 + 1, "\x00", "\ud800", nested(MAX_DEPTH - 2)]),
        ("observations.0.complete", [False], [0, None]),
        ("observations.0.end_ns", [0], [-1]),
        ("observations.0.sources.0.src", [None], ["x"]),
        ("observations.0.tcp.0.dscp", [63], [64]),
        ("gaps.0.to_sequence", [2], [0]),
        ("gaps.0.verdicts", [0, MAX_INT32], [-1]),
        ("health.dropped", [{}, {str(n): 0 for n in range(16)}], [{str(n): 0 for n in range(17)}, [], {"a": -1}]),
        ("health.received", [None], [-1]),
    ],
)  # fmt: skip
def test_edges_of_every_field(path: str, good: list[object], bad: list[object]) -> None:
    for value in good:
        assert read(changed(path, value))["sensor"] == "s1"
    for value in bad:
        with pytest.raises(BadBatch):
            read(changed(path, value))


def test_fields_that_are_missing_are_named_and_new_ones_kept() -> None:
    for name in BATCH:
        with pytest.raises(BadBatch, match=f"{name}: is missing"):
            read({key: value for key, value in BATCH.items() if key != name})
    assert read({**BATCH, "new": 1})["new"] == 1
    with pytest.raises(BadBatch, match="an object"):
        read([])


@pytest.mark.parametrize("body", [b"\xff", b"{", b"[NaN]", b"[1e999]", b"[" * 100_000, b"[" + b"9" * 5_000 + b"]"])
def test_bodies_that_are_no_json(body: bytes) -> None:
    with pytest.raises(BadBatch, match=r"Send|finite"):
        read_batch(body, sensor="s1")


def test_a_long_value_is_shown_cut() -> None:
    with pytest.raises(BadBatch) as caught:
        read(changed("verdicts.0.proto", "x" * 200))
    assert '"' + "x" * 56 + "..." in str(caught.value)
    with pytest.raises(BadBatch) as caught:
        read(changed("verdicts.0.proto", "x" * 58))
    assert '"' + "x" * 58 + '" is not' in str(caught.value)


def test_one_spelling_of_a_value() -> None:
    assert canonical({"b": 1, "a": "ä"}) == '{"a":"ä","b":1}'.encode()
    assert digest({"b": 1, "a": 2}) == digest({"a": 2, "b": 1}) != digest({"a": 1, "b": 2})
