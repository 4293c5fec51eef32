"""Real sockets with a mark: senders and a server that run inside a namespace as processes of their own.

    python -m flowguard.lab.net.traffic serve ADDRESS PORT
    python -m flowguard.lab.net.traffic bulk SOURCE ADDRESS PORT --dscp 46 --mbps 8
    python -m flowguard.lab.net.traffic ask SOURCE ADDRESS PORT --dscp 46 --per-second 40
    python -m flowguard.lab.net.traffic udp SOURCE ADDRESS PORT --dscp 46 --mbps 2

`ask` prints one JSON line at its end: requests, answers, slowest_ms.
"""

from __future__ import annotations

import argparse
import json
import signal
import socket
import socketserver
import sys
import threading
import time
from types import FrameType

CHUNK = 1200
REQUEST = b"q" * 64
ANSWER = b"a" * 256


class _Stop:
    """Set by SIGTERM so that `ask` can still print its figures."""

    def __init__(self) -> None:
        self.now = False
        signal.signal(signal.SIGTERM, self._set)

    def _set(self, _signal: int, _frame: FrameType | None) -> None:
        self.now = True


class _Answer(socketserver.BaseRequestHandler):
    """Answers requests with the mark they came with; swallows bulk."""

    def handle(self) -> None:
        connection: socket.socket = self.request
        first = connection.recv(1)
        if first == b"q":
            # the answer must carry the class of the request, as real core applications do
            connection.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, self.server.answer_dscp << 2)  # type: ignore[attr-defined]
            received = 1
            while data := connection.recv(65536):
                received += len(data)
                while received >= len(REQUEST):
                    received -= len(REQUEST)
                    connection.sendall(ANSWER)
            return
        while connection.recv(262144):
            pass


class _Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 64
    answer_dscp = 0


def serve(address: str, port: int, answer_dscp: int) -> None:
    """TCP and UDP on one port until killed."""
    sink = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sink.bind((address, port))
    threading.Thread(target=_drain, args=(sink,), daemon=True).start()
    with _Server((address, port), _Answer) as server:
        server.answer_dscp = answer_dscp
        server.serve_forever()


def _drain(sink: socket.socket) -> None:
    while True:
        sink.recv(65536)


def _connect(source: str, address: str, port: int, dscp: int) -> socket.socket:
    connection = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    connection.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, dscp << 2)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.bind((source, 0))
    connection.settimeout(10)
    connection.connect((address, port))
    return connection


def bulk(source: str, address: str, port: int, dscp: int, mbps: float, stop: _Stop) -> None:
    """A long transfer at a steady rate, as a data set or a tensor ring would be."""
    connection = _connect(source, address, port, dscp)
    block = b"B" * CHUNK
    _paced(mbps, stop, lambda: connection.sendall(block))


def udp(source: str, address: str, port: int, dscp: int, mbps: float, stop: _Stop) -> None:
    sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sender.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, dscp << 2)
    sender.bind((source, 0))
    block = b"U" * CHUNK
    _paced(mbps, stop, lambda: sender.sendto(block, (address, port)))


def _paced(mbps: float, stop: _Stop, send) -> None:
    per_second = mbps * 1_000_000 / 8 / CHUNK
    started, sent = time.monotonic(), 0
    while not stop.now:
        due = (time.monotonic() - started) * per_second
        while sent < due:
            send()
            sent += 1
        time.sleep(0.005)


def ask(source: str, address: str, port: int, dscp: int, per_second: float, stop: _Stop) -> dict[str, float]:
    """Request and answer at a steady pace, as a trading client would."""
    connection = _connect(source, address, port, dscp)
    requests = answers = 0
    slowest = 0.0
    while not stop.now:
        began = time.monotonic()
        connection.sendall(REQUEST)
        requests += 1
        missing = len(ANSWER)
        while missing:
            data = connection.recv(missing)
            if not data:
                raise ConnectionError("the server closed the connection")
            missing -= len(data)
        answers += 1
        slowest = max(slowest, time.monotonic() - began)
        time.sleep(max(0.0, 1 / per_second - (time.monotonic() - began)))
    return {"requests": requests, "answers": answers, "slowest_ms": round(slowest * 1000, 3)}


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("role", choices=("serve", "bulk", "ask", "udp"))
    parser.add_argument("where", nargs="+", help="[SOURCE] ADDRESS PORT")
    parser.add_argument("--dscp", type=int, default=0)
    parser.add_argument("--mbps", type=float, default=2.0)
    parser.add_argument("--per-second", type=float, default=20.0)
    args = parser.parse_args(argv)
    *source, address, port = args.where
    if args.role == "serve":
        serve(address, int(port), args.dscp)
    stop = _Stop()
    if args.role == "bulk":
        bulk(source[0], address, int(port), args.dscp, args.mbps, stop)
    elif args.role == "udp":
        udp(source[0], address, int(port), args.dscp, args.mbps, stop)
    elif args.role == "ask":
        sys.stdout.write(json.dumps(ask(source[0], address, int(port), args.dscp, args.per_second, stop)) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
