"""Points whose frames a mirror wrapped: everything is measured on what is inside, as though it had been captured there."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.l2 import ARP, GRE, Dot1Q, Ether
from scapy.layers.vxlan import VXLAN
from scapy.packet import Packet

import native_capture
from flowguard.domain.bundle import LAB, compile_bundle
from tests.support.captures import Maker
from tests.support.fabric_frames import WRITE_MIDDLE, rdma
from tests.support.wrapped import INNER, Recorded, erspan_2, erspan_3, read, wrap, write

SEED = 11
START, STEP = 1_700_000_000_000_000_000, 1_000_000
WRAPS = {name: name.split("-")[0] for name in INNER}


def recorded(packets: Iterable[Packet | bytes], kept: int = 65_535) -> list[Recorded]:
    frames = [bytes(packet) for packet in packets]
    return [(START + n * STEP, len(frame), frame[:kept]) for n, frame in enumerate(frames)]


def tell(points: list[tuple[str, Path]], **options: Any) -> dict[str, Any]:
    report: dict[str, Any] = json.loads(native_capture.analyse(points, **options))
    return report


def inside(report: dict[str, Any]) -> dict[str, Any]:
    """Without the named fields: where the captures lie, and what came of the wrapping."""
    for point in report["points"]:
        del point["file"]
        point.pop("unwrap", None)
    return report


def one(folder: Path, frames: Iterable[Recorded], unwrap: str, **options: Any) -> dict[str, Any]:
    return tell([("p", write(folder / "one.pcap", frames))], unwrap={"p": unwrap}, **options)


@pytest.mark.parametrize("outer", ["ip", "vlan", "ipv6"])
@pytest.mark.parametrize("name", INNER)
def test_two_wrapped_points_give_the_report_of_the_frames_themselves(name: str, outer: str, tmp_path: Path) -> None:
    truth = Maker(SEED).make()
    sides = {"near": truth.near, "far": truth.far}
    frames = {side: [(ns, len(frame), frame[:128]) for ns, frame in rows] for side, rows in sides.items()}
    options = {"bundle": compile_bundle(truth.identities, profile=LAB), "clock": True}
    plain = [(side, write(tmp_path / f"{side}.pcap", rows)) for side, rows in frames.items()]
    wrapped = [(side, write(tmp_path / f"{side}-w.pcap", wrap(rows, name, outer=outer))) for side, rows in frames.items()]
    expected = inside(tell(plain, **options))
    report = tell(wrapped, unwrap=dict.fromkeys(sides, WRAPS[name]), **options)
    told = {point["name"]: point["unwrap"] for point in report["points"]}
    assert {side: (row["frames"], row["not_wrapped"]) for side, row in told.items()} == {
        side: (len(rows), {}) for side, rows in frames.items()
    }
    assert inside(report) == expected
    assert expected["path"]["matched"] > 0 and expected["verdicts"]


@pytest.mark.corpus
def test_a_scenario_that_came_wrapped_is_judged_as_it_was(tmp_path: Path, corpus: Path) -> None:
    folder = corpus / "scenarios" / "2_training_in_ef"
    sides = {"ingress": "ingress.pcap", "egress": "egress.pcap"}
    queues = (folder / "queues.json").read_bytes()
    frames = {side: read(folder / file, most=8_000) for side, file in sides.items()}
    plain = [(side, write(tmp_path / f"{side}.pcap", rows)) for side, rows in frames.items()]
    wrapped = [(side, write(tmp_path / f"{side}-w.pcap", wrap(rows, "erspan-2"))) for side, rows in frames.items()]
    report = tell(wrapped, queues=queues, threads=2, unwrap=dict.fromkeys(sides, "erspan"))
    assert inside(report) == inside(tell(plain, queues=queues))
    assert report["path"]["matched"] > 5_000


def test_what_is_not_wrapped_is_counted_by_name_and_not_mixed_in(tmp_path: Path) -> None:
    carried = Ether() / IP(src="10.0.0.1", dst="10.0.0.2") / UDP(sport=1, dport=2) / bytes(50)
    foreign = [
        Ether() / ARP(),
        Ether() / IP() / TCP(),
        Ether() / IP() / UDP(dport=4789) / VXLAN(vni=7, flags=8) / carried,
        Ether() / IP(proto=47, frag=40) / bytes(60),
        bytes(Ether() / IP() / GRE(proto=0x88BE, seqnum_present=1))[:36],
    ]
    mixed = [*wrap(recorded([carried] * 3), "erspan-2"), *recorded(foreign)]
    report = one(tmp_path, mixed, "erspan")
    told = report["points"][0]["unwrap"]
    assert told["not_wrapped"] == {"not IP": 1, "tcp": 1, "vxlan 7": 1, "fragment": 1, "unreadable": 1}
    assert (told["frames"], told["missing"], told["late"], told["sessions"], told["cut"]) == (3, 0, 0, 1, 0)
    assert [(flow["src"], flow["packets"]) for flow in report["flows"]] == [("10.0.0.1", 3)]
    assert (report["points"][0]["packets"], report["points"][0]["bytes"]) == (3, 3 * len(carried))


def test_one_session_of_several_can_be_a_point_of_its_own(tmp_path: Path) -> None:
    """A switch that mirrors a port's both ends to one collector: one capture, two points."""
    packet = lambda n, ttl: Ether() / IP(src="10.0.0.1", dst="10.0.0.2", id=n, ttl=ttl) / UDP(sport=1, dport=2) / bytes(50)  # noqa: E731
    near = list(wrap(recorded(packet(n, 9) for n in range(20)), "vxlan"))
    far = [(ns + 5_000, wire, kept[:48] + b"\x0b" + kept[49:]) for ns, wire, kept in near]  # VNI 11
    path = write(tmp_path / "both.pcap", sorted([*near, *far]))
    report = tell([("near", path), ("far", path)], unwrap={"near": "vxlan:10", "far": "vxlan:11"})
    assert (report["path"]["matched"], report["path"]["delay_ns"]["max"]) == (20, 5_000)
    assert [point["unwrap"]["not_wrapped"] for point in report["points"]] == [{"vxlan 11": 20}, {"vxlan 10": 20}]


