"""What a report may say of points whose mirrors were tried: only what their copies can bear."""

from __future__ import annotations

import json
from typing import Any

import pytest

from flowguard.domain.point_facts import AFTER_REWRITE, BEFORE_DROP, BEFORE_REWRITE, doubt, read_facts, respect, with_point
from flowguard.domain.probe import PointFacts
from policyhub.domain.errors import BadInput

MEASURED, ESTIMATED = {"basis": "measured"}, {"basis": "estimated"}


def way(start: str, end: str) -> dict[str, Any]:
    row = {"lost": 3, "delay_ns": {"p50": 1, "p99": 2, "max": 3}}
    return {
        "from": start, "to": end, "fault": {"class": "EF"}, "other_faults": [1], "rewrites": [1], **row,
        "by_dscp": {"46": dict(row)}, "directions": [{**row, "by_dscp": {}, "by_pcp": {}, "by_queue": [{"lost": 1}]}],
    }  # fmt: skip


def report(*paths: dict[str, Any]) -> dict[str, Any]:
    rows = {"queues": [MEASURED, ESTIMATED], "microbursts": [MEASURED], "saturations": [ESTIMATED, MEASURED]}
    points = [{"name": name, **{key: list(value) for key, value in rows.items()}} for name in ("a", "b")]
    return {"points": points, "path": paths[0] if paths else None, "paths": list(paths[1:]), "verdicts": []}


def test_ways_to_a_point_that_copies_before_the_drop_lose_their_losses_and_say_why() -> None:
    found = report(way("a", "b"), way("b", "a"))
    found["path"]["withheld"] = ["mirror"]
    respect(found, {"b": PointFacts(egress_drop="before")})
    hop, other = found["path"], found["paths"][0]
    assert [str(said) for said in hop["withheld"]] == ["mirror", BEFORE_DROP % {"point": "b"}]
    assert (hop["lost"], hop["fault"], hop["other_faults"], hop["by_dscp"]["46"]["lost"]) == (None, None, [], None)
    assert hop["directions"][0]["by_queue"] == [{"lost": None}] and hop["delay_ns"] == {"p50": None, "p99": None, "max": None}
    assert hop["rewrites"] == [1]
    assert (other["lost"], other["fault"]) == (3, {"class": "EF"}) and "withheld" not in other


def test_what_was_measured_of_queues_there_is_left_out_and_what_was_estimated_stays() -> None:
    found = report()
    respect(found, {"b": PointFacts(egress_drop="before"), "c": PointFacts(egress_drop="before")})
    first, second = found["points"]
    assert (first["queues"], first["calibration"]) == ([MEASURED, ESTIMATED], None)
    assert (second["queues"], second["microbursts"], second["saturations"]) == ([ESTIMATED], [], [ESTIMATED])


@pytest.mark.parametrize(
    ("facts", "limits"),
    [
        (PointFacts(egress_drop="before"), [BEFORE_DROP]),
        (PointFacts(rewrite="after"), [AFTER_REWRITE]),
        (PointFacts(rewrite="before"), [BEFORE_REWRITE]),
        (PointFacts(rewrite="after", egress_drop="before"), [BEFORE_DROP, AFTER_REWRITE]),
        (PointFacts(egress_drop="after", rewrite="both"), []),
        (PointFacts(), []),
    ],
)
def test_a_point_says_what_its_copies_cannot_show(facts: PointFacts, limits: list[str]) -> None:
    found = report(way("b", "a"))
    respect(found, {"a": facts})
    calibration = found["points"][0]["calibration"]
    assert [str(said) for said in calibration["limits"]] == [text % {"point": "a"} for text in limits]
    assert calibration["rewrite"] == facts.rewrite
    assert (found["path"]["lost"] is None) == (facts.egress_drop == "before")
    assert (found["points"][0]["queues"] == [ESTIMATED]) == (facts.egress_drop == "before")


