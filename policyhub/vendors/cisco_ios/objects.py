"""`object-group network|service|protocol`, IPv4 and IPv6, from configuration and from `show object-group`."""

from __future__ import annotations

import re
from collections.abc import Callable

from policyhub.domain.addresses import ANY4, ANY6, AddressSet, Interval
from policyhub.domain.services import ALL_PORTS, ALL_PROTOCOLS, ICMP, ICMPV6, TCP, UDP, Service
from policyhub.vendorkit.blocks import Block
from policyhub.vendorkit.ios_groups import Group
from policyhub.vendorkit.lexing import (
    NotUnderstood,
    Words,
    host_set,
    masked_set,
    port_interval,
    prefix_set,
    range_set,
)
from policyhub.vendorkit.service_names import PORT_WORDS
from policyhub.vendors.cisco_ios.reading import NAMES, Reading

TCP_UDP: tuple[Interval, ...] = ((TCP, TCP), (UDP, UDP))
HEADER = re.compile(
    r"^(?:object-group (?P<v6>v6-)?(?P<kind>network|service|protocol|security)"
    r"|(?P<shown6>V6-)?(?P<shown>Network|Service) object group) (?P<name>\S+)$"
)
MemberReader = Callable[[Reading, str, Words, bool], str]


def read_group(reading: Reading, block: Block) -> None:
    header = HEADER.match(block.text)
    if header is None:
        raise NotUnderstood("only network, service, protocol and security object groups are modelled")
    kind = (header["kind"] or header["shown"]).lower()
    is_v6 = bool(header["v6"] or header["shown6"])
    name = header["name"]
    group = reading.groups.open(kind, name)
    group.lines.append(block.number)
    reader: MemberReader = {"network": _network, "service": _service_member, "protocol": _protocol, "security": _security}[kind]
    for child in block.below():
        _member(reading, group, name, child, reader, is_v6)


def _member(reading: Reading, group: Group, name: str, child: Block, reader: MemberReader, is_v6: bool) -> None:
    """One line; when it is not understood it is booked and the name becomes unresolved."""
    table = reading.addresses if group.kind == "network" else reading.services
    words = Words(child.words)
    if words.accept("description", "exit"):
        reading.ledger.understood(child.number)
        return
    group.lines.append(child.number)
    try:
        if words.accept("group-object"):
            member = words.next("a name")
            table.refer(name, member)
        else:
            member = reader(reading, name, words, is_v6)
        words.end()
        group.members.append(member)
        reading.ledger.understood(child.number)
    except NotUnderstood as reason:
        reading.ledger.unparsed(child.line, str(reason))
        reading.groups.leave_open(group, name, child.text)


def _network(reading: Reading, name: str, words: Words, is_v6: bool) -> str:
    words.accept("network-object")
    start = words.at
    value: AddressSet | None
    if words.accept("any"):
        value = ANY6 if is_v6 else ANY4
    elif words.accept("host"):
        value = host_set(words.next("an address"))
    elif words.accept("range"):
        value = range_set(words.next("an address"), words.next("an address"))
    else:
        word = words.next("an address")
        mask = "" if "/" in word else words.next("a mask")
        value = prefix_set(word + mask) if "/" in word + mask else masked_set(word, mask)
    if value is None:
        raise NotUnderstood(f"{words.words[start][:40]!r} is not an address")
    reading.addresses.add(name, value)
    return " ".join(words.words[start : words.at])


def _security(reading: Reading, name: str, words: Words, is_v6: bool) -> str:
    """`security-group tag-id N`: classes hold such groups as conditions."""
    if words.peek().lower() != "security-group" or not words.peek(1):
        raise NotUnderstood("security-group is expected")
    return words.rest()


def _protocol(reading: Reading, name: str, words: Words, is_v6: bool) -> str:
    if not words.accept("protocol-object"):
        raise NotUnderstood("protocol-object is expected")
    word = words.next("a protocol")
    reading.services.add(name, (Service.of(NAMES.protocol(word)),))
    return word


def _service_member(reading: Reading, name: str, words: Words, is_v6: bool) -> str:
    """`protocol`, `tcp|udp|tcp-udp [source OP port] [OP port]`, `icmp [type [code]]`."""
    start = words.at
    word = words.next("a protocol").lower()
    number: int | None = None
    protocols = ALL_PROTOCOLS
    if word == "tcp-udp":
        protocols = TCP_UDP
    else:
        number = ICMPV6 if is_v6 and word == "icmp" else NAMES.protocol(word)
        protocols = ALL_PROTOCOLS if number is None else ((number, number),)
    source = destination = ALL_PORTS
    if number in (ICMP, ICMPV6):
        service = NAMES.read_icmp(words, number) or Service(protocols)
    else:
        if words.accept("source"):
            source = NAMES.read_ports(words, number, several=True)
        if words.peek().lower() in PORT_WORDS:
            destination = NAMES.read_ports(words, number, several=True)
        elif NAMES.knows_port(words.peek(), number):
            destination = port_interval("eq", [NAMES.port(words.next(), number)])
        service = Service(protocols, source, destination)
    reading.services.add(name, (service,))
    return " ".join(words.words[start : words.at])
