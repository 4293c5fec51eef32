"""The guard bundle: equal input gives equal bytes, whatever its order."""

from __future__ import annotations

import hashlib
import json

from flowguard.domain.bundle import LAB, compile_bundle
from policyhub.domain.identity import Identity

A = Identity("10.0.0.0/8", "a", core=True, peak_mbps=2.5)
B = Identity("10.1.0.0/16", "b", allowed_dscp=frozenset({46, 0}), active_window="08:00-18:00")


def test_a_bundle_does_not_depend_on_the_order_of_what_it_is_made_of() -> None:
    one = compile_bundle([A, B], profile=LAB, points={"in": "x", "a": ""}, service_rank={46: 5, 8: 0})
    assert one == compile_bundle([B, A], profile=LAB, points={"a": "", "in": "x"}, service_rank={8: 0, 46: 5})
    body = json.loads(one)
    version = body.pop("version")
    canonical = json.dumps(body, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode()
    assert version == hashlib.sha256(canonical).hexdigest()
    assert body["points"] == {"a": {"realm": ""}, "in": {"realm": "x"}} and body["service_rank"] == {"8": 0, "46": 5}
    assert body["profile"] == {"name": "lab", "persistence_ms": 1000, "min_signals": 1}
    assert body["priority_dscp"] == [40, 44, 46, 48, 56] and body["match_window_ms"] == 1000
    assert [(row["class"], row["allowed_dscp"], row["peak_mbps"], row["active_window"]) for row in body["identities"]] == [
        ("core", None, 2.5, ""),
        ("non-core", [0, 46], None, "08:00-18:00"),
    ]


def test_what_is_not_given_is_empty() -> None:
    body = json.loads(compile_bundle([]))
    assert (body["identities"], body["points"], body["service_rank"]) == ([], {}, {})
    assert body["profile"] == {"name": "production", "persistence_ms": 60_000, "min_signals": 2}
