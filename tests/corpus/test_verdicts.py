"""Which verdicts each scenario gives, and no other; RDMA counts equal what tshark counted."""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import native_capture
from flowguard.domain.bundle import LAB, compile_bundle
from policyhub.domain.identity import read_identities

ROOT = Path(__file__).parents[2]
CORPUS = Path(os.environ.get("POLICYHUB_CORPUS") or ROOT.parent / "shared" / "data")
POINTS = ("ingress", "egress")
# Everything that is told of a scenario: (name, who is named by its ledger entry).
EXPECTED: dict[str, set[tuple[str, str]]] = {
    "1_baseline": set(),
    "2_training_in_ef": {
        *(("class-not-allowed", name) for name in ("algo1", "algo2", "algo3", "sto")),
        *(("queue-saturated", name) for name in ("algo1", "algo2", "sto")),
        *(("microburst", name) for name in ("algo1", "algo2", "sto")),
    },
    "3_training_in_be": set(),
    "4_microburst": {
        *(("class-not-allowed", name) for name in ("algo1", "algo2", "algo3", "algo4")),
        *(("microburst", name) for name in ("algo1", "algo2", "algo4")),
    },
    "5_dscp_rewritten": {("dscp-rewritten", "trade"), ("dscp-rewritten", "sip")},
    "6_short_lived": {
        ("class-not-allowed", "algo1"), ("class-not-allowed", "sto"), ("queue-saturated", "algo1"), ("microburst", "algo1"),
    },
}  # fmt: skip
RDMA = [
    "roce_ib/montybeatnik__roce_capture_read-write-ecn.pcap", "roce_ib/montybeatnik__test.pcap",
    "synthetic/synthetic__rocev2_write_ce_cnp_s1.pcap", "synthetic/synthetic__rocev2_nak_rnr_gobackn_s1.pcap",
    "synthetic/synthetic__rocev1_grh_vlan_s1.pcap", "synthetic/synthetic__rocev2_ipv6_vlan_and_vxlan_s1.pcap",
    "synthetic/synthetic__pfc_storm_s1.pcap",
]  # fmt: skip
TOLD = {
    "synthetic/synthetic__rocev2_write_ce_cnp_s1.pcap": {"roce-congested"},
    "synthetic/synthetic__rocev2_nak_rnr_gobackn_s1.pcap": {"roce-loss", "roce-rnr"},
    "synthetic/synthetic__rocev1_grh_vlan_s1.pcap": {"roce-v1"},
    "synthetic/synthetic__pfc_storm_s1.pcap": {"pfc-pause", "pfc-storm"},
}
READ_ANSWERS = ("13", "15", "16")  # with an acknowledgement in them

pytestmark = pytest.mark.corpus


def scenario(folder: str) -> Path:
    where = CORPUS / "scenarios" / folder
    assert where.is_dir(), f"{where} is missing: set POLICYHUB_CORPUS to the folder that holds scenarios/"
    return where


def captures(folder: str, *points: str) -> list[tuple[str, str]]:
    return [(point, str(scenario(folder) / f"{point}.pcap")) for point in points or POINTS]


def analysed(folder: str) -> bytes:
    where = scenario(folder)
    identities = read_identities((where / "identities.csv").read_text(), "identities.csv")
    queues = (where / "queues.json").read_bytes()
    return native_capture.analyse(captures(folder), bundle=compile_bundle(identities, profile=LAB), queues=queues, top=0)


@cache
def verdicts(folder: str) -> list[dict[str, Any]]:
    told: list[dict[str, Any]] = json.loads(analysed(folder))["verdicts"]
    return told


@cache
def rdma(*points: str) -> dict[str, Any]:
    report: dict[str, Any] = json.loads(native_capture.analyse(captures("8_roce", *points)))
    return report


@pytest.mark.parametrize("folder", EXPECTED)
def test_a_scenario_gives_these_verdicts_and_no_other(folder):
    assert {(verdict["name"], verdict["identity"]["name"]) for verdict in verdicts(folder)} == EXPECTED[folder]


def test_where_a_queue_filled_the_evidence_says_which_and_who_and_the_severity_whether_the_core_lost_packets():
    (told,) = [v for v in verdicts("6_short_lived") if v["name"] == "queue-saturated"]
    evidence = {fact["kind"]: fact for fact in told["evidence"]}
    assert (evidence["queue"]["port"], evidence["queue"]["class"], evidence["queue"]["basis"]) == ("out0", "EF", "measured")
    assert (evidence["filler"]["identity"] is not None, told["severity"]) == (True, "high")
    assert 0 < evidence["counted"]["lost_of_core"] <= evidence["counted"]["lost"] <= 293


@pytest.mark.parametrize("folder", ["4_microburst", "6_short_lived"])
def test_the_same_captures_give_the_same_bytes(folder):
    again = json.loads(analysed(folder))["verdicts"]
    assert json.dumps(again) == json.dumps(verdicts(folder))


