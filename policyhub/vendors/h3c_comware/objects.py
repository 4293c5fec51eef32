"""Object groups, and the words by which rules and groups name addresses and services."""

from __future__ import annotations

from policyhub.domain.addresses import NOWHERE, AddressSet
from policyhub.domain.objects import ObjectGroup
from policyhub.domain.services import ICMP, ICMPV6, Service
from policyhub.vendorkit.blocks import Block
from policyhub.vendorkit.lexing import (
    NotUnderstood,
    Words,
    host_set,
    ipv4_number,
    is_decimal,
    masked_set,
    number_in,
    prefix_set,
    range_set,
    wildcard_set,
)
from policyhub.vendorkit.service_names import icmp_service
from policyhub.vendorkit.vrp_lines import quoted_words
from policyhub.vendors.h3c_comware.reading import NAMES, PREDEFINED, Reading

OPEN_WORDS = ("user", "user-group", "mac", "location", "isp")


def take_subnet(words: Words) -> AddressSet:
    """`A M`, `A L`, `P/L`, `A wildcard W`. Raises NotUnderstood."""
    first = words.next("an address")
    found = prefix_set(first)
    if found is None and words.accept("wildcard"):
        found = wildcard_set(first, words.next("a wildcard"))
    elif found is None and is_decimal(words.peek()):
        found = prefix_set(f"{first}/{words.next()}")
    elif found is None and ipv4_number(words.peek()) is not None:
        found = masked_set(first, words.next())
    return known(found, first)


def take_range(words: Words) -> AddressSet:
    first = words.next("the first address")
    return known(range_set(first, words.next("the last address")), first)


def take_host(words: Words) -> AddressSet:
    first = words.next("an address")
    return known(host_set(first), first)


def known(found: AddressSet | None, text: str) -> AddressSet:
    if found is None:
        raise NotUnderstood(f"{text[:40]!r} is not an address")
    return found


def take_service(words: Words) -> Service:
    """`tcp [source OP P] [destination OP P]`, `icmp [TYPE CODE]`, `89`, all to the end of the line. Raises NotUnderstood."""
    protocol = NAMES.protocol(words.next("a protocol"))
    made = Service.of(protocol)
    if protocol in (ICMP, ICMPV6) and words:
        found = NAMES.icmp_type(words.peek(), protocol)
        if found is None:
            raise NotUnderstood(f"{words.peek()[:40]!r} is not an ICMP type")
        words.next()
        code = number_in(words.next(), 0, 255, "an ICMP code") if is_decimal(words.peek()) else found[1]
        made = icmp_service(found[0], code, protocol)
    while words:
        side = words.accept("source", "destination")
        if not side:
            words.end()
        ports = NAMES.read_ports(words, protocol, several=True)
        if side == "source":
            made = Service(made.protocols, ports, made.destination_ports)
        else:
            made = Service(made.protocols, made.source_ports, ports)
    return made


def read_group(reading: Reading, block: Block) -> None:
    """`object-group {ip|ipv6} address N`, `object-group service|port N`. Raises NotUnderstood for other kinds."""
    words = Words(quoted_words(block.text), 1)
    kind = words.next("a kind").lower()
    if kind in ("ip", "ipv6"):
        if not words.accept("address"):
            raise NotUnderstood("object-group ip address is expected")
    elif kind not in ("service", "port", "mac-address"):
        raise NotUnderstood(f"object groups of {kind[:40]!r} are not modelled")
    name = words.next("a name")
    if kind in ("ip", "ipv6", "mac-address"):
        _address_group(reading, block, name)
    else:
        _service_group(reading, block, name)


def _address_group(reading: Reading, block: Block, name: str) -> None:
    key = name.lower()
    reading.addresses.define(key)
    members: list[str] = []
    excluded: list[str] = []
    values: list[AddressSet] = []
    without: list[AddressSet] = []
    for child in block.children:
        words = Words(quoted_words(child.text))
        if words.accept("description", "security-zone", "object"):
            reading.ledger.understood(child.number)
            continue
        if is_decimal(words.peek()):
            words.next()
        if not words.accept("network", "mac"):
            continue
        try:
            if words.accept("exclude"):
                excluded.append(" ".join(words.words[words.at :]))
                words.accept("host")
                without.append(take_host(words))
            else:
                members.append(_member(reading, key, words, values, excluded, without))
            reading.ledger.understood(child.number)
        except NotUnderstood as reason:
            reading.ledger.unparsed(child.line, str(reason))
            reading.addresses.leave_open(key, f"{name}: line {child.number}")
    reading.addresses.add(key, NOWHERE.union(*values).minus(NOWHERE.union(*without)))
    reading.groups.append(ObjectGroup(name, "network", tuple(members), block.numbers, tuple(excluded)))


def _member(
    reading: Reading, key: str, words: Words, values: list[AddressSet], excluded: list[str], without: list[AddressSet]
) -> str:
    """One member's words; its value is added to `values`, names to the table."""
    start = words.at
    kind = words.next("a kind").lower()
    if kind == "group-object":
        name = words.next("a group")
        reading.addresses.refer(key, name.lower())
        words.end()
        return name
    if kind == "host" and words.accept("name"):
        reading.addresses.leave_open(key, f"host name {words.peek()}")
        return "host name " + words.rest()
    if kind in OPEN_WORDS:
        what = f"{kind} {words.rest()}"
        reading.addresses.leave_open(key, what)
        return what
    if kind == "host":
        words.accept("address")
        values.append(take_host(words))
    elif kind == "subnet":
        values.append(take_subnet(words))
    elif kind == "range":
        values.append(take_range(words))
    else:
        raise NotUnderstood(f"{kind[:40]!r} is not host, subnet, range or group-object")
    text = " ".join(words.words[start : words.at])
    while words.accept("exclude"):
        excluded.append(words.peek())
        without.append(take_host(words))
    words.end()
    return text


def _service_group(reading: Reading, block: Block, name: str) -> None:
    key = name.lower()
    reading.services.define(key)
    reading.own_services.add(key)
    members: list[str] = []
    for child in block.children:
        words = Words(quoted_words(child.text))
        if words.accept("description"):
            reading.ledger.understood(child.number)
            continue
        if is_decimal(words.peek()):
            words.next()
        word = words.accept("service", "port")
        if not word:
            continue
        member = " ".join(words.words[words.at :])
        try:
            if words.accept("group-object"):
                member = words.next("a group")
                if member.lower() in PREDEFINED and member.lower() not in reading.services:
                    reading.services.add(member.lower(), PREDEFINED[member.lower()])
                reading.services.refer(key, member.lower())
            elif word == "port":
                ports = NAMES.read_ports(words, None, several=True)
                reading.services.add(key, (Service.of(None, ports),))
            else:
                reading.services.add(key, (take_service(words),))
            words.end()
            members.append(member)
            reading.ledger.understood(child.number)
        except NotUnderstood as reason:
            reading.ledger.unparsed(child.line, str(reason))
            reading.services.leave_open(key, f"{name}: line {child.number}")
    reading.groups.append(ObjectGroup(name, "service", tuple(members), block.numbers))