def test_a_frame_that_the_mirror_cut_is_as_long_as_its_ip_header_says(tmp_path: Path) -> None:
    """Truncation by ERSPAN's MTU or of a cloud's mirror: the outer packet is whole, what is inside is not."""
    long = Ether() / Dot1Q(vlan=5, prio=3) / IP(src="10.0.0.1", dst="10.0.0.2", tos=184) / TCP(sport=1, dport=2) / bytes(1_000)
    frames = [(ns, len(kept), kept) for ns, _, kept in recorded([long], kept=90)]
    point = one(tmp_path, wrap(frames, "vxlan"), "vxlan")["points"][0]
    assert (point["bytes"], point["cut_packets"], point["unwrap"]["cut"]) == (len(long), 1, 1)
    assert (point["pcp"]["3"]["packets"], point["dscp"]["46"]["bytes"]) == (1, len(long))


def test_padding_behind_the_outer_packet_is_not_part_of_the_frame(tmp_path: Path) -> None:
    short = Ether() / IP(src="10.0.0.1", dst="10.0.0.2") / UDP(sport=1, dport=2)
    padded = [(ns, wire + 22, kept + b"\xee" * 22) for ns, wire, kept in wrap(recorded([short]), "erspan-1")]
    assert one(tmp_path, padded, "erspan")["points"][0]["bytes"] == len(short)


def test_the_tag_that_the_switch_took_away_is_put_back(tmp_path: Path) -> None:
    frame = Ether() / IP(src="10.0.0.1", dst="10.0.0.2") / UDP(sport=1, dport=2) / bytes(60)
    tagged = Ether() / Dot1Q(vlan=300, prio=5) / frame[IP]
    gone = wrap(recorded([frame]), lambda n: erspan_2(n, tag=5 << 13 | 300))
    kept = wrap(recorded([tagged]), lambda n: erspan_2(n, tag=5 << 13 | 300))
    expected = inside(tell([("p", write(tmp_path / "t.pcap", recorded([tagged])))]))
    for frames in (gone, kept):
        assert inside(one(tmp_path, frames, "erspan")) == expected


def test_missing_numbers_of_rdma_in_erspan_are_the_mirrors_and_not_the_queue_pairs(tmp_path: Path) -> None:
    """Sequence numbers of the GRE header, whatever RDMA numbers stand inside."""
    roce = [rdma(WRITE_MIDDLE, 100_000 + 7 * n) for n in range(50)]
    for head in (erspan_2, erspan_3):
        frames = [frame for n, frame in enumerate(wrap(recorded(roce), head)) if n not in (20, 21)]
        told = one(tmp_path, frames, "erspan")["points"][0]["unwrap"]
        assert (told["missing"], told["frames"], told["sessions"]) == (2, 48, 1)
        looked = json.loads(native_capture.inspect([("p", tmp_path / "one.pcap")]))["points"][0]["mirrors"]
        assert (looked["missing"], looked["frames"]) == (2, 48)


def test_bad_wraps_and_unknown_points_are_one_line(tmp_path: Path) -> None:
    path = write(tmp_path / "p.pcap", [])
    for unwrap in ({"p": "gtp"}, {"p": "erspan:x"}, {"p": ""}, {"q": "erspan"}):
        with pytest.raises(native_capture.CaptureError, match="NC-E012 unwrap") as error:
            native_capture.analyse([("p", path)], unwrap=unwrap)
        assert "\n" not in str(error.value)
