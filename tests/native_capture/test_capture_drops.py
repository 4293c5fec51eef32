"""What a capture says that it lost itself, lengths that cannot be, and pcapng versions that nobody knows."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Raw

import native_capture
from flowguard.sensor import flows_cli
from policyhub.conf import cli
from tests.support.capture_files import block, enhanced, interface, option, section, write_capture

BASE = 1_700_000_000 * 10**9
FRAME = bytes(Ether(dst="02:00:00:00:00:01") / IP(src="192.0.2.1", dst="192.0.2.2") / UDP(sport=1, dport=2) / Raw(bytes(100)))
ORDERS = pytest.mark.parametrize("order", ["<", ">"])


def point(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(native_capture.analyse([("p", path)]))["points"][0]
    return found


def main(arguments: list[str]) -> int:
    return cli.run(flows_cli, "flows", arguments)


def statistics(order: str, number: int, **counters: int) -> bytes:
    """Interface Statistics Block (draft-ietf-opsawg-pcapng, 4.6)."""
    codes = {"received": 4, "interface": 5, "accepted": 6, "system": 7}
    options = b"".join(option(order, codes[name], struct.pack(order + "Q", value)) for name, value in counters.items())
    return block(order, 5, struct.pack(order + "III", number, 0, 0) + options + bytes(4))


def packet(order: str, at: int, lost: int | None = None, number: int = 0) -> bytes:
    options = b"" if lost is None else option(order, 4, struct.pack(order + "Q", lost)) + bytes(4)
    return enhanced(order, number, BASE + at, FRAME, options=options)


@ORDERS
def test_counters_of_interfaces_are_summed_and_the_newest_count(order, tmp_path):
    path = tmp_path / "x.pcapng"
    path.write_bytes(
        section(order) + interface(order, 1, 0, 9) * 2 + packet(order, 1) + statistics(order, 0, received=9, interface=1)
        + packet(order, 2, number=1) + statistics(order, 0, received=20, interface=3, system=4) + statistics(order, 1, system=5)
    )  # fmt: skip
    found = point(path)["capture"]
    assert (found["received"], found["dropped_by_interface"], found["dropped_by_system"]) == (20, 3, 9)
    assert (found["dropped_before_packets"], found["dropped"]) == (None, 12)


@ORDERS
def test_losses_before_packets_count_and_both_tellings_are_the_same_losses(order, tmp_path):
    path = tmp_path / "x.pcapng"
    body = packet(order, 1, 7) + packet(order, 2) + packet(order, 3, 0) + packet(order, 4, 3)
    path.write_bytes(section(order) + interface(order, 1, 0, 9) + body)
    found = point(path)
    assert (found["packets"], found["capture"]["dropped_before_packets"], found["capture"]["dropped"]) == (4, 10, 10)
    both = section(order) + interface(order, 1, 0, 9) + body + statistics(order, 0, interface=11)
    path.write_bytes(both * 2)
    assert (point(path)["packets"], point(path)["capture"]["dropped"]) == (8, 22)


def test_a_capture_that_does_not_say_is_unknown_and_all_bits_set_are_no_number(tmp_path):
    path = tmp_path / "x.pcapng"
    start = section("<") + interface("<", 1, 0, 9) + packet("<", 1)
    path.write_bytes(start)
    assert point(path)["capture"]["dropped"] is None
    path.write_bytes(start + statistics("<", 0, interface=2**64 - 1) + statistics("<", 7, system=9))
    assert point(path)["capture"] == point(write_capture(tmp_path / "y", [(BASE, FRAME)]))["capture"]
    path.write_bytes(start + statistics("<", 0, interface=0, system=0))
    assert point(path)["capture"]["dropped"] == 0


def test_the_drop_counts_of_obsolete_packet_blocks_are_read(tmp_path):
    def old(at: int, lost: int) -> bytes:
        padded = FRAME + bytes(-len(FRAME) % 4)
        ns = BASE + at
        return block(
            "<", 2, struct.pack("<HHIIII", 0, lost, ns >> 32, ns & 0xFFFFFFFF, len(FRAME), len(FRAME)) + padded
        )  # fmt: skip

    path = tmp_path / "x.pcapng"
    path.write_bytes(section("<") + interface("<", 1, 0, 9) + old(1, 4) + old(2, 0xFFFF) + old(3, 1))
    assert point(path)["capture"]["dropped"] == 5


@pytest.mark.parametrize("form", ["pcap", "pcapng"])
@pytest.mark.parametrize(
    ("wire", "key"),
    [(0, "lengths_below_captured"), (len(FRAME) - 1, "lengths_below_captured"), (2**31, "lengths_beyond_links")],
)
def test_lengths_that_cannot_be_are_counted_and_not_believed(form, wire, key, tmp_path):
    path = write_capture(tmp_path / "x", [(BASE, FRAME)] * 3, f"{form}-{'ns-' * (form == 'pcap')}le")
    length = struct.pack("<II", len(FRAME), len(FRAME))
    assert path.read_bytes().count(length) == 3
    path.write_bytes(path.read_bytes().replace(length, struct.pack("<II", len(FRAME), wire), 1))
    found = point(path)
    assert (found["packets"], found["bytes"], found["cut_packets"]) == (3, 3 * len(FRAME), 0)
    assert {name: count for name, count in found["capture"].items() if count} == {key: 1}


@ORDERS
def test_a_section_of_another_version_is_refused_and_a_later_one_ends_the_reading(order, tmp_path, capsys):
    strange = bytearray(section(order))
    struct.pack_into(order + "H", strange, 12, 2)
    path = tmp_path / "x.pcapng"
    path.write_bytes(bytes(strange) + interface(order, 1, 0, 9) + packet(order, 1))
    assert main([str(path)]) == 2
    says = "a section of pcapng version 2, and only version 1 is known. Save it as pcapng 1.0 or as pcap"
    assert capsys.readouterr().err == f"policyhub flows: NC-E002 {path}: byte 0: {says}\n"
    good = section(order) + interface(order, 1, 0, 9) + packet(order, 1)
    path.write_bytes(good + bytes(strange))
    assert main([str(path)]) == 3
    shown = capsys.readouterr()
    assert f"byte {len(good)}: {says}" in shown.err and "PARTIAL" in shown.out


def test_a_replay_reports_what_its_capture_dropped(tmp_path):
    path = tmp_path / "x.pcapng"
    path.write_bytes(section("<") + interface("<", 1, 0, 9) + packet("<", 1, 7) + packet("<", 2))
    replay = native_capture.Replay([("p", str(path))], bundle=None)
    try:
        dropped = 0
        for _ in range(200):
            dropped = json.loads(replay.poll(50))["health"]["dropped"]["kernel"]
            if dropped:
                break
    finally:
        replay.close()
    assert dropped == 7


def test_the_captures_own_losses_are_no_losses_of_the_network(tmp_path, capsys):
    """Ten packets at one point, eight at the next, whose capture says that it dropped two."""
    frames = [
        bytes(Ether(dst="02:00:00:00:00:01") / IP(src="192.0.2.1", dst="192.0.2.2", id=n) / UDP(sport=1, dport=2) / Raw(bytes(9)))
        for n in range(10)
    ]
    first = write_capture(tmp_path / "a.pcap", [(BASE + n * 10**6, frame) for n, frame in enumerate(frames)])
    second = tmp_path / "b.pcapng"
    seen = [enhanced("<", 0, BASE + n * 10**6 + 1000, frame) for n, frame in enumerate(frames) if n not in (4, 5)]
    for told, lost in ((b"", 2), (statistics("<", 0, interface=0, system=2), None)):
        second.write_bytes(section("<") + interface("<", 1, 0, 9) + b"".join(seen) + told)
        main(["--point", f"a={first}", "--point", f"b={second}", "--format", "json"])
        report = json.loads(capsys.readouterr().out)
        assert (report["path"]["matched"], report["path"]["lost"]) == (8, lost)
    assert report["path"]["withheld"] == ["the capture of b lost 20.00 % itself (limit 0.1 %)"]
    assert (report["points"][0]["mirror"], report["points"][1]["mirror"]["trusted"]) == (None, False)
    main(["--point", f"a={first}", "--point", f"b={second}"])
    shown = capsys.readouterr().out
    assert "b: the capture itself dropped 2 packets (2 by the system); the network did not lose them" in shown
    assert "Losses and delays are withheld: the capture of b lost 20.00 % itself" in shown
