"""Interfaces and units, zones, routing instances, static routes, and where filters are bound."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator

from policyhub.domain.device_config import Interface, Route
from policyhub.domain.objects import Zone
from policyhub.domain.rules import Binding
from policyhub.vendorkit.lexing import is_decimal
from policyhub.vendors.juniper_junos.reading import Context, Reading, amount
from policyhub.vendors.juniper_junos.tree import Node

DIRECTIONS = {"input": "in", "output": "out", "input-list": "in", "output-list": "out"}
NOT_AN_INTERFACE = ("interface-range", "interface-set", "apply-groups", "traceoptions", "apply-groups-except")
FILTER_OPTIONS = ("group", "precedence", "apply-groups", "dialer", "rpf-check", "shared-name", "shared-direction")


def read_zones(reading: Reading, context: Context) -> None:
    zones = context.root.at("security", "zones")
    if zones is None:
        return
    reading.take_headers(zones)
    for zone in zones.kids("security-zone"):
        names = zone.values("interfaces")
        context.zone_of.update(dict.fromkeys(names, zone.word))
        reading.take_headers(zone, zone.at("interfaces"), *zone.kids("interfaces"))
        reading.zones.append(Zone(zone.word, tuple(names), _zone_lines(zone), context.name))
        for kid in zone.active():
            if kid.word in (
                "screen",
                "tcp-rst",
                "description",
                "application-tracking",
                "source-identity-log",
                "enable-reverse-reroute",
            ):
                reading.take(kid)


def _zone_lines(zone: Node) -> tuple[int, ...]:
    """Without the lines of the zone's own address book."""
    book = zone.children.get("address-book")
    own = set(zone.all_lines()) - set(book.all_lines() if book is not None else ())
    return tuple(sorted(own))


def read_instances(reading: Reading, context: Context) -> None:
    """`routing-instances RI interface ge-0/0/0.0`."""
    for instance in context.root.kids("routing-instances"):
        reading.take_headers(instance)
        for kid in instance.active():
            if kid.word in ("interface", "instance-type", "description", "vlan-id", "vtep-source-interface"):
                reading.take(kid)
        context.vrf_of.update(dict.fromkeys(instance.values("interface"), instance.word))
        for options in instance.kids("forwarding-options"):
            _read_table_filter(reading, context, options, f"instance {instance.word}")
    reading.take_headers(context.root.at("routing-instances"))


def read_interfaces(reading: Reading, context: Context) -> None:
    holder = context.root.at("interfaces")
    if holder is None:
        return
    reading.take_headers(holder)
    reading.take_headers(*holder.kids("interface-range"))
    for node in holder.kids("interface-range"):
        reading.take(*node.kids("member"), node.at("member"), node.at("member-range"), *node.kids("member-range"))
    for node in holder.children.values():
        if node.word in NOT_AN_INTERFACE:
            continue
        _read_interface(reading, context, node)


def _read_interface(reading: Reading, context: Context, node: Node) -> None:
    reading.take_headers(node)
    disabled = node.inactive or node.has("disable")
    for key in ("description", "mtu", "disable", "speed"):
        reading.take(node.at(key))
    speed = node.value("speed")
    if speed in ("auto", "") and node.has("ether-options", "speed"):
        speed = node.value("ether-options", "speed")
    lines = sorted({number for below in _without_units(node) for number in below.lines})
    context.interface_names.append(node.word)
    reading.interfaces.append(
        Interface(
            node.word,
            description=node.value("description"),
            zone=context.zone_of.get(node.word, ""),
            speed_bps=amount(speed.lower().removesuffix("bps")),
            enabled=not disabled,
            lines=tuple(lines),
            context=context.name,
            mtu=_number(node.value("mtu")),
        )
    )
    units = node.children.get("unit")
    for unit in units.children.values() if units is not None else ():
        _read_unit(reading, context, node, unit, disabled)


def _without_units(node: Node) -> Iterator[Node]:
    yield node
    for kid in node.children.values():
        if kid.word != "unit":
            yield from kid.walk()


def _number(text: str) -> int | None:
    return int(text) if is_decimal(text) and len(text) < 7 else None


