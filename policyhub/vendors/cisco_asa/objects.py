"""`name`, `object` and `object-group`: networks, services, protocols and ICMP types, nested."""

from __future__ import annotations

from collections.abc import Callable

from policyhub.domain.addresses import ANY, ANY4, ANY6, AddressSet, Interval
from policyhub.domain.services import ALL_PORTS, ALL_PROTOCOLS, ICMP, ICMPV6, TCP, UDP, Service
from policyhub.vendorkit.blocks import Block
from policyhub.vendorkit.lexing import NotUnderstood, Words, range_set
from policyhub.vendorkit.service_names import PORT_WORDS
from policyhub.vendors.cisco_asa.nat import read_object_nat
from policyhub.vendors.cisco_asa.reading import NAMES, Definition, Reading

TCP_UDP: tuple[Interval, ...] = ((TCP, TCP), (UDP, UDP))
ANY_WORDS = {"any": ANY, "any4": ANY4, "any6": ANY6}
GROUP_KINDS = {
    "network": "network",
    "service": "service",
    "protocol": "protocol",
    "icmp-type": "icmp",
    "user": "user",
    "security": "security",
}
IDENTITIES = {"user": ("user", "user-group"), "security": ("security-group",)}
MemberReader = Callable[[Reading, Definition, str, Words], str]


def read_alias(reading: Reading, block: Block) -> None:
    """`name 192.0.2.5 web [description ..]`: an alias usable wherever an address stands."""
    words = block.words
    if len(words) < 3:
        raise NotUnderstood("name needs an address and a name")
    reading.aliases[words[2]] = words[1]


def read_object(reading: Reading, block: Block) -> None:
    words = Words(block.words, 1)
    kind, name = words.next("network or service").lower(), words.next("a name")
    if kind not in ("network", "service"):
        raise NotUnderstood(f"object type {kind[:40]!r} is not modelled")
    words.end()
    definition = reading.define(name, kind, is_group=False, line=block.number)
    _members(reading, block, name, definition, _network_object if kind == "network" else _service_object)


def read_group(reading: Reading, block: Block) -> None:
    words = Words(block.words, 1)
    word, name = words.next("a group type").lower(), words.next("a name")
    if word not in GROUP_KINDS:
        raise NotUnderstood(f"object-group type {word[:40]!r} is not modelled")
    typed = words.accept("tcp", "udp", "tcp-udp") if word == "service" else ""
    words.end()
    definition = reading.define(name, GROUP_KINDS[word], is_group=True, line=block.number)

    def port_member(reading: Reading, definition: Definition, name: str, words: Words) -> str:
        return _port_object(reading, name, words, typed)

    readers: dict[str, MemberReader] = {"network": _network_member, "protocol": _protocol_member, "icmp-type": _icmp_member}
    readers["service"] = port_member if typed else _service_member
    readers |= {"user": _identity_member, "security": _identity_member}
    _members(reading, block, name, definition, readers[word])


def _members(reading: Reading, block: Block, name: str, definition: Definition, read: MemberReader) -> None:
    """One member per line; a line that is not understood is booked and makes the name unresolved."""
    for child in block.below():
        words = Words(child.words)
        first = words.peek().lower()
        if first in ("description", "exit"):
            reading.ledger.understood(child.number)
            continue
        if first == "nat":
            _object_nat(reading, name, child)
            continue
        definition.lines.append(child.number)
        try:
            member = _reference(reading, definition, name, words) or read(reading, definition, name, words)
            words.end()
            definition.members.append(member)
            reading.ledger.understood(child.number)
        except NotUnderstood as reason:
            reading.ledger.unparsed(child.line, str(reason))
            table = reading.addresses if definition.kind == "network" else reading.services
            table.leave_open(name, f"{name}: {child.text[:80]}")


def _object_nat(reading: Reading, name: str, child: Block) -> None:
    with reading.ledger.booking(child.line):
        read_object_nat(reading, name, child)


def _reference(reading: Reading, definition: Definition, name: str, words: Words) -> str:
    """`group-object X`, `network-object object X`, `service-object object X`; "" when the line is something else."""
    is_object = words.peek().lower() in ("network-object", "service-object") and words.peek(1).lower() == "object"
    if not definition.is_group or not (is_object or words.peek().lower() == "group-object"):
        return ""
    words.at += 2 if is_object else 1
    other = words.next("a name")
    if definition.kind == "network":
        reading.addresses.refer(name, other)
    else:
        reading.services.refer(name, other)
    return other


