"""How a device is named on the network: an address, or a name that a resolver can look up."""

from __future__ import annotations

import ipaddress
import re

from policyhub.domain.errors import BadInput

MOST_CHARACTERS = 253  # RFC 1035, 2.3.4, without the final dot
# RFC 1123, 2.1, with the underscore that many inventories have.
_LABEL = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?", re.ASCII)
_CURE = "Give an address such as 192.0.2.1 or 2001:db8::1, or a host name; the port is a field of its own"


def check_host(text: str) -> str:
    """The host as given, white space around it left out; "" stays (a device that is read from files). Raises BadInput."""
    host = text.strip()
    if not host or _is_address(host):
        return host
    labels = host.removesuffix(".").split(".")
    # A name that ends in a number is an address with a typing error (RFC 3696, 2): 10.1.2, 10.1.2.300
    if labels[-1].isdecimal() or len(host) > MOST_CHARACTERS or not all(_LABEL.fullmatch(label) for label in labels):
        raise BadInput(f"host {host[:80]!r} is neither an address nor a host name. {_CURE}")
    return host


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
