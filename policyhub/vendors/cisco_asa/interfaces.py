"""Interfaces, their names (which are the zones) and time ranges."""

from __future__ import annotations

import re
from dataclasses import replace

from policyhub.domain.device_config import Interface
from policyhub.domain.objects import Zone
from policyhub.vendorkit.blocks import Block
from policyhub.vendorkit.ios_ports import parent_of
from policyhub.vendorkit.lexing import NotUnderstood, Words, interface_address, is_decimal, number_in
from policyhub.vendorkit.time_ranges import read_time_range
from policyhub.vendors.cisco_asa.reading import Reading

SPEED_BY_NAME = (
    (re.compile(r"^fastethernet", re.IGNORECASE), 10**8),
    (re.compile(r"^gigabitethernet", re.IGNORECASE), 10**9),
    (re.compile(r"^tengigabitethernet", re.IGNORECASE), 10**10),
    (re.compile(r"^fortygigabitethernet", re.IGNORECASE), 4 * 10**10),
)

SPEED_OF_PIX = re.compile(r"(10{1,3})(?:full|basetx?|auto|sx|fullsx)$")


def new_interface(name: str) -> Interface:
    """A port of which only the name is known yet: its speed and its parent follow from it."""
    speed = next((bps for sign, bps in SPEED_BY_NAME if sign.match(name)), None)
    return Interface(name, speed_bps=speed, parent=parent_of(name))


def read_interface(reading: Reading, block: Block) -> None:
    """`interface NAME` with its lines, or the one line of PIX 6 (`interface ethernet0 100full [shutdown]`)."""
    words = Words(block.words, 1)
    name = words.next("an interface")
    interface = reading.interfaces.get(name) or new_interface(name)
    if words and not block.children:
        interface = _hardware(interface, words.rest().lower().split())
    lines = [block.number]
    for child in block.children:
        try:
            found = _interface_line(interface, child)
        except NotUnderstood as reason:
            reading.ledger.unparsed(child.line, str(reason))
            continue
        if found is not None:
            interface = found
            lines.append(child.number)
            reading.ledger.understood(child.number)
    interface = replace(interface, lines=(*interface.lines, *lines))
    reading.interfaces[name] = interface
    if interface.zone:
        _zone(reading, interface.zone, interface.name, block.number)


def _hardware(interface: Interface, words: list[str]) -> Interface:
    """`100full`, `10baset`, `1000auto`, `auto`, then `shutdown` (PIX 6.3 command reference, interface)."""
    speed = SPEED_OF_PIX.match(words[0])
    if speed is not None:
        interface = replace(interface, speed_bps=int(speed[1]) * 10**6)
    return replace(interface, enabled="shutdown" not in words)


def _interface_line(interface: Interface, child: Block) -> Interface | None:
    """The interface with one more line; None when the line says nothing about policy (the ignore list decides)."""
    words = Words(child.words)
    word = words.next().lower()
    if word == "nameif":
        return replace(interface, zone=words.next("a name"))
    if word == "description":
        return replace(interface, description=child.text.partition(" ")[2].strip())
    if word == "vrf" and words.accept("forwarding"):
        return replace(interface, vrf=words.next("a VRF"))
    if word == "shutdown":
        return replace(interface, enabled=False)
    if word == "speed" and is_decimal(words.peek()):
        return replace(interface, speed_bps=number_in(words.next(), 1, 10**6, "a speed in Mbit/s") * 10**6)
    if word in ("ip", "ipv6") and words.accept("address"):
        text = interface_address(words, word)
        return replace(interface, addresses=(*interface.addresses, text)) if text else interface
    if word in ("security-level", "switchport", "zone-member") or child.text in (
        "no shutdown",
        "no nameif",
        "no security-level",
        "no ip address",
    ):
        return interface
    return None


def read_nameif(reading: Reading, block: Block) -> None:
    """PIX 6: `nameif ethernet0 outside security0`."""
    words = Words(block.words, 1)
    hardware, zone = words.next("an interface"), words.next("a name")
    known = reading.interfaces.get(hardware) or new_interface(hardware)
    reading.interfaces[hardware] = replace(known, zone=zone, lines=(*known.lines, block.number))
    _zone(reading, zone, hardware, block.number)


def read_ip(reading: Reading, block: Block) -> None:
    """PIX 6: `ip address outside 192.0.2.1 255.255.255.0`; other `ip ..` lines are not policy."""
    words = Words(block.words, 1)
    if not words.accept("address"):
        raise NotUnderstood("not understood")
    zone = words.next("an interface")
    text = interface_address(words, "ip")
    known = reading.interfaces.get(reading.hardware.get(zone, ""))
    if known is not None and text:
        reading.interfaces[known.name] = replace(known, addresses=(*known.addresses, text), lines=(*known.lines, block.number))


def _zone(reading: Reading, name: str, member: str, line: int) -> None:
    reading.hardware[name] = member
    reading.zone_members.setdefault(name, []).append(member)
    reading.zone_lines.setdefault(name, []).append(line)


def zones(reading: Reading) -> tuple[Zone, ...]:
    return tuple(
        Zone(name, tuple(dict.fromkeys(members)), tuple(reading.zone_lines[name]))
        for name, members in reading.zone_members.items()
    )


def read_schedule(reading: Reading, block: Block) -> None:
    reading.schedules.append(read_time_range(block, reading.ledger))
