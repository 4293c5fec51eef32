"""Interfaces, aliases and operands of rules."""

from __future__ import annotations

from dataclasses import dataclass, field

from policyhub.domain.addresses import ANY, ANY4, ANY6, AddressSet, Interval, normalise
from policyhub.domain.device_config import Interface
from policyhub.domain.objects import ObjectGroup
from policyhub.domain.services import ALL_PORTS, ALL_PROTOCOLS, ICMP, MAX_PORT, TCP, UDP, Service
from policyhub.vendorkit.json_books import JsonBooks, address, port_range
from policyhub.vendorkit.json_lines import Node
from policyhub.vendorkit.lexing import NotUnderstood
from policyhub.vendorkit.operands import NameTable, Services, address_table, service_table
from policyhub.vendorkit.port_lists import NAMES, service_of
from policyhub.vendorkit.service_names import icmp_service
from policyhub.vendorkit.xml_lines import TEXT, several

FAMILIES = {"inet": ANY4, "inet6": ANY6}
SIDE = {"any", "network", "address", "port", "not"}
ALIAS = {"name", "type", "address", "content", "enabled", "descr", "description"}
ALIAS_REST = {
    "detail",
    "@uuid",
    "proto",
    "interface",
    "counters",
    "updatefreq",
    "categories",
    "url",
    "path_expression",
    "authtype",
}
PING_TYPES = {"echoreq": 8, "echorep": 0, "unreach": 3, "redir": 5, "timex": 11, "paramprob": 12}


@dataclass(slots=True)
class Reading:
    """networks: `lan` and `lanip` -> addresses of static interfaces."""

    books: JsonBooks
    networks: dict[str, AddressSet] = field(default_factory=dict)
    known_interfaces: set[str] = field(default_factory=set)
    addresses: NameTable[AddressSet] = field(default_factory=address_table)
    ports: NameTable[Services] = field(default_factory=service_table)
    groups: list[ObjectGroup] = field(default_factory=list)


def read_interfaces(reading: Reading, node: Node | None) -> tuple[Interface, ...]:
    found: list[Interface] = []
    for name, entry in node.pairs() if node is not None else ():
        if entry.members is None:
            continue
        reading.books.take(
            entry, {"if", "descr", "enable", "ipaddr", "subnet", "ipaddrv6", "subnetv6"}, entry.members.keys() - {TEXT}
        )
        texts: list[str] = []
        for at, length in (("ipaddr", "subnet"), ("ipaddrv6", "subnetv6")):
            text = f"{entry.word(at)}/{entry.word(length)}"
            if address(text) is not None:
                texts.append(text)
        reading.known_interfaces.add(name)
        if texts:
            reading.networks[name] = AddressSet.of(*texts)
            reading.networks[f"{name}ip"] = AddressSet.of(*(text.partition("/")[0] for text in texts))
        found.append(
            Interface(
                name, tuple(texts), entry.word("descr"), enabled=entry.get("enable") is not None, lines=tuple(entry.numbers),
                parent=entry.word("if"),
            )
        )  # fmt: skip
    return tuple(found)


def read_alias(reading: Reading, entry: Node) -> None:
    reading.books.take(entry, ALIAS, ALIAS_REST)
    name, kind = entry.word("name"), entry.word("type")
    words = (entry.word("address") or entry.word("content")).split()
    is_port = kind == "port"
    reading.groups.append(ObjectGroup(name, "service" if is_port else "network", tuple(words), tuple(entry.numbers)))
    table: NameTable[AddressSet] | NameTable[Services] = reading.ports if is_port else reading.addresses
    table.define(name)
    for word in words:
        if is_port:
            ports = _numbers(word)
            if ports is None:
                reading.ports.refer(name, word)
            else:
                reading.ports.add(name, (Service(ALL_PROTOCOLS, destination_ports=(ports,)),))
            continue
        found = address(word) if kind in ("host", "network", "networkgroup") else None
        if found is not None:
            reading.addresses.add(name, found)
        elif kind in ("host", "network", "networkgroup"):
            reading.addresses.refer(name, word)
    if kind not in ("host", "network", "networkgroup", "port"):
        reading.addresses.leave_open(name, name)


def _numbers(text: str) -> Interval | None:
    try:
        return port_range(text.replace(":", "-"))
    except NotUnderstood:
        return None


@dataclass(slots=True)
class Operands:
    """Both sides and the services of one rule."""

    source: AddressSet = ANY
    destination: AddressSet = ANY
    source_ports: tuple[Interval, ...] = ALL_PORTS
    destination_ports: tuple[Interval, ...] = ALL_PORTS
    unresolved: list[str] = field(default_factory=list)
    references: list[str] = field(default_factory=list)

    def side(self, reading: Reading, side: str, node: Node | None) -> None:
        if node is None or node.members is None:
            return
        reading.books.take(node, SIDE)
        word = node.word("network") or node.word("address")
        value = ANY if not word or word == "any" else self.named(reading, word)
        if node.get("not") is not None and node.word("not") != "0" and value != ANY:
            value = ANY.minus(value)
        setattr(self, side, value)
        if node.word("port"):
            setattr(self, f"{side}_ports", self.port(reading, node.word("port")))

    def named(self, reading: Reading, word: str) -> AddressSet:
        found = address(word)
        if found is None:
            found = reading.networks.get(word)
        if found is not None:
            return found
        if word not in reading.addresses:
            self.unresolved.append(word)
            return ANY
        self.references.append(word)
        resolved = reading.addresses.resolve(word)
        self.unresolved += resolved.unresolved
        return ANY if resolved.unresolved else resolved.value

    def port(self, reading: Reading, text: str) -> tuple[Interval, ...]:
        """Raises NotUnderstood."""
        if text == "any":
            return ALL_PORTS
        numbers = _numbers(text)
        if numbers is not None:
            return (numbers,)
        if text in reading.ports:
            self.references.append(text)
            resolved = reading.ports.resolve(text)
            if not resolved.unresolved:
                return normalise(interval for service in resolved.value for interval in service.destination_ports)
        elif NAMES.knows_port(text, None):
            port = NAMES.port(text, None)
            return ((port, port),)
        self.unresolved.append(text)
        return ((0, MAX_PORT),)

    def services(self, node: Node) -> Services:
        """Raises NotUnderstood."""
        word = node.word("protocol").lower()
        if word in ("", "any"):
            return (service_of(None, self.source_ports, self.destination_ports),)
        if word in ("tcp/udp", "tcp_udp"):
            return (service_of(((TCP, TCP), (UDP, UDP)), self.source_ports, self.destination_ports),)
        number = NAMES.protocol(word)
        kinds = [kind.strip() for kind in node.word("icmptype").split(",") if kind.strip() not in ("", "any")]
        if number == ICMP and kinds and all(kind in PING_TYPES for kind in kinds):
            return tuple(icmp_service(PING_TYPES[kind], None) for kind in kinds)
        return (service_of(None if number is None else ((number, number),), self.source_ports, self.destination_ports),)


def items(node: Node | None, name: str) -> list[Node]:
    """Elements of one tag below a section that are no empty ones."""
    return [item for item in several(node.get(name)) if item.members is not None] if node is not None else []
