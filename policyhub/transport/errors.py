"""What can go wrong between us and a device. After any of them the device's state is unknown until a new session has read it."""

from __future__ import annotations

from policyhub.domain.errors import PolicyHubError
from policyhub.domain.message import Message, gettext_noop


class TransportError(PolicyHubError):
    """Root of this room. `data["host"]` names the device as `host:port`."""

    code = "PH-E020"


class Unreachable(TransportError):
    """No TCP connection or no SSH on it."""

    code = "PH-E021"
    permanent = False


class OnlyOldAlgorithms(Unreachable):
    """The device offers only algorithms that are not used unless somebody allowed it (SSH profile `old`)."""

    code = "PH-E029"
    permanent = True


class AuthenticationFailed(TransportError):
    """The device refused the login or the enable secret. Never tried twice: accounts lock."""

    code = "PH-E022"


class PrivilegeRefused(AuthenticationFailed):
    """Logged in; the enable secret was refused. Not tried twice either."""


class HostKeyChanged(TransportError):
    """The device showed another key than the trusted one; no password was sent. data: trusted, offered (fingerprints)."""

    code = "PH-E023"


class HostKeyUnknown(TransportError):
    """No key of this device is trusted yet; no password was sent."""

    code = "PH-E024"


class NotReady(TransportError):
    """Logged in, but the prompt, privilege or configuration mode is not what the platform needs. Nothing was sent."""

    code = "PH-E025"


class LineRejected(TransportError):
    """The device answered a line with an error. data: command, text."""

    code = "PH-E026"


class TimedOut(TransportError):
    """No prompt in time. The line may still be carried out later. data: command."""

    code = "PH-E027"
    permanent = False


class ConnectionLost(TransportError):
    """The device closed the connection while we waited. data: command."""

    code = "PH-E028"
    permanent = False


# Sentences of several modules of this room; `host` is `host:port`, or the bastion's.
NO_CONNECTION = gettext_noop("%(host)s: no connection (%(why)s). Check address, port and routing")
ENABLE_REFUSED = gettext_noop("%(host)s: the enable secret was refused. Enter it again")
NO_PROMPT = gettext_noop("%(host)s: logged in, but no prompt of this platform came. Check the platform")
OLD = gettext_noop(
    "%(host)s: speaks only old SSH algorithms. Update it, or give it the SSH profile 'old' if its network is trusted"
)


def only_old(place: str | Message) -> Message:
    """Why such a device is not spoken to."""
    return Message(OLD, {"host": place})
