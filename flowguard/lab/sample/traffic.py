"""Packets through the simulated switch, as two pcap streams: what enters it and what leaves it.

    python -m flowguard.lab.sample.traffic --running FILE --enter FIFO --leave FIFO [--seed N]

The EF queue of the uplink serves EF_RATE_BPS with a buffer of EF_BUFFER bytes. While the offenders fill it, core packets of
the class are lost and repeated; once the switch remarks the offenders, they are not.
"""

from __future__ import annotations

import argparse
import errno
import heapq
import ipaddress
import json
import os
import random
import select
import struct
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from flowguard.lab.sample.dataplane import Remark, remarks
from flowguard.lab.sample.packets import ETHERNET, FLOWS, Flow, Template, header_checksum

EF_RATE_BPS = 3_000_000
FULL_FRAME = 1500
EF_BUFFER = 25 * FULL_FRAME
OFFENCE_BEGINS_S = 5.0
RETRANSMIT_S = 0.2
BACK_OFF_S = 0.03  # a bulk sender slows down on loss, as TCP does
INTERFACE = "GigabitEthernet1/0/1"
PCAP_HEADER = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 1)
SLICE_S = 0.02
MOST_UNWRITTEN = 32 << 20
COUNTED_EACH_S = 1.0


class Switch:
    """Remarks by its running configuration, then one tail-drop queue for EF; other classes are never full."""

    def __init__(self, running: Callable[[], tuple[Remark, ...]]) -> None:
        """hits: class of the policy -> [packets, bytes] that entered in it, as the switch counts them."""
        self._remarks = running
        self.hits: dict[str, list[int]] = {}
        self._backlog = 0.0
        self._served_at = 0.0

    def forward(self, frame: bytearray, now: float) -> tuple[bytearray, float] | None:
        """The frame as it leaves and its delay in seconds; None when the queue was full."""
        out = bytearray(frame)
        dscp = out[ETHERNET + 1] >> 2
        source = ipaddress.IPv4Address(bytes(out[ETHERNET + 12 : ETHERNET + 16]))
        policy = self._remarks()
        taken = next((remark for remark in policy if remark.applies(source, dscp)), None)
        if taken:
            dscp = taken.target
            out[ETHERNET + 1] = dscp << 2
        if policy:
            total = self.hits.setdefault(taken.name if taken else "class-default", [0, 0])
            total[0] += 1
            total[1] += len(frame)
        out[ETHERNET + 8] -= 1
        header_checksum(out)
        if dscp != 46:
            return out, 0.00002
        self._backlog = max(0.0, self._backlog - (now - self._served_at) * EF_RATE_BPS / 8)
        self._served_at = now
        if self._backlog + FULL_FRAME > EF_BUFFER:  # the buffer is counted in cells of a full frame, small packets fare no better
            return None
        self._backlog += len(out)
        return out, self._backlog * 8 / EF_RATE_BPS


class Conversation:
    """A flow with its answers and repeats; yields frames in both directions as time goes on."""

    def __init__(self, flow: Flow, rng: random.Random) -> None:
        self.flow = flow
        self.request = Template(flow.src, flow.dst, flow.proto, flow.sport, flow.dport, flow.payload)
        self.reply = Template(flow.dst, flow.src, flow.proto, flow.dport, flow.sport, flow.answer)
        self.sent, self.answered = rng.randrange(2**31), rng.randrange(2**31)
        self.next_at = rng.random() / flow.per_second
        self.repeats: list[tuple[float, int]] = []

    def frames(self, until: float) -> Iterator[tuple[float, int | None]]:
        """(time, sequence) of data to send before `until`; repeats first."""
        while self.repeats and self.repeats[0][0] < until:
            yield heapq.heappop(self.repeats)
        while self.next_at < until:
            sequence = self.sent
            self.sent += self.flow.payload
            yield self.next_at, sequence
            self.next_at += 1 / self.flow.per_second

    def lost(self, at: float, sequence: int) -> None:
        if self.flow.proto == "tcp":
            heapq.heappush(self.repeats, (at + RETRANSMIT_S, sequence))
            if self.flow.answer == 0:
                self.next_at += BACK_OFF_S


