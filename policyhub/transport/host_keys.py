"""Host keys: what a device shows before anybody logs in, and the known_hosts text that pins it."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import paramiko

from policyhub.domain.message import gettext_noop
from policyhub.transport.errors import NO_CONNECTION, OnlyOldAlgorithms, Unreachable, only_old

CONNECT_TIMEOUT_S = 10.0


@dataclass(frozen=True, slots=True)
class PublicKey:
    """algorithm: as in known_hosts ("ssh-ed25519"). body: base64 of the SSH wire form."""

    algorithm: str
    body: str

    @property
    def fingerprint(self) -> str:
        """As `ssh-keygen -lf` prints it: "SHA256:..."."""
        digest = hashlib.sha256(base64.b64decode(self.body)).digest()
        return "SHA256:" + base64.b64encode(digest).decode().rstrip("=")


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
