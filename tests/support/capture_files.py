"""Writes captures in every form of pcap and pcapng that the engine reads; independent of the engine's reader."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from pathlib import Path

Stamped = tuple[int, bytes]  # nanoseconds, frame
FORMATS = ("pcap-us-le", "pcap-us-be", "pcap-ns-le", "pcap-ns-be", "pcapng-le", "pcapng-be")


def write_capture(
    path: Path, packets: Iterable[Stamped], form: str = "pcap-ns-le", *, snaplen: int = 65_535, link: int = 1
) -> Path:
    """Packets in the order given; frames are cut to snaplen, their length kept. pcapng uses nanoseconds."""
    kind, *rest = form.split("-")
    order = "<" if rest[-1] == "le" else ">"
    if kind == "pcap":
        path.write_bytes(_pcap(packets, order, rest[0], snaplen, link))
    else:
        path.write_bytes(section(order) + interface(order, link, snaplen, 9) + _blocks(packets, order, snaplen))
    return path


def _pcap(packets: Iterable[Stamped], order: str, unit: str, snaplen: int, link: int) -> bytes:
    magic, tick = (0xA1B2C3D4, 1_000) if unit == "us" else (0xA1B23C4D, 1)
    out = [struct.pack(order + "IHHiIII", magic, 2, 4, 0, 0, snaplen, link)]
    for ns, frame in packets:
        seconds, rest = divmod(ns, 10**9)
        kept = frame[:snaplen]
        out.append(struct.pack(order + "IIII", seconds, rest // tick, len(kept), len(frame)) + kept)
    return b"".join(out)


def section(order: str) -> bytes:
    return struct.pack(order + "IIIHHqI", 0x0A0D0D0A, 28, 0x1A2B3C4D, 1, 0, -1, 28)


def interface(order: str, link: int, snaplen: int, resolution: int, offset_s: int = 0) -> bytes:
    """resolution: if_tsresol as in the file (a power of ten, or of two with the top bit set)."""
    options = struct.pack(order + "HHBxxx", 9, 1, resolution) + struct.pack(order + "HHq", 14, 8, offset_s) + bytes(4)
    length = 20 + len(options)
    return struct.pack(order + "IIHHI", 1, length, link, 0, snaplen) + options + struct.pack(order + "I", length)


def block(order: str, kind: int, body: bytes) -> bytes:
    length = 12 + len(body)
    return struct.pack(order + "II", kind, length) + body + struct.pack(order + "I", length)


def option(order: str, code: int, value: bytes) -> bytes:
    return struct.pack(order + "HH", code, len(value)) + value + bytes(-len(value) % 4)


def enhanced(order: str, number: int, ticks: int, frame: bytes, snaplen: int = 65_535, options: bytes = b"") -> bytes:
    kept = frame[:snaplen]
    padded = kept + bytes(-len(kept) % 4)
    head = struct.pack(order + "IIIII", number, ticks >> 32, ticks & 0xFFFFFFFF, len(kept), len(frame))
    return block(order, 6, head + padded + options)


def _blocks(packets: Iterable[Stamped], order: str, snaplen: int) -> bytes:
    return b"".join(enhanced(order, 0, ns, frame, snaplen) for ns, frame in packets)
