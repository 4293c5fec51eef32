"""Security policies: of zone pairs, global, and the default that decides what nobody matched."""

from __future__ import annotations

from policyhub.domain.addresses import ANY, ANY4, ANY6, NOWHERE, AddressSet
from policyhub.domain.rules import Action, Binding, Match, Policy, Rule
from policyhub.domain.services import ANY_SERVICE
from policyhub.vendorkit.operands import Services, merge_services
from policyhub.vendors.juniper_junos import objects
from policyhub.vendors.juniper_junos.reading import GLOBAL_BOOK, SEPARATOR, Context, Reading
from policyhub.vendors.juniper_junos.tree import Node, one_or_list

ANY_WORDS = {"any": ANY, "any-ipv4": ANY4, "any-ipv6": ANY6}
DEFAULT_NOTE = "zones decide themselves what reaches the device (host-inbound-traffic)"
PLACED_APART = ("source-address", "destination-address", "application", "from-zone", "to-zone")
EXCLUDED = ("source-address-excluded", "destination-address-excluded")
# values that ask for nothing
NO_CONDITION = {
    "dynamic-application": frozenset(("any", "none")),
    "url-category": frozenset(("any", "none")),
    "source-identity": frozenset(("any",)),
}
ACTIONS = {"permit": Action.PERMIT, "deny": Action.DENY, "reject": Action.DENY}


def pair_name(source: str, destination: str) -> str:
    return f"{source}->{destination}"


def read_policies(reading: Reading, context: Context) -> None:
    security = context.root.children.get("security")
    node = security.children.get("policies") if security is not None else None
    if security is None:
        return
    if node is not None:
        dead = security.inactive or node.inactive
        reading.take_headers(node)
        for pair, source, destination in _pairs(node):
            _read_pair(reading, context, pair, (source, destination), dead or pair.inactive)
        inside = node.children.get("global")
        if inside is not None:
            _read_global(reading, context, inside, dead or inside.inactive)
        _read_rest(reading, node)
    if node is not None or security.has("zones"):
        _read_default(reading, context, node)


def _pairs(node: Node) -> list[tuple[Node, str, str]]:
    found: list[tuple[Node, str, str]] = []
    first = node.children.get("from-zone")
    for source in first.children.values() if first is not None else ():
        to = source.children.get("to-zone")
        for destination in to.children.values() if to is not None else ():
            destination.inactive = destination.inactive or source.inactive
            found.append((destination, source.word, destination.word))
    return found


def _read_pair(reading: Reading, context: Context, pair: Node, zones: tuple[str, str], dead: bool) -> None:
    name = pair_name(*zones)
    books = (context.books.get(zones[0], GLOBAL_BOOK), context.books.get(zones[1], GLOBAL_BOOK))
    rules, notes = _read_rules(reading, context, pair, name, books, zones, dead)
    binding = Binding(name, "zone pair", tuple(pair.lines))
    reading.take_headers(pair)
    full = context.named(name)
    reading.policies.append(
        Policy(full, rules, None, bindings=(binding,), lines=pair.all_lines(), notes=notes, context=context.name)
    )


def _read_global(reading: Reading, context: Context, node: Node, dead: bool) -> None:
    rules, notes = _read_rules(reading, context, node, "global", (GLOBAL_BOOK, GLOBAL_BOOK), None, dead)
    reading.take_headers(node)
    binding = Binding("", "zone pair", tuple(node.lines))
    name = context.named("global")
    reading.policies.append(
        Policy(name, rules, None, bindings=(binding,), lines=node.all_lines(), notes=notes, context=context.name)
    )


def _read_default(reading: Reading, context: Context, policies: Node | None) -> None:
    node = policies.at("default-policy") if policies is not None else None
    permits = node is not None and node.has("permit-all")
    reading.take_known(node, "default-policy")
    lines = node.all_lines() if node is not None else ()
    reading.policies.append(
        Policy(
            context.named("default-policy"),
            (),
            Action.PERMIT if permits else Action.DENY,
            bindings=(Binding("", "zone pair", lines),),
            lines=lines,
            notes=(DEFAULT_NOTE,),
            context=context.name,
        )
    )


def _read_rest(reading: Reading, node: Node) -> None:
    """Options of the whole stage that decide no packet."""
    for kid in node.active():
        if kid.word in (
            "pre-id-default-policy",
            "policy-rematch",
            "policy-stats",
            "stateful-firewall-rule",
            "apply-groups",
            "unified-policy",
        ):
            reading.take(kid)
        elif kid.word not in ("from-zone", "global", "default-policy"):
            reading.leave(kid, "not understood in security policies")