def _read_unit(reading: Reading, context: Context, parent: Node, unit: Node, disabled: bool) -> None:
    name = f"{parent.word}.{unit.word}"
    reading.take_headers(unit)
    for key in ("description", "disable", "vlan-id", "vlan-tags"):
        reading.take(unit.at(key))
    addresses: list[str] = []
    mtu = ""
    for family in unit.kids("family"):
        reading.take_headers(family)
        addresses.extend(_addresses(reading, family))
        reading.take(family.at("mtu"))
        mtu = mtu or family.value("mtu")
        _read_filters(reading, context, family, name, family.word)
    _read_filters(reading, context, unit, name, "any")
    context.interface_names.append(name)
    reading.interfaces.append(
        Interface(
            name,
            tuple(addresses),
            unit.value("description"),
            context.zone_of.get(name, context.zone_of.get(parent.word, "")),
            enabled=not (disabled or unit.inactive or unit.has("disable")),
            lines=unit.all_lines(),
            vrf=context.vrf_of.get(name, ""),
            context=context.name,
            mtu=_number(mtu),
            parent=parent.word,
        )
    )


def _addresses(reading: Reading, family: Node) -> list[str]:
    if family.word not in ("inet", "inet6"):
        return []
    found: list[str] = []
    for node in family.kids("address"):
        try:
            found.append(str(ipaddress.ip_interface(node.word)))
            reading.take_headers(node)
        except ValueError:
            reading.leave(node, "not an address")
    return found


def _read_filters(reading: Reading, context: Context, place: Node, interface: str, family: str) -> None:
    """`filter { input F; output F; input-list [ A B ]; }` of a unit or one of its families."""
    node = place.at("filter")
    if node is None:
        return
    reading.take_headers(node)
    for kid in node.active():
        if kid.word in DIRECTIONS:
            _read_binding(reading, context, kid, interface, family)
        elif kid.word in FILTER_OPTIONS:
            reading.take(kid)
        else:
            reading.leave(kid, "not understood where filters are bound")


def _read_binding(reading: Reading, context: Context, kid: Node, interface: str, family: str) -> None:
    reading.take(kid)
    names = tuple(filter_.word for filter_ in kid.active())
    if kid.word in ("input", "output"):
        names = (kid.value(),) if names else ()
    if not names:
        return
    direction = DIRECTIONS[kid.word]
    if direction == "in" and interface.startswith("lo0"):
        direction = "local"
    binding = Binding(interface, direction, kid.all_lines())
    context.filter_bindings.setdefault((family, names), []).append(binding)


def read_other_bindings(reading: Reading, context: Context) -> None:
    """Filters of VLANs, bridge domains and forwarding tables."""
    for holder in ("vlans", "bridge-domains"):
        for vlan in context.root.kids(holder):
            for options in (vlan.at("forwarding-options"), vlan):
                node = options.at("filter") if options is not None else None
                if options is not None and node is not None:
                    reading.take_headers(options)
                    family = "ethernet-switching" if holder == "vlans" else "bridge"
                    _read_filters(reading, context, options, f"vlan {vlan.word}", family)
    options = context.root.at("forwarding-options")
    if options is not None:
        _read_table_filter(reading, context, options, "forwarding table")


def _read_table_filter(reading: Reading, context: Context, options: Node, place: str) -> None:
    for family in options.kids("family"):
        if family.has("filter"):
            reading.take_headers(family)
            _read_filters(reading, context, family, place, family.word)


def read_routes(reading: Reading, context: Context) -> None:
    """Static routes of the main table, of `rib` tables and of routing instances."""
    tables = [(context.root, "")] + [(instance, instance.word) for instance in context.root.kids("routing-instances")]
    for place, vrf in tables:
        options = place.at("routing-options")
        if options is None:
            continue
        holders = [options, *options.kids("rib")]
        for holder in holders:
            static = holder.at("static")
            reading.take_headers(static)
            for route in holder.kids("static", "route"):
                _read_route(reading, context, route, vrf)


def _read_route(reading: Reading, context: Context, route: Node, vrf: str) -> None:
    reading.take_known(route, "route")
    lines = route.all_lines()
    distance = _number(route.value("preference"))
    discards = any(route.has(word) for word in ("discard", "reject", "receive"))
    tables = route.values("next-table")
    hops: list[tuple[str, int | None]] = [(word, distance) for word in (*route.values("next-hop"), *tables)]
    hops += [(node.word, _number(node.value("preference")) or distance) for node in route.kids("qualified-next-hop")]
    for hop, own in hops or [("", distance)]:
        is_address = hop in tables or (bool(hop) and (hop[0].isdigit() or ":" in hop))
        reading.routes.append(
            Route(
                route.word,
                hop if is_address else "",
                "" if is_address else hop,
                vrf,
                context.name,
                own,
                discards and not hop,
                lines,
            )
        )
