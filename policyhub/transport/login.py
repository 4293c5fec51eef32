"""Opening a session: pinned host key, one try, and every failure told apart."""

from __future__ import annotations

import io
import logging
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import netmiko
import paramiko
from netmiko.exceptions import NetmikoAuthenticationException, NetmikoTimeoutException, ReadTimeout

from policyhub.transport.errors import AuthenticationFailed, HostKeyChanged, HostKeyUnknown, NotReady, TransportError, Unreachable
from policyhub.transport.host_keys import CONNECT_TIMEOUT_S, PublicKey, known_hosts

logging.getLogger("netmiko").setLevel(logging.WARNING)  # its DEBUG writes secrets (netmiko#2597)
logging.getLogger("paramiko").setLevel(logging.CRITICAL)  # it logs whole stack traces of errors that it raises anyway

_KEY_TYPES: tuple[type[paramiko.PKey], ...] = (paramiko.Ed25519Key, paramiko.ECDSAKey, paramiko.RSAKey)


@dataclass(frozen=True, slots=True)
class Login:
    """Credentials lent for one session. private_key: OpenSSH or PEM text; when given, the password is not offered."""

    username: str
    password: str = field(default="", repr=False)
    private_key: str = field(default="", repr=False)
    enable: str = field(default="", repr=False)

    @property
    def secrets(self) -> tuple[str, ...]:
        return (self.password, self.enable, self.private_key)


@dataclass(frozen=True, slots=True)
class Address:
    host: str
    port: int = 22

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


def connect(device_type: str, address: Address, login: Login, trusted: Sequence[PublicKey], *, timeout_s: float) -> Any:
    """A netmiko connection, logged in and privileged. Raises the errors of this room; tries once."""
    if not trusted:
        raise HostKeyUnknown(
            f"{address}: no host key is trusted yet. Scan it, compare the fingerprint, then trust it", host=str(address)
        )
    with _known_hosts_file(address, trusted) as path, _told_apart(address, trusted):
        connection = netmiko.ConnectHandler(
            device_type=device_type,
            host=address.host,
            port=address.port,
            username=login.username,
            password="" if login.private_key else login.password,
            pkey=_private_key(login.private_key),
            secret=login.enable,
            allow_agent=False,
            use_keys=False,
            ssh_strict=True,
            system_host_keys=False,
            alt_host_keys=True,
            alt_key_file=str(path),
            conn_timeout=min(timeout_s, CONNECT_TIMEOUT_S),
            auth_timeout=timeout_s,
            banner_timeout=timeout_s,
            auto_connect=True,
        )
    _privilege(connection, address, login)
    return connection


def _privilege(connection: Any, address: Address, login: Login) -> None:
    """Enter the privileged mode where the platform has one and the login did not land there."""
    try:
        if not login.enable or connection.check_enable_mode():
            return
        connection.enable()
    except ValueError as error:
        _drop(connection)
        raise AuthenticationFailed(f"{address}: the enable secret was refused. Enter it again", host=str(address)) from error
    except (ReadTimeout, OSError, EOFError) as error:
        _drop(connection)
        raise NotReady(f"{address}: no answer to `enable`. Check the privilege of {login.username}", host=str(address)) from error


@contextmanager
def _told_apart(address: Address, trusted: Sequence[PublicKey]) -> Iterator[None]:
    """Turns what netmiko raises into one error per cause; it wraps paramiko's, so look behind it."""
    place = str(address)
    try:
        yield
    except NetmikoAuthenticationException as error:
        raise AuthenticationFailed(
            f"{place}: login refused. Not tried again; enter the right password, then release the device", host=place
        ) from error
    except ReadTimeout as error:
        raise NotReady(f"{place}: logged in, but no prompt of this platform came. Check the platform", host=place) from error
    except NetmikoTimeoutException as error:
        raise _from_paramiko(error, place, trusted) from error
    except (paramiko.SSHException, OSError, EOFError, ValueError) as error:
        raise Unreachable(
            f"{place}: the SSH session broke while opening ({error or type(error).__name__})", host=place
        ) from error


def _from_paramiko(error: BaseException, place: str, trusted: Sequence[PublicKey]) -> TransportError:
    cause = error.__context__
    if isinstance(cause, paramiko.BadHostKeyException):
        offered = PublicKey(cause.key.get_name(), cause.key.get_base64()).fingerprint
        known = ", ".join(key.fingerprint for key in trusted)
        return HostKeyChanged(
            f"{place}: host key changed: trusted {known}, offered {offered}. Nothing was sent; find out why before you trust it",
            host=place,
            trusted=known,
            offered=offered,
        )
    if isinstance(cause, paramiko.SSHException):
        return Unreachable(f"{place}: SSH could not be set up ({cause})", host=place)
    why = getattr(cause, "strerror", None) or str(cause or "timed out")
    return Unreachable(f"{place}: no connection ({why}). Check address, port and routing", host=place)


@contextmanager
def _known_hosts_file(address: Address, trusted: Sequence[PublicKey]) -> Iterator[Path]:
    """paramiko reads pinned keys from a file only; ours holds this device's keys and lives as long as the login."""
    with tempfile.TemporaryDirectory(prefix="phb-") as folder:
        path = Path(folder, "known_hosts")
        path.write_text(known_hosts(address.host, address.port, trusted))
        yield path


def _private_key(text: str) -> paramiko.PKey | None:
    if not text:
        return None
    for kind in _KEY_TYPES:
        try:
            return kind.from_private_key(io.StringIO(text))
        except (paramiko.SSHException, ValueError):
            continue
    raise AuthenticationFailed(
        "the private key of this credential is not Ed25519, ECDSA or RSA without a passphrase. Enter it again"
    )


def _drop(connection: Any) -> None:
    """Close the TCP connection at once; a half-open login would hold a vty (netmiko PR 628)."""
    client = getattr(connection, "remote_conn_pre", None)
    if client is not None:
        client.close()