@pytest.mark.parametrize(
    ("name", "evidence", "facts", "said"),
    [
        ("class-not-allowed", [], PointFacts(rewrite="after"), {"rewrite": "after"}),
        ("unknown-identity-in-priority", [], PointFacts(rewrite="both"), {"rewrite": "both"}),
        ("class-not-allowed", [], PointFacts(rewrite="before", egress_drop="before"), None),
        ("over-peak", [], PointFacts(rewrite="after"), None),
        ("dscp-rewritten", [], PointFacts(rewrite="after", egress_drop="before"), None),
        ("microburst", [{"kind": "queue", **MEASURED}], PointFacts(egress_drop="before"), {"egress_drop": "before"}),
        ("queue-saturated", [{"kind": "queue", **MEASURED}], PointFacts(egress_drop="before"), {"egress_drop": "before"}),
        ("queue-saturated", [{"kind": "queue", **ESTIMATED}], PointFacts(egress_drop="before"), None),
        ("queue-saturated", [{"kind": "filler", **MEASURED}], PointFacts(egress_drop="before"), None),
        ("queue-saturated", [{"kind": "queue", **MEASURED}], PointFacts(egress_drop="after", rewrite="after"), None),
        ("ecn-silent", [{"kind": "queue", **MEASURED}], PointFacts(egress_drop="before"), None),
    ],
)
def test_a_verdict_that_the_copies_cannot_bear_is_information_with_its_reason(
    name: str, evidence: list[dict[str, Any]], facts: PointFacts, said: dict[str, str] | None
) -> None:
    row: dict[str, Any] = {"name": name, "point": "a", "severity": "high", "evidence": evidence}
    elsewhere = {**row, "point": "z"}
    doubt([row, elsewhere], {"a": facts})
    assert row["severity"] == ("info" if said else "high")
    assert row["evidence"] == [*evidence, *([{"kind": "calibrated", "point": "a", **said}] if said else [])]
    assert elsewhere["severity"] == "high"


def test_a_file_is_read_as_it_was_written_and_points_are_added_to_it() -> None:
    first = with_point(None, "a", PointFacts("after", "before", "kept", "seen", 128, 0.5, 0.25), {"copied": 30})
    both = with_point(first, "b", PointFacts(), {})
    assert read_facts(json.dumps(both), "f") == {
        "a": PointFacts("after", "before", "kept", "seen", 128, 0.5, 0.25), "b": PointFacts(),
    }  # fmt: skip
    assert both["points"]["a"]["figures"] == {"copied": 30}
    assert with_point(both, "a", PointFacts(), {})["points"]["a"]["rewrite"] == "unknown"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "not a file of policyhub.point-facts/1"),
        ("[]", "not a file of"),
        ('{"points": {}}', "not a file of"),
        ('{"schema": "policyhub.point-facts/2", "points": {}}', "not a file of"),
        ('{"schema": "policyhub.point-facts/1", "points": []}', "not a file of"),
        ('{"schema": "policyhub.point-facts/1", "points": {"a": []}}', "points.a is no object"),
        (
            '{"schema": "policyhub.point-facts/1", "points": {"a": {"tags": "x"}}}',
            "points.a.tags is 'x'. Write one of kept, none, some",
        ),
        ('{"schema": "policyhub.point-facts/1", "points": {"a": {"pause": []}}}', "points.a.pause is []"),
        ('{"schema": "policyhub.point-facts/1", "points": {"a": {"cut_to": "x"}}}', "points.a.cut_to is 'x'"),
        ('{"schema": "policyhub.point-facts/1", "points": {"a": {"mirror_loss": true}}}', "points.a.mirror_loss is True"),
        ('{"schema": "policyhub.point-facts/1", "points": {"a": {"duplicates": 2}}}', "points.a.duplicates is 2"),
    ],
)
def test_what_is_no_such_file_is_told_with_the_place(text: str, told: str) -> None:
    with pytest.raises(BadInput) as refused:
        read_facts(text, "f.json")
    assert told in str(refused.value) and "f.json" in str(refused.value)
