"""Several points: whose clock is off and by how much, where a packet was lost, what was changed, and what cannot be said."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.l2 import Dot1Q, Ether
from scapy.packet import Packet

import native_capture
from tests.support.capture_files import write_capture

START = 1_700_000_000_000_000_000
STEP = 1_000_000
Seen = Sequence[tuple[int, Packet]]


def write(path: Path, frames: Seen) -> Path:
    return write_capture(path, [(ns, bytes(packet)) for ns, packet in sorted(frames, key=lambda frame: frame[0])])


def data(number: int, *, back: bool = False, dscp: int = 46, ecn: int = 0, sport: int = 40_000) -> Packet:
    """Segment `number` of one conversation, from 10.0.0.1 or back to it."""
    src, dst, ports = ("10.0.1.9", "10.0.0.1", (443, sport)) if back else ("10.0.0.1", "10.0.1.9", (sport, 443))
    header = IP(src=src, dst=dst, id=number, tos=dscp << 2 | ecn, ttl=60)
    return Ether() / header / TCP(sport=ports[0], dport=ports[1], seq=1 + 100 * number, ack=1, flags="A") / bytes(100)


def both_ways(count: int, offset_ns: int, delay_ns: int = 5_000) -> tuple[list[Any], list[Any]]:
    """Captures at A and B; B's clock is ahead by `offset_ns`; packets take `delay_ns` and up to ten microseconds more."""
    a, b = [], []
    for n in range(count):
        sent = START + n * STEP
        took = delay_ns + n % 10 * 1_000
        back = n % 2 == 1
        near, far = (b, a) if back else (a, b)
        shift = {id(a): 0, id(b): offset_ns}
        packet = data(n, back=back)
        near.append((sent + shift[id(near)], packet))
        far.append((sent + took + shift[id(far)], packet))
    return a, b


def analyse(folder: Path, captures: dict[str, Seen], **options: Any) -> dict[str, Any]:
    points = [(name, write(folder / f"{name}.pcap", frames)) for name, frames in captures.items()]
    report: dict[str, Any] = json.loads(native_capture.analyse(points, **options))
    return report


@pytest.mark.parametrize("offset_ns", [3_000_000, -250_000])
def test_clock_offset_is_found_within_its_error_and_delays_are_corrected(tmp_path, offset_ns):
    a, b = both_ways(200, offset_ns)
    path = analyse(tmp_path, {"a": a, "b": b})["path"]
    clock = path["clock"]
    assert clock["basis"] == "estimated"
    assert abs(clock["offset_ns"] - offset_ns) <= clock["error_ns"] <= 6_000
    assert clock["at_least_ns"] <= offset_ns <= clock["at_most_ns"]
    for way in path["directions"]:
        assert way["matched"] == 100 and way["lost"] == 0
        assert abs(way["delay_ns"]["max"] - 14_000) <= way["delay_ns"]["error_ns"] + 1_000


def test_a_delay_finer_than_the_clocks_error_is_withheld_with_its_reason(tmp_path):
    a, b = both_ways(200, 0)
    loose = analyse(tmp_path, {"a": a, "b": b}, clock_errors=[("a", 2_000), ("b", 100_000)])["path"]
    assert loose["delay_ns"]["p50"] is not None and loose["clock"]["error_ns"] <= 6_000, "packets say more than the sensors"
    one_way = [(ns, packet) for ns, packet in a if packet[IP].src == "10.0.0.1"]
    other = [(ns, packet) for ns, packet in b if packet[IP].src == "10.0.0.1"]
    path = analyse(tmp_path, {"a": one_way, "b": other}, clock_errors=[("a", 2_000), ("b", 100_000)])["path"]
    assert path["clock"] == {
        "basis": "given", "offset_ns": 0, "error_ns": 102_000, "at_least_ns": -102_000, "at_most_ns": 102_000,
        "reason": "the figure is finer than the clocks' error",
    }  # fmt: skip
    assert path["delay_ns"]["p50"] is None and path["delay_ns"]["max"] is None
    assert path["delay_ns"]["withheld"] == "the figure is finer than the clocks' error"


def test_clocks_that_contradict_each_other_give_no_delays(tmp_path):
    a, b = both_ways(200, 0)
    b = [(ns + n * 50_000, packet) for n, (ns, packet) in enumerate(b)]
    path = analyse(tmp_path, {"a": a, "b": b})["path"]
    assert path["clock"]["basis"] == "inconsistent" and path["delay_ns"]["p50"] is None
    assert "drift" in path["delay_ns"]["withheld"]


def test_a_chain_of_three_tells_each_hops_losses_and_delays(tmp_path):
    points: dict[str, list[Any]] = {"acc": [], "core": [], "srv": []}
    for n in range(300):
        packet, sent = data(n, dscp=46 if n % 3 else 0), START + n * STEP
        points["acc"].append((sent, packet))
        if n % 30 != 1:
            points["core"].append((sent + 2_000, packet))
            points["srv"].append((sent + 10_000, packet))
    report = analyse(tmp_path, points)
    assert report["path"] is None
    first, second = report["paths"]
    assert (first["from"], first["to"], first["matched"], first["lost"]) == ("acc", "core", 290, 10)
    assert (second["from"], second["to"], second["matched"], second["lost"]) == ("core", "srv", 290, 0)
    assert (first["delay_ns"]["max"], second["delay_ns"]["max"]) == (2_000, 8_000)
    fault = first["fault"]
    assert (fault["where"]["from"], fault["where"]["to"], fault["dscp"], fault["scope"]) == ("acc", "core", [46], "class-only")
    assert fault["control"]["classes"] == ["DSCP 0"] and fault["control"]["lost"] == 0 and second["fault"] is None


