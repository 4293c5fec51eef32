"""Zones, interfaces, imports of a vsys, virtual and logical routers with their static routes."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from dataclasses import replace

from policyhub.domain.device_config import Interface, Route
from policyhub.domain.objects import Zone
from policyhub.vendorkit.lexing import is_decimal
from policyhub.vendors.paloalto_panos import qos
from policyhub.vendors.paloalto_panos.reading import Reading, Scope
from policyhub.vendors.paloalto_panos.tree import Node, unknown, words

ZONE_KINDS = ("layer3", "layer2", "virtual-wire", "tap", "external", "tunnel")
WITH_PORTS = ("ethernet", "aggregate-ethernet")
ALONE = ("vlan", "loopback", "tunnel", "cellular", "sdwan")
ROUTERS = ("virtual-router", "logical-router")
MBPS = 1_000_000
ROUTE_FIELDS = words("static-route")
INTERFACE_FIELDS = words("interface")
ZONE_FIELDS = words("zone")
ZONE_NETWORK_FIELDS = words("zone-network")
IMPORT_FIELDS = words("import")


def read(reading: Reading, node: Node, context: str) -> None:
    """`network` of a device or template."""
    for child in node:
        if child.name == "interface":
            reading.pass_by(child)
            for kind in child:
                _interfaces(reading, kind, context)
        elif child.name in ROUTERS:
            reading.pass_by(child)
            for router in child:
                reading.pass_by(router)
                _router(reading, router, router.name, context)
        elif child.name == "qos":
            qos.read(reading, child)
        elif child.name == "shared-gateway":
            reading.pass_by(child)
        else:
            reading.leave(child, f"network {child.name}")


def _interfaces(reading: Reading, kind: Node, context: str) -> None:
    """`ethernet` holds ports with units in a mode; `loopback` holds units at once, and settings of its own first one."""
    reading.pass_by(kind)
    if kind.name in WITH_PORTS:
        for entry in kind:
            modes = [child for child in entry if child.name in ("layer3", "layer2")]
            _keep(reading, entry, (entry, *modes), context)
            for mode in modes:
                for unit in mode.get("units") or ():
                    _keep(reading, unit, (unit,), context, entry.name)
    elif kind.name in ALONE:
        for child in kind:
            if child.name == "units":
                reading.pass_by(child)
                for unit in child:
                    _keep(reading, unit, (unit,), context)
            else:
                _keep(reading, kind, (kind,), context)
    else:
        reading.leave(kind, f"network interface {kind.name}")


def _keep(reading: Reading, node: Node, parts: tuple[Node, ...], context: str, parent: str = "") -> None:
    """Settings that shape no traffic policy are read over: they are lines of the interface."""
    reading.understand(node)
    _complain(reading, parts, INTERFACE_FIELDS, "an interface")
    speed = node.text("link-speed")
    mtu = next((text for part in parts if (text := part.text("mtu"))), "")
    reading.interfaces[(context, node.name)] = Interface(
        node.name,
        addresses=tuple(word for part in parts for word in _addresses(part)),
        description=node.text("comment"),
        speed_bps=int(speed) * MBPS if is_decimal(speed) and len(speed) < 8 else None,
        enabled=node.text("link-state") != "down",
        lines=node.lines,
        context=context,
        mtu=int(mtu) if is_decimal(mtu) and len(mtu) < 6 else None,
        parent=parent,
    )


def _complain(reading: Reading, parts: tuple[Node, ...], known: frozenset[str], what: str) -> None:
    for part in parts:
        for child in unknown(part, known):
            reading.complain(child, f"{child.name[:40]!r} of {what} is not understood")


def _addresses(part: Node) -> Iterator[str]:
    for entry in part.get("ip") or ():
        yield entry.name
    for entry in part.at("ipv6", "address") or ():
        yield entry.name


def _router(reading: Reading, node: Node, name: str, context: str) -> None:
    """A virtual router; a logical router holds its parts in VRFs of the same shape."""
    for child in node:
        if child.name == "interface":
            reading.understand(child)
            for member in child.values:
                reading.imports[(f"vrf {context}", member)] = name
        elif child.name == "routing-table":
            reading.pass_by(child)
            for family in child:
                reading.pass_by(family)
                _static(reading, family, name, context)
        elif child.name == "vrf":
            reading.pass_by(child)
            for vrf in child:
                reading.pass_by(vrf)
                _router(reading, vrf, name if vrf.name == "default" else f"{name}/{vrf.name}", context)
        else:
            reading.leave(child, f"network router {child.name}")


def _static(reading: Reading, family: Node, router: str, context: str) -> None:
    for child in family:
        if child.name != "static-route":
            reading.leave(child, f"network router routing-table {child.name}")
            continue
        reading.pass_by(child)
        for entry in child:
            _route(reading, entry, router, context)


def _route(reading: Reading, entry: Node, router: str, context: str) -> None:
    prefix = entry.text("destination")
    if not prefix:
        reading.complain(entry, "a static route without a destination")
        return
    reading.understand(entry)
    _complain(reading, (entry,), ROUTE_FIELDS, "a static route")
    hop = entry.get("nexthop")
    kind = hop.value if hop is not None else ""
    word = hop.text(kind) if hop is not None else ""
    distance = entry.text("admin-dist")
    reading.routes.append(
        Route(
            prefix,
            next_hop=f"next-vr {word}" if kind in ("next-vr", "next-lr") else word,
            interface=entry.text("interface"),
            vrf=router,
            context=context,
            distance=int(distance) if is_decimal(distance) and len(distance) < 5 else None,
            discard=kind == "discard",
            lines=entry.lines,
        )
    )


def read_zones(reading: Reading, scope: Scope, node: Node) -> None:
    reading.pass_by(node)
    for entry in node:
        reading.understand(entry)
        modes = entry.get("network")
        _complain(reading, (entry,), ZONE_FIELDS, "a zone")
        if modes is not None:
            _complain(reading, (modes,), ZONE_NETWORK_FIELDS, "a zone")
        members = [name for kind in ZONE_KINDS for name in (modes.members(kind) if modes is not None else ())]
        reading.zones.append(Zone(entry.name, tuple(members), entry.lines, scope.context))


def read_imports(reading: Reading, scope: Scope, node: Node) -> None:
    """Which interfaces a vsys owns."""
    reading.understand(node)
    _complain(reading, (node,), IMPORT_FIELDS, "an import")
    for member in node.members("network", "interface"):
        reading.imports[("vsys", member)] = scope.context


def finished(reading: Reading) -> tuple[tuple[Interface, ...], tuple[Zone, ...], tuple[Route, ...]]:
    """With zones, routers and vsys filled in, and addresses of objects looked up."""
    zones = {(_device_of(zone.context), member): zone.name for zone in reading.zones for member in zone.interfaces}
    several = len(reading.vsys) > 1
    interfaces = []
    for (context, name), port in reading.interfaces.items():
        owner = reading.imports.get(("vsys", name), "") if several and not context else context
        interfaces.append(
            replace(
                port,
                addresses=tuple(text for word in port.addresses for text in _with_length(reading, word)),
                zone=zones.get((context, name), ""),
                vrf=reading.imports.get((f"vrf {context}", name), ""),
                context=owner,
            )
        )
    only = next(iter(reading.vsys.values())).context if len(reading.vsys) == 1 else None
    found = tuple(replace(zone, context="" if zone.context == only else zone.context) for zone in reading.zones)
    routes = tuple(replace(route, next_hop=_hop(reading, route.next_hop)) for route in reading.routes)
    return tuple(interfaces), found, routes


def _device_of(context: str) -> str:
    """The template of a zone's context; "" for the device itself."""
    return context.partition("/")[0] if context.startswith("template:") else ""


def _value(reading: Reading, word: str) -> str:
    """The word, or what the address object of that name holds."""
    for scope in (*reading.vsys.values(), reading.shared):
        known = scope.objects.get("address", {}).get(word)
        if known is not None:
            return known.text("ip-netmask") or known.text("ip-range") or known.text("fqdn") or word
    return word


def _with_length(reading: Reading, word: str) -> Iterator[str]:
    text = _value(reading, word)
    try:
        yield str(ipaddress.ip_interface(text))
    except ValueError:
        return  # a range or a variable is no address of an interface


def _hop(reading: Reading, word: str) -> str:
    if not word or word.startswith("next-vr "):
        return word
    return _value(reading, word).partition("/")[0]
