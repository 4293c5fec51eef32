"""`show configuration` of Gaia's clish: interfaces, static routes, host name."""

from __future__ import annotations

import ipaddress
import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass, field

from policyhub.domain.device_config import Interface, Route
from policyhub.vendorkit.blocks import Line
from policyhub.vendorkit.lexing import NotUnderstood, Words, is_decimal, number_in
from policyhub.vendors.checkpoint_gaia.reading import Reading

SPEED = re.compile(r"^(\d{1,6})([MG])/(half|full)$")
UNITS = {"M": 10**6, "G": 10**9}
PBR = "routing by source is not modelled"
SETTINGS = ("ipv4-address", "ipv6-address", "comments", "state", "mtu", "link-speed")
QUIET = frozenset(
    ("auto-negotiation", "mac-addr", "monitor-mode", "rx-ringsize", "tx-ringsize", "ipv6-autoconfig", "6in4", "6to4", "loopback",
     "alias", "kernel-routes", "dhcp", "off", "multi-queue", "vmac-mode")
)  # fmt: skip


@dataclass(slots=True)
class Port:
    """An interface while its lines come in."""

    name: str
    addresses: dict[str, str] = field(default_factory=dict)
    description: str = ""
    speed_bps: int | None = None
    enabled: bool = True
    mtu: int | None = None
    parent: str = ""
    lines: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Hop:
    """One next hop of a static route."""

    address: str = ""
    interface: str = ""
    discard: bool = False
    distance: int | None = None
    lines: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Clish:
    """What the commands made so far. Keys of ports and routes begin with the context."""

    hostname: str = ""
    context: str = ""
    ports: dict[tuple[str, str], Port] = field(default_factory=dict)
    routes: dict[tuple[str, str], dict[str, Hop]] = field(default_factory=dict)

    def port(self, name: str, line: Line) -> Port:
        found = self.ports.setdefault((self.context, name), Port(name))
        found.lines.append(line.number)
        return found

    def interfaces(self) -> tuple[Interface, ...]:
        return tuple(
            Interface(
                port.name, tuple(port.addresses.values()), port.description, speed_bps=port.speed_bps, enabled=port.enabled,
                lines=tuple(port.lines), context=context, mtu=port.mtu, parent=port.parent or self._parent(context, port.name),
            )
            for (context, _), port in self.ports.items()
        )  # fmt: skip

    def _parent(self, context: str, name: str) -> str:
        base, dot, number = name.rpartition(".")
        return base if dot and is_decimal(number) and (context, base) in self.ports else ""

    def static_routes(self) -> tuple[Route, ...]:
        return tuple(
            Route(prefix, hop.address, hop.interface, "", context, hop.distance, hop.discard, tuple(hop.lines))
            for (context, prefix), hops in self.routes.items()
            for hop in hops.values()
        )


def read_command(reading: Reading, clish: Clish, line: Line) -> None:
    """One line; those that no handler knows are left to the ignore list."""
    words = Words(split(line.text))
    verb = words.accept("set", "add", "delete")
    if not verb:
        return
    handler = HANDLERS.get(words.next("a word").lower()) if words else None
    if handler is None or verb == "delete":
        return
    try:
        if handler(clish, line, words, verb):
            reading.ledger.understood(line.number)
    except NotUnderstood as reason:
        reading.ledger.unparsed(line, str(reason))


def split(text: str) -> list[str]:
    """Words; quotes hold one, a quote that is never closed is a letter."""
    if '"' not in text and "'" not in text:
        return text.split()
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()


def _hostname(clish: Clish, _: Line, words: Words, verb: str) -> bool:
    clish.hostname = words.next("a name")
    return verb == "set"


def _virtual_system(clish: Clish, _: Line, words: Words, verb: str) -> bool:
    number = words.next("a number")
    clish.context = "" if number == "0" else f"vs {number}"
    return verb == "set"


def _interface(clish: Clish, line: Line, words: Words, verb: str) -> bool:
    name = words.next("an interface")
    key = words.next("a setting").lower()
    if verb == "add":
        if key == "vlan":
            child = clish.port(f"{name}.{words.next('a VLAN')}", line)
            child.parent = name
            return True
        if key == "alias":
            address = words.next("an address")
            clish.port(name, line).addresses[address] = _with_length(address)
            words.end()
            return True
        return False
    if key in QUIET:
        return False
    if key not in SETTINGS:
        raise NotUnderstood(f"{key[:40]!r} is not understood in an interface")
    port = clish.port(name, line)
    if key in ("ipv4-address", "ipv6-address"):
        port.addresses[key] = _address(words)
    elif key == "comments":
        port.description = words.rest()
    elif key == "state":
        port.enabled = words.next("on or off") != "off"
    elif key == "mtu":
        port.mtu = number_in(words.next("a size"), 68, 65535, "an MTU")
    else:
        found = SPEED.match(words.next("a speed"))
        if found is None:
            raise NotUnderstood("not a speed")
        port.speed_bps = int(found[1]) * UNITS[found[2]]
    words.end()
    return True


