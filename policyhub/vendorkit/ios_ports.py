"""An interface of a Cisco-like platform: what all of them say in the same words."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from policyhub.domain.device_config import Interface
from policyhub.vendorkit.blocks import Block
from policyhub.vendorkit.ios_reading import IosReading
from policyhub.vendorkit.lexing import NotUnderstood, Words, interface_address, is_decimal

SPEED = re.compile(r"^(?:forced )?(\d{1,4})g(?:full|\b|-\d)", re.IGNORECASE)
UNDERSTOOD = (
    "switchport", "no switchport", "no ip address", "no shutdown", "ip unnumbered", "ipv4 unnumbered", "no ip access-group",
    "no service-policy", "no description", "l2transport",
)  # fmt: skip


@dataclass(slots=True)
class Port:
    interface: Interface

    @property
    def name(self) -> str:
        return self.interface.name


Hook = Callable[[IosReading, Port, Block], bool]


def read_interface(reading: IosReading, block: Block, hook: Hook, speeds: tuple[tuple[re.Pattern[str], int], ...] = ()) -> None:
    """The interface with what `hook` and the common words understand below it. Raises NotUnderstood without a name."""
    words = Words(block.words, 1)
    words.accept("preconfigure")
    name = re.sub(r"^([A-Za-z-]+) (\d)", r"\1\2", words.next("a name") + (f" {words.next()}" if words else ""))
    name = name.removesuffix(" l2transport").removesuffix(" point-to-point")
    speed = next((bps for sign, bps in speeds if sign.match(name)), None)
    port = Port(reading.interfaces.get(name) or Interface(name, speed_bps=speed, parent=parent_of(name)))
    for child in block.below():
        if reading.ledger.is_booked(child.number):
            continue
        try:
            if hook(reading, port, child) or common_line(port, child):
                reading.ledger.understood(child.number)
        except NotUnderstood as reason:
            reading.ledger.unparsed(child.line, str(reason))
    own = (number for number in block.numbers[1:] if reading.ledger.is_understood(number))
    reading.interfaces[name] = replace(port.interface, lines=(*port.interface.lines, block.number, *own))


def parent_of(name: str) -> str:
    """The port of a subinterface `PORT.N`, "" of any other."""
    parent, dot, _ = name.rpartition(".")
    return parent if dot else ""


def common_line(port: Port, child: Block) -> bool:
    """What the interface itself says; False leaves the line to the ignore list. Raises NotUnderstood."""
    words, interface = Words(child.words), port.interface
    word = words.next().lower()
    if child.text.lower().startswith(UNDERSTOOD):
        return True
    if word == "description":
        port.interface = replace(interface, description=child.text.partition(" ")[2].strip())
    elif word == "shutdown" and not words:
        port.interface = replace(interface, enabled=False)
    elif word == "speed":
        port.interface = replace(interface, speed_bps=_speed(words.rest()) or interface.speed_bps)
    elif word == "mtu" and is_decimal(words.peek()):
        port.interface = replace(interface, mtu=int(words.next()[:6]))
    elif word == "vrf" and words:
        words.accept("member", "forwarding")
        port.interface = replace(interface, vrf=words.next("a vrf"))
    elif word in ("ip", "ipv4", "ipv6") and words.accept("address"):
        if words.peek().lower() in ("virtual", "use-link-local-only", "autoconfig") and not words.peek(1)[:1].isalnum():
            return True
        words.accept("virtual")
        text = interface_address(words, "ipv6" if word == "ipv6" else "ip")
        port.interface = replace(interface, addresses=(*interface.addresses, text)) if text else interface
    else:
        return False
    return True


def _speed(text: str) -> int | None:
    """`100000` is Mbit/s; `100g`, `forced 100gfull`, `100g-2` are Gbit/s; None for auto."""
    if is_decimal(text):
        return int(text[:7]) * 10**6
    found = SPEED.match(text)
    return int(found[1]) * 10**9 if found else None
