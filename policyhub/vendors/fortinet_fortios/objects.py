"""Addresses, services, their groups and schedules of one vdom."""

from __future__ import annotations

from datetime import datetime

from policyhub.domain.addresses import ANY4, ANY6, AddressSet, Interval
from policyhub.domain.objects import AddressObject, ObjectGroup, Schedule, ServiceObject
from policyhub.domain.services import ANY_SERVICE, ICMP, ICMPV6, MAX_PORT, SCTP, TCP, UDP, Service
from policyhub.vendorkit.lexing import NotUnderstood, TooScattered, is_decimal, masked_set, number_in, prefix_set, range_set
from policyhub.vendorkit.operands import Services, compact
from policyhub.vendorkit.service_names import icmp_service
from policyhub.vendors.fortinet_fortios.reading import NAMES, NOTE, Family, Reading, Scope
from policyhub.vendors.fortinet_fortios.tree import Node

ADDRESS_TABLES: dict[str, Family] = {
    "firewall address": "4",
    "firewall address6": "6",
    "firewall multicast-address": "m4",
    "firewall multicast-address6": "m6",
}
GROUP_TABLES: dict[str, Family] = {"firewall addrgrp": "4", "firewall addrgrp6": "6"}
POOL_TABLES = ("firewall ippool", "firewall ippool6")
WORDS_ONLY = {"firewall proxy-address": "dynamic", "firewall wildcard-fqdn custom": "fqdn"}
NAME_SETTINGS = {
    "fqdn": ("fqdn", ("fqdn",)),
    "wildcard-fqdn": ("fqdn", ("wildcard-fqdn",)),
    "geography": ("geo", ("country",)),
    "mac": ("dynamic", ("macaddr", "start-mac", "end-mac")),
    "dynamic": ("dynamic", ("sub-type", "sdn", "filter", "sdn-tag", "obj-tag", "tag-type")),
    "device": ("dynamic", ()),
    "template": ("dynamic", ("template", "host")),
    "route-tag": ("dynamic", ("route-tag",)),
}
PORT_SETTINGS = (("tcp-portrange", TCP), ("udp-portrange", UDP), ("sctp-portrange", SCTP), ("udplite-portrange", 136))
UNSTATED = ("0.0.0.0", "::")  # noqa: S104 (what a device prints for no address)
ICMP_NUMBERS = {"icmp": ICMP, "icmp6": ICMPV6}


def read_objects(reading: Reading, scope: Scope) -> None:
    """Objects, then groups, then what the text takes for granted: predefined objects."""
    for table, family in ADDRESS_TABLES.items():
        reading.book_headers(scope, table)
        for node in scope.entries(table):
            _address(reading, scope, node, family)
    for table in (*POOL_TABLES, *WORDS_ONLY):
        reading.book_headers(scope, table)
        for node in scope.entries(table):
            _named(reading, scope, node, table)
    _services(reading, scope)
    for table in GROUP_TABLES:
        _groups(reading, scope, table)
    _service_groups(reading, scope)
    _predefined(scope)
    _rename(scope)


def _address(reading: Reading, scope: Scope, node: Node, family: Family) -> None:
    reading.book(node)
    reading.book_rows(node, "list")
    kind, words = "static", ""
    value: AddressSet | None = None
    try:
        value, kind, words = _address_value(reading, node, family)
    except TooScattered:
        kind = "static"
    except NotUnderstood as reason:
        reading.leave(node.number, str(reason))
    table = scope.addresses[family]
    table.define(node.name)
    if value is None:
        table.leave_open(node.name, node.name)
    else:
        table.add(node.name, value)
    reading.addresses.append(AddressObject(node.name, value, kind, node.all_numbers(), words, scope.name))


def _address_value(reading: Reading, node: Node, family: Family) -> tuple[AddressSet | None, str, str]:
    """Addresses (None: the device finds them), kind, words. Raises NotUnderstood."""
    kind = node.value("type") or ("ipprefix" if family[-1] == "6" else "ipmask")
    if kind in NAME_SETTINGS:
        label, settings = NAME_SETTINGS[kind]
        return None, label, " ".join(value for name in settings for value in node.values(name))
    if kind == "iprange" or (family[0] == "m" and node.value("start-ip")):
        found = range_set(node.value("start-ip"), node.value("end-ip") or node.value("start-ip"))
    elif kind == "wildcard":
        found = masked_set(*_pair(node, "wildcard"))
    elif kind == "interface-subnet" and not node.value("subnet"):
        return None, "dynamic", node.value("interface")
    elif family[-1] == "6":
        found = prefix_set(node.value("ip6")) if node.value("ip6") else ANY6
    else:
        found = _subnet(reading, node)
    if found is None:
        raise NotUnderstood(f"the addresses of {node.name[:40]!r} are not understood")
    return found, "static", ""