def _address(words: Words) -> str:
    """`A mask-length N` or `A subnet-mask M`."""
    address = words.next("an address")
    words.accept("mask-length", "subnet-mask")
    return _with_length(f"{address}/{words.next('a mask')}")


def _with_length(text: str) -> str:
    try:
        return str(ipaddress.ip_interface(text))
    except ValueError as error:
        raise NotUnderstood(f"{text[:40]!r} is not an address with a mask") from error


def _bonding(clish: Clish, line: Line, words: Words, verb: str) -> bool:
    """`add bonding group N [interface IF]`: the bond is named bondN."""
    if verb != "add" or not words.accept("group"):
        return False
    bond = f"bond{words.next('a number')}"
    if words.accept("interface"):
        clish.port(words.next("an interface"), line).parent = bond
    else:
        clish.port(bond, line)
    words.end()
    return True


def _ipv6(clish: Clish, line: Line, words: Words, verb: str) -> bool:
    return _route(clish, line, words, verb, "::/0") if words.accept("static-route") else False


def _ipv4_route(clish: Clish, line: Line, words: Words, verb: str) -> bool:
    return _route(clish, line, words, verb, "0.0.0.0/0")


def _route(clish: Clish, line: Line, words: Words, verb: str, default: str) -> bool:
    """`PREFIX nexthop gateway address A [priority N] on|off`, `.. logical IF on`, `nexthop blackhole|reject`, `off`."""
    prefix = words.next("a prefix")
    prefix = default if prefix == "default" else _prefix(prefix)
    hops = clish.routes.setdefault((clish.context, prefix), {})
    if words.accept("off"):
        hops.clear()
    elif words.accept("nexthop"):
        _next_hop(hops, line, words)
    elif words.accept("rank"):
        rank = number_in(words.next("a rank"), 0, 255, "a rank")
        for hop in hops.values():
            hop.distance = rank
            hop.lines.append(line.number)
        return bool(hops)
    elif words.accept("comment", "ping", "scopelocal"):
        words.rest()
    words.end()
    return verb == "set"


def _prefix(text: str) -> str:
    try:
        return str(ipaddress.ip_network(text, strict=False))
    except ValueError as error:
        raise NotUnderstood(f"{text[:40]!r} is not a prefix") from error


def _next_hop(hops: dict[str, Hop], line: Line, words: Words) -> None:
    kind = words.next("a next hop").lower()
    if kind in ("blackhole", "reject"):
        hops[kind] = Hop(discard=True, lines=[line.number])
        words.accept("on")
        return
    if kind != "gateway":
        raise NotUnderstood(f"{kind[:40]!r} is not a next hop")
    way = words.accept("address", "logical")
    name = words.next("a gateway")
    priority: int | None = None
    interface = ""
    while option := words.accept("priority", "interface", "monitored-ip", "monitored-ip-option"):
        value = words.next("a value")
        if option == "priority":
            priority = number_in(value, 0, 255, "a priority")
        elif option == "interface":
            interface = value
        elif name in hops or words.accept("off"):  # says when a hop is taken away, and is no hop itself
            words.rest()
            if name in hops:
                hops[name].lines.append(line.number)
            return
    if words.accept("off"):
        hops.pop(name, None)
        return
    if not words.accept("on") and words:
        raise NotUnderstood(f"{words.peek()[:40]!r} is not understood in a route")
    hop = hops.setdefault(name, Hop(name if way != "logical" else "", name if way == "logical" else interface))
    hop.distance = priority if priority is not None else hop.distance
    hop.lines.append(line.number)


def _pbr(_: Clish, __: Line, ___: Words, ____: str) -> bool:
    raise NotUnderstood(PBR)


HANDLERS: dict[str, Callable[[Clish, Line, Words, str], bool]] = {
    "hostname": _hostname,
    "interface": _interface,
    "bonding": _bonding,
    "static-route": _ipv4_route,
    "ipv6": _ipv6,
    "virtual-system": _virtual_system,
    "pbr": _pbr,
}
