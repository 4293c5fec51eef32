"""Interfaces and lines with what is bound to them; time ranges; the other places that name an access list."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from policyhub.domain.device_config import Interface
from policyhub.vendorkit.blocks import Block
from policyhub.vendorkit.ios_ports import parent_of
from policyhub.vendorkit.ios_reading import read_access_class
from policyhub.vendorkit.lexing import NotUnderstood, Words, interface_address, is_decimal
from policyhub.vendorkit.time_ranges import read_time_range
from policyhub.vendors.cisco_ios import maps, port_queues, rates
from policyhub.vendors.cisco_ios.reading import Reading

SPEED_BY_NAME = tuple(
    (re.compile(rf"^{prefix}", re.IGNORECASE), bps)
    for prefix, bps in (
        ("fastethernet", 10**8),
        ("gigabitethernet", 10**9),
        ("twogigabitethernet", 25 * 10**8),
        ("fivegigabitethernet", 5 * 10**9),
        ("tengigabitethernet", 10**10),
        ("twentyfivegig", 25 * 10**9),
        ("fortygig", 4 * 10**10),
        ("hundredgig", 10**11),
        ("twohundredgig", 2 * 10**11),
        ("fourhundredgig", 4 * 10**11),
        ("ethernet", 10**7),
    )
)
VRF = re.compile(r"(?:ip )?vrf forwarding (\S+)", re.IGNORECASE)
MTU = re.compile(r"(?:ip )?mtu (\d{2,5})", re.IGNORECASE)
NOT_POLICY = ("switchport", "no switchport")
UNDERSTOOD = (
    "no ip address",
    "no shutdown",
    "ip unnumbered",
    "no ip access-group",
    "no ipv6 traffic-filter",
    "no service-policy",
)


@dataclass(slots=True)
class _Port:
    interface: Interface
    place: str


def read_interface(reading: Reading, block: Block) -> None:
    """The interface and everything below it; a `service instance` is a place of its own."""
    name = re.sub(r"^([A-Za-z-]+) (\d)", r"\1\2", Words(block.words, 1).rest())
    if not name:
        raise NotUnderstood("interface needs a name")
    speed = next((bps for sign, bps in SPEED_BY_NAME if sign.match(name)), None)
    port = _Port(reading.interfaces.get(name) or Interface(name, speed_bps=speed, parent=parent_of(name)), name)
    lines = [block.number]
    for child in block.children:
        _book(reading, port, child, lines)
        port.place = f"{name} {child.text}"
        for below in child.below():
            _book(reading, port, below, lines)
        port.place = name
    reading.interfaces[name] = replace(port.interface, lines=(*port.interface.lines, *lines))


def _book(reading: Reading, port: _Port, child: Block, lines: list[int]) -> None:
    try:
        taken = _bound(reading, port.place, child) or _line(reading, port, child)
    except NotUnderstood as reason:
        reading.ledger.unparsed(child.line, str(reason))
        return
    if taken:
        lines.append(child.number)
        reading.ledger.understood(child.number)


def _bound(reading: Reading, place: str, child: Block) -> bool:
    """Access lists, QoS policies and trust; False when the line is none of them."""
    words = Words(child.words)
    first, second = words.peek().lower(), words.peek(1).lower()
    if first == "ip" and second == "access-group":
        _bind(reading, 4, place, child, 2)
    elif first == "ipv6" and second == "traffic-filter":
        _bind(reading, 6, place, child, 2)
    elif first == "mac" and second == "access-group":
        _bind(reading, 0, place, child, 2)
    elif first == "service-policy":
        _attach(reading, place, child)
    elif first == "ip" and second == "nat" and words.peek(2).lower() in ("inside", "outside", "enable") and len(words.words) == 3:
        reading.nat_sides.setdefault(words.peek(2).lower(), []).append(place)
    elif first == "mls" and words.peek(2).lower() == "dscp-mutation" and words.peek(3):
        reading.mutations.setdefault(words.peek(3), []).append(place)
    elif first in port_queues.WORDS or port_queues.NOTED.match(child.text):
        port_queues.read_line(reading, place, child)
    elif first == "rate-limit":
        rates.read_line(reading, place, child)
    elif first in ("mls", "qos", "no") and "trust" in child.text:
        maps.read_trust(reading, place, child)
    else:
        return False
    return True


def _bind(reading: Reading, family: int, place: str, child: Block, at: int) -> None:
    words = Words(child.words, at)
    name, direction = words.next("an access list"), words.next("in or out").lower()
    if direction not in ("in", "out"):
        raise NotUnderstood(f"{direction[:40]!r} is not in or out")
    words.accept("common")
    words.end()
    reading.bind(family, name, place, direction, child.number)


def _attach(reading: Reading, place: str, child: Block) -> None:
    words, _ = reading.mqc.typed(child)
    direction = words.next("input or output").lower()
    if direction not in ("input", "output"):
        raise NotUnderstood(f"{direction[:40]!r} is not input or output")
    reading.attach(words.next("a policy map"), place, "in" if direction == "input" else "out", child.number)
    words.end()


def _line(reading: Reading, port: _Port, child: Block) -> bool:
    """What the interface itself says; False leaves the line to the ignore list."""
    words = Words(child.words)
    word, interface = words.next().lower(), port.interface
    if child.text.lower().startswith(UNDERSTOOD) or child.text.lower().startswith(NOT_POLICY):
        return True
    if word == "description":
        port.interface = replace(interface, description=child.text.partition(" ")[2].strip())
    elif word == "shutdown":
        port.interface = replace(interface, enabled=False)
    elif word == "speed" and is_decimal(words.peek()):
        port.interface = replace(interface, speed_bps=int(words.next()[:7]) * 10**6)
    elif word == "bandwidth" and is_decimal(words.peek()):
        return True  # a metric for routing and percentages; the port's speed is another thing
    elif (found := VRF.fullmatch(child.text)) is not None:
        port.interface = replace(interface, vrf=found[1])
    elif (found := MTU.fullmatch(child.text)) is not None:
        port.interface = replace(interface, mtu=int(found[1]))
    elif word in ("ip", "ipv6") and words.accept("address"):
        text = interface_address(words, word)
        port.interface = replace(interface, addresses=(*interface.addresses, text)) if text else interface
    elif word == "zone-member" and words.accept("security"):
        zone = words.next("a zone")
        port.interface = replace(interface, zone=zone)
        reading.zone_members.setdefault(zone, []).append(interface.name)
        reading.zone_lines.setdefault(zone, []).append(child.number)
    else:
        return False
    return True


def read_line(reading: Reading, block: Block) -> None:
    """`line vty 0 4` with `access-class NAME in [vrf-also]`."""
    read_access_class(reading, block.text.removeprefix("line "), block)


def read_control_plane(reading: Reading, block: Block) -> None:
    for child in block.children:
        if child.words[0].lower() == "service-policy":
            with reading.ledger.booking(child.line):
                _attach(reading, block.text, child)


def read_snmp(reading: Reading, block: Block) -> None:
    """`snmp-server community X RO|RW [ipv6 LIST] [LIST]`: who may ask the agent. The community itself is not kept."""
    words = block.words
    if len(words) < 4 or words[1].lower() != "community":
        raise NotUnderstood("not understood")
    rest = [word for word in words[3:] if word.lower() not in ("ro", "rw", "view", "ipv6")]
    if rest and len(rest) == len([w for w in words[3:] if w.lower() not in ("ro", "rw")]):
        reading.bind(4, rest[-1], "snmp", "local", block.number)


def read_access_user(reading: Reading, block: Block) -> None:
    """`ip http access-class [ipv4] N`, `ntp access-group peer N`, `ip ssh .. access`: lists of the management plane."""
    words = block.words
    for at, word in enumerate(words[1:-1], 1):
        if word.lower() in ("access-class", "access-group"):
            reading.bind(4, words[-1], " ".join(words[:at]), "local", block.number)
            return
    raise NotUnderstood("not understood")


def read_schedule(reading: Reading, block: Block) -> None:
    reading.schedules.append(read_time_range(block, reading.ledger))
