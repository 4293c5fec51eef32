"""Access layers: rules in sections, inline layers, implicit cleanup."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from policyhub.domain.addresses import ANY, NOWHERE, AddressSet
from policyhub.domain.rules import Action, Binding, Match, Policy, Rule
from policyhub.domain.services import ANY_SERVICE
from policyhub.vendorkit.operands import Services, merge_services
from policyhub.vendors.checkpoint_gaia.answers import Item
from policyhub.vendors.checkpoint_gaia.objects import APPLICATIONS, USERS, ZONES
from policyhub.vendors.checkpoint_gaia.reading import Layer, Reading, in_order

ACTIONS = {"Accept": Action.PERMIT, "Drop": Action.DENY, "Reject": Action.DENY}
ASKS = frozenset(("Ask", "Inform", "User Auth", "Client Auth", "UserCheck Ask", "UserCheck Inform"))
KEYS = frozenset(
    ("uid", "name", "type", "domain", "rule-number", "track", "source", "source-negate", "destination",
     "destination-negate", "service", "service-negate", "service-resource", "vpn", "action", "action-settings",
     "content", "content-negate", "content-direction", "time", "hits", "custom-fields", "meta-info", "comments",
     "enabled", "install-on", "inline-layer", "user-check", "icon", "tags", "color", "read-only", "layer", "package",
     "available-actions")
)  # fmt: skip
EVERYWHERE = frozenset(("Policy Targets", "Any", "All"))


@dataclass(slots=True)
class Side:
    """One column of a rule as a Match wants it."""

    addresses: AddressSet = ANY
    zones: tuple[str, ...] = ()
    conditions: list[str] = field(default_factory=list)
    references: list[str] = field(default_factory=list)
    unresolved: list[str] = field(default_factory=list)


def read_policies(reading: Reading) -> list[Policy]:
    inline: dict[str, list[str]] = {}
    found: list[tuple[Layer, tuple[Rule, ...]]] = []
    for layer in reading.layers.values():
        layer.rules = in_order(layer.rules)
        rules = tuple(_read_rule(reading, layer, item, inline) for _, item in layer.rules)
        found.append((layer, rules))
    return [_policy(reading, layer, rules, inline) for layer, rules in found]


def _policy(reading: Reading, layer: Layer, rules: tuple[Rule, ...], inline: dict[str, list[str]]) -> Policy:
    cleanup = reading.cleanup.get(layer.name, "")
    notes: list[str] = []
    for section, inside in groupby(layer.rules, key=lambda rule: rule[0]):
        numbers = [rule.text("rule-number") for _, rule in inside]
        if section:
            notes.append(f"section {section}: rules {numbers[0]}-{numbers[-1]}")
    notes += [f"inline layer of {place}" for place in inline.get(layer.name, ())]
    if not cleanup:
        notes.append("implicit cleanup action not told")
    bindings = () if layer.name in inline else (Binding("", "forward"),)
    default = Action.PERMIT if cleanup == "accept" else Action.DENY
    lines = tuple(sorted(set(layer.lines)))
    return Policy(layer.name, rules, default, bindings=bindings, lines=lines, notes=tuple(notes))


def _read_rule(reading: Reading, layer: Layer, item: Item, inline: dict[str, list[str]]) -> Rule:
    unknown = reading.leave_unknown(item, KEYS, "a rule")
    source = read_side(reading, item, "source")
    destination = read_side(reading, item, "destination")
    services, service_side = _services(reading, item)
    number = item.text("rule-number")
    action, target, extra = _action(reading, item)
    if target:
        inline.setdefault(target, []).append(f"{layer.name} rule {number}")
    times, others = _others(reading, item)
    conditions = (*source.conditions, *destination.conditions, *service_side.conditions, *others, *extra, *unknown)
    unresolved = (*source.unresolved, *destination.unresolved, *service_side.unresolved)
    references = (*source.references, *destination.references, *service_side.references, *times)
    return Rule(
        name=item.text("name") or f"rule {number}",
        action=action,
        match=Match(
            source.addresses,
            destination.addresses,
            services,
            source.zones,
            destination.zones,
            conditions=conditions,
            unresolved=tuple(dict.fromkeys(unresolved)),
        ),
        lines=item.lines,
        text=f"{layer.name} rule {number}",
        enabled=item.get("enabled") is not False,
        logged=_is_logged(reading, item),
        comment=item.text("comments"),
        schedule=", ".join(times),
        hit_key=item.text("uid"),
        references=tuple(dict.fromkeys(references)),
        target=target,
        returns=not target,
    )


def _action(reading: Reading, item: Item) -> tuple[Action, str, list[str]]:
    """The action, the inline layer it asks, and what it asks of the user."""
    layer = item.get("inline-layer")
    if layer is not None:
        known = reading.known(layer)
        name = known.text("name") if known is not None else reading.layer_names.get(str(layer), f"uid {layer}")
        return Action.CONTINUE, name, []
    name = reading.name_of(item.get("action")).removeprefix("uid ")
    settings = item.get("action-settings")
    extra: list[str] = []
    if isinstance(settings, Item):
        if settings.get("enable-identity-captive-portal") is True:
            extra.append("captive-portal")
        if settings.get("limit") is not None:
            extra.append(f"limit {reading.name_of(settings.get('limit')).removeprefix('uid ')}")
    if name in ACTIONS:
        return ACTIONS[name], "", extra
    if name in ASKS:
        return Action.PERMIT, "", [*extra, f"action {name}"]
    return Action.CONTINUE, "", [*extra, f"action {name}"]


def _is_logged(reading: Reading, item: Item) -> bool | None:
    track = item.get("track")
    kind = track.get("type") if isinstance(track, Item) and "type" in track else track
    if kind is None:
        return None
    return reading.name_of(kind).removeprefix("uid ") != "None"


def read_side(reading: Reading, item: Item, side: str) -> Side:
    """`source` or `destination`: addresses, or zones, or users."""
    found = Side()
    entries = [entry for entry in item.list_of(side) if not reading.is_any(entry)]
    kinds = [known.text("type") if (known := reading.known(entry)) is not None else "" for entry in entries]
    names = [reading.name_of(entry) for entry in entries]
    found.references = names
    negated = item.get(f"{side}-negate") is True
    if not entries:
        return found
    if all(kind in ZONES for kind in kinds):
        if negated:
            found.conditions.append(f"{side} not {', '.join(names)}")
        else:
            found.zones = tuple(names)
        return found
    users = [name for name, kind in zip(names, kinds, strict=True) if kind in USERS]
    if users:
        found.conditions.extend(f"{side} access-role {name}" for name in users)
        if len(users) < len(names):
            found.conditions.append(f"{side} {'not ' if negated else ''}{', '.join(names)}")
        return found
    whole = [_resolve(reading, entry, name, found) for entry, name in zip(entries, names, strict=True)]
    if not found.unresolved:
        joined = NOWHERE.union(*whole)
        found.addresses = ANY.minus(joined) if negated else joined
    return found


def _resolve(reading: Reading, entry: Any, name: str, found: Side) -> AddressSet:
    known = reading.known(entry)
    if known is None or known.text("uid") not in reading.addresses:
        found.unresolved.append(name)
        return ANY
    resolved = reading.addresses.resolve(known.text("uid"))
    found.unresolved.extend(reading.name_of(part) if part in reading.objects else part for part in resolved.unresolved)
    return resolved.value


def _services(reading: Reading, item: Item) -> tuple[Services, Side]:
    side = Side()
    entries = [entry for entry in item.list_of("service") if not reading.is_any(entry)]
    side.references = [reading.name_of(entry) for entry in entries]
    negated = item.get("service-negate") is True
    if item.text("service-resource") or isinstance(item.get("service-resource"), Item):
        side.conditions.append(f"resource {reading.name_of(item['service-resource']).removeprefix('uid ')}")
    if not entries:
        return (ANY_SERVICE,), side
    known = [reading.known(entry) for entry in entries]
    if negated or any(one is not None and one.text("type") in APPLICATIONS for one in known):
        side.conditions.insert(0, f"service {'not ' if negated else ''}{', '.join(side.references)}")
        return (ANY_SERVICE,), side
    parts: list[Services] = []
    for one, name in zip(known, side.references, strict=True):
        if one is None or one.text("uid") not in reading.services:
            side.unresolved.append(name)
            continue
        if one.text("type") == "service-other" and one.text("match"):
            side.conditions.append(f"service {name} match")
        resolved = reading.services.resolve(one.text("uid"))
        side.unresolved.extend(reading.name_of(part) if part in reading.objects else part for part in resolved.unresolved)
        parts.append(resolved.value)
    return ((ANY_SERVICE,) if side.unresolved else merge_services(parts)), side


def _others(reading: Reading, item: Item) -> tuple[list[str], list[str]]:
    """Names of the times, any of which may hold, and columns that a Match does not hold."""
    found: list[str] = []
    for entry in item.list_of("vpn"):
        if isinstance(entry, Item) and "from" in entry:
            found.append(f"vpn {reading.name_of(entry.get('from'))} -> {reading.name_of(entry.get('to'))}")
        elif not reading.is_any(entry):
            found.append(f"vpn {reading.name_of(entry)}")
    content = [reading.name_of(entry) for entry in item.list_of("content") if not reading.is_any(entry)]
    if content:
        found.append(f"content {'not ' if item.get('content-negate') is True else ''}{', '.join(content)}")
    times = [reading.name_of(entry) for entry in item.list_of("time") if not reading.is_any(entry)]
    if times:
        found.append(f"time {', '.join(times)}")
    found.extend(installed_on(reading, item))
    return times, found


def installed_on(reading: Reading, item: Item) -> list[str]:
    names = [reading.name_of(entry) for entry in item.list_of("install-on")]
    return [f"install-on {name}" for name in names if name not in EVERYWHERE]