def _network_object(reading: Reading, definition: Definition, name: str, words: Words) -> str:
    kind = words.next().lower()
    value: AddressSet | None
    if kind == "fqdn":
        words.accept("v4", "v6")
        host = words.next("a domain name")
        definition.dynamic = "fqdn"
        reading.addresses.leave_open(name, host)
        return host
    if kind == "host":
        text = words.next("an address")
        value = reading.host(text)
    elif kind == "subnet":
        value, text = read_literal(reading, words)
    elif kind == "range":
        low, high = words.next("an address"), words.next("an address")
        value, text = range_set(reading.aliases.get(low, low), reading.aliases.get(high, high)), f"{low}-{high}"
    else:
        raise NotUnderstood(f"{kind[:40]!r} is not host, subnet, range or fqdn")
    return _add_network(reading, name, value, text)


def _network_member(reading: Reading, definition: Definition, name: str, words: Words) -> str:
    if words.next().lower() != "network-object":
        raise NotUnderstood("network-object or group-object is expected")
    value: AddressSet | None
    if words.accept("host"):
        text = words.next("an address")
        value = reading.host(text)
    else:
        value, text = read_literal(reading, words)
    return _add_network(reading, name, value, text)


def read_literal(reading: Reading, words: Words) -> tuple[AddressSet | None, str]:
    """`address mask` or `address/length`; consumes what it reads."""
    value, taken = reading.literal(words.peek(), words.peek(1))
    return value, "/".join(words.next("an address and mask") for _ in range(taken))


def _add_network(reading: Reading, name: str, value: AddressSet | None, text: str) -> str:
    if value is None:
        raise NotUnderstood(f"{text[:60]!r} is not an address")
    reading.addresses.add(name, value)
    return text


def _service_object(reading: Reading, definition: Definition, name: str, words: Words) -> str:
    if words.next().lower() != "service":
        raise NotUnderstood("service is expected")
    return _add_service(reading, name, words)


def _service_member(reading: Reading, definition: Definition, name: str, words: Words) -> str:
    if words.next().lower() != "service-object":
        raise NotUnderstood("service-object or group-object is expected")
    return _add_service(reading, name, words)


def _add_service(reading: Reading, name: str, words: Words) -> str:
    start = words.at
    service = _service(words)
    reading.services.add(name, (service,))
    return " ".join(words.words[start : words.at])


def _service(words: Words) -> Service:
    """`protocol [source OP port] [[destination] OP port]` or `icmp [type [code]]`."""
    word = words.next("a protocol").lower()
    if word == "tcp-udp":
        protocols: tuple[Interval, ...] = TCP_UDP
        number = None
    else:
        number = NAMES.protocol(word)
        protocols = ALL_PROTOCOLS if number is None else ((number, number),)
    if number in (ICMP, ICMPV6):
        return NAMES.read_icmp(words, number) or Service(protocols)
    source = destination = ALL_PORTS
    if words.accept("source"):
        source = NAMES.read_ports(words, number)
    words.accept("destination")
    if words.peek().lower() in PORT_WORDS:
        destination = NAMES.read_ports(words, number)
    return Service(protocols, source, destination)


def _port_object(reading: Reading, name: str, words: Words, typed: str) -> str:
    if words.next().lower() != "port-object":
        raise NotUnderstood("port-object or group-object is expected")
    start = words.at
    protocols = {"tcp": ((TCP, TCP),), "udp": ((UDP, UDP),)}.get(typed, TCP_UDP)
    ports = NAMES.read_ports(words, {"tcp": TCP, "udp": UDP}.get(typed))
    reading.services.add(name, (Service(protocols, ALL_PORTS, ports),))
    return " ".join(words.words[start : words.at])


def _protocol_member(reading: Reading, definition: Definition, name: str, words: Words) -> str:
    if words.next().lower() != "protocol-object":
        raise NotUnderstood("protocol-object or group-object is expected")
    word = words.next("a protocol")
    reading.services.add(name, (Service.of(NAMES.protocol(word)),))
    return word


def _identity_member(reading: Reading, definition: Definition, name: str, words: Words) -> str:
    """`user DOMAIN\\NAME`, `user-group ..`, `security-group name|tag ..`: rules hold them as conditions."""
    if words.peek().lower() not in IDENTITIES[definition.kind] or not words.peek(1):
        raise NotUnderstood(f"{' or '.join(IDENTITIES[definition.kind])} or group-object is expected")
    return words.rest()


def _icmp_member(reading: Reading, definition: Definition, name: str, words: Words) -> str:
    if words.next().lower() != "icmp-object":
        raise NotUnderstood("icmp-object or group-object is expected")
    word = words.peek()
    service = NAMES.read_icmp(words, ICMP)
    if service is None:
        raise NotUnderstood(f"{word[:40]!r} is not an ICMP type")
    reading.services.add(name, (service,))
    return word
