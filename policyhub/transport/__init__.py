"""The porters: sockets and SSH. See session.DeviceSession."""

from policyhub.transport.host_keys import PublicKey
from policyhub.transport.jump import Jump, Way, fetch
from policyhub.transport.lending import Address, Login
from policyhub.transport.session import DeviceSession

__all__ = ["Address", "DeviceSession", "Jump", "Login", "PublicKey", "Way", "fetch"]
