"""Interfaces, zones, static routes and policy routes."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Iterator

from policyhub.domain.addresses import ANY, ANY4, ANY6, AddressSet
from policyhub.domain.device_config import Interface, Route
from policyhub.domain.objects import Zone
from policyhub.domain.rules import Action, Binding, Match, Policy, Rule
from policyhub.domain.services import ANY_SERVICE, WITH_PORTS, Service
from policyhub.vendorkit.lexing import NotUnderstood, is_decimal
from policyhub.vendorkit.operands import Services
from policyhub.vendors.fortinet_fortios.objects import UNSTATED, port_range
from policyhub.vendors.fortinet_fortios.policies import tos_dscp
from policyhub.vendors.fortinet_fortios.reading import SETTINGS, UNKNOWN_SETTING, Addresses, Reading, Scope
from policyhub.vendors.fortinet_fortios.tree import Node

SPEED = re.compile(r"(\d{2,6})(?:full|half|auto)?")
INTERFACE_SETTINGS = frozenset(SETTINGS["interface"])
ROUTE_SETTINGS = frozenset(SETTINGS["route"])
POLICY_ROUTE_SETTINGS = frozenset(SETTINGS["policy_route"])
SDWAN_SETTINGS = frozenset(SETTINGS["sdwan_rule"])
SDWAN_CONDITIONS = frozenset(SETTINGS["sdwan_conditions"])
SDWAN = ("system sdwan", "system virtual-wan-link")
POLICY_ROUTES = {"router policy": "4", "router policy6": "6"}
STATIC = {"router static": "4", "router static6": "6"}


def read_zones(reading: Reading, scope: Scope) -> dict[str, str]:
    """Zones of `system zone` and of SD-WAN; interface -> zone."""
    of: dict[str, str] = {}
    reading.book_headers(scope, "system zone")
    for node in scope.entries("system zone"):
        reading.book(node)
        for below in node.tables:
            reading.book_rows(node, below)
        members = tuple(node.values("interface"))
        reading.zones.append(Zone(node.name, members, node.all_numbers(), scope.name))
        of.update(dict.fromkeys(members, node.name))
    for table in SDWAN:
        for node in scope.tables.get(table, ()):
            of.update(_sdwan(reading, scope, node))
    return of


def _sdwan(reading: Reading, scope: Scope, node: Node) -> dict[str, str]:
    """Members without a zone belong to the one that every SD-WAN has. Health checks are left to the ignore list."""
    members: dict[str, list[str]] = {}
    lines: dict[str, tuple[int, ...]] = {}
    for name in ("zone", "members"):
        if name in node.tables:
            reading.ledger.understood(*node.tables[name].all_numbers())
    for row in node.rows("zone"):
        members.setdefault(row.name, [])
        lines[row.name] = row.all_numbers()
    for row in node.rows("members"):
        zone = row.value("zone") or "virtual-wan-link"
        members.setdefault(zone, []).append(row.value("interface"))
        lines[zone] = (*lines.get(zone, ()), *row.all_numbers())
    for zone, names in members.items():
        reading.zones.append(Zone(zone, tuple(name for name in names if name), tuple(sorted(lines[zone])), scope.name))
    return {name: zone for zone, names in members.items() for name in names if name}


def read_interfaces(reading: Reading, scope: Scope, zone_of: dict[tuple[str, str], str]) -> None:
    """What is not known here is left to the ignore list: `reading.ledger` gets the known lines only."""
    for node in scope.entries("system interface"):
        vdom = node.value("vdom")
        context = vdom if vdom in reading.contexts else scope.name
        _book_known(reading, node, INTERFACE_SETTINGS)
        for below in ("ipv6", "secondaryip"):
            if below in node.tables:
                reading.ledger.understood(*node.tables[below].all_numbers())
        mtu = node.value("mtu")
        reading.interfaces.append(
            Interface(
                node.name,
                tuple(_interface_addresses(reading, node)),
                node.value("description") or node.value("alias"),
                zone_of.get((context, node.name), ""),
                _speed(node.value("speed")),
                node.value("status") != "down",
                node.all_numbers(),
                node.value("vrf"),
                context,
                int(mtu) if node.is_on("mtu-override") and is_decimal(mtu) and len(mtu) < 6 else None,
                node.value("interface"),
            )
        )


def _book_known(reading: Reading, node: Node, known: frozenset[str]) -> None:
    others = {number for name, number in node.fields() if name not in known}
    reading.ledger.understood(*(number for number in node.numbers if number not in others))


def _speed(word: str) -> int | None:
    """`10000auto`, `1000full`: Mbit/s. `auto` says nothing."""
    found = SPEED.fullmatch(word)
    return int(found[1]) * 10**6 if found is not None else None


def _interface_addresses(reading: Reading, node: Node) -> Iterator[str]:
    rows = [node, *node.rows("secondaryip")]
    for row in rows:
        if row.value("ip"):
            yield from _interface_address(reading, row, "ip")
    v6 = node.tables.get("ipv6")
    if v6 is not None:
        if v6.value("ip6-address"):
            yield from _interface_address(reading, v6, "ip6-address")
        for row in v6.rows("ip6-extra-addr"):
            try:
                yield str(ipaddress.ip_interface(row.name))
            except ValueError:
                reading.leave(row.number, "not an address with a length")


def _interface_address(reading: Reading, node: Node, name: str) -> Iterator[str]:
    text = "/".join(node.values(name)[:2])
    try:
        address = ipaddress.ip_interface(text)
    except ValueError:
        reading.leave(node.numbers_of(name)[-1], "not an address with a mask")
        return
    if int(address.ip):  # 0.0.0.0 and :: mean none
        yield str(address)


def read_routes(reading: Reading, scope: Scope) -> None:
    for table, family in STATIC.items():
        reading.book_headers(scope, table)
        for node in scope.entries(table):
            reading.book(node, ROUTE_SETTINGS)
            if node.value("status") == "disable":
                continue
            prefixes = _route_prefixes(scope, node, family)
            if not prefixes:
                for name in ("dst", "dstaddr", "internet-service"):
                    for number in node.numbers_of(name):
                        reading.leave(number, "the destination of the route is not an address")
            distance = node.value("distance")
            for prefix in prefixes:
                reading.routes.append(
                    Route(
                        prefix,
                        "" if node.value("gateway") in UNSTATED else node.value("gateway"),
                        node.value("device") or node.value("sdwan-zone") or ("virtual-wan-link" if _by_sdwan(node) else ""),
                        node.value("vrf"),
                        scope.name,
                        int(distance) if is_decimal(distance) and len(distance) < 4 else None,
                        node.is_on("blackhole"),
                        node.all_numbers(),
                    )
                )


def _by_sdwan(node: Node) -> bool:
    return node.is_on("sdwan") or node.is_on("virtual-wan-link")


def _route_prefixes(scope: Scope, node: Node, family: str) -> tuple[str, ...]:
    """() when the device finds the destination itself."""
    if node.values("dstaddr"):
        found = scope.find_addresses(family, node.settings["dstaddr"])
        return () if found.unresolved else found.value.prefixes()
    if node.value("internet-service") or node.value("internet-service-custom"):
        return ()
    text = "/".join(node.values("dst")[:2]) or ("0.0.0.0/0" if family == "4" else "::/0")
    try:
        return (str(ipaddress.ip_network(text, strict=False)),)
    except ValueError:
        return ()


def read_policy_routes(reading: Reading, scope: Scope) -> None:
    """`router policy`: rules that pick a next hop before the routing table is asked; `action deny` asks the table."""
    for path, family in POLICY_ROUTES.items():
        nodes = scope.tables.get(path)
        if not nodes:
            continue
        reading.book_headers(scope, path)
        rules = tuple(_policy_route(reading, scope, node, family) for node in scope.entries(path))
        lines = tuple(number for node in nodes for number in node.headers)
        name = scope.prefix + path
        reading.policies.append(
            Policy(name, rules, None, int(family), (Binding("", "in"),), lines, purpose="route", context=scope.name)
        )


def read_sdwan_rules(reading: Reading, scope: Scope) -> None:
    """`config service` of SD-WAN: rules that pick a member link, asked behind the policy routes."""
    for path in SDWAN:
        for node in scope.tables.get(path, ()):
            table = node.tables.get("service")
            if table is None:
                continue
            reading.ledger.understood(*table.numbers)
            rules = tuple(_sdwan_rule(reading, scope, row) for row in table.entries.values())
            name = f"{scope.prefix}{path} service"
            lines = tuple(table.headers)
            reading.policies.append(
                Policy(name, rules, None, 0, (Binding("", "in"),), lines, purpose="route", context=scope.name)
            )


def _sdwan_rule(reading: Reading, scope: Scope, node: Node) -> Rule:
    """`src`, `dst`, `src6`, `dst6` name objects; an internet service stands for a destination that the device knows."""
    conditions: list[str] = []
    reading.ledger.understood(*node.numbers)
    reading.leave_settings(node, SDWAN_SETTINGS | SDWAN_CONDITIONS, UNKNOWN_SETTING)
    for name in node.settings:
        if (name in SDWAN_CONDITIONS and node.value(name) != "disable") or name not in SDWAN_SETTINGS | SDWAN_CONDITIONS:
            conditions.append(node.words(name))
    for below in node.tables.values():  # service level agreements: which link is good enough
        reading.ledger.understood(*below.all_numbers())
    sides = [_sdwan_side(scope, node, side, conditions) for side in ("src", "dst")]
    services = [name for name in node.settings if name.startswith("internet-service-") and name != "internet-service-negate"]
    unresolved = [f"internet-service {value}" for name in services for value in node.values(name)]
    if node.is_on("internet-service"):
        sides[1] = Addresses(ANY, tuple(unresolved))
    devices = [name for name in node.values("input-device") if name != "any"]
    return _rule(reading, node, sides, devices, conditions, node.value("name"))


def _sdwan_side(scope: Scope, node: Node, side: str, conditions: list[str]) -> Addresses:
    found = [
        scope.find_addresses(family, node.settings[name])
        for name, family in ((side, "4"), (f"{side}6", "6"))
        if name in node.settings
    ]
    if not found:
        return Addresses(ANY)
    unresolved = tuple(name for one in found for name in one.unresolved)
    value = found[0].value.union(*(one.value for one in found[1:]))
    if node.is_on(f"{side}-negate"):
        if unresolved or len(found) > 1:
            conditions.append(f"{side}-negate enable")
            value = ANY
        else:
            value = (ANY6 if value.v6 else ANY4).minus(value)
    return Addresses(value, unresolved, tuple(name for one in found for name in one.names))


def _policy_route(reading: Reading, scope: Scope, node: Node, family: str) -> Rule:
    conditions: list[str] = []
    reading.ledger.understood(*node.numbers)
    reading.leave_settings(node, POLICY_ROUTE_SETTINGS, UNKNOWN_SETTING)
    for name in node.settings:
        if name not in POLICY_ROUTE_SETTINGS or name.startswith("internet-service"):
            conditions.append(node.words(name))
    sides = []
    for side in ("src", "dst"):
        found = _route_side(reading, scope, node, family, side)
        if node.is_on(f"{side}-negate"):
            if found.unresolved:
                conditions.append(f"{side}-negate enable")
            else:
                found = Addresses((ANY4 if family == "4" else ANY6).minus(found.value), (), found.names)
        sides.append(found)
    return _rule(reading, node, sides, node.values("input-device"), conditions, node.value("comments"))


def _rule(
    reading: Reading, node: Node, sides: list[Addresses], devices: Iterable[str], conditions: list[str], comment: str
) -> Rule:
    """A rule that picks a route. sides: source and destination."""
    dscp, odd = tos_dscp(node)
    source, destination = sides
    match = Match(
        source.value,
        destination.value,
        _route_services(reading, node),
        tuple(devices),
        (),
        dscp,
        (*conditions, *odd),
        (*source.unresolved, *destination.unresolved),
    )
    return Rule(
        name=node.name,
        action=Action.CONTINUE,
        match=match,
        lines=node.all_numbers(),
        text="; ".join(map(node.words, node.settings)),
        enabled=node.value("status") != "disable",
        comment=comment,
        hit_key=node.name,
        references=tuple(dict.fromkeys((*source.names, *destination.names))),
    )


def _route_side(reading: Reading, scope: Scope, node: Node, family: str, side: str) -> Addresses:
    """Prefixes and objects together; any when neither is given."""
    everything = ANY4 if family == "4" else ANY6
    found: list[AddressSet] = []
    for word in node.values(side):
        try:
            found.append(AddressSet.of(word))
        except ValueError:
            reading.leave(node.numbers_of(side)[0], f"{word[:40]!r} is not a prefix")
            return Addresses(everything, (word,))
    objects = node.settings.get(f"{side}addr")
    named = Addresses(everything) if objects is None else scope.find_addresses(family, objects)
    if named.unresolved:
        return named
    if objects is not None:
        found.append(named.value)
    return Addresses(found[0].union(*found[1:]) if found else everything, (), named.names)


def _route_services(reading: Reading, node: Node) -> Services:
    number = node.value("protocol") or "0"
    if not is_decimal(number) or len(number) > 3 or not 0 < int(number) < 256:
        return (ANY_SERVICE,)
    try:
        source, destination = (
            port_range(f"{node.value(low) or 0}-{node.value(high) or 65535}")
            for low, high in (("start-source-port", "end-source-port"), ("start-port", "end-port"))
        )
    except NotUnderstood as reason:
        reading.leave(node.number, str(reason))
        return (Service.of(int(number)),)
    return (Service.of(int(number), (destination,), (source,)) if int(number) in WITH_PORTS else Service.of(int(number)),)
