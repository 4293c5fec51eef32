"""NetFlow, IPFIX and sFlow in: what they say is taken, what they cannot say stays unknown, what is damaged is named."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.l2 import Dot1Q, Ether
from scapy.packet import Packet, Raw

import native_capture
from flowguard.domain.bundle import compile_bundle
from policyhub.domain.identity import read_identities
from tests.support.capture_files import write_capture

SECOND = 10**9
SENT_S = 1_700_000_000
LINK = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")
FLOWS = [sys.executable, "-m", "policyhub.conf.cli", "flows"]
IDENTITIES = """prefix,name,business,owner,class,allowed_dscp,active_window,peak_mbps
10.0.0.0/24,batch,reports,li,non-core,0 8,,
"""
# IPv4 source, destination, ports, protocol, class, packets, bytes, first and last uptime
V9_FIELDS = [(8, 4), (12, 4), (7, 2), (11, 2), (4, 1), (5, 1), (2, 4), (1, 4), (22, 4), (21, 4)]


def capture(path: Path, datagrams: list[bytes], port: int = 2055) -> Path:
    frames = [bytes(LINK / IP(src="192.0.2.1", dst="192.0.2.2") / UDP(sport=9, dport=port) / Raw(d)) for d in datagrams]
    return write_capture(path, [(SENT_S * SECOND + n, frame) for n, frame in enumerate(frames)], "pcap-ns-le")


def told(path: Path, *, ports: tuple[int, ...] = (2055,), bundle: bytes | None = None) -> dict:
    return json.loads(native_capture.analyse_exports([("edge", path)], ports=ports, bundle=bundle))


def exporter(report: dict) -> dict:
    (row,) = report["points"][0]["exporters"]
    return row


def v5(count: int = 1, sequence: int = 0, sampling: int = 0) -> bytes:
    head = struct.pack(">HHIIIIBBH", 5, count, 100_000, SENT_S, 0, sequence, 0, 0, sampling)
    body = struct.pack(
        ">4s4s4sHHIIIIHHBBBBHHBBH", bytes([10, 0, 0, 1]), bytes([10, 0, 1, 1]), bytes(4), 1, 2, 10, 1500, 90_000, 99_000,
        40_000, 443, 0, 0x18, 6, 46 << 2, 0, 0, 24, 24, 0,
    )  # fmt: skip
    return head + body * count


def v9(*sets: bytes, sequence: int = 0) -> bytes:
    return struct.pack(">HHIIII", 9, len(sets), 100_000, SENT_S, sequence, 7) + b"".join(sets)


def flowset(number: int, body: bytes) -> bytes:
    body += bytes(-len(body) % 4)
    return struct.pack(">HH", number, len(body) + 4) + body


def v9_template(number: int = 300, extra: list[tuple[int, int]] | None = None) -> bytes:
    fields = V9_FIELDS + (extra or [])
    return flowset(0, struct.pack(">HH", number, len(fields)) + b"".join(struct.pack(">HH", *field) for field in fields))


def v9_record(source: int = 1, dscp: int = 46, packets: int = 10, span_ms: int = 9_000) -> bytes:
    return struct.pack(
        ">4s4sHHBBIIII", bytes([10, 0, 0, source]), bytes([10, 0, 1, 1]), 40_000, 443, 6, dscp << 2, packets, packets * 150,
        99_000 - span_ms, 99_000,
    )  # fmt: skip


def sampler(one_in: int) -> bytes:
    """Options template and data: scope system, fields 34 and 35."""
    template = flowset(1, struct.pack(">HHH", 400, 4, 8) + struct.pack(">HHHHHH", 1, 4, 34, 4, 35, 1))
    return template + flowset(400, struct.pack(">IIB", 0, one_in, 1))


def sflow(packet: Packet, rate: int = 512, frame: int = 1518) -> bytes:
    head = bytes(packet)[:64]
    record = struct.pack(">IIIIII", 1, 16 + len(head), 1, frame, 4, len(head)) + head
    sample = struct.pack(">IIIIIIII", 1, 3, rate, rate, 0, 1, 2, 1) + record
    counters = struct.pack(">IIQIIQIIIIIIQIIIIIII", 3, 6, 10**10, 1, 3, 9000, 5, 6, 7, 8, 9, 0, 8000, 1, 2, 3, 4, 5, 0, 0)[:88]
    counted = struct.pack(">III", 2, 3, 1) + struct.pack(">II", 1, len(counters)) + counters
    body = struct.pack(">II", 1, len(sample)) + sample + struct.pack(">II", 2, len(counted)) + counted
    return struct.pack(">II4sIIII", 5, 1, bytes([192, 0, 2, 99]), 0, 1, 5000, 2) + body


def test_netflow_5_says_marks_and_times_and_knows_no_frames(tmp_path: Path) -> None:
    report = told(capture(tmp_path / "x.pcap", [v5(2), v5(2, sequence=5)]))
    (flow,) = report["flows"]
    assert (flow["source"], flow["packets"], flow["ip_bytes"], flow["records"]) == ("netflow5", 40, 6000, 4)
    assert (flow["bytes"], flow["tcp"], flow["vlan"], flow["sampling"]) == (None, None, None, 1)
    assert (flow["first_ns"], flow["last_ns"]) == ((SENT_S - 10) * SECOND, (SENT_S - 1) * SECOND)
    assert flow["dscp"] == {"46": {"packets": 40, "bytes": None, "peak_1ms_bytes": None}}
    assert exporter(report)["lost"] == 3
    assert {"dscp-per-millisecond", "tcp-health", "frame-bytes", "ipv6"} <= set(flow["cannot_know"])


def test_netflow_9_waits_for_its_template_and_takes_the_sampling_from_options(tmp_path: Path) -> None:
    data = flowset(300, v9_record() + v9_record(2, dscp=0))
    report = told(capture(tmp_path / "x.pcap", [v9(data), v9(v9_template(), sequence=1), v9(sampler(100), data, sequence=2)]))
    assert {flow["src"]: (flow["packets"], flow["sampling"]) for flow in report["flows"]} == {
        "10.0.0.1": (20, 100), "10.0.0.2": (20, 100),
    }  # fmt: skip
    assert [exporter(report)[key] for key in ("records", "waiting", "lost", "source")] == [4, 0, 0, "netflow9"]
    alone = told(capture(tmp_path / "y.pcap", [v9(data)]))
    assert alone["flows"] == [] and exporter(alone)["waiting"] == 1 and exporter(alone)["sampling"] is None


def test_sflow_samples_are_decoded_as_packets_are(tmp_path: Path) -> None:
    packet = LINK / Dot1Q(vlan=7) / IP(src="10.0.0.1", dst="10.0.1.1", tos=46 << 2, len=1500) / TCP(sport=40_000, dport=443)
    report = told(capture(tmp_path / "x.pcap", [sflow(packet)], 6343), ports=(6343,))
    (flow,) = report["flows"]
    assert (flow["exporter"], flow["vlan"], flow["packets"], flow["bytes"], flow["sampling"]) == ("192.0.2.99", 7, 1, 1514, 512)
    assert (flow["ip_bytes"], list(flow["dscp"]), flow["server_port"]) == (1500, ["46"], 443)
    assert exporter(report)["interfaces"][0]["in_bytes"] == 9000
    assert "packets-not-sampled" in report["points"][0]["cannot_know"]


def bundle() -> bytes:
    return compile_bundle(read_identities(IDENTITIES, "i.csv"), points={}, priority_dscp={40, 44, 46, 48, 56})


def test_a_mark_that_is_not_allowed_is_judged_with_less_confidence_and_says_why(tmp_path: Path) -> None:
    records = flowset(300, v9_record() + v9_record(2, dscp=8))
    path = capture(tmp_path / "x.pcap", [v9(v9_template(), sampler(100), records)])
    (verdict,) = told(path, bundle=bundle())["verdicts"]
    assert (verdict["name"], verdict["src"], verdict["dscp"], verdict["server_port"]) == (
        "class-not-allowed",
        "10.0.0.1",
        46,
        443,
    )
    assert (verdict["packets"], verdict["bytes"], verdict["persisted_ms"]) == (1000, 150_000, 9000)
    evidence = verdict["evidence"][0]
    assert (evidence["kind"], evidence["source"], evidence["sampling"], evidence["is_estimate"]) == (
        "told",
        "netflow9",
        100,
        True,
    )
    assert evidence["counted_packets"] == 10 and "tcp-health" in evidence["cannot_know"]
    whole = capture(tmp_path / "y.pcap", [v9(v9_template(), records)])
    (certain,) = told(whole, bundle=bundle())["verdicts"]
    assert verdict["confidence"] < certain["confidence"] < packets_confidence(tmp_path)


def packets_confidence(tmp_path: Path) -> float:
    frame = bytes(LINK / IP(src="10.0.0.1", dst="10.0.1.1", tos=46 << 2) / TCP(sport=40_000, dport=443) / Raw(bytes(90)))
    path = write_capture(tmp_path / "p.pcap", [(SENT_S * SECOND + n * SECOND, frame) for n in range(10)], "pcap-ns-le")
    (verdict,) = json.loads(native_capture.analyse([("p", path)], bundle=bundle()))["verdicts"]
    return verdict["confidence"]


def test_two_exporters_that_tell_of_the_same_packets_count_once(tmp_path: Path) -> None:
    message = v9(v9_template(), flowset(300, v9_record()))
    frames = [
        bytes(LINK / IP(src=source, dst="192.0.2.2") / UDP(sport=9, dport=2055) / Raw(message))
        for source in ("192.0.2.1", "192.0.2.7")
    ]
    path = write_capture(tmp_path / "x.pcap", [(SENT_S * SECOND + n, frame) for n, frame in enumerate(frames)], "pcap-ns-le")
    report = told(path, bundle=bundle())
    (verdict,) = report["verdicts"]
    assert (verdict["packets"], verdict["evidence"][0]["records_of_others"], len(report["flows"])) == (10, 1, 2)


@pytest.mark.parametrize(
    ("message", "said"),
    [
        (v9(v9_template(), flowset(300, v9_record()))[:-10], "needs"),
        (v9(struct.pack(">HH", 300, 2)), "a set of 2 bytes"),
        (struct.pack(">HHIII", 10, 4, 0, 0, 0), "claims 4 bytes"),
        (v5(1)[:60], "a record of NetFlow 5 needs 48 bytes, 36 are left"),
    ],
)
def test_damage_is_counted_and_the_first_is_told_with_its_byte(tmp_path: Path, message: bytes, said: str) -> None:
    report = told(capture(tmp_path / "x.pcap", [message, v5(1)]))
    point = report["points"][0]
    assert point["decode_errors"] == 1 and said in point["first_unreadable"] and "packet 1, byte " in point["first_unreadable"]
    assert any(flow["source"] == "netflow5" for flow in report["flows"])


def test_our_own_ipfix_comes_back_with_all_that_packets_know(tmp_path: Path) -> None:
    def frame(dscp: int) -> bytes:
        return bytes(LINK / IP(src="10.0.0.1", dst="10.0.1.1", tos=dscp << 2) / TCP(sport=40_000, dport=443))

    packets = [(SENT_S * SECOND + n, frame(46 if n % 3 else 0)) for n in range(9)]
    pcap = write_capture(tmp_path / "x.pcap", packets, "pcap-ns-le")
    subprocess.run([*FLOWS, pcap, "--records", tmp_path / "x.ipfix"], check=True, capture_output=True)
    report = told(tmp_path / "x.ipfix")
    (flow,) = report["flows"]
    (whole,) = json.loads(native_capture.analyse([("x", pcap)]))["flows"]
    same = ("src", "dst", "sport", "dport", "proto", "packets", "bytes", "first_ns", "last_ns", "server_port")
    assert {key: flow[key] for key in same} == {key: whole[key] for key in same}
    assert {mark: sums["packets"] for mark, sums in flow["dscp"].items()} == {"0": 3, "46": 6}


def test_a_cut_file_of_messages_is_partial_and_names_the_byte(tmp_path: Path) -> None:
    pcap = write_capture(tmp_path / "x.pcap", [(SENT_S * SECOND, bytes(LINK / IP(dst="10.0.1.1") / UDP()))], "pcap-ns-le")
    subprocess.run([*FLOWS, pcap, "--records", tmp_path / "x.ipfix"], check=True, capture_output=True)
    whole = (tmp_path / "x.ipfix").read_bytes()
    (first,) = struct.unpack_from(">H", whole, 2)
    (tmp_path / "cut.ipfix").write_bytes(whole[:-5])
    done = subprocess.run([*FLOWS, "--exports", tmp_path / "cut.ipfix"], capture_output=True, text=True)
    assert done.returncode == 3 and f"byte {first}: the file ends after" in done.stderr
    (tmp_path / "bad.ipfix").write_bytes(whole[:first] + b"\x00\x07\x00\x20" + bytes(28))
    done = subprocess.run([*FLOWS, "--exports", tmp_path / "bad.ipfix"], capture_output=True, text=True)
    assert done.returncode == 3 and f"byte {first}: no message of IPFIX begins here" in done.stderr


@pytest.mark.parametrize("message", [b"\x00\x09" + bytes(range(60)), b"no export"])
def test_a_capture_without_a_readable_message_is_no_clean_result(tmp_path: Path, message: bytes) -> None:
    done = subprocess.run([*FLOWS, "--exports", capture(tmp_path / "x.pcap", [message])], capture_output=True, text=True)
    assert done.returncode == 3 and "no message could be read in 1 packets" in done.stderr


def test_the_command_prints_exporters_and_what_they_cannot_know(tmp_path: Path) -> None:
    path = capture(tmp_path / "x.pcap", [v5(3)])
    done = subprocess.run([*FLOWS, "--exports", path, "--records", tmp_path / "x.ndjson"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "netflow5 cannot know" in done.stdout and "Exporters" in done.stdout
    rows = [json.loads(line) for line in (tmp_path / "x.ndjson").read_text().splitlines()]
    assert [(row["source"], row["exporter"], row["bytes"], row["ip_bytes"]) for row in rows] == [
        ("netflow5", "192.0.2.1", None, 1500)
    ] * 3
    beside = subprocess.run([*FLOWS, path, "--exports", path], capture_output=True, text=True)
    assert beside.returncode == 2 and "captures beside --exports" in beside.stderr
