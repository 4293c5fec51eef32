"""IPFIX messages of the engine to a collector, over UDP or TCP. Capturing never waits; what is lost is counted and told once."""

from __future__ import annotations

import logging
import queue
import socket
import struct
import threading
from collections.abc import Iterator
from typing import Protocol

from flowguard.sensor.config import Collector

HEAD = 16
TEMPLATE_SET = 2
TIMEOUT_S = 3.0
# Blocks that wait while a collector is away.
MAX_WAITING = 256

log = logging.getLogger(__name__)


def messages(block: bytes) -> Iterator[bytes]:
    """The block's messages (RFC 7011, 3.1: their length stands at byte 2)."""
    at = 0
    while at + HEAD <= len(block):
        (length,) = struct.unpack_from(">H", block, at + 2)
        yield block[at : at + length]
        at += max(length, HEAD)


class Recording(Protocol):
    """An engine that has flow records, too."""

    def poll(self, timeout_ms: int, /) -> bytes: ...

    def set_bundle(self, bundle: bytes, /) -> str: ...

    def take_records(self) -> bytes: ...

    def close(self) -> None: ...


class ExportingEngine:
    """An engine whose flow records go to a collector as they come."""

    def __init__(self, engine: Recording, collector: Collector) -> None:
        self._engine, self._stop = engine, threading.Event()
        self._exporter = Exporter(collector, self._stop)
        self._thread = threading.Thread(target=self._exporter.run, name="ipfix", daemon=True)
        self._thread.start()

    def poll(self, timeout_ms: int, /) -> bytes:
        body = self._engine.poll(timeout_ms)
        self._exporter.offer(self._engine.take_records())
        return body

    def set_bundle(self, bundle: bytes, /) -> str:
        return self._engine.set_bundle(bundle)

    def close(self) -> None:
        self._engine.close()
        self._exporter.offer(self._engine.take_records())
        self._stop.set()
        self._thread.join(2 * TIMEOUT_S)


class Exporter:
    """Sends in a thread of its own. A new TCP connection begins with the templates (RFC 7011, 10.4)."""

    def __init__(self, collector: Collector, stop: threading.Event) -> None:
        self._collector, self._stop = collector, stop
        self._waiting: queue.Queue[bytes] = queue.Queue(MAX_WAITING)
        self._socket: socket.socket | None = None
        self._templates = b""
        self._trouble = ""
        self.lost = 0

    def offer(self, block: bytes) -> None:
        """Takes what the engine has; never waits."""
        if not block:
            return
        try:
            self._waiting.put_nowait(block)
        except queue.Full:
            self.lost += sum(1 for _ in messages(block))

    def run(self) -> None:
        while not (self._stop.is_set() and self._waiting.empty()):
            try:
                block = self._waiting.get(timeout=0.2)
            except queue.Empty:
                continue
            for message in messages(block):
                self._send(message)
        self.close()

    def close(self) -> None:
        if self._socket:
            self._socket.close()
            self._socket = None

    def _send(self, message: bytes) -> None:
        (kind,) = struct.unpack_from(">H", message, HEAD)
        if kind == TEMPLATE_SET:
            self._templates = message
        try:
            if self._socket is None:
                self._socket = self._connect()
                if kind != TEMPLATE_SET and self._templates:
                    self._socket.sendall(numbered(self._templates, message))
            self._socket.sendall(message)
            self._note("")
        except OSError as error:
            self.lost += 1
            self.close()
            self._note(f"cannot send flow records to {self._collector.host}:{self._collector.port}: {error}")

    def _connect(self) -> socket.socket:
        where = (self._collector.host, self._collector.port)
        if self._collector.transport == "tcp":
            return socket.create_connection(where, TIMEOUT_S)
        family, kind, protocol, _, address = socket.getaddrinfo(*where, type=socket.SOCK_DGRAM)[0]
        made = socket.socket(family, kind, protocol)
        made.connect(address)
        return made

    def _note(self, trouble: str) -> None:
        """One line when it starts and one when it is over."""
        if trouble and not self._trouble:
            log.warning("%s", trouble)
        elif self._trouble and not trouble:
            log.warning("sending flow records again, %s messages were lost", self.lost)
        self._trouble = trouble


def numbered(template: bytes, message: bytes) -> bytes:
    """The template message with the time and sequence number of the message that it goes before."""
    return template[:4] + message[4:12] + template[12:]
