"""VyOS configurations into the domain model."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.resources import files

from policyhub.domain.device_config import DeviceConfig, Interface, Route
from policyhub.domain.objects import Zone
from policyhub.domain.rules import Binding
from policyhub.vendorkit.blocks import read_lines
from policyhub.vendorkit.ledger import LineLedger, is_sensitive
from policyhub.vendorkit.lexing import is_decimal, score
from policyhub.vendors.vyos.groups import Groups
from policyhub.vendors.vyos.nat import nat_rules
from policyhub.vendors.vyos.reading import Reading
from policyhub.vendors.vyos.rules import Bindings, policies
from policyhub.vendors.vyos.tree import Node, read_tree

NAME = "vyos"
SECTIONS = json.loads(files("policyhub.vendors.vyos").joinpath("sections.json").read_text(encoding="utf-8"))
SIGNS = (
    (r"vyos-config-version|=== vyatta-config-version|^(//|/\*) Release version: (VyOS|\d)", 0.9),
    (r"^set (firewall|nat) (group|ipv[46]|name|ipv6-name|global-options|zone|source|destination) ", 0.7),
    (r"^set interfaces (ethernet|bonding|bridge|loopback|wireguard|pppoe|openvpn|tunnel|vti|dummy) \S+", 0.6),
    (r"^set system (host-name|config-management|login user|conntrack|syslog global|console) ?", 0.2),
    (r"^(firewall|zone-policy|nat|interfaces|service|system|protocols|policy|vpn) \{$", 0.3),
    (r"^ {4}(ethernet eth\d+|loopback lo|bonding bond\d+|config-management|console) \{$", 0.4),
    (r"^ {4}(name|ipv6-name|ipv4|ipv6|group|zone) ?\S* \{$", 0.3),
    (r"^ {8}(rule \d+|address-group \S+|default-action (drop|accept|reject))( \{)?$", 0.2),
    (r";\s*$", -0.6),
)
ZONE = ("interface", "member", "from", "local-zone", "default-action", "default-log", "description", "intra-zone-filtering")
DIRECTIONS = {"in": "in", "out": "out", "local": "local"}
FAMILIES = {"name": "ipv4", "ipv6-name": "ipv6"}


def looks_like(text: str) -> float:
    return score(text[:400_000].replace("\r", ""), SIGNS)


def parse(text: str) -> DeviceConfig:
    """Total: any text gives a model; what is not understood is in `unparsed`."""
    lines = read_lines(text)
    ledger = LineLedger()
    root = read_tree(ledger.without_long(lines), ledger)
    reading = Reading(root, ledger, lines)
    groups = Groups.read(reading)
    interfaces, bindings = _interfaces(reading)
    zones = _zones(reading, bindings)
    made = policies(reading, groups, bindings)
    translations = nat_rules(reading, groups)
    routes = tuple(_routes(reading))
    hostname = root.get("system", "host-name")
    ledger.understood(*(hostname.lines if hostname is not None else ()))
    _settle(reading)
    return DeviceConfig(
        platform=NAME, hostname=root.word("system", "host-name"), lines=len(lines), policies=made, interfaces=interfaces,
        groups=tuple(groups.objects), zones=zones, ignored=ledger.ignored_lines, unparsed=ledger.unparsed_lines,
        nat_rules=translations, routes=routes, special=ledger.special_lines,
    )  # fmt: skip


def _interfaces(reading: Reading) -> tuple[tuple[Interface, ...], Bindings]:
    """Interfaces, and (family, policy) -> where 1.3 binds it."""
    found: list[Interface] = []
    bindings: Bindings = {}
    stack = [(name, node) for _, kind in reading.root.pairs("interfaces") for name, node in kind.children.items()]
    for name, node in stack:
        number = node.word("mtu")
        found.append(
            Interface(
                name,
                tuple(a for a in node.words("address") if "/" in a),
                node.word("description"),
                enabled=not node.has("disable"),
                lines=node.lines,
                vrf=node.word("vrf"),
                mtu=int(number) if is_decimal(number) and len(number) < 6 else None,
            )
        )
        for way, below in node.pairs("firewall"):
            for key, listed in below.children.items():
                if way not in DIRECTIONS or key not in FAMILIES:
                    continue
                reading.ledger.understood(*(node.get("firewall") or node).own, *below.own, *listed.lines)
                for policy in listed.children:
                    bindings.setdefault((FAMILIES[key], policy), []).append(Binding(name, DIRECTIONS[way], below.lines))
        for key in ("address", "description", "disable", "mtu", "vrf"):
            below_key = node.get(key)
            reading.ledger.understood(*(below_key.lines if below_key else ()))
        reading.ledger.understood(*node.own)
        stack += [(f"{name}.{number}", vif) for key in ("vif", "vif-s") for number, vif in node.pairs(key)]
    return tuple(found), bindings


def _zones(reading: Reading, bindings: Bindings) -> tuple[Zone, ...]:
    found: list[Zone] = []
    for top in (reading.root.get("zone-policy"), reading.root.get("firewall")):
        reading.ledger.understood(*(top.own if top is not None else ()))
        for name, node in top.pairs("zone") if top is not None else ():
            names = [*node.words("interface"), *node.words("member", "interface")]
            found.append(Zone(name, tuple(n for n in names if n != "member"), node.lines))
            for other, source in node.pairs("from"):
                for key, policy in source.pairs("firewall"):
                    for policy_name in policy.children:
                        binding = Binding(f"{other} > {name}", "zone pair", source.lines)
                        bindings.setdefault((FAMILIES.get(key, "ipv4"), policy_name), []).append(binding)
            read = [below for key in ZONE if (below := node.get(key)) is not None]
            reading.ledger.understood(*node.own, *(line for below in read for line in below.lines))
    return tuple(found)


def _routes(reading: Reading) -> Iterator[Route]:
    for key in ("route", "route6"):
        for prefix, node in reading.root.pairs("protocols", "static", key):
            reading.ledger.understood(*node.lines)
            if node.has("blackhole"):
                yield Route(prefix, discard=True, lines=node.lines)
            for attribute in ("next-hop", "interface"):
                for hop, below in node.pairs(attribute):
                    far = below.word("distance")
                    distance = int(far) if is_decimal(far) and len(far) < 4 else None
                    where = (hop, "") if attribute == "next-hop" else ("", hop)
                    yield Route(prefix, where[0], where[1], distance=distance, lines=node.lines)


def _settle(reading: Reading) -> None:
    """Sections by name: those that hold no rule and no QoS are ignored, sensitive words in them are counted apart."""
    for name, node in reading.root.pairs():
        if name in SECTIONS["ignored"]:
            _ignore(reading, node)
        elif name in ("firewall", "policy"):
            reading.ledger.understood(*node.own)
            for key, below in node.pairs():
                if key in SECTIONS[name]:
                    _ignore(reading, below)
        reading.refuse(node.lines, f"{name[:40]} is not read here")


def _ignore(reading: Reading, node: Node) -> None:
    for number in node.lines:
        line = reading.by_number.at(number)
        if reading.ledger.is_booked(number):
            continue
        if is_sensitive(line.text):
            reading.ledger.excuse(number)
        else:
            reading.ledger.ignore(line)
