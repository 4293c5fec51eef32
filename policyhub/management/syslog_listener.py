"""A small process that waits for syslog over UDP (RFC 5426) and notes which devices are to be read."""

from __future__ import annotations

import logging
import signal
import socket
from collections.abc import Callable
from datetime import UTC, datetime

from django.db import Error, close_old_connections

from policyhub.actions import noticing
from policyhub.domain.errors import BadInput
from policyhub.domain.message import gettext_noop

log = logging.getLogger(__name__)
POLL_S = 0.5


def serve(host: str, port: int) -> int:
    """Until SIGTERM or SIGINT. Raises BadInput when the port cannot be had."""
    stopped: list[int] = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda caught, _frame: stopped.append(caught))
    with bound(host, port) as sock:
        log.info("waiting for syslog on %s port %s", host, port)
        listen(sock, stopped=lambda: bool(stopped))
    return 0


def bound(host: str, port: int) -> socket.socket:
    """A UDP socket. Raises BadInput."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_DGRAM)
    try:
        sock.bind((host, port))
    except OSError as error:
        sock.close()
        said = gettext_noop("port %(port)s of %(host)s cannot be had (%(why)s). Choose another with --port")
        raise BadInput.of(said, port=port, host=host, why=error.strerror or error) from error
    return sock


def listen(sock: socket.socket, *, stopped: Callable[[], bool]) -> None:
    """One message after the other; a database that is away loses the message, not the process."""
    sock.settimeout(POLL_S)
    while not stopped():
        try:
            data, source = sock.recvfrom(65536)
        except TimeoutError:
            close_old_connections()
            continue
        try:
            device = noticing.config_changed(text=data.decode("utf-8", "replace"), source=str(source[0]), now=datetime.now(UTC))
        except Error as error:
            log.warning("a message from %s was lost: %s", source[0], error)
            close_old_connections()
            continue
        if device is not None:
            log.info("%s says its configuration changed; it is read at %s", device, device.collect_due_at)
