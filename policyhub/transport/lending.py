"""What is lent to this room for one session: an address and a login."""

from __future__ import annotations

import io
from dataclasses import dataclass, field

import paramiko

from policyhub.domain.message import Message, gettext_noop
from policyhub.transport.errors import AuthenticationFailed

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
