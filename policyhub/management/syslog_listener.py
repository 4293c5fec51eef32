"""A small process that waits for syslog over UDP (RFC 5426) and TCP (RFC 6587) and notes which devices are to be read."""

from __future__ import annotations

import logging
import selectors
import signal
import socket
from collections.abc import Callable, Iterable
from datetime import UTC, datetime

from django.db import Error, close_old_connections

from policyhub.actions import noticing
from policyhub.domain.errors import BadInput
from policyhub.domain.message import gettext_noop
from policyhub.management.syslog_frames import BadFrame, Frames

log = logging.getLogger(__name__)
POLL_S = 0.5
MOST_CONNECTIONS = 500  # devices keep theirs open; more than that is somebody else


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
    with selectors.DefaultSelector() as waiting:
        waiting.register(datagrams, selectors.EVENT_READ)
        waiting.register(streams, selectors.EVENT_READ)
        try:
            while not stopped():
                ready = waiting.select(POLL_S)
                if not ready:
                    close_old_connections()
                for key, _ in ready:
                    _ready(waiting, key, streams)
        finally:
            for key in list(waiting.get_map().values()):
                if key.data is not None:
                    _close(waiting, key)


def _ready(waiting: selectors.BaseSelector, key: selectors.SelectorKey, streams: socket.socket) -> None:
    sock = key.fileobj
    assert isinstance(sock, socket.socket)
    try:
        if key.data is not None:
            _read(waiting, key, sock)
        elif sock is streams:
            _accept(waiting, sock)
        else:
            data, source = sock.recvfrom(65536)
            _note([data], str(source[0]))
    except (BlockingIOError, InterruptedError):
        return
    except OSError as error:  # reset by the sender, or no descriptor left for a new connection
        log.warning("syslog over TCP: %s", error)
        if key.data is not None:
            _close(waiting, key)


def _accept(waiting: selectors.BaseSelector, streams: socket.socket) -> None:
    connection, source = streams.accept()
    if len(waiting.get_map()) - 2 >= MOST_CONNECTIONS:
        log.warning("%s is turned away: %d connections are open", source[0], MOST_CONNECTIONS)
        connection.close()
        return
    connection.setblocking(False)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    waiting.register(connection, selectors.EVENT_READ, (str(source[0]), Frames()))


def _read(waiting: selectors.BaseSelector, key: selectors.SelectorKey, sock: socket.socket) -> None:
    source, frames = key.data
    data = sock.recv(65536)
    try:
        _note(frames.take(data) if data else frames.end(), source)
    except BadFrame as error:
        log.warning("%s sends %s; its connection is closed", source, error)
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
