"""The fields of a rule that its match is made of, and what the model does not express, in words."""

from __future__ import annotations

from dataclasses import dataclass

from policyhub.domain.rules import Match
from policyhub.vendorkit.operands import Services
from policyhub.vendors.paloalto_panos.operands import ANYTHING, APPLICATION_DEFAULT, Operands
from policyhub.vendors.paloalto_panos.reading import Reading, Scope
from policyhub.vendors.paloalto_panos.tree import Node

NEEDED = ("from", "to", "source", "destination", "application", "service")
ALL_NEEDED = frozenset(NEEDED)
TOLD = (*NEEDED, "action")
# fields that stand in the conditions with their values, in this order
WORDED = (
    "source-user",
    "category",
    "url-category",
    "source-hip",
    "destination-hip",
    "hip-profiles",
    "source-device",
    "destination-device",
)
INTERFACES = ("to-interface", "from-interface", "active-active-device-binding")
RARE = frozenset((*INTERFACES, "target"))
NO_WORDS = frozenset(("any", "no-hip"))
YES_NO = {"yes": True, "no": False}
SIDES = ("from", "to")
INTRAZONE, INTERZONE, UNIVERSAL = "intrazone", "interzone", "universal"


@dataclass(frozen=True, slots=True)
class Matched:
    """names: objects used, for Rule.references. values: of the fields in TOLD."""

    match: Match
    names: tuple[str, ...]
    values: dict[str, tuple[str, ...]]


def flag(reading: Reading, rule: Node, name: str, default: bool = False) -> bool:
    """A yes or no field; anything else is unparsed and read as the default."""
    if not rule.has(name):
        return default
    value = YES_NO.get(rule.text(name))
    node = rule.get(name) if value is None else None
    if node is not None:
        reading.complain(node, f"{name} is yes or no")
    return default if value is None else value


def read_match(operands: Operands, scope: Scope, rule: Node, kind: str) -> Matched:
    """The match of a rule of any rulebase; security rules need all fields, others may lack some."""
    reading = operands.reading
    values = {name: rule.members(name) for name in TOLD}
    applications = values["application"]
    services = values["service"][-1:] if kind == "nat" else values["service"]  # a NAT rule has one
    source = operands.addresses(scope, values["source"] or ANYTHING, flag(reading, rule, "negate-source"))
    destination = operands.addresses(scope, values["destination"] or ANYTHING, flag(reading, rule, "negate-destination"))
    conditions: list[str] = []
    unresolved = [*source.unresolved, *destination.unresolved]
    ports: Services
    if applications and applications != ANYTHING and kind != "application-override":
        conditions.append(f"application {' '.join(applications)}")
    if services == APPLICATION_DEFAULT:
        defaults = operands.application_ports(scope, applications or ANYTHING)
        ports, service_names = defaults.value, tuple[str, ...]()
        if defaults.unresolved:
            conditions.append("service application-default")
    else:
        found = operands.services(scope, services or ANYTHING)
        ports, service_names = found.value, found.names
        unresolved += found.unresolved
    from_zones, to_zones = _zones(rule, "from", values["from"]), _zones(rule, "to", values["to"])
    rule_type = rule.text("rule-type") if kind == "security" else UNIVERSAL
    _worded(rule, conditions)
    to_zones = _same_or_other_zone(reading, rule, from_zones, to_zones, rule_type, conditions)
    _target(rule, values, conditions)
    if kind == "security" and not (rule.children or {}).keys() >= ALL_NEEDED:
        unresolved += [
            f"{name} is missing" for name in NEEDED if not rule.has(name) and not (name == "to" and rule_type == INTRAZONE)
        ]
    match = Match(
        source.value,
        destination.value,
        ports,
        from_zones,
        to_zones,
        conditions=tuple(conditions),
        unresolved=tuple(dict.fromkeys(unresolved)),
    )
    names = (*source.names, *destination.names, *service_names, *operands.application_names(scope, applications))
    return Matched(match, tuple(dict.fromkeys(names)), values)


def zones(rule: Node, field: str) -> tuple[str, ...]:
    """() for any; policy-based forwarding writes `from zone X` (or `from interface X`, which is a condition)."""
    return _zones(rule, field, rule.members(field))


def _zones(rule: Node, field: str, values: tuple[str, ...]) -> tuple[str, ...]:
    if values in (("zone",), ("interface",)) and rule.members(field, values[0]):  # a zone of that name has nothing below it
        values = rule.members(field, "zone")
    return () if "any" in values else values


def _worded(rule: Node, conditions: list[str]) -> None:
    children = rule.children or {}
    for name in [name for name in WORDED if name in children]:
        words = [value for value in rule.members(name) if value not in NO_WORDS]
        if words:
            conditions.append(f"{name} {' '.join(words)}")
    schedule = rule.text("schedule")
    if schedule:
        conditions.append(f"schedule {schedule}")


def _same_or_other_zone(
    reading: Reading,
    rule: Node,
    from_zones: tuple[str, ...],
    to_zones: tuple[str, ...],
    rule_type: str,
    conditions: list[str],
) -> tuple[str, ...]:
    """What a rule type other than universal does to the destination zones, or a condition."""
    if rule_type in ("", UNIVERSAL):
        return to_zones
    if rule_type == INTRAZONE and len(from_zones) == 1:
        return from_zones
    if rule_type not in (INTRAZONE, INTERZONE):
        node = rule.get("rule-type")
        if node is not None:
            reading.complain(node, f"rule-type {rule_type[:40]!r} is not understood")
    if rule_type != INTERZONE or not from_zones or not to_zones or set(from_zones) & set(to_zones):
        conditions.append(f"rule-type {rule_type}")
    return to_zones


def _target(rule: Node, values: dict[str, tuple[str, ...]], conditions: list[str]) -> None:
    """Panorama: only some firewalls get the rule."""
    is_plain = RARE.isdisjoint(rule.children or ())
    target = None if is_plain else rule.get("target")
    devices = target.members("devices") if target is not None else ()
    if target is not None and devices:
        conditions.append(f"target {'not ' if target.text('negate') == 'yes' else ''}{' '.join(devices)}")
    for name in SIDES:
        interfaces = rule.members(name, "interface") if "interface" in values[name] else ()
        if interfaces:
            conditions.append(f"{name}-interface {' '.join(interfaces)}")
    for name in () if is_plain else INTERFACES:
        value = rule.text(name) if rule.has(name) else ""
        if value and value not in ("any", "both"):
            conditions.append(f"{name} {value}")
