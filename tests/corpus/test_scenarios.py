"""`policyhub flows` on both points of every scenario equals what was measured when it was made."""

from __future__ import annotations

import json
import os
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from flowguard.sensor import flows_cli
from policyhub.conf import cli

ROOT = Path(__file__).parents[2]
CORPUS = Path(os.environ.get("POLICYHUB_CORPUS") or ROOT.parent / "shared" / "data")
FOLDERS = ["1_baseline", "2_training_in_ef", "3_training_in_be", "4_microburst", "5_dscp_rewritten", "6_short_lived"]
CLEAN = {"1_baseline", "3_training_in_be"}

pytestmark = [pytest.mark.corpus, pytest.mark.parametrize("folder", FOLDERS)]


def scenario(folder: str) -> Path:
    where = CORPUS / "scenarios" / folder
    assert where.is_dir(), f"{where} is missing: set POLICYHUB_CORPUS to the folder that holds scenarios/"
    return where


@cache
def truth(folder: str) -> dict[str, Any]:
    return json.loads((scenario(folder) / "truth.json").read_text())


@cache
def measured(folder: str) -> list[dict[str, Any]]:
    return json.loads((scenario(folder) / "flows_measured.json").read_text())


_reports: dict[str, tuple[int, dict[str, Any]]] = {}


@pytest.fixture
def run(folder: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, Any]]:
    """Exit code and report of one run per folder; in one of two folders the points are named by interface."""
    if folder not in _reports:
        where = scenario(folder)
        points = truth(folder)["capture_points"]
        names = {key: key if FOLDERS.index(folder) % 2 else point["iface"] for key, point in points.items()}
        arguments = [f"--point={names[key]}={where / point['file']}" for key, point in points.items()]
        files = [f"--identities={where / 'identities.csv'}", f"--queues={where / 'queues.json'}"]
        code = cli.run(flows_cli, "flows", [*arguments, *files, "--format=json"])
        _reports[folder] = code, json.loads(capsys.readouterr().out)
    return _reports[folder]


@pytest.fixture
def report(run: tuple[int, dict[str, Any]]) -> dict[str, Any]:
    return run[1]


def verdicts(report: dict[str, Any], name: str) -> Counter[tuple[Any, ...]]:
    found: Counter[tuple[Any, ...]] = Counter()
    for v in report["verdicts"]:
        if v["name"] == name:
            key = v["src"], v["dst"], v["proto"], v["server_port"], v["dscp"]
            assert key not in found, "one verdict per key"
            found[key] = v["packets"]
    return found


def test_class_not_allowed_equals_the_identity_violations(folder, report):
    address = {name: host["ip"] for name, host in truth(folder)["hosts"].items()}
    expected = {
        (address[v["src"]], address[v["dst"]], v["proto"], v["port"], v["dscp"]): v["packets"]
        for v in truth(folder)["dscp_identity_violations"]
    }
    assert verdicts(report, "class-not-allowed") == Counter(expected)
    assert bool(expected) == (folder not in CLEAN | {"5_dscp_rewritten"})


def test_only_changed_marks_are_dscp_rewritten(folder, report):
    changed: Counter[tuple[Any, ...]] = Counter()
    for flow in measured(folder):
        before, after = Counter(flow["dscp_before"]), Counter(flow["dscp_after"])
        if set(after) - set(before):
            assert flow["lost_in_switch"] == 0 and len(before) == 1
            key = flow["src_ip"], flow["dst_ip"], flow["proto"], min(flow["sport"], flow["dport"]), int(*before)
            changed[key] += flow["pkts_after_switch"]
    assert verdicts(report, "dscp-rewritten") == changed
    assert bool(changed) == (folder == "5_dscp_rewritten")


def test_rewrites_of_the_path_equal_the_flows_measured(folder, report):
    expected = {
        (f["src_ip"], f["dst_ip"], f["sport"], f["dport"], f["proto"], int(*f["dscp_before"]), int(*f["dscp_after"])): f[
            "pkts_after_switch"
        ]
        for f in measured(folder)
        if f["dscp_before"] != f["dscp_after"] and not f["lost_in_switch"]
    }
    keys = ("src", "dst", "sport", "dport", "proto", "from_dscp", "to_dscp")
    assert {tuple(row[key] for key in keys): row["packets"] for row in report["path"]["rewrites"]} == expected


def test_no_other_verdict_and_the_exit_code_says_whether_there_is_one(folder, run):
    code, report = run
    queues = {"queue-saturated", "microburst"}  # who is named by them: test_verdicts.py
    assert {v["name"] for v in report["verdicts"]} <= {"class-not-allowed", "dscp-rewritten", *queues}
    assert code == (0 if folder in CLEAN else 1)


def test_flows_equal_what_was_measured(folder, report):
    kinds = ("data_segments", "retransmitted", "syn_retransmitted", "fin_retransmitted", "zero_window")
    columns = ("pkts_before_switch", "bytes", "tcp_data_segs", "tcp_retrans", "syn_retrans", "fin_retrans", "zero_window")
    found = {
        (f["src"], f["dst"], f["proto"], f["sport"], f["dport"]): [f["packets"], f["bytes"], *(f["tcp"][kind] for kind in kinds)]
        for f in report["flows"]
    }
    expected = {
        (f["src_ip"], f["dst_ip"], f["proto"], f["sport"], f["dport"]): [f[column] for column in columns]
        for f in measured(folder)
    }
    assert found == expected


def test_marks_of_each_flow_are_those_before_the_switch(folder, report):
    marks = {
        (f["src"], f["dst"], f["proto"], f["sport"], f["dport"]): {mark: sums["packets"] for mark, sums in f["dscp"].items()}
        for f in report["flows"]
    }
    assert marks == {(f["src_ip"], f["dst_ip"], f["proto"], f["sport"], f["dport"]): f["dscp_before"] for f in measured(folder)}


def test_losses_per_class_equal_what_was_measured(folder, report):
    lost: Counter[str] = Counter()
    passed = 0
    for flow in measured(folder):
        (mark,) = flow["dscp_before"]
        lost[mark] += flow["lost_in_switch"]
        passed += flow["pkts_after_switch"]
    path = report["path"]
    assert Counter({mark: row["lost"] for mark, row in path["by_dscp"].items()}) == lost
    assert (path["lost"], path["matched"], path["unmatched"]) == (sum(lost.values()), passed, 0)


def test_nothing_overflowed_and_nothing_was_unreadable(folder, report):
    assert not any(report["overflow"].values())
    for point in report["points"]:
        assert (point["truncated"], point["error"], point["decode_errors"]) == (False, None, 0)
