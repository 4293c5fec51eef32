"""The decoder against scapy's dissection: random stacks of real headers give the same flow, mark and lengths."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from scapy.layers.inet import ICMP, IP, TCP, UDP, IPOption_NOP, IPOption_RR
from scapy.layers.inet6 import (
    ICMPv6EchoRequest,
    ICMPv6ND_NS,
    IPv6,
    IPv6ExtHdrDestOpt,
    IPv6ExtHdrFragment,
    IPv6ExtHdrHopByHop,
    IPv6ExtHdrRouting,
)
from scapy.layers.l2 import ARP, Dot1AD, Dot1Q, Ether
from scapy.packet import Packet, Raw

import native_capture
from tests.support.capture_files import write_capture
from tests.support.seeds import fresh_seeds

EXTENSIONS = (IPv6ExtHdrHopByHop, IPv6ExtHdrDestOpt, lambda: IPv6ExtHdrRouting(addresses=["2001:db8::9"]))
Row = tuple[Any, ...]


def make(chance: random.Random) -> Packet:
    """One frame; everything that matters is drawn."""
    link: Packet = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")
    for _ in range(chance.choice([0, 0, 1, 2, 3])):
        link = link / chance.choice([Dot1Q, Dot1AD])(vlan=chance.randrange(0, 4_095), prio=chance.randrange(8))
    if chance.random() < 0.05:
        return link / ARP(pdst="192.0.2.1")
    six = chance.random() < 0.4
    network = _v6(chance) if six else _v4(chance)
    transport = _transport(chance, six)
    is_later_fragment = not six and network.frag > 0
    payload = Raw(chance.randbytes(chance.randrange(0, 200)))
    return link / network / (payload if is_later_fragment else transport / payload)


def _v4(chance: random.Random) -> Packet:
    options = chance.choice([[], [IPOption_NOP()] * chance.randrange(1, 9), [IPOption_RR(routers=["192.0.2.9"] * 3)]])
    flags, offset = chance.choice([("", 0), ("DF", 0), ("MF", 0), ("MF", 185), ("", 370)])
    later = {"proto": 17} if offset else {}  # no transport header is there to tell scapy
    return IP(
        src=f"192.0.2.{chance.randrange(4)}", dst=f"198.51.100.{chance.randrange(4)}", tos=chance.randrange(256),
        id=chance.randrange(1 << 16), flags=flags, frag=offset, options=options, ttl=chance.randrange(1, 256), **later,
    )  # fmt: skip


def _v6(chance: random.Random) -> Packet:
    network: Packet = IPv6(
        src=f"2001:db8::{chance.randrange(4)}", dst=f"2001:db8:1::{chance.randrange(4)}", tc=chance.randrange(256)
    )
    for extension in chance.sample(EXTENSIONS, chance.randrange(0, 3)):
        network = network / extension()
    if chance.random() < 0.2:
        network = network / IPv6ExtHdrFragment(id=chance.randrange(1 << 32), m=1)
    return network


def _transport(chance: random.Random, six: bool) -> Packet:
    ports = {"sport": chance.randrange(1, 1 << 16), "dport": chance.randrange(1, 1 << 16)}
    options = chance.choice([[], [("MSS", 1460), ("NOP", None), ("WScale", 7)], [("Timestamp", (1, 2))]])
    tcp = TCP(**ports, flags=chance.choice(["S", "SA", "A", "PA", "FA", "R"]), seq=chance.randrange(1 << 32), options=options)
    icmp = chance.choice([ICMPv6EchoRequest(), ICMPv6ND_NS()]) if six else ICMP(type=chance.choice([0, 3, 8, 11]))
    return chance.choice([tcp, tcp, UDP(**ports), icmp])


def by_scapy(frame: bytes) -> Row | None:
    """Flow and mark as scapy dissects the bytes; None for what carries no IP."""
    packet = Ether(frame)
    tags = [layer.vlan for layer in _layers(packet) if isinstance(layer, (Dot1Q, Dot1AD)) and layer.vlan]
    vlan, inner = ([*tags, None, None])[:2]
    if IP in packet:
        network, mark, proto = packet[IP], packet[IP].tos >> 2, packet[IP].proto
    elif IPv6 in packet:
        network, mark = packet[IPv6], packet[IPv6].tc >> 2
        last = [layer for layer in _layers(packet) if hasattr(layer, "nh")][-1]
        proto = last.nh
    else:
        return None
    names = {1: "icmp", 6: "tcp", 17: "udp", 58: "icmpv6"}
    transport = next((layer for layer in _layers(network) if isinstance(layer, (TCP, UDP))), None)
    ports = (transport.sport, transport.dport) if transport is not None and proto in (6, 17) else (0, 0)
    return network.src, network.dst, names[proto], *ports, vlan, inner, mark


def _layers(packet: Packet) -> list[Packet]:
    layers = []
    while packet:
        layers.append(packet)
        packet = packet.payload
    return layers


def by_engine(frames: list[bytes], path: Path) -> tuple[Counter[Row], dict[str, Any]]:
    report = json.loads(
        native_capture.analyse([("p", write_capture(path, [(10**18 + n, frame) for n, frame in enumerate(frames)]))])
    )
    rows: Counter[Row] = Counter()
    for f in report["flows"]:
        for mark, sums in f["dscp"].items():
            key = f["src"], f["dst"], f["proto"], f["sport"], f["dport"], f["vlan"], f.get("inner_vlan"), int(mark)
            rows[key] += sums["packets"]
    return rows, report["points"][0]


@pytest.mark.parametrize("seed", [1, *fresh_seeds(1)])
def test_random_stacks_of_headers_decode_as_scapy_dissects_them(seed, tmp_path):
    chance = random.Random(seed)
    frames = [bytes(make(chance)) for _ in range(250)]
    expected = [by_scapy(frame) for frame in frames]
    found, point = by_engine(frames, tmp_path / "x")
    assert found == Counter(row for row in expected if row)
    assert (point["decode_errors"], point["non_ip"]) == (0, expected.count(None))


def test_data_segments_are_told_from_padding_and_options(tmp_path):
    base = Ether() / IP(src="192.0.2.1", dst="192.0.2.2")
    bare = bytes(base / TCP(sport=1, dport=2, seq=10)) + bytes(6)  # Ethernet pads to 60 bytes
    options = bytes(base / TCP(sport=1, dport=2, seq=10, options=[("Timestamp", (1, 2))]))
    data = bytes(base / TCP(sport=1, dport=2, seq=10) / b"x")
    for frames, segments in (([bare], 0), ([options], 0), ([data], 1)):
        _, point = by_engine(frames, tmp_path / "x")
        assert point["tcp"]["data_segments"] == segments


def test_later_fragments_count_in_the_flow_of_the_first(tmp_path):
    payload = UDP(sport=5, dport=53) / Raw(bytes(3_000))
    whole = IP(src="192.0.2.1", dst="192.0.2.2", id=7, tos=46 << 2) / payload
    pieces = [bytes(Ether() / piece) for piece in whole.fragment(1_000)]
    found, _ = by_engine(pieces, tmp_path / "x")
    assert found == {("192.0.2.1", "192.0.2.2", "udp", 5, 53, None, None, 46): len(pieces)}
