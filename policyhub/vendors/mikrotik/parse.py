"""Exports of RouterOS into the domain model."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.resources import files

from policyhub.domain.device_config import DeviceConfig, Interface, Route
from policyhub.domain.objects import ObjectGroup, Zone
from policyhub.domain.rules import Policy
from policyhub.vendorkit.blocks import Line, Lines, read_lines
from policyhub.vendorkit.json_books import address
from policyhub.vendorkit.ledger import LineLedger, is_sensitive
from policyhub.vendorkit.lexing import NotUnderstood, is_decimal, score
from policyhub.vendorkit.rendering import is_prompt
from policyhub.vendorkit.sharing import drained
from policyhub.vendors.mikrotik.commands import Command, commands
from policyhub.vendors.mikrotik.rules import RETURN, Chain, Names, nat_rule

NAME = "mikrotik"
MENUS = json.loads(files("policyhub.vendors.mikrotik").joinpath("menus.json").read_text(encoding="utf-8"))
SIGNS = (
    (r"^# .* by RouterOS \d", 0.9),
    (r"^/ip(v6)? firewall (filter|nat|mangle|raw|address-list)\b", 0.8),
    (r"^add (action|chain|address)=\S+ .*(chain|list|interface)=", 0.4),
    (r"^/(interface (ethernet|bridge|list|vlan)|ip (address|route|dhcp-client)|system identity)\b", 0.5),
)
TABLES = ("filter", "raw", "mangle")


@dataclass(slots=True)
class _Reading:
    lines: Lines
    names: Names
    ledger: LineLedger = field(default_factory=LineLedger)
    chains: dict[tuple[str, str, str], Chain] = field(default_factory=dict)
    nat: dict[str, int] = field(default_factory=dict)
    members: dict[str, tuple[list[str], list[int]]] = field(default_factory=dict)
    zone_lines: dict[str, list[int]] = field(default_factory=dict)
    interfaces: dict[str, tuple[list[str], list[int]]] = field(default_factory=dict)
    routes: list[Route] = field(default_factory=list)
    hostname: str = ""


def looks_like(text: str) -> float:
    return score(text[:400_000].replace("\r", ""), SIGNS)


def parse(text: str) -> DeviceConfig:
    """Total: any text gives a model; what is not understood is in `unparsed`."""
    lines = read_lines(text)
    reading = _Reading(lines, Names(MENUS["protocols"]))
    rules = [command for command in commands(_commands(reading)) if not _names(reading, command)]
    nat_rules = []
    for command in drained(rules):  # what has become a rule is forgotten at once: exports are long
        family, _, table = command.menu.partition(" firewall ")
        try:
            if table == "nat":
                chain = command.word("chain")
                nat_rules.append(nat_rule(reading.names, family, reading.nat.get(chain, 0) + 1, command))
                reading.nat[chain] = reading.nat.get(chain, 0) + 1
            else:
                key = (family, table, command.word("chain"))
                reading.chains.setdefault(key, Chain(*key)).add(reading.names, command)
            reading.ledger.understood(*command.numbers)
        except NotUnderstood as error:
            _refuse(reading, command, str(error))
    return DeviceConfig(
        platform=NAME, hostname=reading.hostname, lines=len(lines), policies=_policies(reading), groups=_groups(reading),
        interfaces=tuple(Interface(n, tuple(a), lines=tuple(at)) for n, (a, at) in reading.interfaces.items()),
        zones=tuple(Zone(n, tuple(m), tuple(reading.zone_lines.get(n, ()))) for n, m in reading.names.interfaces.items()),
        ignored=reading.ledger.ignored_lines, unparsed=reading.ledger.unparsed_lines, nat_rules=tuple(nat_rules),
        routes=tuple(reading.routes), special=reading.ledger.special_lines,
    )  # fmt: skip


def _commands(reading: _Reading) -> Iterator[Line]:
    for line in reading.ledger.without_long(reading.lines):
        if line.text.startswith("#") or is_prompt(line.text):
            reading.ledger.understood(line.number)
        elif line.text:
            yield line


def _policies(reading: _Reading) -> tuple[Policy, ...]:
    found = [chain.policy() for chain in reading.chains.values()]
    if any(rule.target == RETURN for policy in found for rule in policy.rules):
        found.append(Policy(RETURN, (), None))
    return tuple(found)


def _groups(reading: _Reading) -> tuple[ObjectGroup, ...]:
    return tuple(
        ObjectGroup(key.partition("/")[2], "network", tuple(members), tuple(lines))
        for key, (members, lines) in reading.members.items()
    )


def _refuse(reading: _Reading, command: Command, reason: str) -> None:
    for number in command.numbers:
        reading.ledger.unparsed(reading.lines.at(number), reason)


def _names(reading: _Reading, command: Command) -> bool:
    """Whether the command is no rule: lists, interfaces, routes and everything that is not read are dealt with here."""
    family, is_firewall, table = command.menu.partition(" firewall ")
    if not command.verb:
        reading.ledger.understood(*command.numbers)
    elif is_firewall and table in (*TABLES, "nat") and family in ("ip", "ipv6") and command.verb == "add":
        return False
    elif is_firewall and table == "address-list" and command.verb == "add":
        _address_list(reading, command, family)
    elif command.verb == "add" and command.menu in ("interface list", "interface list member"):
        _interface_list(reading, command)
    elif command.menu in ("ip address", "ipv6 address") and command.verb == "add":
        addresses, lines = reading.interfaces.setdefault(command.word("interface"), ([], []))
        if not command.is_set("disabled"):
            addresses.append(command.word("address"))
        lines.extend(command.numbers)
        reading.ledger.understood(*command.numbers)
    elif command.menu in ("ip route", "ipv6 route") and command.verb == "add":
        _route(reading, command)
    elif command.menu == "system identity" and command.word("name"):
        reading.hostname = command.word("name")
        reading.ledger.understood(*command.numbers)
    else:
        _other(reading, command, is_firewall=bool(is_firewall and table in (*TABLES, "nat", "address-list")))
    return True


def _address_list(reading: _Reading, command: Command, family: str) -> None:
    name, text = command.word("list"), command.word("address")
    key = f"{family}/{name}"
    members, lines = reading.members.setdefault(key, ([], []))
    lines.extend(command.numbers)
    reading.ledger.understood(*command.numbers)
    reading.names.addresses.define(key)
    if command.is_set("disabled"):
        return
    members.append(text)
    found = address(text)
    if found is None:
        reading.names.addresses.leave_open(key, text)
    else:
        reading.names.addresses.add(key, found)


def _interface_list(reading: _Reading, command: Command) -> None:
    reading.ledger.understood(*command.numbers)
    name = command.word("list") or command.word("name")
    members = reading.names.interfaces.setdefault(name, [])
    reading.zone_lines.setdefault(name, []).extend(command.numbers)
    if command.word("interface") and not command.is_set("disabled"):
        members.append(command.word("interface"))


def _route(reading: _Reading, command: Command) -> None:
    reading.ledger.understood(*command.numbers)
    if command.is_set("disabled"):
        return
    gateway, far = command.word("gateway"), command.word("distance")
    hop, interface = (gateway, "") if address(gateway.partition("%")[0]) is not None else ("", gateway)
    default = "::/0" if command.menu.startswith("ipv6") else "0.0.0.0/0"
    discard = "blackhole" in command.attributes or command.word("type") in ("blackhole", "unreachable", "prohibit")
    distance = int(far) if is_decimal(far) and len(far) < 4 else None
    reading.routes.append(
        Route(
            command.word("dst-address") or default, hop, interface, vrf=command.word("routing-table"), distance=distance,
            discard=discard, lines=command.numbers,
        )
    )  # fmt: skip


def _other(reading: _Reading, command: Command, is_firewall: bool) -> None:
    menu = command.menu
    if is_firewall or any(menu == name or menu.startswith(f"{name} ") for name in MENUS["unread"]):
        _refuse(reading, command, f"{menu[:60]} {command.verb[:20]} is not read here")
    elif menu.split(" ")[0] not in MENUS["ignored"]:
        _refuse(reading, command, f"menu {menu[:60]} is not known" if menu else "not a command of RouterOS")
    else:
        for line in map(reading.lines.at, command.numbers):
            if is_sensitive(line.text):
                reading.ledger.excuse(line.number)
            else:
                reading.ledger.ignore(line)
