"""What is lent to this room for one session: an address, a login, the keys that are trusted and the way there."""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import dataclass, field
from importlib import resources

WALL_LIMIT_S = 120.0  # of one session
# Names of paramiko's: SHA-1 key exchange and signatures, CBC, MD5. What a device of 2012 may speak and nobody should choose.
OLD_ALGORITHMS: dict[str, list[str]] = json.loads(resources.files(__package__).joinpath("algorithms.json").read_text())["old"]


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


@dataclass(frozen=True, slots=True)
class Jump:
    """A bastion: logged in with a pinned key like any device, it forwards one connection (RFC 4254, 7.2)."""

    address: Address
    login: Login
    trusted: tuple[PublicKey, ...]
    old_algorithms: bool = False


@dataclass(frozen=True, slots=True)
class Way:
    """old_algorithms: the device may use OLD_ALGORITHMS, because somebody said so. via: its bastion."""

    old_algorithms: bool = False
    via: Jump | None = None

    @property
    def disabled(self) -> dict[str, list[str]] | None:
        return disabled(self.old_algorithms)


STRAIGHT = Way()


def disabled(old_algorithms: bool) -> dict[str, list[str]] | None:
    """What paramiko must not offer."""
    return None if old_algorithms else {kind: list(names) for kind, names in OLD_ALGORITHMS.items()}
