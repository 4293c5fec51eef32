"""Opening a session: pinned host key, one try, and every failure told apart."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import netmiko
import paramiko
from netmiko.exceptions import NetmikoAuthenticationException, NetmikoTimeoutException, ReadTimeout

from policyhub.domain.message import gettext_noop
from policyhub.transport.errors import (
    ENABLE_REFUSED,
    NO_CONNECTION,
    NO_PROMPT,
    AuthenticationFailed,
    HostKeyChanged,
    HostKeyUnknown,
    NotReady,
    OnlyOldAlgorithms,
    PrivilegeRefused,
    TransportError,
    Unreachable,
    only_old,
)
from policyhub.transport.greeting import Greeting, settle
from policyhub.transport.host_keys import CONNECT_TIMEOUT_S, known_hosts, private_key
from policyhub.transport.jump import opened
from policyhub.transport.lending import STRAIGHT, Address, Login, PublicKey, Way

logging.getLogger("netmiko").setLevel(logging.WARNING)  # its DEBUG writes secrets (netmiko#2597)
logging.getLogger("paramiko").setLevel(logging.CRITICAL)  # it logs whole stack traces of errors that it raises anyway

KEY_CHANGED = gettext_noop(
    "%(host)s: host key changed: trusted %(trusted)s, offered %(offered)s. Nothing was sent; find out why before you trust it"
)


def connect(
    device_type: str,
    address: Address,
    login: Login,
    trusted: Sequence[PublicKey],
    *,
    timeout_s: float,
    way: Way = STRAIGHT,
    greeting: Greeting | None = None,
) -> Any:
    """A netmiko connection, logged in and privileged. Raises the errors of this room; tries once.

    greeting: for netmiko's plain driver, which does not look for a prompt itself.
    `connection.ways` is an ExitStack: close it with the connection.
    """
    if not trusted:
        said = gettext_noop("%(host)s: no host key is trusted yet. Scan it, compare the fingerprint, then trust it")
        raise HostKeyUnknown.of(said, host=str(address))
    with ExitStack() as stack, _known_hosts_file(address, trusted) as path, _told_apart(address, trusted):
        sock = opened(address, way, stack, timeout_s=min(timeout_s, CONNECT_TIMEOUT_S)) if way.via is not None else None
        connection: Any = netmiko.ConnectHandler(
            device_type=device_type,
            sock=sock,
            disabled_algorithms=way.disabled,
            alt_key_file=str(path),
            **_how(address, login, timeout_s),
        )
        connection.ways = stack.pop_all()
    if greeting is None:
        _privilege(connection, address, login)
        return connection
    try:
        settle(connection, address, greeting, login, limit_s=timeout_s)
    except BaseException:
        drop(connection)
        raise
    return connection


def _how(address: Address, login: Login, timeout_s: float) -> dict[str, Any]:
    """One try with this login and no other, and only to a key of the file."""
    return {
        "host": address.host,
        "port": address.port,
        "username": login.username,
        "password": "" if login.private_key else login.password,
        "pkey": private_key(login.private_key),
        "secret": login.enable,
        "allow_agent": False,
        "use_keys": False,
        "ssh_strict": True,
        "system_host_keys": False,
        "alt_host_keys": True,
        "conn_timeout": min(timeout_s, CONNECT_TIMEOUT_S),
        "auth_timeout": timeout_s,
        "banner_timeout": timeout_s,
        "auto_connect": True,
    }


def _privilege(connection: Any, address: Address, login: Login) -> None:
    """Enter the privileged mode where the platform has one and the login did not land there."""
    try:
        if not login.enable or connection.check_enable_mode():
            return
        connection.enable()
    except ValueError as error:
        drop(connection)
        raise PrivilegeRefused.of(ENABLE_REFUSED, host=str(address)) from error
    except (ReadTimeout, OSError, EOFError) as error:
        drop(connection)
        said = gettext_noop("%(host)s: no answer to `enable`. Check the privilege of %(user)s")
        raise NotReady.of(said, host=str(address), user=login.username) from error


@contextmanager
def _told_apart(address: Address, trusted: Sequence[PublicKey]) -> Iterator[None]:
    """Turns what netmiko raises into one error per cause; it wraps paramiko's, so look behind it."""
    place = str(address)
    try:
        yield
    except TransportError:
        raise
    except NetmikoAuthenticationException as error:
        said = gettext_noop("%(host)s: login refused. Not tried again; enter the right password, then release the device")
        raise AuthenticationFailed.of(said, host=place) from error
    except ReadTimeout as error:
        raise NotReady.of(NO_PROMPT, host=place) from error
    except NetmikoTimeoutException as error:
        raise _from_paramiko(error, place, trusted) from error
    except (paramiko.SSHException, OSError, EOFError, ValueError) as error:
        said = gettext_noop("%(host)s: the SSH session broke while opening (%(error)s)")
        raise Unreachable.of(said, host=place, error=str(error) or type(error).__name__) from error


def _from_paramiko(error: BaseException, place: str, trusted: Sequence[PublicKey]) -> TransportError:
    cause = error.__context__
    if isinstance(cause, paramiko.ssh_exception.IncompatiblePeer):
        return OnlyOldAlgorithms(only_old(place), host=place)
    if isinstance(cause, paramiko.BadHostKeyException):
        offered = PublicKey(cause.key.get_name(), cause.key.get_base64()).fingerprint
        known = ", ".join(key.fingerprint for key in trusted)
        return HostKeyChanged.of(KEY_CHANGED, host=place, trusted=known, offered=offered)
    if isinstance(cause, paramiko.SSHException):
        return Unreachable.of(gettext_noop("%(host)s: SSH could not be set up (%(error)s)"), host=place, error=str(cause))
    why = getattr(cause, "strerror", None) or str(cause or "timed out")
    return Unreachable.of(NO_CONNECTION, host=place, why=why)


@contextmanager
def _known_hosts_file(address: Address, trusted: Sequence[PublicKey]) -> Iterator[Path]:
    """paramiko reads pinned keys from a file only; ours holds this device's keys and lives as long as the login."""
    with tempfile.TemporaryDirectory(prefix="phb-") as folder:
        path = Path(folder, "known_hosts")
        path.write_text(known_hosts(address.host, address.port, trusted))
        yield path


def drop(connection: Any) -> None:
    """Close the TCP connection at once; a half-open login would hold a vty (netmiko PR 628)."""
    client = getattr(connection, "remote_conn_pre", None)
    if client is not None:
        client.close()
    ways = getattr(connection, "ways", None)
    if ways is not None:
        ways.close()
