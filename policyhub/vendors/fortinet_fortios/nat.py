"""Virtual addresses (destination NAT), central source NAT, and the source NAT that policies carry."""

from __future__ import annotations

from policyhub.domain.addresses import ANY, NOWHERE, AddressSet
from policyhub.domain.nat import NatKind, NatRule
from policyhub.domain.objects import AddressObject, ObjectGroup
from policyhub.domain.rules import Action, Match
from policyhub.domain.services import ANY_SERVICE, ICMP, SCTP, TCP, UDP, Service
from policyhub.vendorkit.lexing import NotUnderstood, host_set, is_decimal, prefix_set, range_set
from policyhub.vendorkit.operands import Services
from policyhub.vendors.fortinet_fortios.objects import UNSTATED, port_range
from policyhub.vendors.fortinet_fortios.reading import EVERYTHING, Addresses, Family, Reading, Scope, Vip
from policyhub.vendors.fortinet_fortios.tree import Node

VIP_TABLES: dict[str, Family] = {
    "firewall vip": "4",
    "firewall vip6": "6",
    "firewall vip46": "4",
    "firewall vip64": "6",
}
VIP_GROUPS: dict[str, Family] = {
    "firewall vipgrp": "4",
    "firewall vipgrp6": "6",
    "firewall vipgrp46": "4",
    "firewall vipgrp64": "6",
}
PROTOCOLS = {"tcp": TCP, "udp": UDP, "sctp": SCTP, "icmp": ICMP}
PORTLESS_SERVERS = ("ip",)
STATIC = ("", "static-nat")
CARRIERS = ("firewall policy", "firewall policy6", "firewall consolidated policy", "firewall policy46", "firewall policy64")


def literal(text: str) -> AddressSet | None:
    """An address, a prefix or a range; None when it is none."""
    low, dash, high = text.partition("-")
    if dash:
        return range_set(low, high)
    return prefix_set(text) if "/" in text else host_set(text)


def literals(texts: list[str]) -> AddressSet | None:
    """The union; None when one of them is no address."""
    found = [literal(text) for text in texts]
    known = [value for value in found if value is not None]
    return NOWHERE.union(*known) if known and len(known) == len(found) else None


def read_vips(reading: Reading, scope: Scope) -> None:
    """Before the policies: rules name VIPs like addresses."""
    for table, family in VIP_TABLES.items():
        reading.book_headers(scope, table)
        for node in scope.entries(table):
            _vip(reading, scope, node, table, family)
    for table, family in VIP_GROUPS.items():
        reading.book_headers(scope, table)
        for node in scope.entries(table):
            reading.book(node)
            members = node.values("member")
            scope.vip_groups[node.name] = members
            scope.addresses[family].define(node.name)
            for member in members:
                scope.addresses[family].refer(node.name, member)
            reading.groups.append(ObjectGroup(node.name, "network", tuple(members), node.all_numbers(), (), scope.name))


def _vip(reading: Reading, scope: Scope, node: Node, table: str, family: Family) -> None:
    reading.book(node)
    for below in node.tables:
        reading.book_rows(node, below)
    external, unresolved = _external(scope, node, family)
    services = _vip_services(reading, scope, node)
    conditions = [f"type {node.value('type')}"] if node.value("type") in ("dns-translation", "fqdn", "access-proxy") else []
    source = literals(node.values("src-filter")) if node.values("src-filter") else None
    if source is None and node.values("src-filter"):
        unresolved = (*unresolved, *node.values("src-filter"))
    match = Match(
        source or (EVERYTHING[family] if external.v4 or external.v6 else ANY),
        external,
        services,
        source_zones=_vip_zones(node),
        conditions=tuple(conditions),
        unresolved=unresolved,
    )
    is_static = node.value("type") in STATIC and not node.is_on("portforward")
    reading.nat_rules.append(
        NatRule(
            name=node.name,
            kind=NatKind.STATIC if is_static else NatKind.DESTINATION,
            match=match,
            lines=node.all_numbers(),
            translated_destination=_mapped(node),
            translated_service=node.value("mappedport") if node.is_on("portforward") else "",
            rule_set=table,
            context=scope.name,
            enabled=node.value("status") != "disable",
            comment=node.value("comment"),
            references=tuple(dict.fromkeys((*node.values("service"), *node.values("mapped-addr"), *node.values("extaddr")))),
        )
    )
    _as_address(reading, scope, node, family, external, unresolved)


def _as_address(
    reading: Reading, scope: Scope, node: Node, family: Family, external: AddressSet, unresolved: tuple[str, ...]
) -> None:
    """A VIP stands among the addresses of a policy for its external address."""
    scope.addresses[family].define(node.name)
    if unresolved:
        scope.addresses[family].leave_open(node.name, node.name)
    else:
        scope.addresses[family].add(node.name, external)
    known = None if unresolved else external
    reading.addresses.append(AddressObject(node.name, known, "static", node.all_numbers(), "vip", scope.name))
    outside, inside = node.value("extport"), node.value("mappedport")
    forwarded = None
    if node.is_on("portforward") and inside and outside and inside != outside:
        services = _forwarded(node)
        forwarded = services[0] if services else None
    note = f"vip {node.name} {outside} -> {inside}" if forwarded is not None else ""
    scope.vips[node.name] = Vip(node.name, external, forwarded, note)


def _external(scope: Scope, node: Node, family: Family) -> tuple[AddressSet, tuple[str, ...]]:
    if node.values("extaddr"):
        found = scope.find_addresses(family, node.settings["extaddr"])
        return found.value, found.unresolved
    value = literals(node.values("extip")) if node.value("extip") not in ("", *UNSTATED) else None
    return (EVERYTHING[family], ("extip",)) if value is None else (value, ())


