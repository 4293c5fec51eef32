"""Address sets, service sets, domain sets and regions; and the words by which rules and sets name addresses and services."""

from __future__ import annotations

import re
from dataclasses import dataclass

from policyhub.domain.addresses import ANY, AddressSet
from policyhub.domain.objects import AddressObject, ObjectGroup, ServiceObject
from policyhub.domain.services import ICMP, ICMPV6, Service
from policyhub.vendorkit.blocks import Block
from policyhub.vendorkit.lexing import (
    NotUnderstood,
    Words,
    host_set,
    is_decimal,
    masked_set,
    number_in,
    prefix_set,
    range_set,
    wildcard_set,
)
from policyhub.vendorkit.operands import Resolved, Services, compact
from policyhub.vendorkit.service_names import icmp_service
from policyhub.vendorkit.vrp_lines import quoted_words
from policyhub.vendors.huawei_usg.reading import NAMES, PREDEFINED, Reading, Vsys

OPEN_KINDS = ("domain-set", "geo-location", "geo-location-set", "isp", "isp-set", "mac-address", "region", "region-set")
REFERRED = ("domain-set", "geo-location", "geo-location-set", "region", "region-set")
MAC = re.compile(r"^[0-9a-f]{1,4}-[0-9a-f]{1,4}-[0-9a-f]{1,4}$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Operand:
    """One line's operand: a value, names of sets, or what only the device can resolve (`kind name`)."""

    value: AddressSet | None = None
    names: tuple[str, ...] = ()
    open: tuple[str, ...] = ()
    references: tuple[str, ...] = ()


def take_address(words: Words) -> Operand:
    """Everything left on the line as one operand. Raises NotUnderstood."""
    words.accept("ipv6")
    first = words.next("an address")
    kind = first.lower()
    if kind == "any":
        return Operand(ANY)
    if kind in ("address-set", "address-group"):
        names = _names(words)
        return Operand(names=names, references=names)
    if kind in OPEN_KINDS:
        names = _names(words)
        return Operand(open=tuple(f"{kind} {name}" for name in names), references=names if kind in REFERRED else ())
    if MAC.match(kind):
        words.rest()
        return Operand(open=(f"mac-address {first}",))
    if kind == "range":
        value = range_set(words.next("the first address"), words.next("the last address"))
    else:
        value = _network(first, words)
    if words.accept("description"):
        words.rest()
    words.end()
    if value is None:
        raise NotUnderstood(f"{first[:40]!r} is not an address")
    return Operand(value)


def _names(words: Words) -> tuple[str, ...]:
    found = [words.next("a name")]
    while words and words.peek().lower() != "description":
        found.append(words.next())
    words.rest()
    return tuple(found)


def _network(first: str, words: Words) -> AddressSet | None:
    """`A mask M`, `A mask 24`, `A 24`, `A 0` (a wildcard: one host), `A WILDCARD`, `P/L`, `A` alone."""
    if "/" in first:
        return prefix_set(first)
    if words.accept("mask"):
        mask = words.next("a mask")
        return prefix_set(f"{first}/{mask}") if is_decimal(mask) else masked_set(first, mask)
    mask = words.peek()
    if is_decimal(mask):
        words.next()
        is_wildcard = int(mask[:4]) == 0 and first.strip("0.:") != ""
        return host_set(first) if is_wildcard else prefix_set(f"{first}/{mask}")
    if mask.count(".") == 3:
        words.next()
        return masked_set(first, mask) if mask.startswith("255.") else wildcard_set(first, mask)
    return host_set(first)


def take_service(words: Words) -> tuple[Services, tuple[str, ...]]:
    """What follows `service`: products, or names of sets. Raises NotUnderstood."""
    if words.accept("protocol"):
        return (take_protocol(words),), ()
    if words.accept("service-set"):
        return (), _names(words)
    return (), _names(words)


def take_protocol(words: Words) -> Service:
    """`tcp source-port 0 to 65535 destination-port 80 8080 to 8090`, `icmp icmp-type 8 0`, `89`."""
    protocol = NAMES.protocol(words.next("a protocol"))
    made = Service.of(protocol)
    while words:
        word = words.next().lower()
        if word == "source-port":
            made = Service(made.protocols, _ports(words, protocol), made.destination_ports)
        elif word == "destination-port":
            made = Service(made.protocols, made.source_ports, _ports(words, protocol))
        elif word in ("icmp-type", "icmp6-type", "type") and protocol in (ICMP, ICMPV6):
            made = _icmp(words, protocol)
        elif word == "description":
            words.rest()
        else:
            raise NotUnderstood(f"{word[:40]!r} is not understood in a service")
    return made


def _ports(words: Words, protocol: int | None) -> tuple[tuple[int, int], ...]:
    found: list[tuple[int, int]] = []
    while words and NAMES.knows_port(words.peek(), protocol):
        low = high = NAMES.port(words.next(), protocol)
        if words.accept("to"):
            high = NAMES.port(words.next("a port"), protocol)
        found.append((min(low, high), max(low, high)))
    if not found:
        raise NotUnderstood(f"{words.peek()[:40]!r} is not a port")
    return Service.of(protocol, tuple(found)).destination_ports


def _icmp(words: Words, protocol: int) -> Service:
    first = words.next("an ICMP type")
    known = NAMES.icmp_type(first, protocol)
    if known is None:
        raise NotUnderstood(f"{first[:40]!r} is not an ICMP type")
    kind, code = known
    words.accept("code")
    if is_decimal(words.peek()):
        code = number_in(words.next(), 0, 255, "an ICMP code")
        if words.accept("to"):
            last = number_in(words.next("a code"), 0, 255, "an ICMP code")
            return Service.of(protocol, ((kind * 256 + code, kind * 256 + max(code, last)),))
    return icmp_service(kind, code, protocol)


def resolve_service(vsys: Vsys, name: str) -> Resolved[Services]:
    """Own sets hide predefined ones."""
    if name in vsys.services:
        return vsys.services.resolve(name)
    known = PREDEFINED.get(name.lower())
    return Resolved(known) if known is not None else Resolved((), (name,))


def read_set(reading: Reading, block: Block) -> None:
    """`ip address-set N type object|group`, `ip service-set N type object|group [ID]`."""
    words = Words(quoted_words(block.text), 1)
    kind = words.next("a kind of set").lower()
    name = words.next("a name")
    as_group = words.accept("type") == "type" and words.next("object or group").lower() == "group"
    members: list[str] = []
    text = ""
    define = reading.now.addresses.define if kind == "address-set" else reading.now.services.define
    define(name)
    if kind == "service-set":
        reading.now.own_services.add(name)
    for child in block.children:
        below = Words(quoted_words(child.text))
        word = below.next().lower()
        try:
            if word == "description":
                text = child.text.partition(" ")[2].strip()
            elif word == "address" and kind == "address-set":
                members.append(_address_member(reading.now, name, below))
            elif word == "service" and kind == "service-set":
                members.append(_service_member(reading.now, name, below))
            else:
                continue
            reading.ledger.understood(child.number)
        except NotUnderstood as reason:
            reading.ledger.unparsed(child.line, str(reason))
            table = reading.now.addresses if kind == "address-set" else reading.now.services
            table.leave_open(name, f"{name}: line {child.number}")
    if as_group:
        group = "network" if kind == "address-set" else "service"
        reading.groups.append(ObjectGroup(name, group, tuple(members), block.numbers, context=reading.now.name))
    else:
        reading.now.objects.append((name, block, text if kind == "address-set" else "service"))


def _address_member(vsys: Vsys, name: str, words: Words) -> str:
    if is_decimal(words.peek()) and words.peek(1):
        words.next()
    member = " ".join(words.words[words.at :])
    operand = take_address(words)
    if operand.value is not None:
        vsys.addresses.add(name, operand.value)
    for other in operand.names:
        vsys.addresses.refer(name, other)
    for what in operand.open:
        vsys.addresses.leave_open(name, what)
    return operand.names[0] if operand.names else member


def _service_member(vsys: Vsys, name: str, words: Words) -> str:
    if is_decimal(words.peek()) and words.peek(1):
        words.next()
    member = " ".join(words.words[words.at :])
    values, names = take_service(words)
    if values:
        vsys.services.add(name, values)
    for other in names:
        if other.lower() in PREDEFINED and other not in vsys.services:
            vsys.services.add(other, PREDEFINED[other.lower()])
        vsys.services.refer(name, other)
    return names[0] if names else member


def settle_objects(reading: Reading) -> None:
    """Objects with what they stand for, once all sets are known."""
    for vsys in reading.systems.values():
        for name, block, text in vsys.objects:
            if "service-set" in block.words[1].lower():
                services = resolve_service(vsys, name)
                reading.services.append(ServiceObject(name, compact(services.value), block.numbers, vsys.name))
            else:
                known = vsys.addresses.resolve(name)
                addresses = None if known.unresolved else known.value
                made = AddressObject(name, addresses, lines=block.numbers, text=text, context=vsys.name)
                reading.addresses.append(made)


def read_domain_set(reading: Reading, block: Block) -> None:
    """`domain-set name D` with `add domain www.example.com`."""
    words = Words(quoted_words(block.text), 1)
    words.accept("name")
    _named_texts(reading, block, words.next("a name"), "fqdn", ("add", "domain"))


def read_region(reading: Reading, block: Block) -> None:
    """`geo-location user-defined N`, `geo-location-set N`: where the device's own table says which addresses they are."""
    words = Words(quoted_words(block.text), 1)
    words.accept("user-defined")
    words.accept("name")
    _named_texts(reading, block, words.next("a name"), "geo", ("add",))


def _named_texts(reading: Reading, block: Block, name: str, kind: str, header: tuple[str, ...]) -> None:
    texts: list[str] = []
    for child in block.children:
        words = Words(child.words)
        if words.accept("description"):
            reading.ledger.understood(child.number)
            continue
        if all(words.accept(word) for word in header) and words:
            texts.append(words.rest() if kind == "fqdn" else child.text.partition(" ")[2])
            reading.ledger.understood(child.number)
    made = AddressObject(name, None, kind, block.numbers, ", ".join(texts), reading.now.name)
    reading.addresses.append(made)
