"""The porters: sockets and SSH. See session.DeviceSession."""

from policyhub.transport.host_keys import PublicKey
from policyhub.transport.login import Address, Login
from policyhub.transport.session import DeviceSession

__all__ = ["Address", "DeviceSession", "Login", "PublicKey"]
