"""What the handlers of one parse share: the books, named operands of each vsys and what was collected so far."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files

from policyhub.domain.addresses import ANY, ANY4, ANY6, NOWHERE, AddressSet, Interval
from policyhub.domain.objects import Schedule
from policyhub.domain.services import ANY_SERVICE, ICMP, ICMPV6, MAX_PORT, SCTP, TCP, UDP, Service
from policyhub.vendorkit.collected import Collected
from policyhub.vendorkit.lexing import (
    NotUnderstood,
    Words,
    host_set,
    is_decimal,
    masked_set,
    number_in,
    prefix_set,
    range_set,
)
from policyhub.vendorkit.operands import NameTable, Services, address_table, service_table
from policyhub.vendors.hillstone_stoneos.tree import Node

PACKAGE = "policyhub.vendors.hillstone_stoneos"
PROTOCOLS = {"tcp": TCP, "udp": UDP, "sctp": SCTP}
EVERYBODY: dict[str, AddressSet] = {"any": ANY4, "ipv6-any": ANY6}
PREDEFINED: dict[str, str] = json.loads(files(PACKAGE).joinpath("names.json").read_text(encoding="utf-8"))["services"]


@dataclass(slots=True)
class Operand:
    """Addresses or a name of a rule. `name`: what the rule refers to, "" for a literal."""

    value: AddressSet
    unresolved: tuple[str, ...] = ()
    name: str = ""


@dataclass(slots=True)
class Scope:
    """One vsys: its own names."""

    name: str = ""
    addresses: NameTable[AddressSet] = field(default_factory=address_table)
    services: NameTable[Services] = field(default_factory=service_table)
    schedules: dict[str, Schedule] = field(default_factory=dict)
    zone_vrouter: dict[str, str] = field(default_factory=dict)

    @property
    def prefix(self) -> str:
        return f"{self.name}/" if self.name else ""

    def address(self, name: str) -> Operand:
        """A name of the address book."""
        everybody = EVERYBODY.get(name.lower())
        if everybody is not None and name not in self.addresses:
            return Operand(everybody)
        found = self.addresses.resolve(name)
        return Operand(ANY if found.unresolved else found.value, found.unresolved, name)

    def operand(self, words: Words) -> Operand:
        """A literal or a name, with or without its type in front (`address-book X`, `ip A/L`, `range A B`, `host X`)."""
        kind = words.accept("address-book", "addressbook", "ip", "range", "host")
        if kind in ("address-book", "addressbook"):
            return self.address(words.next("a name"))
        if kind == "range":
            return Operand(read_range(words))
        if kind == "host":
            return Operand(ANY, (words.next("a name"),))
        found = host_set(words.peek()) or prefix_set(words.peek())
        if found is None:
            return self.address(words.next("an address"))
        return Operand(read_address(words))

    def service(self, name: str) -> tuple[Services, tuple[str, ...], str]:
        """Services, what is unresolved, and the name unless it is a predefined one."""
        if name in self.services:
            found = self.services.resolve(name)
            value = found.value if not found.unresolved else (ANY_SERVICE,)
            return value, found.unresolved, name
        known = predefined(name)
        return (known, (), "") if known is not None else ((ANY_SERVICE,), (name,), name)


@dataclass(slots=True)
class Reading(Collected):
    scopes: dict[str, Scope] = field(default_factory=dict)
    translated: set[str] = field(default_factory=set)

    def scope(self, context: str) -> Scope:
        return self.scopes.setdefault(context, Scope(context))

    def book(self, node: Node) -> None:
        self.ledger.understood(*node.numbers)


def predefined(name: str) -> Services | None:
    """A service that every device has, or Any."""
    return _predefined(PREDEFINED.get(name.lower(), ""))


@cache
def _predefined(text: str) -> Services | None:
    """text: a value of names.json, so the cache is no larger than the file."""
    if not text:
        return None
    if text == "any":
        return (ANY_SERVICE,)
    return tuple(read_service(Words(_as_lines(part))) for part in text.split(", "))


def _as_lines(text: str) -> list[str]:
    """`tcp 80-90` of names.json in the words of a configuration."""
    kind, _, number = text.partition(" ")
    if kind == "proto":
        return ["protocol", number]
    if kind.startswith("icmp"):
        return [kind, "type", number] if number else [kind]
    return [kind, "dst-port", *number.split("-")]


def read_service(words: Words) -> Service:
    """`tcp|udp|sctp dst-port A [B] [src-port C [D]]`, `icmp[v6] [type T [code A [B]]]`, `protocol N`. Raises NotUnderstood."""
    kind = words.next("a protocol").lower()
    if kind == "protocol":
        return Service.of(number_in(words.next("a protocol"), 0, 255, "a protocol"))
    if kind in ("icmp", "icmpv6"):
        return _icmp(words, ICMP if kind == "icmp" else ICMPV6)
    if kind not in PROTOCOLS:
        raise NotUnderstood(f"{kind[:40]!r} is not a protocol")
    destination = _ports(words) if words.accept("dst-port") else None
    source = _ports(words) if words.accept("src-port") else None
    return Service.of(PROTOCOLS[kind], destination, source)


def _icmp(words: Words, protocol: int) -> Service:
    if not words.accept("type"):
        return Service.of(protocol)
    kind = number_in(words.next("a type"), 0, 255, "an ICMP type")
    low, high = 0, 255
    if words.accept("code"):
        low = high = number_in(words.next("a code"), 0, 255, "an ICMP code")
        if is_decimal(words.peek()):
            high = number_in(words.next("a code"), low, 255, "an ICMP code")
    return Service.of(protocol, ((kind * 256 + low, kind * 256 + high),))


def _ports(words: Words) -> tuple[Interval, ...]:
    low = number_in(words.next("a port"), 0, MAX_PORT, "a port")
    high = number_in(words.next("a port"), 0, MAX_PORT, "a port") if is_decimal(words.peek()) else low
    return ((min(low, high), max(low, high)),)


def read_address(words: Words) -> AddressSet:
    """`A/LEN`, `A MASK` or one address. Raises NotUnderstood."""
    first = words.next("an address")
    found = prefix_set(first)
    if found is None and "/" in first:  # A/M with a dotted mask
        base, _, mask = first.partition("/")
        found = masked_set(base, mask)
    if found is None and host_set(words.peek()) is not None and "." in words.peek():
        found = masked_set(first, words.next("a mask"))
    found = found or host_set(first)
    if found is None:
        raise NotUnderstood(f"{first[:40]!r} is not an address")
    return found


def read_range(words: Words) -> AddressSet:
    """`A [B]`. Raises NotUnderstood."""
    first = words.next("an address")
    last = words.next("an address") if host_set(words.peek()) is not None else first
    found = range_set(first, last)
    if found is None:
        raise NotUnderstood(f"{first[:40]!r} {last[:40]!r} is not a range of addresses")
    return found


def union(operands: list[Operand]) -> AddressSet:
    """Everything when nothing is given, or when a name is unknown."""
    if not operands or any(one.unresolved for one in operands):
        return ANY
    return NOWHERE.union(*(one.value for one in operands)) if len(operands) > 1 else operands[0].value
