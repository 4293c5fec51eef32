"""A small process that waits for syslog over UDP (RFC 5426) and TCP (RFC 6587) and notes which devices are to be read."""

from __future__ import annotations

import logging
import selectors
import signal
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from django.db import Error, close_old_connections

from policyhub.actions import noticing
from policyhub.domain.errors import BadInput
from policyhub.domain.message import gettext_noop
from policyhub.domain.tally import Tally
from policyhub.management.syslog_frames import BadFrame, Frames

log = logging.getLogger(__name__)
POLL_S = 0.5
# Devices keep theirs open, and are silent for days: so nobody is cut off for silence alone, but the most silent one makes room.
MOST_CONNECTIONS = 500
MOST_OF_ONE = 32  # a relay, or many devices behind one address


@dataclass(eq=False)
class Connection:
    """heard: in the order of `Room.turn`, when it last sent something."""

    source: str
    heard: int
    frames: Frames = field(default_factory=Frames)


class Room:
    """Who has to go for a new connection, and what is told of it: a line a minute for each source, however many they are."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._turn = 0
        self._closed = Tally(clock, told_at=clock())

    def turn(self) -> int:
        self._turn += 1
        return self._turn

    def victim(self, held: list[selectors.SelectorKey], source: str) -> selectors.SelectorKey | None:
        """The most silent connection of whoever holds too many, or holds most when all places are taken; None: there is room."""
        each = Counter(key.data.source for key in held)
        if each[source] >= MOST_OF_ONE:
            crowd = {source}
        elif len(held) >= MOST_CONNECTIONS:
            most = max(each.values())
            crowd = {name for name, count in each.items() if count == most}
        else:
            return None
        found = min((key for key in held if key.data.source in crowd), key=lambda key: key.data.heard)
        self._closed.add(found.data.source)
        return found

    def tell(self) -> None:
        closed = self._closed.due()
        for source, count in closed.most_common(10):
            log.warning("%d connections of %s were closed to make room for newer ones", count, source)
        if len(closed) > 10:
            log.warning("so were connections of %d others", len(closed) - 10)


def serve(host: str, port: int) -> int:
    """Until SIGTERM or SIGINT. Raises BadInput when the port cannot be had."""
    stopped: list[int] = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda caught, _frame: stopped.append(caught))
    with bound(host, port) as datagrams, bound(host, port, socket.SOCK_STREAM) as streams:
        log.info("waiting for syslog on %s port %s, UDP and TCP", host, port)
        listen(datagrams, streams, stopped=lambda: bool(stopped))
    return 0


def bound(host: str, port: int, kind: socket.SocketKind = socket.SOCK_DGRAM) -> socket.socket:
    """A socket for datagrams or connections. Raises BadInput."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    sock = socket.socket(family, kind)
    try:
        if kind == socket.SOCK_STREAM:  # a restart does not wait for the connections of the one before
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((host, port))
        if kind == socket.SOCK_STREAM:
            sock.listen()
    except (OSError, OverflowError) as error:  # a number that is no port
        sock.close()
        said = gettext_noop("port %(port)s of %(host)s cannot be had (%(why)s). Choose another with --port")
        raise BadInput.of(said, port=port, host=host, why=getattr(error, "strerror", None) or error) from error
    sock.setblocking(False)
    return sock


def listen(datagrams: socket.socket, streams: socket.socket, *, stopped: Callable[[], bool]) -> None:
    """One message after the other; a database that is away loses the message, not the process."""
    room = Room()
    with selectors.DefaultSelector() as waiting:
        waiting.register(datagrams, selectors.EVENT_READ)
        waiting.register(streams, selectors.EVENT_READ)
        try:
            while not stopped():
                ready = waiting.select(POLL_S)
                if not ready:
                    close_old_connections()
                for key, _ in ready:
                    _ready(waiting, key, streams, room)
                room.tell()
        finally:
            for key in list(waiting.get_map().values()):
                if key.data is not None:
                    _close(waiting, key)


def _ready(waiting: selectors.BaseSelector, key: selectors.SelectorKey, streams: socket.socket, room: Room) -> None:
    sock = key.fileobj
    assert isinstance(sock, socket.socket)
    try:
        if key.data is not None:
            if sock.fileno() >= 0:  # it made room for another one a moment ago
                _read(waiting, key, sock, room.turn())
        elif sock is streams:
            _accept(waiting, sock, room)
        else:
            data, source = sock.recvfrom(65536)
            _note([data], str(source[0]))
    except (BlockingIOError, InterruptedError):
        return
    except OSError as error:
        if key.data is not None:  # reset by the sender
            log.warning("syslog over TCP: %s: %s", key.data.source, error)
            _close(waiting, key)
        else:  # no descriptor left for a new connection, which would be offered again at once
            log.warning("syslog: %s", error)
            time.sleep(POLL_S)


def _accept(waiting: selectors.BaseSelector, streams: socket.socket, room: Room) -> None:
    connection, address = streams.accept()
    source = str(address[0])
    if victim := room.victim([key for key in waiting.get_map().values() if key.data is not None], source):
        _close(waiting, victim)
    connection.setblocking(False)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    waiting.register(connection, selectors.EVENT_READ, Connection(source, room.turn()))


def _read(waiting: selectors.BaseSelector, key: selectors.SelectorKey, sock: socket.socket, turn: int) -> None:
    connection: Connection = key.data
    data = sock.recv(65536)
    connection.heard = turn
    try:
        _note(connection.frames.take(data) if data else connection.frames.end(), connection.source)
    except BadFrame as error:
        log.warning("%s sends %s; its connection is closed", connection.source, error)
        data = b""
    if not data:
        _close(waiting, key)


def _close(waiting: selectors.BaseSelector, key: selectors.SelectorKey) -> None:
    waiting.unregister(key.fileobj)
    assert isinstance(key.fileobj, socket.socket)
    key.fileobj.close()


def _note(messages: Iterable[bytes], source: str) -> None:
    for message in messages:
        try:
            device = noticing.config_changed(text=message.decode("utf-8", "replace"), source=source, now=datetime.now(UTC))
        except Error as error:
            log.warning("a message from %s was lost: %s", source, error)
            close_old_connections()
            continue
        if device is not None:
            log.info("%s says its configuration changed; it is read at %s", device, device.collect_due_at)
