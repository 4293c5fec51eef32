"""The porters: sockets and SSH. See session.DeviceSession.

paramiko and netmiko cost every process that loads them 0.4 s: they come with the first use of `DeviceSession` or `fetch`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from policyhub.transport.lending import WALL_LIMIT_S, Address, Jump, Login, PublicKey, Way

if TYPE_CHECKING:
    from policyhub.transport.jump import fetch
    from policyhub.transport.session import DeviceSession

__all__ = ["WALL_LIMIT_S", "Address", "DeviceSession", "Jump", "Login", "PublicKey", "Way", "fetch"]

_LATE = {"DeviceSession": "session", "fetch": "jump"}


def __getattr__(name: str) -> Any:
    if name not in _LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LATE[name]}"), name)