def record(at_ns: int, frame: bytes) -> bytes:
    """A packet as it stands in a pcap file."""
    return struct.pack("<IIII", at_ns // 10**9, at_ns % 10**9, len(frame), len(frame)) + frame


def opened(path: Path, beside: BinaryIO | None = None) -> BinaryIO:
    """A pipe once somebody reads it, with its header on the way: a reader opens one pipe after the other.

    Raises BrokenPipeError when the reader of the pipe `beside` has gone meanwhile.
    """
    while True:
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
            break
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise
        if beside is not None and _reader_gone(beside):
            raise BrokenPipeError(f"{beside.name}: the reader has gone")
        time.sleep(0.1)
    stream = os.fdopen(descriptor, "wb", buffering=0)
    stream.write(PCAP_HEADER)
    return stream


def _reader_gone(stream: BinaryIO) -> bool:
    watch = select.poll()
    watch.register(stream.fileno(), 0)
    return any(event & select.POLLERR for _, event in watch.poll(0))


def drive(
    enter: BinaryIO, leave: BinaryIO, running: Callable[[], tuple[Remark, ...]], rng: random.Random, seconds: float,
    hits: Path | None = None,
) -> None:  # fmt: skip
    """Packets in real time for `seconds`; the time stamps are wall-clock. hits: file of the switch's counters, for its CLI."""
    switch = Switch(running)
    talks = [Conversation(flow, rng) for flow in FLOWS]
    lines = Line(enter), Line(leave)
    began = time.time()
    elapsed = counted = 0.0
    while elapsed < seconds:
        if max(line.flush() for line in lines) > MOST_UNWRITTEN:
            time.sleep(SLICE_S)
            continue
        elapsed += SLICE_S
        _slice(talks, switch, lines, began, elapsed)
        for line in lines:
            line.send(_ns(began + elapsed))
        if hits and elapsed - counted >= COUNTED_EACH_S:
            counted = elapsed
            keep_hits(hits, switch.hits)
        time.sleep(max(0.0, began + elapsed - time.time()))
    while max(line.flush() for line in lines):
        time.sleep(SLICE_S)


class Line:
    """One point: packets wait for their own time, since a frame may leave the queue long after it entered.

    Its pipe is written without blocking: a reader that is late reads one pipe ahead of the other, and would wait for ever
    for packets of a writer that waits for room in the other pipe.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._waiting: list[tuple[int, bytes]] = []
        self._unwritten = bytearray()

    def at(self, at_ns: int, frame: bytes) -> None:
        heapq.heappush(self._waiting, (at_ns, frame))

    def send(self, until_ns: int) -> None:
        while self._waiting and self._waiting[0][0] < until_ns:
            self._unwritten += record(*heapq.heappop(self._waiting))
        self.flush()

    def flush(self) -> int:
        """Write what there is room for; the bytes that are left. A reader that stands still shall not fill the memory."""
        while self._unwritten and (written := self._stream.write(self._unwritten)):
            del self._unwritten[:written]
        return len(self._unwritten)


def _slice(talks: list[Conversation], switch: Switch, lines: tuple[Line, Line], began: float, until: float) -> None:
    enter, leave = lines
    due = sorted((at, index, sequence) for index, talk in enumerate(talks) for at, sequence in talk.frames(until))
    for at, index, sequence in due:
        talk = talks[index]
        if talk.flow.src.startswith("10.61.8.") and at < OFFENCE_BEGINS_S:
            continue
        frame = talk.request.stamp(talk.flow.dscp, sequence or 0, talk.answered)
        enter.at(_ns(began + at), bytes(frame))
        out = switch.forward(frame, at)
        if out is None:
            talk.lost(at, sequence or 0)
            continue
        left = began + at + out[1]
        leave.at(_ns(left), bytes(out[0]))
        if talk.flow.proto == "tcp":
            answer = talk.reply.stamp(talk.flow.dscp if talk.flow.answer else 0, talk.answered, talk.sent)
            talk.answered += talk.flow.answer
            leave.at(_ns(left + 0.0002), bytes(answer))
            enter.at(_ns(left + 0.0003), bytes(answer))


def _ns(seconds: float) -> int:
    return int(seconds * 1e9)


def keep_hits(path: Path, hits: dict[str, list[int]]) -> None:
    """Whole or not at all: the switch's command line reads it at any time."""
    fresh = path.with_suffix(".new")
    fresh.write_text(json.dumps(hits), encoding="utf-8")
    fresh.replace(path)


def follow(path: Path, interface: str) -> Callable[[], tuple[Remark, ...]]:
    """The switch's remarks, read again when its running configuration file changes."""
    seen: list[object] = [None, ()]

    def current() -> tuple[Remark, ...]:
        stamp = path.stat().st_mtime_ns if path.exists() else None
        if stamp != seen[0]:
            seen[:] = [stamp, remarks(path.read_text(encoding="utf-8"), interface) if stamp else ()]
        return seen[1]  # type: ignore[return-value]

    return current


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--running", type=Path, required=True, help="the simulated switch's running configuration")
    parser.add_argument("--enter", type=Path, required=True)
    parser.add_argument("--leave", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--hits", type=Path, help="where the switch's counters go, as JSON: class -> [packets, bytes]")
    args = parser.parse_args(argv)
    with opened(args.enter) as enter, opened(args.leave, beside=enter) as leave:
        drive(enter, leave, follow(args.running, INTERFACE), random.Random(args.seed), args.seconds, args.hits)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
