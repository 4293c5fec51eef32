"""Every form of capture file gives the same frames, times and lengths."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from scapy.packet import Raw

import native_capture
from flowguard.sensor.flows_text import as_text
from tests.support.capture_files import FORMATS, block, enhanced, interface, section, write_capture

BASE = 1_700_000_000 * 10**9
PLAIN = IP(src="192.0.2.1", dst="192.0.2.2", tos=46 << 2) / UDP(sport=1, dport=2) / Raw(bytes(100))
SIX = IPv6(src="2001:db8::1", dst="2001:db8::2", tc=46 << 2) / UDP(sport=1, dport=2) / Raw(bytes(100))
FRAME = bytes(Ether(dst="02:00:00:00:00:01", src="02:00:00:00:00:02") / PLAIN)


def point(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(native_capture.analyse([("p", path)]))["points"][0]
    return found


@pytest.mark.parametrize("form", FORMATS)
def test_times_and_lengths_survive_every_form(form, tmp_path):
    stamps = [BASE + 123_456_000, BASE + 999_999_000, BASE + 3_000_001_000]
    found = point(write_capture(tmp_path / "x", [(ns, FRAME) for ns in stamps], form, snaplen=60))
    assert (found["packets"], found["bytes"], found["cut_packets"]) == (3, 3 * len(FRAME), 3)
    assert (found["first_ns"], found["last_ns"]) == (stamps[0], stamps[-1])
    assert found["dscp"]["46"]["packets"] == 3


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize(
    ("resolution", "offset_s", "ticks", "ns"),
    [
        (6, 0, 1_700_000_000_000_001, 1_700_000_000_000_001_000),
        (9, 0, 1_700_000_000_000_000_007, 1_700_000_000_000_000_007),
        (3, 0, 1_700_000_000_001, 1_700_000_000_001_000_000),
        (12, 0, 1_700_000_000_000_007, 1_700_000_000_000),
        (0x80 | 20, 0, (1_700_000_000 << 20) + (1 << 19), 1_700_000_000_500_000_000),
        (9, 1_600_000_000, 5, 1_600_000_000_000_000_005),
        (9, -100, 200 * 10**9, 100 * 10**9),
    ],
)
def test_any_time_resolution_and_offset(order, resolution, offset_s, ticks, ns, tmp_path):
    path = tmp_path / "x"
    path.write_bytes(section(order) + interface(order, 1, 0, resolution, offset_s) + enhanced(order, 0, ticks, FRAME))
    assert point(path)["first_ns"] == ns


def test_interfaces_of_different_kind_and_sections_of_different_byte_order(tmp_path):
    little = section("<") + interface("<", 1, 0, 9) + interface("<", 101, 0, 6)
    little += enhanced("<", 1, BASE // 1_000, bytes(PLAIN)) + enhanced("<", 0, BASE + 5, FRAME)
    big = section(">") + interface(">", 101, 0, 9) + enhanced(">", 0, BASE + 9, bytes(SIX))
    path = tmp_path / "x"
    path.write_bytes(little + big)
    found = point(path)
    assert (found["packets"], found["first_ns"], found["last_ns"]) == (3, BASE, BASE + 9)
    assert found["dscp"]["46"]["packets"] == 3


def test_simple_old_and_unknown_blocks(tmp_path):
    padded = FRAME + bytes(-len(FRAME) % 4)
    old = struct.pack("<HHIIII", 0, 7, BASE >> 32, BASE & 0xFFFFFFFF, len(FRAME), len(FRAME)) + padded
    simple = struct.pack("<I", len(FRAME)) + padded
    path = tmp_path / "x"
    path.write_bytes(
        section("<") + interface("<", 1, 0, 9) + block("<", 0xBAD, bytes(40)) + block("<", 2, old) + block("<", 3, simple)
    )
    found = point(path)
    assert (found["packets"], found["bytes"], found["last_ns"]) == (2, 2 * len(FRAME), BASE)


@pytest.mark.parametrize(
    ("link", "head", "body"),
    [
        (1, FRAME[:14], bytes(PLAIN)),
        (1, bytes(12) + struct.pack(">HHHH", 0x88A8, 5, 0x8100, 7) + b"\x08\x00", bytes(PLAIN)),
        (1, bytes(12) + struct.pack(">H", 8 + len(PLAIN)) + b"\xaa\xaa\x03\0\0\0\x08\x00", bytes(PLAIN)),
        (113, bytes(14) + b"\x08\x00", bytes(PLAIN)),
        (113, bytes(14) + b"\x86\xdd", bytes(SIX)),
        (276, b"\x08\x00" + bytes(18), bytes(PLAIN)),
        (101, b"", bytes(PLAIN)),
        (101, b"", bytes(SIX)),
        (228, b"", bytes(PLAIN)),
        (0, struct.pack("<I", 2), bytes(PLAIN)),
    ],
)
def test_link_types(link, head, body, tmp_path):
    found = point(write_capture(tmp_path / "x", [(BASE, head + body)], link=link))
    assert (found["decode_errors"], found["dscp"]["46"]["packets"]) == (0, 1)


def test_a_link_type_without_decoder_is_counted_as_error_not_hidden(tmp_path):
    found = point(write_capture(tmp_path / "x", [(BASE, bytes(50))] * 2, link=147))
    assert (found["packets"], found["non_ip"], found["decode_errors"]) == (2, 2, 2)


def test_the_text_says_how_many_packets_say_less_and_why(tmp_path):
    head = b"\x02" * 12
    odd = [head + b"\x08\x06" + bytes(46), head + b"\x08\x00\x45", b"\x01", FRAME]
    path = write_capture(tmp_path / "x", [(BASE, packet) for packet in odd], snaplen=60)
    told = as_text(json.loads(native_capture.analyse([("p", path)])))
    assert "p: not IP, or its header could not be read: 3 of 4 packets; they stand under no mark" in told
    assert "p: a header could not be read: 2 of 4 packets (Ipv4: Short 1, Link: Short 1)" in told
    assert "p: captured shorter than sent: 1 of 4 packets" in told
    whole = as_text(json.loads(native_capture.analyse([("p", write_capture(tmp_path / "y", [(BASE, FRAME)]))])))
    assert "not IP" not in whole and "could not be read" not in whole and "shorter" not in whole


def test_a_capture_without_packets_is_no_error(tmp_path):
    found = point(write_capture(tmp_path / "x", []))
    assert (found["packets"], found["first_ns"], found["error"]) == (0, None, None)
