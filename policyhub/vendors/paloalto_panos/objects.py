"""Addresses, services, applications, schedules and groups: entered into the tables, and made objects of the model."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from importlib.resources import files

from policyhub.domain.addresses import ANY, MAX4, AddressSet, Interval, normalise
from policyhub.domain.objects import AddressObject, ObjectGroup, Schedule, ServiceObject
from policyhub.domain.services import ALL_PORTS, ANY_SERVICE, ICMP, ICMPV6, MAX_PORT, SCTP, TCP, UDP, Service
from policyhub.vendorkit.lexing import (
    NotUnderstood,
    TooScattered,
    host_set,
    ipv4_number,
    is_decimal,
    number_in,
    prefix_set,
    range_set,
    wildcard_set,
)
from policyhub.vendorkit.operands import Services
from policyhub.vendorkit.service_names import icmp_service
from policyhub.vendors.paloalto_panos.reading import Reading, Scope, qualified
from policyhub.vendors.paloalto_panos.tree import PACKAGE, Node, words

ADDRESS_KINDS = ("address", "address-group", "external-list", "region")
SERVICE_KINDS = ("service", "service-group")
APPLICATION_KINDS = ("application", "application-group", "application-filter")
PROTOCOLS = {"tcp": TCP, "udp": UDP, "sctp": SCTP, "icmp": ICMP, "icmp6": ICMPV6}
PREDEFINED: dict[str, Services] = {
    "service-http": (Service.of(TCP, ((80, 80), (8080, 8080))),),
    "service-https": (Service.of(TCP, ((443, 443),)),),
    "any": (ANY_SERVICE,),
}
DEFAULT_PORTS: dict[str, list[str]] = json.loads(files(PACKAGE).joinpath("applications.json").read_text(encoding="utf-8"))[
    "ports"
]
VALUE_FIELDS = ("ip-netmask", "ip-range", "ip-wildcard", "fqdn")
MAX_LENGTH = 32
LENGTHS = frozenset(str(length) for length in range(MAX_LENGTH + 1))
LABELS = words("labels")
RANGE = re.compile(r"^(\d{4})/(\d\d)/(\d\d)@(\d\d:\d\d)-(\d{4})/(\d\d)/(\d\d)@(\d\d:\d\d)$")


@dataclass(slots=True)
class Objects:
    """The objects of a text in its order."""

    addresses: list[AddressObject] = field(default_factory=list)
    services: list[ServiceObject] = field(default_factory=list)
    groups: list[ObjectGroup] = field(default_factory=list)
    schedules: list[Schedule] = field(default_factory=list)


def read_objects(reading: Reading) -> Objects:
    found = Objects()
    readers = {
        "address": _address,
        "external-list": _external,
        "region": _region,
        "address-group": _address_group,
        "service": _service,
        "service-group": _service_group,
        "application-group": _application_group,
        "application-filter": _application_filter,
        "application": _application,
        "schedule": _schedule,
    }
    for scope in reading.scopes():
        for kind, read in readers.items():
            for node in scope.objects.get(kind, {}).values():
                reading.understand(node)
                read(reading, scope, node.name, node, found)
    return found


def literal(text: str) -> AddressSet | None:
    """An address, prefix or range as it may stand in a rule; None when it is a name."""
    first = text[:1]
    if not (first.isdigit() or ":" in text):
        return None
    address, _, length = text.partition("/")
    number = ipv4_number(address)
    if number is not None and (length in LENGTHS or "/" not in text):
        free = MAX4 >> int(length or MAX_LENGTH)
        return AddressSet(((number & ~free, number | free),))
    found = prefix_set(text) or host_set(text)
    if found is None and "-" in text:
        low, _, high = text.partition("-")
        found = range_set(low, high)
    return found


def _address(reading: Reading, scope: Scope, name: str, node: Node, found: Objects) -> None:
    kind = next((child.name for child in node if child.name in VALUE_FIELDS), "")
    text = node.text(kind) if kind else ""
    key = qualified(scope, name)
    _complain_about_others(reading, node, VALUE_FIELDS)
    value: AddressSet | None = None
    if kind == "fqdn":
        reading.addresses.leave_open(key, name)
    else:
        value = _wildcard(reading, text) if kind == "ip-wildcard" else literal(text)
        if value is None:
            reading.complain(node, f"{text[:60]!r} is not an address" if text else "the address has no value")
            reading.addresses.leave_open(key, name)
        else:
            reading.addresses.add(key, value)
    context = reading.context_of(scope)
    found.addresses.append(AddressObject(name, value, "fqdn" if kind == "fqdn" else "static", node.lines, text, context))


def _wildcard(reading: Reading, text: str) -> AddressSet | None:
    address, _, mask = text.partition("/")
    try:
        return wildcard_set(address, mask)
    except TooScattered:
        return None


def _complain_about_others(reading: Reading, node: Node, known: tuple[str, ...] | frozenset[str]) -> None:
    for child in node:
        if child.name not in known and child.name not in LABELS:
            reading.complain(child, f"{child.name[:40]!r} of {node.name[:60]!r} is not understood")


def _external(reading: Reading, scope: Scope, name: str, node: Node, found: Objects) -> None:
    """A list the firewall fetches: only the device knows what is in it."""
    reading.addresses.leave_open(qualified(scope, name), name)
    types = node.get("type")
    _complain_about_others(reading, node, ("type", "url", "recurring", "source"))
    kind = types.value if types is not None else ""
    url = types.text(kind, "url") if types is not None else ""
    found.addresses.append(AddressObject(name, None, "dynamic", node.lines, f"{kind} {url}".strip(), reading.context_of(scope)))


def _region(reading: Reading, scope: Scope, name: str, node: Node, found: Objects) -> None:
    members = node.members("address")
    _complain_about_others(reading, node, ("address", "geo-location"))
    known = [value for member in members if (value := literal(member)) is not None]
    key = qualified(scope, name)
    reading.addresses.define(key)
    for part in known:
        reading.addresses.add(key, part)
    if len(known) < len(members):
        reading.addresses.leave_open(key, name)
    value = None if len(known) < len(members) else AddressSet().union(*known)
    found.addresses.append(AddressObject(name, value, "geo", node.lines, " ".join(members), reading.context_of(scope)))


def _address_group(reading: Reading, scope: Scope, name: str, node: Node, found: Objects) -> None:
    key = qualified(scope, name)
    reading.addresses.define(key)
    dynamic = node.get("dynamic")
    _complain_about_others(reading, node, ("static", "dynamic"))
    if dynamic is not None:
        reading.addresses.leave_open(key, name)
        text = dynamic.text("filter")
        found.addresses.append(AddressObject(name, None, "dynamic", node.lines, text, reading.context_of(scope)))
        return
    members = node.members("static")
    for member in members:
        refer_address(reading, scope, key, member)
    found.groups.append(ObjectGroup(name, "network", members, node.lines, context=reading.context_of(scope)))


def refer_address(reading: Reading, scope: Scope, key: str, member: str) -> None:
    """A member of a group, or of a rule's list: object, literal, or a name that only the device knows."""
    at = scope.find(ADDRESS_KINDS, member)
    if at is not None:
        reading.addresses.refer(key, qualified(at[0], member))
        return
    value = ANY if member == "any" else literal(member)
    if value is None:
        reading.addresses.leave_open(key, member)
    else:
        reading.addresses.add(key, value)


