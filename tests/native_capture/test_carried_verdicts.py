"""Forbidden marks inside tunnels: whose they are, where they were seen, and that each packet counts once."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.l2 import GRE, Ether
from scapy.layers.vxlan import VXLAN
from scapy.packet import Packet

import native_capture
from flowguard.domain.bundle import compile_bundle
from policyhub.domain.identity import read_identities
from policyhub.domain.qos import PRIORITY_DSCP
from tests.support.capture_files import write_capture

SECOND, STEP = 1_700_000_000 * 10**9, 10_000_000
JOB, STORE = "10.1.0.1", "10.1.9.9"
LEDGER = """prefix,name,business,owner,class,allowed_dscp,active_window,peak_mbps
10.1.0.0/16,job,training,li,non-core,0 8,,
10.2.0.0/16,trade,trading,wu,core,46,,
192.0.2.0/24,leaf,fabric,ma,core,,,
"""
Verdict = dict[str, Any]


def carried(mark: int = 46, src: str = JOB, number: int = 0, payload: bytes = bytes(900)) -> Packet:
    return IP(src=src, dst=STORE, tos=mark << 2, id=number) / TCP(sport=40_000, dport=2049, flags="A", seq=number) / payload


def vxlan(inner: Packet, mark: int = 0, vni: int = 5, src: str = "198.51.100.1") -> Packet:
    return (
        IP(src=src, dst="198.51.100.2", tos=mark << 2) / UDP(sport=50_000, dport=4789) / VXLAN(vni=vni, flags=8) / Ether() / inner
    )


def capture(path: Path, frames: Iterable[Packet]) -> str:
    return str(write_capture(path, [(SECOND + at * STEP, bytes(Ether() / frame)) for at, frame in enumerate(frames)]))


def judged(points: list[tuple[str, str]], **options: Any) -> list[Verdict]:
    names = dict.fromkeys((name for name, _ in points), "")
    bundle = compile_bundle(read_identities(LEDGER, "ids.csv"), points=names, priority_dscp=PRIORITY_DSCP)
    found: list[Verdict] = json.loads(native_capture.analyse(points, bundle=bundle, **options))["verdicts"]
    return found


def alone(tmp_path: Path, frames: Iterable[Packet]) -> list[Verdict]:
    return judged([("p", capture(tmp_path / "p.pcap", frames))])


def told(verdicts: list[Verdict]) -> set[tuple[str, str, int, int]]:
    return {(verdict["name"], verdict["src"], verdict["dscp"], verdict["packets"]) for verdict in verdicts}


def test_a_training_job_that_hides_its_mark_in_a_tunnel_is_found_with_its_name(tmp_path):
    (verdict,) = alone(tmp_path, [vxlan(carried(number=at)) for at in range(150)])
    assert (verdict["name"], verdict["src"], verdict["dst"], verdict["server_port"]) == ("class-not-allowed", JOB, STORE, 2049)
    assert (verdict["dscp"], verdict["packets"], verdict["severity"], verdict["identity"]["name"]) == (46, 150, "high", "job")
    assert (verdict["bytes"], verdict["connections"]) == (150 * len(Ether() / carried()), 1)
    assert {"dscp-outside-allowance", "volume"} == set(verdict["signals"])
    (fact,) = [fact for fact in verdict["evidence"] if fact["kind"] == "carried"]
    assert fact == {
        "kind": "carried", "tunnel": "vxlan", "tunnel_id": 5, "outer_src": "198.51.100.1", "outer_dst": "198.51.100.2",
        "outer_dscp": 0,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("frame", "found"),
    [
        (vxlan(carried(8)), set()),
        (vxlan(carried(46, "10.2.0.1")), set()),
        (vxlan(carried(46, "10.3.0.1")), {("unknown-identity-in-priority", "10.3.0.1", 46, 1)}),
        # the end of the tunnel passes the mark on
        (vxlan(carried(46, "10.2.0.1"), mark=46), set()),
        (vxlan(carried(), mark=46), {("class-not-allowed", JOB, 46, 1)}),
        # the end of the tunnel sets it by itself
        (vxlan(carried(0), mark=46), {("unknown-identity-in-priority", "198.51.100.1", 46, 1)}),
        # and one of which the ledger says that it may not
        (vxlan(carried(46, "10.2.0.1"), mark=46, src=JOB), {("class-not-allowed", JOB, 46, 1)}),
        (vxlan(carried(46, "10.3.0.1"), mark=46, src="192.0.2.1"), {("unknown-identity-in-priority", "10.3.0.1", 46, 1)}),
        # a tunnel within a tunnel: only who sends is blamed
        (
            IP(src="203.0.113.1", dst="203.0.113.2", tos=46 << 2) / GRE() / vxlan(carried(), mark=46),
            {("class-not-allowed", JOB, 46, 1)},
        ),
    ],
)
def test_who_is_to_blame_for_a_mark_inside_and_outside(tmp_path, frame, found):
    assert told(alone(tmp_path, [frame])) == found


def test_a_packet_seen_bare_and_in_a_tunnel_or_at_two_points_counts_once(tmp_path):
    bare = [carried(number=at) for at in range(9)]
    wrapped = [vxlan(frame) for frame in bare]
    both = [frame for pair in zip(bare, wrapped, strict=True) for frame in pair]
    expected = {("class-not-allowed", JOB, 46, 9)}
    assert told(alone(tmp_path, both)) == expected
    assert told(alone(tmp_path, [vxlan(inner, vni=vni) for inner in bare for vni in (5, 6)])) == expected
    for first, second in ((bare, wrapped), (wrapped, bare), (wrapped, [vxlan(frame, vni=7) for frame in bare])):
        points = [(name, capture(tmp_path / name, frames)) for name, frames in (("a", first), ("b", second))]
        (verdict,) = judged(points)
        assert (told([verdict]), verdict["point"]) == (expected, "a")


def test_verdicts_of_carried_packets_are_the_same_for_every_number_of_threads(tmp_path):
    seven = [bytes(Ether() / vxlan(carried(src=f"10.1.0.{host}"))) for host in range(7)]  # making each anew would take a minute
    path = str(write_capture(tmp_path / "p.pcap", [(SECOND + at * STEP, seven[at % 7]) for at in range(3_000)]))
    one, four = (judged([("p", path)], threads=threads) for threads in (1, 4))
    assert one == four
    assert (len(one), sum(verdict["packets"] for verdict in one)) == (7, 3_000)