def _subnet(reading: Reading, node: Node) -> AddressSet | None:
    values = node.values("subnet")
    if not values:
        return ANY4
    return prefix_set(values[0]) if len(values) == 1 else masked_set(*_pair(node, "subnet"))


def _pair(node: Node, name: str) -> tuple[str, str]:
    values = [*node.values(name), "", ""]
    return values[0], values[1]


def _named(reading: Reading, scope: Scope, node: Node, table: str) -> None:
    """Pools, and objects that hold words only."""
    reading.book(node)
    for below in node.tables:
        reading.book_rows(node, below)
    value: AddressSet | None = None
    kind = WORDS_ONLY.get(table, "static")
    words = " ".join(node.values("wildcard-fqdn") or node.values("type"))
    if table in POOL_TABLES:
        value = range_set(node.value("startip"), node.value("endip") or node.value("startip"))
        words = f"ippool {node.value('type') or 'overload'}"
        if value is None:
            reading.leave(node.number, "the range of the pool is not understood")
    elif table == "firewall proxy-address":
        scope.addresses["4"].leave_open(node.name, node.name)
    reading.addresses.append(AddressObject(node.name, value, kind, node.all_numbers(), words, scope.name))


def _services(reading: Reading, scope: Scope) -> None:
    table = "firewall service custom"
    reading.book_headers(scope, table)
    for node in scope.entries(table):
        reading.book(node)
        value: Services = ()
        try:
            value = _service_value(node)
        except NotUnderstood as reason:
            reading.leave(node.number, str(reason))
        scope.services.define(node.name)
        if value:
            scope.services.add(node.name, value)
        else:
            scope.services.leave_open(node.name, node.name)
        for name in ("iprange", "fqdn"):
            words = node.value(name)
            if words and words not in UNSTATED:
                scope.services.leave_open(node.name, f"{NOTE}service {node.name} {name} {words}")
        reading.services.append(ServiceObject(node.name, value, node.all_numbers(), scope.name))


def _service_value(node: Node) -> Services:
    """() when the device identifies it in another way than by protocol and port. Raises NotUnderstood."""
    if node.value("app-service-type") not in ("", "disable"):
        return ()
    protocol = (node.value("protocol") or "tcp/udp/sctp").lower()
    if protocol == "ip":
        number = number_in(node.value("protocol-number") or "0", 0, 255, "a protocol")
        return (Service.of(number) if number else ANY_SERVICE,)
    if protocol in ICMP_NUMBERS:
        number = ICMP_NUMBERS[protocol]
        if not node.value("icmptype"):
            return (Service.of(number),)
        code = node.value("icmpcode")
        kind = number_in(node.value("icmptype"), 0, 255, "an ICMP type")
        return (icmp_service(kind, number_in(code, 0, 255, "an ICMP code") if code else None, number),)
    return compact(
        _ports(word, number) for name, number in PORT_SETTINGS for value in node.values(name) for word in value.split()
    )


def _ports(word: str, protocol: int) -> Service:
    """`destination[-high][:source[-high]]`. Raises NotUnderstood."""
    destination, _, source = word.partition(":")
    return Service.of(protocol, (port_range(destination),), (port_range(source),) if source else None)


def port_range(word: str) -> Interval:
    """`80` or `80-90`. Raises NotUnderstood."""
    low, _, high = word.partition("-")
    first = number_in(low, 0, MAX_PORT, "a port")
    last = number_in(high, 0, MAX_PORT, "a port") if high else first
    return (min(first, last), max(first, last))


def _groups(reading: Reading, scope: Scope, table: str) -> None:
    reading.book_headers(scope, table)
    family = GROUP_TABLES[table]
    names = scope.addresses[family]
    excluding: dict[str, Node] = {}
    members: dict[str, list[str]] = {}
    for node in scope.entries(table):
        reading.book(node)
        for below in node.tables:
            reading.book_rows(node, below)
        excluded = node.values("exclude-member") if node.is_on("exclude") else []
        members[node.name] = [*node.values("member"), *excluded]
        names.define(node.name)
        if excluded:
            excluding[node.name] = node
        else:
            for member in node.values("member"):
                names.refer(node.name, member)
        group = ObjectGroup(node.name, "network", tuple(node.values("member")), node.all_numbers(), tuple(excluded), scope.name)
        reading.groups.append(group)
    if excluding:
        _predefined_addresses(scope)
    for name in _inner_first(members):
        if name in excluding:
            _exclude(scope, family, excluding[name])


def _inner_first(members: dict[str, list[str]]) -> list[str]:
    """Groups so that each stands behind the groups that it holds (without recursion; a cycle is cut somewhere)."""
    done: dict[str, None] = {}
    seen: set[str] = set()
    for start in members:
        stack = [start]
        while stack:
            name = stack[-1]
            waiting = [m for m in members[name] if m in members and m not in seen] if name not in seen else []
            seen.add(name)
            stack.extend(waiting)
            if not waiting:
                done[stack.pop()] = None
    return list(done)