def ports_of(text: str) -> tuple[Interval, ...]:
    """`80,443,1000-2000`. Raises NotUnderstood."""
    intervals: list[Interval] = []
    for part in text.split(","):
        low, dash, high = part.strip().partition("-")
        first = number_in(low.strip(), 0, MAX_PORT, "a port")
        last = number_in(high.strip(), 0, MAX_PORT, "a port") if dash else first
        if last < first:
            raise NotUnderstood(f"{part[:40]!r} is not a range of ports")
        intervals.append((first, last))
    return normalise(intervals)


def _service(reading: Reading, scope: Scope, name: str, node: Node, found: Objects) -> None:
    key = qualified(scope, name)
    reading.services.define(key)
    _complain_about_others(reading, node, ("protocol",))
    services: list[Service] = []
    try:
        for protocol in node.get("protocol") or ():
            number = PROTOCOLS.get(protocol.name)
            if number is None:
                raise NotUnderstood(f"protocol {protocol.name[:40]!r} of a service is not understood")
            ports, sources = protocol.text("port"), protocol.text("source-port")
            services.append(
                Service.of(number, ports_of(ports) if ports else ALL_PORTS, ports_of(sources) if sources else ALL_PORTS)
            )
        if not services:
            raise NotUnderstood("the service has no protocol")
        reading.services.add(key, tuple(services))
    except NotUnderstood as reason:
        reading.complain(node, str(reason))
        reading.services.leave_open(key, name)
    found.services.append(ServiceObject(name, tuple(services), node.lines, reading.context_of(scope)))


def _service_group(reading: Reading, scope: Scope, name: str, node: Node, found: Objects) -> None:
    key = qualified(scope, name)
    reading.services.define(key)
    _complain_about_others(reading, node, ("members",))
    members = node.members("members")
    for member in members:
        refer_service(reading, scope, key, member)
    found.groups.append(ObjectGroup(name, "service", members, node.lines, context=reading.context_of(scope)))


