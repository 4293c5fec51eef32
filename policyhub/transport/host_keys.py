"""Host keys: what a device shows before anybody logs in, and the known_hosts text that pins it."""

from __future__ import annotations

import base64
import hashlib
import socket
from collections.abc import Iterable
from dataclasses import dataclass

import paramiko

from policyhub.transport.errors import Unreachable

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


def fetch(host: str, port: int = 22, *, timeout_s: float = CONNECT_TIMEOUT_S) -> PublicKey:
    """The key that the device proves to own; nobody logs in. Raises Unreachable."""
    place = f"{host}:{port}"
    try:
        with socket.create_connection((host, port), timeout_s) as sock:
            transport = paramiko.Transport(sock)
            try:
                transport.start_client(timeout=timeout_s)
                key = transport.get_remote_server_key()
            finally:
                transport.close()
    except OSError as error:
        why = error.strerror or str(error) or type(error).__name__
        raise Unreachable(f"{place}: no connection ({why}). Check address, port and routing", host=place) from error
    except (paramiko.SSHException, EOFError) as error:
        raise Unreachable(f"{place}: answers, but not as SSH ({error}). Check the port", host=place) from error
    return PublicKey(key.get_name(), key.get_base64())


def known_hosts(host: str, port: int, keys: Iterable[PublicKey]) -> str:
    """One line per trusted key, in OpenSSH's form."""
    name = host if port == 22 else f"[{host}]:{port}"
    return "".join(f"{name} {key.algorithm} {key.body}\n" for key in keys)
