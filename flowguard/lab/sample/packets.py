"""Packets of the sample network: built once by scapy, then re-stamped with rising sequence numbers and valid checksums."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw

ETHERNET = 14
IP_HEADER = 20


@dataclass(frozen=True)
class Flow:
    """One connection. per_second: packets; payload: bytes; answer: bytes of the server's reply, 0 = only ACKs."""

    src: str
    dst: str
    proto: str
    sport: int
    dport: int
    dscp: int
    per_second: int
    payload: int
    answer: int = 0


FLOWS = (
    *(Flow(f"10.61.8.{host}", "10.62.8.200", "tcp", 42000 + host, 9000, 46, 110, 1400) for host in (101, 102, 103)),
    Flow("10.61.2.21", "10.62.2.10", "tcp", 40122, 5432, 46, 40, 180, 420),
    Flow("10.61.3.31", "10.62.3.10", "udp", 16400, 16402, 46, 50, 172),
    Flow("10.61.1.11", "10.62.1.10", "tcp", 51500, 443, 26, 20, 320, 1200),
    Flow("10.61.1.12", "10.62.1.10", "tcp", 51731, 443, 26, 10, 240, 900),
)


class Template:
    """One packet of a flow direction; `stamp` gives it the next IP id, a sequence number and a mark."""

    def __init__(self, src: str, dst: str, proto: str, sport: int, dport: int, payload: int, flags: str = "A") -> None:
        layer: Packet = (
            TCP(sport=sport, dport=dport, flags=flags, window=8192) if proto == "tcp" else UDP(sport=sport, dport=dport)
        )
        frame = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02") / IP(src=src, dst=dst, ttl=63, flags="DF") / layer
        self.frame = bytes(frame / Raw(b"\x00" * payload) if payload else frame)
        self.proto = proto
        self.payload = payload
        self._id = 0

    def stamp(self, dscp: int, sequence: int = 0, acknowledge: int = 0) -> bytearray:
        """A frame ready for the wire; header checksums are those of RFC 1071."""
        frame = bytearray(self.frame)
        self._id = self._id % 65535 + 1
        frame[ETHERNET + 1] = dscp << 2
        struct.pack_into("!H", frame, ETHERNET + 4, self._id)
        header_checksum(frame)
        if self.proto == "tcp":
            struct.pack_into("!II", frame, ETHERNET + IP_HEADER + 4, sequence % 2**32, acknowledge % 2**32)
            struct.pack_into("!H", frame, ETHERNET + IP_HEADER + 16, 0)
            segment = bytes(frame[ETHERNET + IP_HEADER :])
            pseudo = bytes(frame[ETHERNET + 12 : ETHERNET + 20]) + struct.pack("!HH", 6, len(segment))
            struct.pack_into("!H", frame, ETHERNET + IP_HEADER + 16, checksum(pseudo + segment))
        return frame


def header_checksum(frame: bytearray) -> None:
    """Recompute the IPv4 header checksum in place."""
    struct.pack_into("!H", frame, ETHERNET + 10, 0)
    struct.pack_into("!H", frame, ETHERNET + 10, checksum(bytes(frame[ETHERNET : ETHERNET + IP_HEADER])))


def checksum(data: bytes) -> int:
    """Internet checksum (RFC 1071)."""
    padded = data + b"\x00" if len(data) % 2 else data
    total = sum(struct.unpack(f"!{len(padded) // 2}H", padded))
    total = (total >> 16) + (total & 0xFFFF)
    return ~(total + (total >> 16)) & 0xFFFF
