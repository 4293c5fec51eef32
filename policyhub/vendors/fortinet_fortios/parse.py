"""Configuration of FortiOS (backup, `show`, scripts) into the domain model."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from operator import attrgetter
from typing import Any

from policyhub.domain.device_config import DeviceConfig
from policyhub.domain.evaluation import Seen, Stage, StageKind
from policyhub.vendorkit.blocks import Block, Lines, read_lines
from policyhub.vendorkit.ledger import IgnoreList
from policyhub.vendorkit.lexing import score
from policyhub.vendors.fortinet_fortios import nat, network, objects, policies, qos
from policyhub.vendors.fortinet_fortios.reading import PACKAGE, Reading, Scope
from policyhub.vendors.fortinet_fortios.tree import Node, Tree, read_tree

NAME = "fortinet_fortios"
IGNORED = IgnoreList.of(PACKAGE)
SIGNS = (
    (r"^#config-version=F\w+-\d", 0.9),
    (r"^[ \t]*config (system|firewall|router|vpn|user|log|vdom|global)\b", 0.4),
    (r"^[ \t]*config (firewall (policy|address|service|vip|addrgrp)|system (interface|global|zone))", 0.3),
    (r"^[ \t]*next[ \t]*\r?$", 0.2),
    (r'^[ \t]*set (srcintf|dstintf|srcaddr|subnet|vdom|hostname) "?', 0.3),
    (r"^idx[=:]\d+", 0.6),
    (r"\biprope6? show\b", 0.6),
    (r'"path"\s*:\s*"firewall"', 0.6),
    (r'\bdevid="?F\w+.*\bpolicyid=\d+', 0.8),
    (r"^(object network|access-list|set (system|security|interfaces) |<config)", -0.6),
)
VERSION = re.compile(
    r"^#config-version=[^-\n]{1,40}-(\d{1,2}\.\d{1,2}\.\d{1,3})|^Version: \S{1,40} v(\d{1,2}\.\d{1,2}\.\d{1,3})", re.MULTILINE
)
HANDLED = frozenset(
    {
        *objects.ADDRESS_TABLES, *objects.GROUP_TABLES, *objects.POOL_TABLES, *objects.WORDS_ONLY, *policies.TABLES,
        *nat.VIP_TABLES, *nat.VIP_GROUPS, *network.POLICY_ROUTES, *network.STATIC,
        "firewall service custom", "firewall service group",
        "firewall schedule onetime", "firewall schedule recurring", "firewall schedule group", "firewall central-snat-map",
        "system zone", qos.SHAPERS, qos.PER_IP, qos.PROFILES, qos.CLASSES,
    }
)  # fmt: skip
# read in part; the other lines are those of the ignore list
READ_SETTINGS = (
    ("system global", ("hostname",)),
    ("system settings", ("central-nat", "ngfw-mode", "opmode")),
    ("system central-management", ("type", "fmg")),
)
READ_IN_PART = (*(table for table, _ in READ_SETTINGS), "system interface", *network.SDWAN)
OWN_LISTS = ("firewall policy", "firewall policy6", "firewall consolidated policy", "firewall policy46", "firewall policy64")


def looks_like(text: str) -> float:
    return score(text[:200_000], SIGNS)


def parse(text: str) -> DeviceConfig:
    """Total: any text gives a model; what is not understood is in `unparsed`."""
    lines = read_lines(text)
    reading = Reading(text=lines, version=_version(text))
    tree = read_tree(lines, reading.ledger)
    _make_scopes(reading, tree)
    _read(reading)
    reading.ledger.understood(*tree.prompts)
    for block in _left_over(reading, tree, lines):  # one by one: all of them would take the memory of the text again
        reading.ledger.settle([block], IGNORED)
    _book_frames(reading)
    return _model(reading, text, len(lines))


def _make_scopes(reading: Reading, tree: Tree) -> None:
    """A scope per vdom when there are several; what stands outside of them is a scope as well."""
    outer = Scope()
    reading.scopes.append(outer)
    top = tree.root.tables
    shared = top.get("global")
    vdoms = list(top["vdom"].entries.values()) if "vdom" in top else []
    several = len(vdoms) > 1
    for node in (shared, top.get("vdom"), *vdoms):
        reading.ledger.understood(*(node.numbers if node is not None else ()))
    for vdom in vdoms:
        scope = outer
        if several:
            scope = Scope(vdom.name, f"{vdom.name}/")
            reading.scopes.append(scope)
        _hold(scope, vdom.tables)
    if several:
        reading.contexts = frozenset(vdom.name for vdom in vdoms)
    _hold(outer, {name: node for name, node in top.items() if name not in ("vdom", "global")})
    _hold(outer, shared.tables if shared is not None else {})


def _hold(scope: Scope, tables: Mapping[str, Node]) -> None:
    for name, node in tables.items():
        scope.tables.setdefault(name, []).append(node)


def _read(reading: Reading) -> None:
    zone_of: dict[tuple[str, str], str] = {}
    for scope in reading.scopes:
        objects.read_schedules(reading, scope)
        objects.read_objects(reading, scope)
        zone_of.update({(scope.name, name): zone for name, zone in network.read_zones(reading, scope).items()})
        for table, names in READ_SETTINGS:
            _book_settings(reading, scope, table, names)
    for scope in reading.scopes:
        nat.read_vips(reading, scope)
        network.read_interfaces(reading, scope, zone_of)
        network.read_routes(reading, scope)
        policies.read_policies(reading, scope)
        network.read_policy_routes(reading, scope)
        network.read_sdwan_rules(reading, scope)
        nat.read_central_snat(reading, scope)
        nat.read_policy_nat(reading, scope)
        qos.read_qos(reading, scope)
        qos.read_interface_rates(reading, scope)


def _book_settings(reading: Reading, scope: Scope, table: str, names: Iterable[str]) -> None:
    for node in scope.tables.get(table, ()):
        for name in names:
            if name in node.settings:
                reading.ledger.understood(*node.numbers_of(name))


def _book_frames(reading: Reading) -> None:
    """`config`, `edit`, `next`, `end` of tables that are read in part; after the rest was settled, which goes by the header."""
    for scope in reading.scopes:
        for table in READ_IN_PART:
            for node in scope.tables.get(table, ()):
                for one in (node, *node.entries.values()):
                    settings = {number for _, number in one.fields()}
                    reading.ledger.understood(*(number for number in one.numbers if number not in settings))


def _left_over(reading: Reading, tree: Tree, lines: Lines) -> Iterator[Block]:
    """Tables that nobody reads, tables below entries of those that are read, and lines that belong nowhere."""
    for scope in reading.scopes:
        for name, nodes in scope.tables.items():
            for node in nodes:
                if name not in HANDLED:
                    yield _block(node, lines)
                    continue
                for inner in (*node.tables.values(), *(b for e in node.entries.values() if e.tables for b in e.tables.values())):
                    yield _block(inner, lines)
    yield from (Block(lines.at(number)) for number in tree.stray)
    for vdom in tree.root.tables["vdom"].entries.values() if "vdom" in tree.root.tables else ():
        yield from (Block(lines.at(number)) for _, number in vdom.fields())


def _block(node: Node, lines: Lines) -> Block:
    """The header with every line below."""
    return Block(lines.at(node.number), [Block(lines.at(number)) for number in node.all_numbers() if number != node.number])


def _evaluation(reading: Reading, scope: Scope) -> Iterator[Stage]:
    """Administration guide, "Packet flow ingress and egress"."""
    present = {policy.name for policy in reading.policies if policy.context == scope.name}
    deciding = [scope.prefix + path for path in OWN_LISTS if scope.prefix + path in present]
    by_application = scope.prefix + "firewall security-policy"
    if by_application in present and scope.setting("system settings", "ngfw-mode") == "policy-based":
        deciding = [by_application]
    if not deciding:
        return
    early = tuple(scope.prefix + path for path in ("firewall acl", "firewall acl6") if scope.prefix + path in present)
    if early:
        yield Stage(StageKind.RAW, early, context=scope.name)
    central = scope.is_on("system settings", "central-nat")
    yield Stage(StageKind.DESTINATION_NAT, context=scope.name)
    yield Stage(StageKind.ROUTE, context=scope.name)
    seen = Seen.TRANSLATED if central else Seen.ORIGINAL
    yield Stage(StageKind.FILTER, tuple(deciding), seen, scope.name)
    yield Stage(StageKind.SOURCE_NAT, context=scope.name)


def _version(text: str) -> str:
    found = VERSION.search(text[:20_000])
    return next((group for group in found.groups() if group), "") if found is not None else ""


def _model(reading: Reading, text: str, line_count: int) -> DeviceConfig:
    manager = any(scope.setting("system central-management", "type") == "fortimanager" for scope in reading.scopes)
    reading.hostname = next((name for scope in reading.scopes if (name := scope.setting("system global", "hostname"))), "")
    reading.managed_by = "FortiManager" if manager else ""
    part: list[Any]
    for part in (
        reading.policies, reading.qos_policies, reading.addresses, reading.services, reading.groups, reading.zones,
        reading.schedules,
    ):  # fmt: skip
        part.sort(key=attrgetter("lines"))
    reading.evaluation += (stage for scope in reading.scopes for stage in _evaluation(reading, scope))
    return reading.config(NAME, line_count)
