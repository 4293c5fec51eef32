"""Keys: what a device shows before anybody logs in, the known_hosts text that pins it, and the one that a login has."""

from __future__ import annotations

import io
from collections.abc import Iterable
from typing import Any

import paramiko

from policyhub.domain.message import Message, gettext_noop
from policyhub.transport.errors import NO_CONNECTION, AuthenticationFailed, OnlyOldAlgorithms, Unreachable, only_old
from policyhub.transport.lending import PublicKey

CONNECT_TIMEOUT_S = 10.0
_KEY_TYPES: tuple[type[paramiko.PKey], ...] = (paramiko.Ed25519Key, paramiko.ECDSAKey, paramiko.RSAKey)


def shown_on(sock: Any, place: str, disabled: dict[str, list[str]] | None = None, *, timeout_s: float) -> PublicKey:
    """The key that whoever is behind a connected socket proves to own. Raises Unreachable, OnlyOldAlgorithms."""
    try:
        transport = paramiko.Transport(sock, disabled_algorithms=disabled)
        try:
            transport.start_client(timeout=timeout_s)
            key = transport.get_remote_server_key()
        finally:
            transport.close()
    except paramiko.ssh_exception.IncompatiblePeer as error:
        raise OnlyOldAlgorithms(only_old(place), host=place) from error
    except OSError as error:
        why = error.strerror or str(error) or type(error).__name__
        raise Unreachable.of(NO_CONNECTION, host=place, why=why) from error
    except (paramiko.SSHException, EOFError) as error:
        said = gettext_noop("%(host)s: answers, but not as SSH (%(error)s). Check the port")
        raise Unreachable.of(said, host=place, error=str(error) or type(error).__name__) from error
    return PublicKey(key.get_name(), key.get_base64())


def known_hosts(host: str, port: int, keys: Iterable[PublicKey]) -> str:
    """One line per trusted key, in OpenSSH's form."""
    name = host if port == 22 else f"[{host}]:{port}"
    return "".join(f"{name} {key.algorithm} {key.body}\n" for key in keys)


def private_key(text: str) -> paramiko.PKey | None:
    """The key in a credential; None when there is none. Raises AuthenticationFailed."""
    if not text:
        return None
    for kind in _KEY_TYPES:
        try:
            return kind.from_private_key(io.StringIO(text))
        except (paramiko.SSHException, ValueError):
            continue
    said = gettext_noop("the private key of this credential is not Ed25519, ECDSA or RSA without a passphrase. Enter it again")
    raise AuthenticationFailed(Message(said))