def _forwarded(node: Node) -> Services:
    """Protocol and external port; () when they are not understood."""
    protocol = PROTOCOLS.get(node.value("protocol") or "tcp")
    if protocol is None:
        return ()
    if protocol == ICMP:
        return (Service.of(ICMP),)
    try:
        return (Service.of(protocol, tuple(port_range(word) for word in node.values("extport"))),)
    except NotUnderstood:
        return ()


def _vip_services(reading: Reading, scope: Scope, node: Node) -> Services:
    balances = node.value("type") == "server-load-balance" and node.value("extport") not in ("", "0")
    if node.value("server-type") in PORTLESS_SERVERS:
        return (ANY_SERVICE,)
    if node.is_on("portforward") or balances:
        if node.value("server-type") == "udp" and not node.value("protocol"):
            return (Service(((UDP, UDP),), destination_ports=_forwarded(node)[0].destination_ports),) if _forwarded(node) else ()
        found = _forwarded(node)
        if not found:
            reading.leave(node.number, "the external port of the VIP is not understood")
        return found or (ANY_SERVICE,)
    if node.values("service"):
        return scope.find_services(node.settings["service"]).value
    return (ANY_SERVICE,)


def _vip_zones(node: Node) -> tuple[str, ...]:
    names = node.values("extintf")
    if not names or "any" in names:
        names = node.values("srcintf-filter")
    return tuple(name for name in names if name != "any")


def _mapped(node: Node) -> str:
    """What the packet is sent to, as written."""
    servers = [
        f"{server.value('ip') or server.value('address')}" + (f":{server.value('port')}" if server.value("port") else "")
        for server in node.rows("realservers")
        if server.value("status") != "disable"
    ]
    settings = ("mappedip", "ipv4-mappedip", "ipv6-mappedip", "mapped-addr")
    return ", ".join(servers or [value for name in settings for value in node.values(name)])


def read_central_snat(reading: Reading, scope: Scope) -> None:
    table = "firewall central-snat-map"
    reading.book_headers(scope, table)
    for node in scope.entries(table):
        reading.book(node)
        sides = [_both(scope, node, *names) for names in (("orig-addr", "orig-addr6"), ("dst-addr", "dst-addr6"))]
        pools = [*node.values("nat-ippool"), *node.values("nat-ippool6")]
        match = Match(
            sides[0].value,
            sides[1].value,
            _snat_services(reading, node),
            tuple(name for name in node.values("srcintf") if name != "any"),
            tuple(name for name in node.values("dstintf") if name != "any"),
            unresolved=(*sides[0].unresolved, *sides[1].unresolved),
        )
        exempt = node.value("nat") == "disable"
        reading.nat_rules.append(
            NatRule(
                name=node.name,
                kind=NatKind.EXEMPT if exempt else NatKind.SOURCE,
                match=match,
                lines=node.all_numbers(),
                translated_source="" if exempt else ", ".join(pools) or "interface",
                translated_service="" if node.value("nat-port") in ("", "0") else node.value("nat-port"),
                rule_set=table,
                context=scope.name,
                enabled=node.value("status") != "disable",
                comment=node.value("comments"),
                hit_key=node.name,
                references=tuple(dict.fromkeys((*sides[0].names, *sides[1].names, *pools))),
            )
        )


def _both(scope: Scope, node: Node, v4: str, v6: str) -> Addresses:
    found = [
        scope.find_addresses(family, node.settings[name]) for name, family in ((v4, "4"), (v6, "6")) if name in node.settings
    ]
    if not found:
        return Addresses(EVERYTHING["6" if node.value("type") == "ipv6" else "4"])
    unresolved = tuple(name for one in found for name in one.unresolved)
    return Addresses(NOWHERE.union(*(one.value for one in found)), unresolved, tuple(name for one in found for name in one.names))


def _snat_services(reading: Reading, node: Node) -> Services:
    number = node.value("protocol") or "0"
    if not is_decimal(number) or len(number) > 3 or not 0 < int(number) < 256:
        return (ANY_SERVICE,)
    try:
        source, destination = (
            (port_range(words),) if (words := node.value(name)) not in ("", "0") else None for name in ("orig-port", "dst-port")
        )
    except NotUnderstood as reason:
        reading.leave(node.number, str(reason))
        return (Service.of(int(number)),)
    return (Service.of(int(number), destination, source),)


def read_policy_nat(reading: Reading, scope: Scope) -> None:
    """`set nat enable` of a permitting rule; with central NAT the setting is not used."""
    if scope.is_on("system settings", "central-nat"):
        return
    carriers = {scope.prefix + path: path for path in CARRIERS}
    for policy in reading.policies:
        if policy.context != scope.name or policy.name not in carriers:
            continue
        for node, rule in zip(scope.entries(carriers[policy.name]), policy.rules, strict=True):
            if rule.action is not Action.PERMIT or not node.is_on("nat"):
                continue
            pools = [*node.values("poolname"), *node.values("poolname6")] if node.is_on("ippool") else []
            reading.nat_rules.append(
                NatRule(
                    name=rule.name,
                    kind=NatKind.SOURCE,
                    match=rule.match,
                    lines=rule.lines,
                    translated_source=", ".join(pools) or "interface",
                    rule_set=policy.name,
                    context=scope.name,
                    enabled=rule.enabled,
                    hit_key=rule.hit_key,
                    references=tuple(pools),
                )
            )