def _exclude(scope: Scope, family: Family, node: Node) -> None:
    """Members without what is excluded; an unknown excluded name leaves the group unresolved."""
    names = scope.addresses[family]
    plus, minus = f"{node.name}\0members", f"{node.name}\0excluded"
    names.define(plus)
    names.define(minus)
    for member in node.values("member"):
        names.refer(plus, member)
    for member in node.values("exclude-member"):
        names.refer(minus, member)
    taken, without = names.resolve(plus), names.resolve(minus)
    names.add(node.name, taken.value.minus(without.value))
    for unknown in (*taken.unresolved, *without.unresolved):
        names.leave_open(node.name, unknown)


def _service_groups(reading: Reading, scope: Scope) -> None:
    table = "firewall service group"
    reading.book_headers(scope, table)
    for node in scope.entries(table):
        reading.book(node)
        scope.services.define(node.name)
        for member in node.values("member"):
            scope.services.refer(node.name, member)
        members = tuple(node.values("member"))
        reading.groups.append(ObjectGroup(node.name, "service", members, node.all_numbers(), (), scope.name))


def _predefined_addresses(scope: Scope) -> None:
    for family, words in (("4", "0.0.0.0/0"), ("6", "::/0")):
        for name, value in (("all", words), ("none", words.replace("/0", "/32" if family == "4" else "/128"))):
            if name not in scope.addresses[family]:
                scope.addresses[family].add(name, AddressSet.of(value))


def _predefined(scope: Scope) -> None:
    """Objects of the default configuration that this text does not define: parts of a configuration name them, too."""
    _predefined_addresses(scope)
    for name, words in (*NAMES["multicast"].items(), ("all", "ff00::/8")):
        table = scope.addresses["m6" if ":" in words else "m4"]
        if name not in table:
            table.add(name, AddressSet.of(words))
    for name, settings in NAMES["services"].items():
        if name not in scope.services:
            scope.services.add(name, _predefined_service(settings))
    for name, members in NAMES["service_groups"].items():
        if name not in scope.services:
            for member in members:
                scope.services.refer(name, member)


def _predefined_service(settings: dict[str, str]) -> Services:
    protocol = settings.get("protocol", "")
    if protocol == "IP":
        return (Service.of(int(settings["protocol-number"])) if "protocol-number" in settings else ANY_SERVICE,)
    if protocol:
        number = ICMP_NUMBERS[protocol.lower()]
        return (icmp_service(int(settings["icmptype"]), None, number) if "icmptype" in settings else Service.of(number),)
    return compact(_ports(word, number) for name, number in PORT_SETTINGS for word in settings.get(name, "").split())


def _rename(scope: Scope) -> None:
    """`rename A to B` of a script: what refers to A means B."""
    for table, nodes in scope.tables.items():
        for old, new in (pair for node in nodes for pair in node.aliases):
            if table in ADDRESS_TABLES or table in GROUP_TABLES:
                names = scope.addresses[(ADDRESS_TABLES | GROUP_TABLES)[table]]
                if old not in names:
                    names.refer(old, new)
            elif table.startswith("firewall service") and old not in scope.services:
                scope.services.refer(old, new)


def read_schedules(reading: Reading, scope: Scope) -> None:
    """`firewall schedule onetime`, `recurring`, `group`."""
    for table in ("firewall schedule onetime", "firewall schedule recurring", "firewall schedule group"):
        reading.book_headers(scope, table)
        for node in scope.entries(table):
            reading.book(node)
            text = "; ".join(node.words(name) for name in node.settings if name not in ("uuid", "color", "fabric-object"))
            expires = None
            if table.endswith("onetime"):
                expires = device_moment(node.values("end"))
                if expires is None:
                    reading.leave(node.number, "the end is not a time")
            elif table.endswith("group"):
                ends = [scope.schedules[m].expires if m in scope.schedules else None for m in node.values("member")]
                known = [end for end in ends if end is not None]
                expires = max(known) if known and len(known) == len(ends) else None
            schedule = Schedule(node.name, text, expires, node.all_numbers(), scope.name)
            scope.schedules[node.name] = schedule
            reading.schedules.append(schedule)


def device_moment(values: list[str]) -> str | None:
    """`23:59 2024/12/31`, or `2024-12-31 23:59:00`, as ISO local time; None when it is not a time."""
    clock = next((value for value in values if ":" in value), "")
    day = next((value for value in values if ":" not in value), "").replace("/", "-").split("-")
    hours, _, minutes = clock.partition(":")
    numbers = [*day, hours, minutes[:2]]
    if len(numbers) != 5 or not all(is_decimal(number) and len(number) <= 4 for number in numbers):
        return None
    try:
        year, month, day_of, hour, minute = (int(number) for number in numbers)
        return datetime(year, month, day_of, hour, minute).isoformat(timespec="minutes")  # noqa: DTZ001 (the device's own local time)
    except ValueError:
        return None
