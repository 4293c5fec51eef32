"""The queues of the scenarios' switch, replayed and measured, beside the lengths that the switch itself reported.

`queue_samples.csv` is the switch's own telemetry: EF queue length each 20 ms or less, and a counter of drops.
"""

from __future__ import annotations

import csv
import json
import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any

import pytest

import native_capture

ROOT = Path(__file__).parents[2]
CORPUS = Path(os.environ.get("POLICYHUB_CORPUS") or ROOT.parent / "shared" / "data")
FOLDERS = ["1_baseline", "2_training_in_ef", "3_training_in_be", "4_microburst", "5_dscp_rewritten", "6_short_lived"]
SIDES = {"ingress": "access", "egress": "servers"}
MANY_DROPS = 1000

pytestmark = [pytest.mark.corpus, pytest.mark.parametrize("folder", FOLDERS)]


@dataclass(frozen=True)
class Sampled:
    """ns and fill in per cent, as the switch said; drops between its first and last sample."""

    fills: tuple[tuple[int, float], ...]
    drops: int


def scenario(folder: str) -> Path:
    where = CORPUS / "scenarios" / folder
    assert where.is_dir(), f"{where} is missing: set POLICYHUB_CORPUS to the folder that holds scenarios/"
    return where


def queues_file(folder: str) -> dict[str, Any]:
    return json.loads((scenario(folder) / "queues.json").read_text())


@cache
def sampled(folder: str, port: str) -> Sampled:
    limit = queues_file(folder)["classes"]["EF"]["queue_pkts"]
    with (scenario(folder) / "queue_samples.csv").open() as stream:
        rows = [row for row in csv.DictReader(stream) if (row["dev"], row["class"]) == (port, "EF")]
    fills = tuple((int(float(row["t"]) * 1e9), 100 * int(row["qlen_pkts"]) / limit) for row in rows)
    return Sampled(fills, int(rows[-1]["drops_total"]) - int(rows[0]["drops_total"]))


@cache
def two_points(folder: str) -> dict[str, Any]:
    points = [(name, scenario(folder) / f"{name}.pcap") for name in SIDES]
    body = native_capture.analyse(points, queues=json.dumps(queues_file(folder)).encode(), series=True, top=0)
    return json.loads(body)


def one_point(folder: str, point: str) -> dict[str, Any]:
    hosts = json.loads((scenario(folder) / "truth.json").read_text())["hosts"].values()
    side = [f"{host['ip']}/32" for host in hosts if host["side"] == SIDES[point]]
    queues = {**queues_file(folder), "sides": {point: side}}
    body = native_capture.analyse([(point, scenario(folder) / f"{point}.pcap")], queues=json.dumps(queues).encode(), top=0)
    (found,) = json.loads(body)["points"]
    (row,) = [row for row in found["queues"] if row["class"] == "EF"]
    return row


def rows(folder: str, basis: str) -> dict[str, dict[str, Any]]:
    found = [row for point in two_points(folder)["points"] for row in point["queues"]]
    return {row["port"]: row for row in found if (row["class"], row["basis"]) == ("EF", basis)}


def percentile(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


@pytest.mark.parametrize("port", ["in0", "out0"])
def test_measured_fill_follows_the_switch(folder, port):
    series = rows(folder, "measured")[port]["series"]
    errors = []
    for ns, fill in sampled(folder, port).fills:
        at = ns // 1_000_000 - series["start_ns"] // 1_000_000
        if 0 <= at < len(series["fill_pct"]):
            errors.append(abs(series["fill_pct"][at] - fill))
    assert len(errors) > 300
    assert median(errors) <= 4
    assert percentile(errors, 0.95) <= 16


@pytest.mark.parametrize("port", ["in0", "out0"])
def test_drops_measured_are_those_the_switch_counted(folder, port):
    told = sampled(folder, port).drops
    # the counters were read a moment before the first and after the last packet that both files hold
    assert abs(rows(folder, "measured")[port]["drops_measured"] - told) <= 1


@pytest.mark.parametrize("point", list(SIDES))
def test_one_point_estimates_what_it_cannot_see(folder, point):
    row = one_point(folder, point)
    assert (row["basis"], row["drops_measured"]) == ("estimated", None)
    told = sampled(folder, row["port"])
    fills = [fill for _, fill in told.fills]
    assert abs(row["p95_fill_pct"] - percentile(fills, 0.95)) <= 10
    assert abs(row["mean_fill_pct"] - sum(fills) / len(fills)) <= 5
    assert abs(row["share_over_90_pct"] - sum(fill > 90 for fill in fills) / len(fills)) <= 0.06
    estimated = row["drops_estimated"]
    assert (estimated > 0) == (told.drops > 0)
    assert abs(estimated - told.drops) <= (0.10 if told.drops > MANY_DROPS else 0.60) * told.drops


def test_microbursts_are_found_where_they_were_made_and_name_who_filled_the_queue(folder):
    hosts = json.loads((scenario(folder) / "truth.json").read_text())["hosts"]
    bursts = [burst for point in two_points(folder)["points"] for burst in point["microbursts"] if burst["class"] == "EF"]
    if folder == "4_microburst":
        assert 36 <= len(bursts) <= 40
        assert {burst["port"] for burst in bursts} == {"out0"}
        incast = {hosts[name]["ip"] for name in ("algo1", "algo2", "algo4")}
        for burst in bursts:
            share = sum(flow["bytes"] for flow in burst["flows"] if flow["src"] in incast) / burst["bytes"]
            assert share > 0.5
    elif folder in ("1_baseline", "3_training_in_be", "5_dscp_rewritten"):
        assert bursts == []