def key(verdict: dict[str, Any]) -> tuple[str, str, str]:
    return verdict["name"], verdict["src"], verdict["dst"]


def test_the_rdma_scenario_gives_what_was_put_into_it_and_nothing_else():
    truth = json.loads((scenario("8_roce") / "truth.json").read_text())
    wanted = Counter(
        (found["name"], found["flow"]["src"], found["flow"]["dst"]) for found in truth["findings"] if "flow" in found
    )
    told = rdma()["verdicts"]
    assert Counter(key(verdict) for verdict in told if verdict["name"] != "pfc-pause") == wanted
    counted = {
        v["name"]: next(fact for fact in v["evidence"] if fact["kind"] == "counted") for v in told if v["name"][:4] != "dscp"
    }
    by_name = {found["name"]: found for found in truth["findings"]}
    loss, congested = counted["roce-loss"], counted["roce-congested"]
    assert (loss["lost_between"], loss["sequence_naks"], loss["repeated"]) == tuple(
        by_name["roce-loss"][field] for field in ("lost", "naks", "retransmitted")
    )
    assert (congested["ce"], congested["cnp"]) == (by_name["roce-congested"]["ce"], by_name["roce-congested"]["cnp"])
    assert counted["mtu-blackhole"]["lost_between"] == by_name["mtu-blackhole"]["lost"]
    assert counted["roce-rnr"]["rnr_naks"] == by_name["roce-rnr"]["count"]
    assert counted["pfc-pause"]["frames"] == by_name["pfc-pause"]["pause_frames"]
    for found in (found for found in truth["findings"] if "flow" in found and found["name"].startswith(("roce", "mtu"))):
        assert counted[found["name"]]["dest_qps"] == [found["flow"]["dst_qp"]]


def test_connections_are_paired_and_counted_as_they_were_made():
    truth = json.loads((scenario("8_roce") / "truth.json").read_text())["flows"]
    flows = {(f["point"], f["src"], f["dst"], f["dest_qp"]): f for f in rdma()["roce"]["flows"]}
    for name in ("good", "dscp_rewritten_lossy", "ecn_congested"):
        made = truth[name]
        row = flows["ingress", made["src"], made["dst"], made["dst_qp"]]
        assert (row["peer_qp"], row["data_packets"], row["requests"]["missing"]) == (made["src_qp"], made["stats"]["data"], 0)
        assert (row["requests"]["repeated"], row["answered"]["acks"]) == (made["stats"]["retrans"], made["stats"]["acks"])
        assert (row["answered"]["refused"]["sequence_error"], row["answered"]["cnp"]) == (
            made["stats"]["naks"], made["stats"]["cnp"],
        )  # fmt: skip
        later = flows["egress", made["src"], made["dst"], made["dst_qp"]]
        assert (later["requests"]["missing"], later["ecn"].get("ce", 0)) == (made["stats"]["lost"], made["stats"]["ce"])


@pytest.mark.parametrize("point", POINTS)
def test_one_point_alone_tells_no_more_than_it_can_see(point):
    both = {verdict["name"] for verdict in rdma()["verdicts"]}
    alone = {verdict["name"] for verdict in rdma(point)["verdicts"]}
    unseen = {"ingress": set(), "egress": {"pfc-pause", "mtu-blackhole"}}[point]
    assert alone == both - {"dscp-rewritten"} - unseen


def test_played_back_the_rdma_scenario_gives_the_same_verdicts():
    replay = native_capture.Replay(captures("8_roce"))
    latest: dict[str, dict[str, Any]] = {}
    quiet, end = 0, time.monotonic() + 60
    while quiet < 3:
        assert time.monotonic() < end
        body = json.loads(replay.poll(100))
        latest |= {verdict["id"]: verdict for verdict in body["verdicts"]}
        quiet = quiet + 1 if body["health"]["received"] == 1075 + 1040 and not body["verdicts"] else 0
    replay.close()
    assert latest == {verdict["id"]: verdict for verdict in rdma()["verdicts"]}


@pytest.mark.parametrize("file", RDMA)
def test_rdma_flows_sum_up_to_what_tshark_counted(file):
    path = CORPUS / "pcap" / file
    report = json.loads(native_capture.analyse([("p", path)]))
    truth = json.loads(path.with_name(f"{path.name}.truth.json").read_text())["truth"]["roce"]
    opcodes: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    for flow in report["roce"]["flows"]:
        opcodes.update(flow["opcodes"])
        kinds["ack"] += flow["acks"] + sum(flow["opcodes"].get(code, 0) for code in READ_ANSWERS)
        kinds["rnr_nak"] += flow["refused"]["rnr"]
        kinds["nak_code_0"] += flow["refused"]["sequence_error"]
        kinds["nak_code_2"] += flow["refused"]["remote_access"]
    assert opcodes == Counter(truth["bth_opcodes"])
    assert +kinds == Counter(truth["aeth_kinds"])
    assert {verdict["name"] for verdict in report["verdicts"]} == TOLD.get(file, set())
