"""The engine on captures made afresh: what it reports equals what was put in, whatever the addresses, ports and marks."""

from __future__ import annotations

import json
import math
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from scapy.layers.inet import IP, TCP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether

import native_capture
from flowguard.domain.bundle import compile_bundle
from tests.support.capture_files import FORMATS, Stamped, write_capture
from tests.support.captures import Maker, Truth
from tests.support.seeds import fresh_seeds

SEEDS = fresh_seeds(4)
COUNTS = ("data_segments", "retransmitted", "syn_retransmitted", "fin_retransmitted", "zero_window")

pytestmark = pytest.mark.parametrize("seed", SEEDS)


@cache
def made(seed: int) -> Truth:
    return Maker(seed).make()


@pytest.fixture
def truth(seed: int) -> Truth:
    return made(seed)


@pytest.fixture
def report(seed: int, truth: Truth, tmp_path: Path) -> dict[str, Any]:
    """Both points, each in a form of its own."""
    forms = FORMATS[seed % 6], FORMATS[seed // 6 % 6]
    files = [
        write_capture(tmp_path / name, getattr(truth, name), form) for name, form in zip(("near", "far"), forms, strict=True)
    ]
    return analyse(truth, [("near", files[0]), ("far", files[1])])


def analyse(truth: Truth, points: list[tuple[str, Path]]) -> dict[str, Any]:
    report: dict[str, Any] = json.loads(native_capture.analyse(points, bundle=compile_bundle(truth.identities)))
    assert report["schema"] == "policyhub.flows/1"
    assert not any(report["overflow"].values())
    return report


def flows(report: dict[str, Any]) -> dict[tuple[Any, ...], list[int]]:
    return {
        (f["src"], f["dst"], f["proto"], f["sport"], f["dport"]): [f["packets"], f["bytes"], *(f["tcp"][kind] for kind in COUNTS)]
        for f in report["flows"]
    }


def test_flows_are_counted_where_they_are_seen_first(truth, report):
    assert flows(report) == dict(truth.flows)


def test_verdicts_are_exactly_those_put_in(truth, report):
    keys = [(v["name"], v["src"], v["dst"], v["proto"], v["server_port"], v["dscp"]) for v in report["verdicts"]]
    assert len(set(keys)) == len(keys)
    assert Counter({key: v["packets"] for key, v in zip(keys, report["verdicts"], strict=True)}) == truth.verdicts


def test_losses_and_matches_per_mark_are_those_put_in(truth, report):
    path = report["path"]
    by_mark = path["by_dscp"]
    assert Counter({int(mark): row["lost"] for mark, row in by_mark.items()}) == truth.lost
    assert Counter({int(mark): row["matched"] for mark, row in by_mark.items()}) == truth.matched
    assert (path["unmatched"], path["lost"]) == (truth.unmatched, sum(truth.lost.values()))


def test_rewrites_name_the_flow_and_both_marks(truth, report):
    keys = ("src", "dst", "proto", "sport", "dport", "from_dscp", "to_dscp")
    assert Counter({tuple(row[key] for key in keys): row["packets"] for row in report["path"]["rewrites"]}) == truth.rewrites


def test_delays_of_each_direction_are_those_put_in(truth, report):
    for way in report["path"]["directions"]:
        delays = sorted(truth.delays[way["from"]])
        assert way["matched"] == len(delays)
        assert way["delay_ns"]["max"] == delays[-1]
        for percent in (50, 99):
            exact = delays[math.ceil(len(delays) * percent / 100) - 1]
            assert way["delay_ns"][f"p{percent}"] == pytest.approx(exact, rel=0.001)


def test_points_count_all_frames_of_their_file(truth, report):
    for point, frames in zip(report["points"], (truth.near, truth.far), strict=True):
        assert point["packets"] == len(frames)
        assert point["bytes"] == sum(len(frame) for _, frame in frames)
        assert point["non_ip"] == (truth.non_ip if point["name"] == "near" else 0)
        assert (point["first_ns"], point["last_ns"]) == (frames[0][0], frames[-1][0])
        assert sum(mark["packets"] for mark in point["dscp"].values()) == point["packets"] - point["non_ip"]
        per_ms: Counter[int] = Counter()
        for ns, frame in frames:
            per_ms[ns // 10**6] += len(frame)
        assert max(mark["peak_1ms_bytes"] for mark in point["dscp"].values()) <= max(per_ms.values())


def slow_tcp(frames: list[Stamped]) -> list[int]:
    """The counts of the contract over one file, written down a second time, slowly."""
    counts = [0] * 5
    highest: dict[tuple[Any, ...], int] = {}
    isn: dict[tuple[Any, ...], int] = {}
    fins: set[tuple[Any, ...]] = set()
    for _, frame in frames:
        packet = Ether(frame)
        if TCP not in packet:
            continue
        tcp = packet[TCP]
        network = packet[IP] if IP in packet else packet[IPv6]
        key = network.src, network.dst, tcp.sport, tcp.dport
        flags, length = str(tcp.flags), len(bytes(tcp.payload))
        if "S" in flags:
            if isn.get(key) == tcp.seq:
                counts[2] += 1
            else:
                isn[key], highest[key] = tcp.seq, (tcp.seq + 1) % 2**32
                fins = {fin for fin in fins if fin[0] != key}
        if length:
            end = (tcp.seq + length) % 2**32
            is_new = key not in highest or 0 < (end - highest[key]) % 2**32 < 2**31
            counts[0] += 1
            counts[1] += not is_new
            if is_new:
                highest[key] = end
        if "F" in flags:
            counts[3] += (key, tcp.seq + length) in fins
            fins.add((key, tcp.seq + length))
        counts[4] += tcp.window == 0 and not set("SFR") & set(flags)
    return counts


def test_tcp_counts_of_a_point_are_over_all_packets_of_its_file(truth, report):
    for point, frames in zip(report["points"], (truth.near, truth.far), strict=True):
        assert [point["tcp"][kind] for kind in COUNTS] == slow_tcp(frames)


def test_the_order_of_the_points_does_not_matter(truth, report, tmp_path):
    turned = analyse(truth, [("far", tmp_path / "far"), ("near", tmp_path / "near")])
    assert flows(turned) == flows(report)
    assert turned["verdicts"] == report["verdicts"]


def test_the_same_captures_give_the_same_bytes(truth, report, tmp_path):
    points = [("near", tmp_path / "near"), ("far", tmp_path / "far")]
    assert json.dumps(analyse(truth, points)) == json.dumps(report)


def test_headers_are_enough(truth, report, tmp_path):
    points = [(name, write_capture(tmp_path / f"{name}-cut", getattr(truth, name), snaplen=96)) for name in ("near", "far")]
    cut = analyse(truth, points)
    assert flows(cut) == flows(report)
    assert {v["id"]: v["packets"] for v in cut["verdicts"]} == {v["id"]: v["packets"] for v in report["verdicts"]}
    assert cut["points"][0]["cut_packets"] > 0 == report["points"][0]["cut_packets"]


def test_one_point_alone_counts_and_judges_what_it_shows(truth, report, tmp_path):
    alone = analyse(truth, [("near", tmp_path / "near")])
    first = {key: counts for key, counts in truth.flows.items() if key[0] in truth.near_sources}
    found = flows(alone)
    assert {key: found[key] for key in first} == first
    assert sum(counts[0] for counts in found.values()) == len(truth.near) - truth.non_ip
    assert alone["path"] is None
