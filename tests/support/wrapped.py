"""Captures as a mirror would have sent them: each frame wrapped in ERSPAN, VXLAN, Geneve or GRE, cut where it was cut."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import GRE, Dot1Q, Ether
from scapy.layers.vxlan import VXLAN

Recorded = tuple[int, int, bytes]  # nanoseconds, bytes on the wire, bytes kept
ENDS = {"src": "192.0.2.1", "dst": "192.0.2.9"}


def erspan_3(number: int, sgt: int = 0, time: int = 0, gra: int = 0, more: bytes = b"") -> bytes:
    """Version 2, session 10 (draft-foschiano-erspan, 4.3); more: the platform's own eight bytes."""
    gre = bytes(GRE(proto=0x22EB, seqnum_present=1, seqence_number=number))
    return gre + struct.pack("!HHIHH", 0x2000, 10, time, sgt, gra << 1 | bool(more)) + more


def erspan_2(number: int, tag: int | None = None) -> bytes:
    """tag: TCI that the switch took from the frame (En = 2)."""
    gre = bytes(GRE(proto=0x88BE, seqnum_present=1, seqence_number=number))
    vlan, rest = (0, 10) if tag is None else (tag & 0xFFF, tag >> 13 << 13 | 2 << 11 | 10)
    return gre + struct.pack("!HHI", 0x1000 | vlan, rest, 3)


def _udp(port: int) -> bytes:
    return bytes(UDP(sport=50_001, dport=port, len=0, chksum=0))


#: What stands between the outer IP header and the frame; number: how many came before.
INNER: dict[str, tuple[int, Callable[[int], bytes]]] = {
    "erspan-1": (47, lambda _: bytes(GRE(proto=0x88BE))),
    "erspan-2": (47, erspan_2),
    "erspan-3": (47, erspan_3),
    "erspan-3-long": (47, lambda number: erspan_3(number, sgt=0x2222, more=b"\x11" * 7 + b"\x22")),
    "vxlan": (17, lambda _: _udp(4_789) + bytes(VXLAN(vni=10, flags=8))),
    "geneve": (17, lambda _: _udp(6_081) + bytes.fromhex("0240655800000a00") + bytes.fromhex("0001020100000000")),
    "gre": (47, lambda number: bytes(GRE(proto=0x6558, key_present=1, key=10, seqnum_present=1, seqence_number=number))),
}


def wrap(frames: Iterable[Recorded], inner: str | Callable[[int], bytes], *, outer: str = "ip") -> Iterator[Recorded]:
    """inner: a name of INNER, or what stands in front of frame NUMBER (GRE). outer: ip, vlan (tagged) or ipv6."""
    proto, head = INNER[inner] if isinstance(inner, str) else (47, inner)
    link = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")
    if outer == "vlan":
        link /= Dot1Q(vlan=99, prio=1)
    at = len(link)
    empty = IPv6(src="2001:db8::1", dst="2001:db8::9", nh=proto) if outer == "ipv6" else IP(**ENDS, proto=proto, id=1, tos=32)
    start = bytes(link / empty)
    for number, (ns, wire, kept) in enumerate(frames):
        between = bytearray(head(number))
        size = len(between) + wire
        if proto == 17:
            between[4:6] = size.to_bytes(2)
        packet = bytearray(start)
        if outer == "ipv6":
            packet[at + 4 : at + 6] = size.to_bytes(2)
        else:
            packet[at + 2 : at + 4] = (20 + size).to_bytes(2)
            packet[at + 10 : at + 12] = _checksum(packet[at : at + 20]).to_bytes(2)
        yield ns, len(packet) + size, bytes(packet + between) + kept


def _checksum(header: bytearray) -> int:
    header[10:12] = b"\0\0"
    total = sum(struct.unpack("!10H", header))
    return ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF


def read(path: Path, most: int | None = None) -> list[Recorded]:
    """Of a pcap file with nanoseconds, little-endian."""
    data, at, frames = path.read_bytes(), 24, list[Recorded]()
    while at < len(data) and len(frames) != most:
        seconds, rest, kept, wire = struct.unpack_from("<IIII", data, at)
        at += 16 + kept
        frames.append((seconds * 10**9 + rest, wire, data[at - kept : at]))
    return frames


def write(path: Path, frames: Iterable[Recorded]) -> Path:
    with path.open("wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65_535, 1))
        for ns, wire, kept in frames:
            file.write(struct.pack("<IIII", *divmod(ns, 10**9), len(kept), wire) + kept)
    return path
