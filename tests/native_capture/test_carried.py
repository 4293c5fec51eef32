"""Flows of carried packets: apart by tunnel and level, fragments put together, and counted once in the sums of a point."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from scapy.layers.inet import IP, TCP, UDP, fragment
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import GRE, Dot1Q, Ether
from scapy.layers.vxlan import VXLAN
from scapy.packet import Packet

import native_capture
from tests.support.capture_files import write_capture

START, STEP = 1_700_000_000_000_000_000, 1_000_000
Row = dict[str, Any]


def outer(vni: int, carried: Packet, dst: str = "192.0.2.2") -> Packet:
    header = IP(src="192.0.2.1", dst=dst, tos=0) / UDP(sport=50_000, dport=4789)
    return Ether() / header / VXLAN(vni=vni, flags=8) / Ether() / carried


def tenant(size: int = 100, mark: int = 46) -> Packet:
    return IP(src="10.0.0.1", dst="10.0.0.2", tos=mark << 2) / TCP(sport=40_000, dport=443, flags="A") / bytes(size)


def analyse(folder: Path, frames: list[Packet], **options: Any) -> Row:
    packets = [(START + number * STEP, bytes(frame)) for number, frame in enumerate(frames)]
    report: Row = json.loads(native_capture.analyse([("p", write_capture(folder / "a.pcap", packets))], **options))
    return report


def test_the_same_addresses_in_two_tunnels_are_two_flows_and_the_point_counts_frames_once(tmp_path: Path) -> None:
    frames = [outer(5, tenant()), outer(5, tenant(mark=0)), outer(6, tenant()), Ether() / tenant()]
    report = analyse(tmp_path, frames)
    point = report["points"][0]
    rows = {row["tunnel_id"]: row for row in point["carried"]}
    assert (point["carried_total"], rows.keys()) == (2, {5, 6})
    inside = len(tenant())
    assert (rows[5]["packets"], rows[5]["bytes"], rows[5]["first_ns"], rows[5]["last_ns"]) == (2, 2 * inside, START, START + STEP)
    assert rows[5]["dscp"] == {"0": {"packets": 1, "bytes": inside}, "46": {"packets": 1, "bytes": inside}}
    assert {(row["outer_src"], row["outer_dst"], row["tunnel"], row["depth"]) for row in rows.values()} == {
        ("192.0.2.1", "192.0.2.2", "vxlan", 1)
    }
    assert (rows[6]["src"], rows[6]["sport"], rows[6]["dport"], rows[6]["proto"]) == ("10.0.0.1", 40_000, 443, "tcp")
    assert (point["packets"], point["bytes"]) == (4, sum(map(len, frames)))
    assert {mark: sums["packets"] for mark, sums in point["dscp"].items()} == {"0": 3, "46": 1}
    assert sorted((flow["src"], flow["packets"]) for flow in report["flows"]) == [("10.0.0.1", 1), ("192.0.2.1", 3)]


def test_each_level_of_nested_tunnels_is_told_with_its_own_carrier(tmp_path: Path) -> None:
    deep = IPv6(src="2001:db8::1", dst="2001:db8::2") / UDP(sport=1, dport=2) / b"x"
    nested = IP(src="172.16.0.1", dst="172.16.0.2") / GRE(key_present=1, key=77) / deep
    rows = analyse(tmp_path, [outer(9, Dot1Q(vlan=30) / nested)])["points"][0]["carried"]
    told = {row["depth"]: (row["tunnel"], row["tunnel_id"], row["outer_src"], row["src"], row["vlan"]) for row in rows}
    assert told == {1: ("vxlan", 9, "192.0.2.1", "172.16.0.1", 30), 2: ("gre", 77, "172.16.0.1", "2001:db8::1", None)}


def test_fragments_inside_belong_to_their_flow_and_to_their_tunnel(tmp_path: Path) -> None:
    def parts(port: int) -> list[Packet]:
        return fragment(IP(src="10.0.0.1", dst="10.0.0.2", id=7) / UDP(sport=port, dport=9) / bytes(2_000), 800)

    frames = [outer(vni, part) for one, two in zip(parts(5), parts(6), strict=True) for vni, part in ((5, one), (6, two))]
    rows = analyse(tmp_path, frames)["points"][0]["carried"]
    assert {(row["tunnel_id"], row["sport"], row["packets"]) for row in rows} == {(5, 5, 3), (6, 6, 3)}


def test_only_the_largest_are_told_when_so_asked_and_all_are_counted(tmp_path: Path) -> None:
    point = analyse(tmp_path, [outer(vni, tenant(100 * vni)) for vni in range(1, 9)], top=2)["points"][0]
    assert ([row["tunnel_id"] for row in point["carried"]], point["carried_total"]) == ([8, 7], 8)