def _read_rules(
    reading: Reading,
    context: Context,
    parent: Node,
    name: str,
    books: tuple[str, str],
    zones: tuple[str, str] | None,
    dead: bool,
) -> tuple[tuple[Rule, ...], tuple[str, ...]]:
    holder = parent.children.get("policy")
    rules: list[Rule] = []
    notes: list[str] = []
    for node in holder.children.values() if holder is not None else ():
        reading.take_known(node, "policy")
        rule = _read_rule(reading, context, node, name, books, zones, dead)
        if rule is None:
            reading.leave(node, "the policy has no action")
            continue
        rules.append(rule)
        if node.group:
            notes.append(f"{node.word} is inherited from group {node.group}")
    for kid in parent.active():
        if kid.word not in ("policy", "apply-groups", "description"):
            reading.leave(kid, "not understood in a zone pair")
    return tuple(rules), tuple(notes)


def _read_rule(
    reading: Reading,
    context: Context,
    node: Node,
    policy: str,
    books: tuple[str, str],
    zones: tuple[str, str] | None,
    dead: bool,
) -> Rule | None:
    then = node.at("then")
    words = [kid.word for kid in then.active() if kid.word in ACTIONS] if then is not None else []
    own = [kid.word for kid in then.active() if kid.word in ACTIONS and not kid.group] if then is not None else []
    if not words or then is None:
        return None
    action = (own or words)[-1]
    match = node.at("match") or Node("match")
    source, source_refs, source_open = addresses(context, match, "source-address", books[0])
    destination, destination_refs, destination_open = addresses(context, match, "destination-address", books[1])
    services, service_refs, service_open = _applications(context, match.values("application"))
    schedule = node.value("scheduler-name")
    conditions = [*_conditions(match), *_then_conditions(then.at(action)), *([f"scheduler-name {schedule}"] if schedule else [])]
    return Rule(
        name=node.word,
        action=ACTIONS[action],
        match=Match(
            source,
            destination,
            services,
            (zones[0],) if zones else _zones(match, "from-zone"),
            (zones[1],) if zones else _zones(match, "to-zone"),
            conditions=tuple(conditions),
            unresolved=tuple(dict.fromkeys((*source_open, *destination_open, *service_open))),
        ),
        lines=node.all_lines(),
        text=f"{policy} policy {node.word}",
        enabled=not (dead or node.inactive),
        logged=then.has("log"),
        comment=node.value("description"),
        schedule=schedule,
        hit_key=f"{policy} {node.word}",
        references=tuple(dict.fromkeys((*source_refs, *destination_refs, *service_refs, *([schedule] if schedule else [])))),
    )


Found = tuple[AddressSet, list[str], list[str]]


def addresses(context: Context, match: Node, key: str, book: str) -> Found:
    """The set, the names used, and the names nobody knows (then the set is everything)."""
    names = match.values(key)
    found: list[AddressSet] = []
    references: list[str] = []
    unknown: list[str] = []
    for name in names:
        if name in ANY_WORDS:
            found.append(ANY_WORDS[name])
            continue
        where = _where(context, book, name)
        references.append(objects.full_name(where, name))
        resolved = context.addresses.resolve(f"{where}{SEPARATOR}{name}")
        found.append(resolved.value)
        unknown.extend(plain(item) for item in resolved.unresolved)
    if unknown or not names:
        return ANY, references, unknown
    whole = NOWHERE.union(*found)
    if match.has(f"{key}-excluded"):
        whole = ANY.minus(whole)
    return whole, references, unknown


def plain(name: str) -> str:
    """A key of the table of addresses as it is written in references."""
    book, found, rest = name.partition(SEPARATOR)
    return objects.full_name(book, rest) if found else name


def _where(context: Context, book: str, name: str) -> str:
    """The attached book when it knows the name or `global` does not."""
    if f"{book}{SEPARATOR}{name}" in context.addresses:
        return book
    return GLOBAL_BOOK


def _applications(context: Context, names: list[str]) -> tuple[Services, list[str], list[str]]:
    if not names or "any" in names:
        return (ANY_SERVICE,), [name for name in names if name != "any"], []
    parts: list[Services] = []
    unknown: list[str] = []
    for name in names:
        services, unresolved = objects.application(context, name)
        parts.append(services)
        unknown.extend(unresolved)
    return ((ANY_SERVICE,) if unknown else merge_services(parts)), names, unknown


def _zones(match: Node, key: str) -> tuple[str, ...]:
    names = match.values(key)
    return () if "any" in names else tuple(names)


def _conditions(match: Node) -> list[str]:
    """Everything a Match does not hold, in the order of the text."""
    found: list[str] = []
    for kid in match.active():
        if kid.word in PLACED_APART or kid.word in EXCLUDED or kid.word == "apply-groups":
            continue
        values = kid.statements()
        if set(values) <= NO_CONDITION.get(kid.word, frozenset()):
            continue
        found.append(one_or_list(kid.word, values))
    return found


def _then_conditions(action: Node | None) -> list[str]:
    """What a permit asks for before it permits."""
    if action is None:
        return []
    found: list[str] = []
    for kid in action.active():
        if kid.word in ("firewall-authentication", "destination-address"):
            found.extend(f"{kid.word} {text}" for text in kid.statements())
            if not kid.children:
                found.append(kid.word)
    return found
