"""Exporters heard over UDP beside the engine, or instead of it: their verdicts go into the same batches."""

from __future__ import annotations

import json
import logging
import socket
import threading
from collections.abc import Callable
from ipaddress import ip_address
from typing import Any

import native_capture
from flowguard.sensor.config import Post
from flowguard.sensor.contract import Engine
from policyhub.domain.errors import BadInput

LARGEST = 65_535
# What may wait in the kernel while a batch is made.
RECEIVE_BUFFER = 8 * 1024 * 1024
WAKE_S = 0.2

log = logging.getLogger(__name__)


class HearingEngine:
    """engine: None for a sensor that only hears exporters. clock_ns: wall clock, for datagrams carry no time of arrival."""

    def __init__(self, engine: Engine | None, posts: tuple[Post, ...], bundle: bytes | None, clock_ns: Callable[[], int]) -> None:
        """Raises BadInput when a port cannot be listened on."""
        self._engine, self._clock_ns, self._stop = engine, clock_ns, threading.Event()
        self._exports = native_capture.Exports([post.name for post in posts], bundle=bundle)
        self._told: set[str] = set()
        sockets = [(post, _listen(post)) for post in posts]
        self.ports = {post.name: made.getsockname()[1] for post, made in sockets}
        hearing = [
            threading.Thread(target=self._hear, args=pair, name=f"collect {pair[0].name}", daemon=True) for pair in sockets
        ]
        self._threads = hearing
        for thread in hearing:
            thread.start()

    def poll(self, timeout_ms: int, /) -> bytes:
        if self._engine:
            body: dict[str, Any] = json.loads(self._engine.poll(timeout_ms))
        else:
            self._stop.wait(timeout_ms / 1000)
            body = _nothing_captured()
        heard = json.loads(self._exports.poll())
        body["verdicts"] += heard["verdicts"]
        if not self._engine:
            body["judging"], body["bundle"] = heard["judging"], heard["bundle"]
        body["health"]["collectors"] = heard["collectors"]
        self._say(heard["collectors"])
        return json.dumps(body).encode()

    def set_bundle(self, bundle: bytes, /) -> str:
        version = self._exports.set_bundle(bundle)
        return self._engine.set_bundle(bundle) if self._engine else version

    def close(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(2 * WAKE_S)
        if self._engine:
            self._engine.close()

    def _hear(self, post: Post, listening: socket.socket) -> None:
        with listening:
            while not self._stop.is_set():
                try:
                    datagram, sender = listening.recvfrom(LARGEST)
                except TimeoutError:
                    continue
                self._exports.hear(post.name, ip_address(sender[0].partition("%")[0]), self._clock_ns(), datagram)

    def _say(self, collectors: list[dict[str, Any]]) -> None:
        """The first trouble of each exporter, once."""
        for row in collectors:
            place = f"{row['point']} {row['exporter']}"
            if row["trouble"] and place not in self._told:
                self._told.add(place)
                log.warning("collect %s: %s", row["point"], row["trouble"])


def _nothing_captured() -> dict[str, Any]:
    health: dict[str, Any] = {
        "received": None, "dropped": {}, "decode_errors": None, "last_packet_ns": None, "engine": native_capture.__version__,
        "points": [],
    }  # fmt: skip
    return {"judging": False, "bundle": None, "verdicts": [], "observations": [], "health": health}


def _listen(post: Post) -> socket.socket:
    made = None
    try:
        found = socket.getaddrinfo(post.host, post.port, type=socket.SOCK_DGRAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, address = found[0]
        made = socket.socket(family, kind, protocol)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER)
        made.settimeout(WAKE_S)
        made.bind(address)
    except OSError as error:
        if made:
            made.close()
        why = error.strerror or error
        raise BadInput(f"collect {post.name}: cannot listen on {post.host}:{post.port} ({why}). Choose another port") from None
    return made
