"""Ways to a device: straight, or through a bastion that forwards one TCP connection; with or without algorithms of the past."""

from __future__ import annotations

import contextlib
import socket
import tempfile
from pathlib import Path
from typing import Any

import paramiko

from policyhub.domain.message import Message, gettext_noop
from policyhub.transport.errors import (
    NO_CONNECTION,
    AuthenticationFailed,
    HostKeyChanged,
    HostKeyUnknown,
    OnlyOldAlgorithms,
    Unreachable,
    only_old,
)
from policyhub.transport.host_keys import CONNECT_TIMEOUT_S, known_hosts, private_key, shown_on
from policyhub.transport.lending import STRAIGHT, Address, Jump, PublicKey, Way, disabled


def fetch(host: str, port: int = 22, *, way: Way = STRAIGHT, timeout_s: float = CONNECT_TIMEOUT_S) -> PublicKey:
    """The key that the device proves to own; nobody logs in to it. Raises Unreachable and the errors of a bastion's login."""
    address = Address(host, port)
    with contextlib.ExitStack() as stack:
        sock = opened(address, way, stack, timeout_s=timeout_s)
        return shown_on(sock, str(address), way.disabled, timeout_s=timeout_s)


def opened(address: Address, way: Way, stack: contextlib.ExitStack, *, timeout_s: float) -> Any:
    """A connected socket; it and what it goes through close with the stack. Raises Unreachable; a bastion's login, too."""
    if way.via is None:
        try:
            return stack.enter_context(socket.create_connection((address.host, address.port), timeout_s))
        except OSError as error:
            raise Unreachable.of(NO_CONNECTION, host=str(address), why=_why(error)) from error
    client = _log_in(way.via, timeout_s)
    stack.callback(client.close)
    transport = client.get_transport()
    if transport is None:
        raise Unreachable.of(gettext_noop("bastion %(host)s: closed the connection at once"), host=str(way.via.address))
    try:
        channel = transport.open_channel("direct-tcpip", (address.host, address.port), ("127.0.0.1", 0), timeout=timeout_s)
    except (paramiko.SSHException, OSError, EOFError) as error:
        said = gettext_noop("%(host)s: bastion %(jump)s cannot connect to it (%(why)s). Check that it may forward there")
        raise Unreachable.of(said, host=str(address), jump=str(way.via.address), why=_why(error)) from error
    stack.callback(channel.close)
    return channel


def _log_in(jump: Jump, timeout_s: float) -> paramiko.SSHClient:
    if not jump.trusted:
        said = gettext_noop("bastion %(host)s: no host key is trusted yet. Scan and trust the bastion first")
        raise HostKeyUnknown.of(said, host=str(jump.address), bastion=True)
    client = paramiko.SSHClient()
    with tempfile.TemporaryDirectory(prefix="phb-") as folder:
        path = Path(folder, "known_hosts")
        path.write_text(known_hosts(jump.address.host, jump.address.port, jump.trusted))
        client.load_host_keys(str(path))
    client.set_missing_host_key_policy(paramiko.RejectPolicy())
    try:
        client.connect(
            jump.address.host,
            jump.address.port,
            username=jump.login.username,
            password=None if jump.login.private_key else jump.login.password,
            pkey=private_key(jump.login.private_key),
            allow_agent=False,
            look_for_keys=False,
            timeout=min(timeout_s, CONNECT_TIMEOUT_S),
            banner_timeout=timeout_s,
            auth_timeout=timeout_s,
            disabled_algorithms=disabled(jump.old_algorithms),
        )
    except BaseException as error:
        client.close()
        raise _told(error, str(jump.address)) from error
    return client


def _told(error: BaseException, host: str) -> BaseException:
    """One error per cause; an interrupt stays what it is."""
    if isinstance(error, paramiko.AuthenticationException):
        said = gettext_noop("bastion %(host)s: login refused. Enter the right credential of the bastion")
        return AuthenticationFailed.of(said, host=host, bastion=True)
    if isinstance(error, paramiko.BadHostKeyException):
        said = gettext_noop("bastion %(host)s: host key changed. Nothing was sent; find out why before you trust it")
        return HostKeyChanged.of(said, host=host, bastion=True)
    if isinstance(error, paramiko.ssh_exception.IncompatiblePeer):
        return OnlyOldAlgorithms(only_old(Message(gettext_noop("bastion %(host)s"), {"host": host})), host=host, bastion=True)
    if isinstance(error, (paramiko.SSHException, OSError, EOFError)):
        said = gettext_noop("bastion %(host)s: no connection (%(why)s). Check address, port and routing")
        return Unreachable.of(said, host=host, why=_why(error), bastion=True)
    return error


def _why(error: BaseException) -> str:
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
