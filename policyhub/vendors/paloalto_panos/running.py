"""Policies as the data plane has them: `show running security-policy` and its siblings, old and new form."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from policyhub.domain.addresses import ANY, AddressSet
from policyhub.domain.nat import NatKind, NatRule
from policyhub.domain.rules import Action, Match, Policy, Rule
from policyhub.domain.services import ALL_PORTS, ANY_SERVICE, Service
from policyhub.vendorkit.lexing import NotUnderstood, is_decimal
from policyhub.vendorkit.operands import Services, compact
from policyhub.vendors.paloalto_panos.objects import PROTOCOLS, literal, ports_of
from policyhub.vendors.paloalto_panos.reading import Reading
from policyhub.vendors.paloalto_panos.rules import ACTIONS, DEFAULT_POLICY, IMPLIED, SECURITY
from policyhub.vendors.paloalto_panos.tree import Node, words

HEADER = re.compile(r"^(?P<name>.*?)(?:; index: (?P<index>\d+))?$", re.DOTALL)
APPLICATION_SERVICE = re.compile(r"^(?:\d+:)?(?P<app>[^/]*)/(?P<protocol>[^/]*)/(?P<source>[^/]*)/(?P<target>[^/]*)$")
SERVICE = re.compile(r"^(?:\d+:)?(?P<protocol>[^/]*)/(?P<source>[^/]*)/(?P<target>[^/]*)$")
TRANSLATION = re.compile(r"^(?P<side>src|dst): (?P<what>.*?)(?: \((?P<how>[a-z-]+)\))?(?: \(pool idx: \d+\))?$")
SEVERAL = re.compile(r", ?(?=(?:src|dst): )")
EVERY = ("any", "")
FIELDS = words("running-rule")
NOTHING = ("any", "none", "no", "")


@dataclass(slots=True)
class Running:
    rules: list[Rule] = field(default_factory=list)
    nat_rules: list[NatRule] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)


def read_running(reading: Reading) -> tuple[list[Policy], list[NatRule]]:
    """One policy `security`; names lose the `; index: N` that newer releases add."""
    found = Running()
    for node in reading.running:
        reading.understand(node)
        for child in node:
            if child.name not in FIELDS:
                reading.complain(child, f"{child.name[:40]!r} of a running rule is not understood")
        if node.get("translate-to") is not None or node.get("nat-type") is not None:
            found.nat_rules.append(_nat(reading, node))
        else:
            found.rules.append(_rule(reading, node))
    return list(_policies(reading, found.rules)), found.nat_rules


def _policies(reading: Reading, rules: list[Rule]) -> Iterator[Policy]:
    """The output ends with the two default rules; they are a policy of their own, as in a configuration."""
    if not rules:
        return
    reading.scope_of_vsys("vsys1")
    decided = tuple(rule for rule in rules if rule.name not in IMPLIED)
    defaults = tuple(rule for rule in rules if rule.name in IMPLIED)
    told = {rule.name for rule in defaults}
    if decided:
        yield Policy(SECURITY, decided, default=None, notes=("as the data plane has it",))
    notes = tuple(note for name, (_, note) in IMPLIED.items() if name not in told)
    yield Policy(DEFAULT_POLICY, defaults, default=Action.DENY, notes=notes)


def _name(node: Node) -> str:
    found = HEADER.match(node.name)
    return found["name"] if found is not None else node.name


def _zones(node: Node, name: str) -> tuple[str, ...]:
    values = node.members(name)
    return () if "any" in values else values


def _addresses(node: Node, name: str, unresolved: list[str]) -> AddressSet:
    """Literals; a region or a word like `any-fqdn` is known to the device only."""
    values = [value for value in node.members(name) if value != "any"]
    regions = [value for value in node.members(f"{name}-region") if value not in NOTHING]
    sets = [literal(value) for value in values]
    open_names = [value for value, known in zip(values, sets, strict=True) if known is None]
    unresolved += [*open_names, *regions]
    if open_names or regions or not values:
        return ANY
    found = AddressSet().union(*(known for known in sets if known is not None))
    return ANY.minus(found) if node.text(f"{name}-negate") == "yes" else found


def _service(protocol: str, source: str, target: str) -> Service:
    """Raises NotUnderstood."""
    if protocol in EVERY:
        return ANY_SERVICE
    number = PROTOCOLS.get(protocol, int(protocol) if is_decimal(protocol) and len(protocol) < 4 else None)
    if number is None or number > 255:
        raise NotUnderstood(f"protocol {protocol[:40]!r} is not understood")
    return Service.of(
        number,
        ALL_PORTS if target in EVERY else ports_of(target),
        ALL_PORTS if source in EVERY else ports_of(source),
    )


def _services(reading: Reading, node: Node, field_name: str, conditions: list[str]) -> Services:
    """`app/protocol/source port/destination port`, with or without `N:` in front; ports of several applications add up."""
    holder = node.get(field_name)
    found: list[Service] = []
    applications: list[str] = []
    for child in holder or ():
        parts = (APPLICATION_SERVICE if field_name == "application/service" else SERVICE).match(child.name)
        try:
            if parts is None:
                raise NotUnderstood(f"{child.name[:40]!r} is not a service")
            found.append(_service(parts["protocol"], parts["source"], parts["target"]))
        except NotUnderstood as reason:
            reading.complain(child, str(reason))
            found.append(ANY_SERVICE)
            continue
        if "app" in parts.groupdict() and parts["app"] not in EVERY:
            applications.append(parts["app"])
    if applications:
        conditions.append(f"application {' '.join(dict.fromkeys(applications))}")
    return (ANY_SERVICE,) if not found or ANY_SERVICE in found else compact(found)


def _match(reading: Reading, node: Node, field_name: str) -> Match:
    conditions: list[str] = []
    unresolved: list[str] = []
    source = _addresses(node, "source", unresolved)
    destination = _addresses(node, "destination", unresolved)
    services = _services(reading, node, field_name, conditions)
    for name, word in (
        ("user", "source-user"),
        ("category", "category"),
        ("to-interface", "to-interface"),
        ("type", "rule-type"),
    ):
        values = [value for value in node.members(name) if value not in (*NOTHING, "universal")]
        if values:
            conditions.append(f"{word} {' '.join(values)}")
    return Match(
        source,
        destination,
        services,
        _zones(node, "from"),
        _zones(node, "to"),
        conditions=tuple(conditions),
        unresolved=tuple(dict.fromkeys(unresolved)),
    )


def _rule(reading: Reading, node: Node) -> Rule:
    name = _name(node)
    action = ACTIONS.get(node.text("action"))
    if action is None:
        reading.complain(node.get("action") or node, "the action is not understood")
    match = _match(reading, node, "application/service")
    if name in IMPLIED:
        match = Match(match.source, match.destination, match.services, conditions=(IMPLIED[name][0],))
    return Rule(name, action or Action.CONTINUE, match, node.lines, hit_key=name)


def _nat(reading: Reading, node: Node) -> NatRule:
    source = target = port = ""
    notes: list[str] = []
    for text in SEVERAL.split(node.text("translate-to")):
        parts = TRANSLATION.match(text.strip())
        if parts is None:
            if text.strip():
                reading.complain(node.get("translate-to") or node, f"translation {text[:60]!r} is not understood")
            continue
        if parts["side"] == "src":
            source = parts["what"]
        else:
            target, _, port = parts["what"].partition(":") if parts["what"].count(":") == 1 else (parts["what"], "", "")
        if parts["how"]:
            notes.append(parts["how"])
    kind = NatKind.DESTINATION if target else NatKind.SOURCE if source else NatKind.EXEMPT
    nat_type = node.text("nat-type")
    if nat_type not in ("", "ipv4"):
        notes.append(f"nat-type {nat_type}")
    name = _name(node)
    return NatRule(
        name,
        kind,
        _match(reading, node, "service"),
        node.lines,
        translated_source=source,
        translated_destination=target,
        translated_service=port,
        rule_set="nat",
        hit_key=name,
        notes=tuple(notes),
    )