def refer_service(reading: Reading, scope: Scope, key: str, member: str) -> None:
    at = scope.find(SERVICE_KINDS, member)
    if at is not None:
        reading.services.refer(key, qualified(at[0], member))
    elif member in PREDEFINED:
        reading.services.add(key, PREDEFINED[member])
    else:
        reading.services.leave_open(key, member)


def _application_group(reading: Reading, scope: Scope, name: str, node: Node, found: Objects) -> None:
    _complain_about_others(reading, node, ("members",))
    members = node.members("members") or tuple(value for value in node.values if value not in LABELS and value != "members")
    found.groups.append(ObjectGroup(name, "application", members, node.lines, context=reading.context_of(scope)))
    key = qualified(scope, f"application {name}")
    reading.services.define(key)
    for member in members:
        refer_application(reading, scope, key, member)


def _application_filter(reading: Reading, scope: Scope, name: str, node: Node, found: Objects) -> None:
    criteria = tuple(f"{child.name} {' '.join(child.values)}" for child in node if child.name not in LABELS)
    found.groups.append(ObjectGroup(name, "application", criteria, node.lines, context=reading.context_of(scope)))
    reading.services.leave_open(qualified(scope, f"application {name}"), name)


def _application(reading: Reading, scope: Scope, name: str, node: Node, found: Objects) -> None:
    """Only the ports are kept; signatures, categories and timeouts are read over."""
    key = qualified(scope, f"application {name}")
    reading.services.define(key)
    default = node.get("default")
    try:
        services = _defaults(default) if default is not None else ()
    except NotUnderstood as reason:
        if default is not None:
            reading.complain(default, str(reason))
        services = ()
    if services:
        reading.services.add(key, services)
    else:
        reading.services.leave_open(key, name)


def _defaults(default: Node) -> Services:
    """`port [ tcp/80 udp/dynamic ]`, `ident-by-ip-protocol N`, `ident-by-icmp-type T`. Raises NotUnderstood."""
    services = [application_port(text) for text in default.members("port")]
    protocol = default.text("ident-by-ip-protocol")
    if protocol:
        services.append(Service.of(number_in(protocol, 0, 255, "an IP protocol")))
    for field_name, number in (("ident-by-icmp-type", ICMP), ("ident-by-icmp6-type", ICMPV6)):
        kind = default.text(field_name, "type") or default.text(field_name)
        code = default.text(field_name, "code")
        if kind:
            services.append(
                icmp_service(number_in(kind, 0, 255, "an ICMP type"), int(code) if is_decimal(code) else None, number)
            )
    return tuple(services)


def application_port(text: str) -> Service:
    """`tcp/80,443`, `udp/dynamic`, `icmp`, `ip/47`. Raises NotUnderstood."""
    protocol, _, ports = text.partition("/")
    if protocol == "ip":
        return Service.of(number_in(ports, 0, 255, "an IP protocol"))
    number = PROTOCOLS.get(protocol)
    if number is None:
        raise NotUnderstood(f"{text[:40]!r} is not a port of an application")
    return Service.of(number, ALL_PORTS if ports in ("", "dynamic") else ports_of(ports))


def refer_application(reading: Reading, scope: Scope, key: str, member: str) -> None:
    """The default ports of an application, group or filter."""
    at = scope.find(APPLICATION_KINDS, member)
    if at is not None:
        reading.services.refer(key, qualified(at[0], f"application {member}"))
    elif member in DEFAULT_PORTS:
        reading.services.add(key, tuple(application_port(text) for text in DEFAULT_PORTS[member]))
    else:
        reading.services.leave_open(key, member)


def _schedule(reading: Reading, scope: Scope, name: str, node: Node, found: Objects) -> None:
    kinds = node.get("schedule-type") or node
    _complain_about_others(reading, node, ("schedule-type", "recurring", "non-recurring"))
    recurring = kinds.get("recurring")
    texts: list[str] = []
    expires: str | None = None
    if recurring is not None:
        for period in recurring:
            if period.name == "weekly":
                texts.append("weekly " + "; ".join(f"{day.name} {' '.join(day.values)}" for day in period))
            else:
                texts.append(f"{period.name} {' '.join(period.values)}")
    once = kinds.get("non-recurring")
    if once is not None:
        texts.append(f"non-recurring {'; '.join(once.values)}")
        expires = _end(once.values)
    if not texts:
        reading.complain(node, "the schedule has no times")
    found.schedules.append(Schedule(name, " ".join(texts), expires, node.lines, reading.context_of(scope)))


def _end(ranges: tuple[str, ...]) -> str | None:
    """The latest end of `YYYY/MM/DD@hh:mm-YYYY/MM/DD@hh:mm` ranges; None when one is not like that."""
    ends: list[str] = []
    for text in ranges:
        found = RANGE.match(text)
        if found is None:
            return None
        ends.append(f"{found[5]}-{found[6]}-{found[7]}T{found[8]}")
    return max(ends, default=None)
