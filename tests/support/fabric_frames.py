"""Frames of a fabric, field by field: RoCEv2, pause frames, marked UDP."""

from __future__ import annotations

import struct

A, B = 0x0A000001, 0x0A000002
ACK, CNP, WRITE_MIDDLE = 0x11, 0x81, 0x07
SEQUENCE_NAK, RNR_NAK = b"\x60\x00\x00\x01", b"\x2c\x00\x00\x01"


def pause(quanta: int) -> bytes:
    """Of priority 3, by 00:50:56:00:00:aa."""
    times = [0, 0, 0, quanta, 0, 0, 0, 0]
    head = bytes.fromhex("0180c2000001") + bytes.fromhex("0050560000aa") + b"\x88\x08\x01\x01"
    return head + struct.pack("!H8H", 1 << 3, *times) + bytes(26)


def ip(src: int, dst: int, body: bytes, *, dscp: int, ecn: int, number: int = 0) -> bytes:
    head = struct.pack("!BBHHHBBHII", 0x45, dscp << 2 | ecn, 20 + len(body), number, 0, 64, 17, 0, src, dst)
    return bytes(12) + b"\x08\x00" + head + body


def rdma(
    opcode: int, psn: int, rest: bytes = bytes(1_024), *, back: bool = False, qp: int = 17, dscp: int = 26, ecn: int = 2
) -> bytes:
    """A > B, or back. rest: what follows the base transport header."""
    body = struct.pack("!BBHII", opcode, 0x40, 0xFFFF, qp, psn) + rest + bytes(4)
    udp = struct.pack("!HHHH", 50_000, 4_791, 8 + len(body), 0)
    return ip(B if back else A, A if back else B, udp + body, dscp=dscp, ecn=ecn)


def marked(number: int, *, ecn: int = 0) -> bytes:
    """1000 bytes of UDP with DSCP 46."""
    return ip(A, B, struct.pack("!HHHH", 5_000, 6_000, 966, 0) + bytes(958), dscp=46, ecn=ecn, number=number)
