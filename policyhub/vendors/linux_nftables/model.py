"""From what was read to policies, QoS and objects of the domain."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from policyhub.domain.addresses import NOWHERE
from policyhub.domain.nat import NatRule
from policyhub.domain.objects import AddressObject, ObjectGroup, ServiceObject
from policyhub.domain.qos import ClassMatch, QosAttachment, QosClass, QosPolicy
from policyhub.domain.rules import COMES_BACK, Action, Binding, Policy, Rule
from policyhub.domain.services import Service
from policyhub.vendorkit.blocks import Line
from policyhub.vendorkit.lexing import NotUnderstood
from policyhub.vendorkit.sharing import drained
from policyhub.vendors.linux_nftables.facts import Facts, Inexact, address_of, keys, types
from policyhub.vendors.linux_nftables.lexer import Token, text_of
from policyhub.vendors.linux_nftables.reading import NAMES, VERSIONS, Chain, Reading, RuleText, SetDef, Table
from policyhub.vendors.linux_nftables.rules import RETURN, Analysed, analyse
from policyhub.vendors.linux_nftables.translate import nat_rule

DEFAULTS = {"accept": Action.PERMIT, "drop": Action.DENY, "": Action.PERMIT}
MAPPED = re.compile(r"\b(?:ip6? dscp|meta priority|vlan pcp) set .*\bmap (?:@\S+|\{[^{}]*\})")
DORMANT = "the table is dormant: its chains are not attached"


@dataclass(slots=True)
class CountedRule:
    """A rule of the text with its counter. hits None: it has none, or one that does not count exactly this rule."""

    policy: str
    key: str
    hits: int | None
    bytes: int | None
    line: int
    has_counter: bool


@dataclass(slots=True)
class Built:
    policies: list[Policy] = field(default_factory=list)
    qos_policies: list[QosPolicy] = field(default_factory=list)
    nat_rules: list[NatRule] = field(default_factory=list)
    counted: list[CountedRule] = field(default_factory=list)


@dataclass(slots=True)
class _Draft:
    """A chain whose policy waits until the jumps of all chains are known."""

    chain: Chain
    rules: list[Rule] = field(default_factory=list)
    classes: list[QosClass] = field(default_factory=list)
    jumps: set[str] = field(default_factory=set)
    is_nat: bool = False


def build(reading: Reading) -> Built:
    built = Built()
    for table in reading.tables.values():
        shared = _shared_counters(table)
        drafts = {name: _draft(reading, built, table, chain, shared) for name, chain in table.chains.items()}
        entries = _entries(drafts)
        for name, draft in drafts.items():
            _finish(built, table, draft, entries.get(name, ()))
        if any(RETURN in draft.jumps and not draft.chain.hook for draft in drafts.values()):
            family = VERSIONS.get(table.family, 0)
            built.policies.append(Policy(f"{table.title} {RETURN}", (), None, family, notes=(COMES_BACK,)))
    return built


def _shared_counters(table: Table) -> dict[str, int]:
    """How many rules use each named counter: a counter of several rules says nothing about one of them, unless it is zero."""
    used: dict[str, int] = {}
    rules = (rule for chain in table.chains.values() for rule in chain.rules)
    for rule in (rule for rule in rules if "counter name" in rule.text):
        words = [node.text if isinstance(node, Token) else "" for node in rule.nodes]
        for at in range(len(words) - 2):
            if words[at] == "counter" and words[at + 1] == "name":
                used[words[at + 2]] = used.get(words[at + 2], 0) + 1
    return used


def _entries(drafts: dict[str, _Draft]) -> dict[str, tuple[str, ...]]:
    """Base chains from which each chain can be reached by jumps."""
    found: dict[str, list[str]] = {}
    for name, draft in drafts.items():
        if not draft.chain.hook:
            continue
        seen, waiting = {name}, [name]
        while waiting:
            here = waiting.pop()
            found.setdefault(here, []).append(name)
            for target in drafts[here].jumps - seen if here in drafts else ():
                seen.add(target)
                waiting.append(target)
    return {name: tuple(bases) for name, bases in found.items()}


def _draft(reading: Reading, built: Built, table: Table, chain: Chain, shared: dict[str, int]) -> _Draft:
    """Rules one by one, so that each text and what was read of it is forgotten at once: rulesets are large."""
    title = f"{table.title} {chain.name}"
    draft = _Draft(chain, is_nat=chain.kind == "nat")
    repeats: dict[str, int] = {}
    for position, text in enumerate(drained(chain.rules), 1):
        known = analyse(table, text)
        name = f"{title} handle {text.handle}" if text.handle else f"{title} rule {position}"
        key = f"{title}: {known.canonical}"
        seen = repeats[key] = repeats.get(key, 0) + 1
        key = f"{key} #{seen}" if seen > 1 else key
        if known.problem:
            reading.ledger.unparsed(Line(text.lines[0], 0, known.text), known.problem)
        draft.is_nat = draft.is_nat or known.is_nat
        for branch, facts in enumerate(known.facts, 1):
            own = name if len(known.facts) == 1 else f"{name}.{branch}"
            rule = _rule(table, chain, own, key, text, known, facts)
            draft.rules.append(rule)
            draft.jumps.update(facts.jumps)
            translated = nat_rule(rule, facts.nat, chain, title)
            built.nat_rules.extend([translated] if translated is not None else [])
        made = _qos_class(name, known, text)
        if made is not None:
            draft.classes.append(made)
        built.counted.append(_counted(table, title, key, text, known, shared))
    return draft


def _finish(built: Built, table: Table, draft: _Draft, bases: tuple[str, ...]) -> None:
    title = f"{table.title} {draft.chain.name}"
    built.policies.append(_policy(table, draft.chain, title, draft.rules, bases, draft.is_nat))
    if draft.classes:
        lines = tuple(sorted({line for made in draft.classes for line in made.lines}))
        attachments = _attachments(table, bases, draft.classes)
        built.qos_policies.append(QosPolicy(title, tuple(draft.classes), attachments, lines))


def _rule(table: Table, chain: Chain, name: str, key: str, text: RuleText, known: Analysed, facts: Facts) -> Rule:
    references = tuple(dict.fromkeys(facts.references))
    action, target = facts.action, ""
    if facts.jumps and action is Action.CONTINUE:
        ends = facts.jumps[0] == RETURN and bool(chain.hook)
        action, target = (DEFAULTS.get(chain.policy, action), "") if ends else (action, f"{table.title} {facts.jumps[0]}")
    return Rule(
        name,
        action,
        facts.match(),
        text.lines,
        known.text,
        not table.dormant,
        facts.logged,
        facts.comment,
        "",
        key,
        references,
        target,
        facts.returns or not target,
    )


def _policy(table: Table, chain: Chain, title: str, rules: list[Rule], bases: tuple[str, ...], is_nat: bool) -> Policy:
    bindings: tuple[Binding, ...] = ()
    notes: list[str] = [DORMANT] if table.dormant else []
    line = tuple(chain.lines[:1])
    if chain.hook:
        bindings = tuple(Binding(device, chain.hook, line) for device in chain.devices or ("",))
        notes.append(
            f"type {chain.kind}, priority {chain.priority or '0'}; accept ends this chain, not those of other priorities"
        )
    elif bases:
        notes.append("reached from " + ", ".join(f"{table.title} {base}" for base in bases))
    else:
        notes.append("no base chain jumps here")
    default = DEFAULTS.get(chain.policy) if chain.hook else None
    purpose = "nat" if is_nat else "arp" if table.family == "arp" else "filter"
    family = VERSIONS.get(table.family, 0)
    return Policy(title, tuple(rules), default, family, bindings, tuple(sorted(set(chain.lines))), True, purpose, tuple(notes))


def _qos_class(name: str, known: Analysed, text: RuleText) -> QosClass | None:
    """A rule that rewrites a mark or drops above a byte rate. What else it matches is verbatim: classes have no addresses."""
    facts = known.facts[0]
    policer = facts.policer if facts.action is Action.DENY else None
    mapped = MAPPED.search(known.text) if facts.marker is None and " map " in known.text else None
    if len(known.facts) > 1 or (facts.marker is None and policer is None and mapped is None):
        return None
    match = facts.match()
    other = [part for part in match.conditions if not part.startswith("limit ")]
    for label, value, everything in (
        ("from", match.source, facts.source.is_any),
        ("to", match.destination, facts.destination.is_any),
    ):
        if not everything:
            other.append(f"{label} {value}"[:200])
    other += [f"iifname {', '.join(match.source_zones)}"] if match.source_zones else []
    other += [f"oifname {', '.join(match.destination_zones)}"] if match.destination_zones else []
    if any(not service.is_any for service in match.services):
        other.append(known.text[:200])
    other += [f"@{part}" if not part.startswith("@") else part for part in match.unresolved]
    everything_else = not other and match.dscp is None
    classes = ClassMatch(dscp=match.dscp, any=everything_else, other=tuple(dict.fromkeys(other)))
    return QosClass(name, classes, facts.marker, policer, lines=text.lines, notes=(mapped[0],) if mapped else ())


def _attachments(table: Table, bases: tuple[str, ...], classes: list[QosClass]) -> tuple[QosAttachment, ...]:
    found: list[QosAttachment] = []
    for base in bases:
        chain = table.chains[base]
        found += [QosAttachment(device, chain.hook, tuple(chain.lines[:1])) for device in chain.devices or ("",)]
    return tuple(found)


def _counted(table: Table, title: str, key: str, text: RuleText, known: Analysed, shared: dict[str, int]) -> CountedRule:
    """An inline counter in front of further matches counts more than the rule, but zero is zero."""
    facts = known.facts[0]
    value, certain = facts.counter, not facts.narrowed_after_counter
    if facts.counter_name:
        value, certain = table.counters.get(facts.counter_name), certain and shared.get(facts.counter_name) == 1
    if value is not None and not certain and value[0]:
        value = None
    has_counter = facts.counter is not None or facts.counter_name in table.counters
    return CountedRule(title, key, value[0] if value else None, value[1] if value else None, text.lines[0], has_counter)


def objects(reading: Reading) -> tuple[tuple[AddressObject, ...], tuple[ServiceObject, ...], tuple[ObjectGroup, ...]]:
    """Named sets of addresses and ports; sets of other types and maps as groups with their literal elements."""
    addresses: list[AddressObject] = []
    services: list[ServiceObject] = []
    groups: list[ObjectGroup] = []
    for table in reading.tables.values():
        for known in table.sets.values():
            name = f"{table.title} {known.name}"
            lines = tuple(sorted(set(known.lines)))
            kind = types(known)
            if not known.data and kind in (("ipv4_addr",), ("ipv6_addr",)):
                addresses.append(_address_object(name, known, 4 if kind == ("ipv4_addr",) else 6, lines))
            elif not known.data and kind == ("inet_service",):
                services.append(_service_object(name, known, lines))
            else:
                groups.append(
                    ObjectGroup(name, "map" if known.data else "set", tuple(text_of(e)[:80] for e in known.elements), lines)
                )
    return tuple(addresses), tuple(services), tuple(groups)


def _address_object(name: str, known: SetDef, version: int, lines: tuple[int, ...]) -> AddressObject:
    if known.is_dynamic:
        return AddressObject(name, None, "dynamic", lines)
    try:
        return AddressObject(name, NOWHERE.union(*(address_of(text, version) for text in keys(known))), "static", lines)
    except Inexact:
        return AddressObject(name, None, "static", lines)


def _service_object(name: str, known: SetDef, lines: tuple[int, ...]) -> ServiceObject:
    found: list[tuple[int, int]] = []
    try:
        for text in keys(known):
            low, dash, high = text.partition("-")
            if dash and low.isdigit() and high.isdigit():
                found.append((NAMES.port(low, None), NAMES.port(high, None)))
            else:
                found.append((NAMES.port(text, None),) * 2)
    except (Inexact, NotUnderstood):
        return ServiceObject(name, (), lines)
    base = Service.of(None, tuple(found)) if found else None
    return ServiceObject(name, (replace(base, protocols=((6, 6), (17, 17))),) if base else (), lines)