def test_a_packet_seen_before_and_behind_a_point_was_missed_by_its_mirror_and_not_lost(tmp_path):
    points: dict[str, list[Any]] = {"acc": [], "core": [], "srv": []}
    for n in range(100):
        packet, sent = data(n), START + n * STEP
        for name, after in (("acc", 0), ("core", 2_000), ("srv", 4_000)):
            if name != "core" or n % 10:
                points[name].append((sent + after, packet))
    first, second, *rest = analyse(tmp_path, points)["paths"]
    assert (first["lost"], second["lost"]) == (0, 0)
    assert first["missed"] == [0, 10] and second["missed"] == [10, 0]
    assert [row["fault"] for row in (first, second, *rest)] == [None] * (2 + len(rest))


def test_of_two_points_the_one_that_did_not_copy_a_packet_is_named(tmp_path):
    a, b = [], []
    for n in range(100):
        if n != 50:
            a.append((START + n * STEP, data(n)))
        if n != 70:
            b.append((START + n * STEP + 2_000, data(n)))
    path = analyse(tmp_path, {"a": a, "b": b})["path"]
    assert (path["matched"], path["lost"], path["missed"]) == (98, 1, [1, 0])


def test_ecn_vlan_and_priority_changes_name_their_flows(tmp_path):
    a, b = [], []
    for n in range(20):
        plain = data(n, ecn=2)
        tagged = Ether() / Dot1Q(vlan=10 if n < 5 else 20, prio=5) / plain[IP]
        a.append((START + n * STEP, tagged))
        out = plain[IP].copy()
        out.tos = 46 << 2 | (3 if n >= 17 else 2)
        del out.chksum
        b.append((START + n * STEP + 3_000, Ether() / Dot1Q(vlan=20, prio=5) / out if n < 10 else Ether() / out))
    path = analyse(tmp_path, {"a": a, "b": b})["path"]
    changes = {(row["field"], row["before"], row["after"]): row["packets"] for row in path["changes"]}
    assert changes == {("vlan", 10, 20): 5, ("vlan", 20, None): 10, ("pcp", 5, None): 10, ("ecn", 2, 3): 3}
    assert {(row["src"], row["sport"], row["dport"]) for row in path["changes"]} == {("10.0.0.1", 40_000, 443)}
    assert path["directions"][0]["by_pcp"] == {"5": {"matched": 20, "lost": 0}}


def test_where_all_classes_lose_the_class_is_not_blamed(tmp_path):
    a, b = [], []
    for n in range(1_000):
        packet = (
            Ether() / IP(src="10.0.0.1", dst="10.0.1.9", id=n, tos=(46, 26, 0)[n % 3] << 2) / UDP(sport=5, dport=9) / bytes(50)
        )
        a.append((START + n * STEP, packet))
        if n % 11:
            b.append((START + n * STEP + 2_000, packet))
    path = analyse(tmp_path, {"a": a, "b": b})["path"]
    assert {fault["scope"] for fault in [path["fault"], *path["other_faults"]]} == {"others-too"}
    assert path["fault"]["cause"] == "no-waiting" and "mirror-loss" in path["fault"]["could_be"]


@pytest.mark.parametrize("kept", [slice(0, 1_000), slice(2_000, 3_000)], ids=["stopped-early", "begun-late"])
def test_what_passed_while_the_other_capture_did_not_run_is_no_loss(tmp_path: Path, kept: slice) -> None:
    sent = [(START + number * 100 * STEP, data(number)) for number in range(3_000)]
    seen = [(ns + STEP // 2, packet) for ns, packet in sent][kept]
    points = [("in", write(tmp_path / "in.pcap", sent)), ("out", write(tmp_path / "out.pcap", seen))]
    path = json.loads(native_capture.analyse(points))["path"]
    assert (path["matched"], path["lost"], path["outside"], path["fault"]) == (1_000, 0, 2_000, None)


def test_ways_that_ttl_tells_differently_give_one_report_every_time(tmp_path):
    packets = [data(n, sport=40_000 + n % 8) for n in range(64)]
    there = [packet.copy() for packet in packets]
    for number, packet in enumerate(there):
        packet[IP].ttl += (-1, 1)[number % 2 ^ number // 8 % 2]  # each flow loses TTL both ways
    frames = {
        "a": [(START + n * STEP, packet) for n, packet in enumerate(packets)],
        "b": [(START + n * STEP + 10**9, packet) for n, packet in enumerate(there)],
    }
    assert len({json.dumps(analyse(tmp_path, frames)["path"]["clock"]) for _ in range(12)}) == 1
