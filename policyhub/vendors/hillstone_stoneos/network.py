"""Zones, interfaces and static routes."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field

from policyhub.domain.device_config import Interface, Route
from policyhub.domain.objects import Zone
from policyhub.vendorkit.lexing import NotUnderstood, Words, is_decimal
from policyhub.vendors.hillstone_stoneos.objects import lines_of, merged
from policyhub.vendors.hillstone_stoneos.reading import Reading
from policyhub.vendors.hillstone_stoneos.tree import Node

MAIN = "trust-vr"
ADDRESSED = ("ip", "ipv6")


@dataclass(slots=True)
class _Port:
    addresses: list[str] = field(default_factory=list)
    description: str = ""
    zone: str = ""
    enabled: bool = True
    mtu: int | None = None


def read_interfaces(reading: Reading, zones: list[Node], interfaces: list[Node]) -> None:
    """Interfaces name their zone; zones their virtual router. Other lines are left to the ignore list."""
    routers: dict[tuple[str, str], str] = {}
    for (context, name), places in merged(zones).items():
        for node in places:
            reading.book(node)
            for child in node.children:
                if child.words[0] in ("vrouter", "bind") and len(child.words) > 1:
                    routers[context, name] = child.words[-1]
                    reading.book(child)
    members: dict[tuple[str, str], list[str]] = {}
    for (context, name), places in merged(interfaces).items():
        port = _Port()
        for node in places:
            reading.book(node)
            for child in node.children:
                _interface_line(reading, port, child)
        if port.zone:
            members.setdefault((context, port.zone), []).append(name)
        router = routers.get((context, port.zone), "")
        reading.interfaces.append(
            Interface(
                name,
                tuple(port.addresses),
                port.description,
                port.zone,
                None,
                port.enabled,
                lines_of(places),
                "" if router == MAIN else router,
                context,
                port.mtu,
                name.rpartition(".")[0],
            )
        )
    for (context, name), places in merged(zones).items():
        reading.zones.append(Zone(name, tuple(members.get((context, name), ())), lines_of(places), context))


def _interface_line(reading: Reading, port: _Port, node: Node) -> None:
    words = node.words
    if words[0] in ADDRESSED and words[1:2] == ["address"]:
        _address(reading, port, node, words[2:])
    elif words[0] == "zone" and len(words) > 1:
        port.zone = words[1]
        reading.book(node)
    elif words[0] == "description":
        port.description = " ".join(words[1:])
        reading.book(node)
    elif words[0] == "shutdown":
        port.enabled = False
        reading.book(node)
    elif words[0] == "mtu" and len(words) > 1 and is_decimal(words[1]) and len(words[1]) < 6:
        port.mtu = int(words[1])
        reading.book(node)


def _address(reading: Reading, port: _Port, node: Node, words: list[str]) -> None:
    """`A M` or `A/LEN`; `dhcp`, `pppoe` and the like give none."""
    text = words[0] if words else ""
    if "." not in text and ":" not in text:
        reading.book(node)
        return
    mask = words[1] if len(words) > 1 and words[1][:1].isdigit() and "/" not in text else ""
    try:
        port.addresses.append(str(ipaddress.ip_interface(f"{text}/{mask}" if mask else text)))
        reading.book(node)
    except ValueError:
        reading.ledger.unparsed(node.line, "not an address with a mask")


def read_routes(reading: Reading, vrouters: list[Node]) -> None:
    for block in vrouters:
        reading.book(block)
        router = block.words[2] if len(block.words) > 2 else ""
        for node in block.children:
            if node.words[0] in ADDRESSED and node.words[1:2] == ["route"]:
                try:
                    route = _route(Words(node.words, 2), "" if router == MAIN else router, block.context, node.all_numbers())
                except (NotUnderstood, ValueError) as reason:
                    reading.ledger.unparsed(node.line, str(reason))
                    continue
                reading.routes.append(route)
                reading.book(node)


def _route(words: Words, vrf: str, context: str, lines: tuple[int, ...]) -> Route:
    """`PREFIX [INTERFACE|VROUTER] [NEXT HOP] [PRECEDENCE] ..`. Raises NotUnderstood, ValueError."""
    prefix = words.next("a prefix")
    if "/" not in prefix:
        prefix = f"{prefix}/{words.next('a mask')}"
    prefix = str(ipaddress.ip_network(prefix, strict=False))
    interface = next_hop = ""
    distance: int | None = None
    while words:
        word = words.next()
        if is_decimal(word) and len(word) < 4:
            distance = int(word) if distance is None else distance
        elif word in ("weight", "tag", "schedule", "description", "bfd"):
            words.accept("enable") or words.next("a value")
        elif _is_address(word):
            next_hop = word
        elif not interface:
            interface = word
    discard = interface.lower() == "null0"
    return Route(prefix, next_hop, "" if discard else interface, vrf, context, distance, discard, lines)


def _is_address(word: str) -> bool:
    try:
        ipaddress.ip_address(word)
    except ValueError:
        return False
    return True
