"""Frames of capture files, for what the engine does not tell: the payload of our own probes. pcap and pcapng, also as gz."""

from __future__ import annotations

import gzip
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

from policyhub.domain.errors import BadInput
from policyhub.domain.reading import require_file

PCAP = {b"\xd4\xc3\xb2\xa1": ("<", 1_000), b"\xa1\xb2\xc3\xd4": (">", 1_000),
        b"\x4d\x3c\xb2\xa1": ("<", 1), b"\xa1\xb2\x3c\x4d": (">", 1)}  # fmt: skip
SECTION, INTERFACE, ENHANCED = 0x0A0D0D0A, 1, 6
ORDERS = {b"\x4d\x3c\x2b\x1a": "<", b"\x1a\x2b\x3c\x4d": ">"}
RESOLUTION, OFFSET = 9, 14  # options of an interface block
LARGEST = 16 * 2**20
GZIP = b"\x1f\x8b"


class Frame(NamedTuple):
    """kept: the bytes that the capture holds."""

    ts_ns: int
    kept: bytes


def read_frames(path: str | Path) -> Iterator[Frame]:
    """In the file's order. Raises BadInput naming file, byte and cure; what stands before the damage was handed out."""
    require_file(path, "Name a pcap or pcapng file")
    with Path(path).open("rb") as raw:
        packed = raw.read(2) == GZIP
        raw.seek(0)
        stream = cast(BinaryIO, gzip.GzipFile(fileobj=raw)) if packed else raw
        try:
            yield from _Reader(str(path), stream).frames()
        except (OSError, EOFError) as error:
            raise BadInput.at(str(path), None, f"cannot be unpacked ({error})", "Unpack it and give the capture itself") from None


class _Reader:
    def __init__(self, file: str, stream: BinaryIO) -> None:
        self.file, self.stream, self.at = file, stream, 0

    def frames(self) -> Iterator[Frame]:
        head = self._take(4)
        if head in PCAP:
            yield from self._pcap(*PCAP[head])
        elif head == SECTION.to_bytes(4, "big"):
            yield from self._pcapng()
        else:
            raise self._bad("is no pcap or pcapng file", "Give a capture; zst must be unpacked before")

    def _pcap(self, order: str, tick: int) -> Iterator[Frame]:
        self._take(20)
        while head := self._take(16, may_end=True):
            seconds, fraction, kept, _ = struct.unpack(order + "IIII", head)
            yield Frame(seconds * 10**9 + fraction * tick, self._take(self._sane(kept)))

    def _pcapng(self) -> Iterator[Frame]:
        order, clocks = self._section(), list[tuple[int, int]]()
        while head := self._take(8, may_end=True):
            kind, length = struct.unpack(order + "II", head)
            if kind == SECTION:
                order, clocks = self._section(head[4:]), []
                continue
            body = self._take(self._sane(length - 12) if length >= 12 else self._sane(-1))
            self._take(4)
            if kind == INTERFACE:
                clocks.append(_clock(body, order))
            elif kind == ENHANCED and len(body) >= 20:
                number, high, low, kept, _ = struct.unpack_from(order + "IIIII", body)
                if number >= len(clocks) or kept > len(body) - 20:
                    raise self._bad("has a damaged block", "Write the capture again, or cut it before that byte")
                per_second, offset = clocks[number]
                yield Frame(((high << 32 | low) * 10**9) // per_second + offset, body[20 : 20 + kept])

    def _section(self, length: bytes = b"") -> str:
        """The rest of a section header, whose first bytes were read. Returns the byte order."""
        length = length or self._take(4)
        order = ORDERS.get(self._take(4))
        if order is None:
            raise self._bad("has a section of no known byte order", "Write the capture again")
        (whole,) = struct.unpack(order + "I", length)
        self._take(self._sane(whole - 12))
        return order

    def _sane(self, length: int) -> int:
        if not 0 <= length <= LARGEST:
            raise self._bad(f"has a block of {length} bytes", "Write the capture again, or cut it before that byte")
        return length

    def _take(self, count: int, *, may_end: bool = False) -> bytes:
        found = self.stream.read(count)
        if len(found) < count and not (may_end and not found):
            raise self._bad("ends in the middle of a frame", "Let the capture end before it is read, or cut it before that byte")
        self.at += count
        return found

    def _bad(self, what: str, cure: str) -> BadInput:
        return BadInput.at(self.file, None, f"byte {self.at}: {what}", cure)


def _clock(interface: bytes, order: str) -> tuple[int, int]:
    """(ticks a second, offset in ns) by the options if_tsresol and if_tsoffset; microseconds by default."""
    ticks, offset, at = 10**6, 0, 8
    while at + 4 <= len(interface):
        code, length = struct.unpack_from(order + "HH", interface, at)
        value = interface[at + 4 : at + 4 + length]
        if code == RESOLUTION and length == 1 and value[0] & 0x7F < 64:
            ticks = 2 ** (value[0] & 0x7F) if value[0] & 0x80 else 10 ** value[0]
        elif code == OFFSET and length == 8:
            offset = struct.unpack(order + "q", value)[0] * 10**9
        elif code == 0:
            break
        at += 4 + length + -length % 4
    return ticks, offset
