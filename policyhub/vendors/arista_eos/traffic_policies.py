"""`traffic-policies`: field sets, and policies whose matches pass or drop."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from policyhub.domain.addresses import ANY4, ANY6, NOWHERE, AddressSet, Interval, normalise
from policyhub.domain.objects import AddressObject, ObjectGroup, ServiceObject
from policyhub.domain.qos import ClassMatch, Marker, QosAttachment, QosClass, QosPolicy, parse_dscp
from policyhub.domain.rules import UNDEFINED_UNKNOWN, Action, Match, Policy, Rule
from policyhub.domain.services import ANY_SERVICE, WITH_PORTS, Service
from policyhub.vendorkit.blocks import Block
from policyhub.vendorkit.lexing import NotUnderstood, Words, host_set, number_in, prefix_set, range_set
from policyhub.vendors.arista_eos.reading import NAMES, Reading

VERBATIM = ("ttl", "hop-limit", "fragment", "packet", "ethertype", "vlan", "cos", "tos", "ip", "location", "mpls", "vni")
NO_PORTS: tuple[Interval, ...] = ()
ACTION_WORDS = ("count", "set", "redirect", "police", "mirror", "log", "drop", "forward", "pass", "sample")


def read_policies(reading: Reading, block: Block) -> None:
    """Field sets are taken at once, policies when every set is known. A policy may stand in several blocks."""
    for child in block.children:
        words = Words(child.words)
        with reading.ledger.booking(child.line):
            if words.accept("field-set"):
                _field_set(reading, words, child)
            elif words.accept("traffic-policy"):
                name = words.next("a name")
                reading.traffic_policies.setdefault(name, []).append(child)
            elif words.accept("no") and words.accept("traffic-policy"):
                for gone in reading.traffic_policies.pop(words.next("a name"), []):
                    reading.ledger.understood(*gone.numbers)
            elif not child.text.startswith(("counter", "transforms", "exit")):
                raise NotUnderstood("field-set or traffic-policy is expected")


def _field_set(reading: Reading, words: Words, block: Block) -> None:
    kind = words.next("a kind").lower()
    if kind == "l4-port":
        _ports(reading, words.next("a name"), block)
        return
    if kind not in ("ipv4", "ipv6") or not words.accept("prefix"):
        raise NotUnderstood(f"field-set {kind[:40]!r} is not modelled")
    name = words.next("a name")
    found = {False: NOWHERE, True: NOWHERE}
    texts: dict[bool, list[str]] = {False: [], True: []}
    for child in block.children:
        below = Words(child.words)
        excluded = bool(below.accept("except"))
        parts = below.rest().split()
        values = [prefix_set(part) or host_set(part) for part in parts]
        if not parts or None in values:
            reading.ledger.unparsed(child.line, "prefixes are expected")
            reading.addresses.leave_open(name, f"{name}: {child.text[:80]}")
            continue
        found[excluded] = found[excluded].union(*(value for value in values if value is not None))
        texts[excluded] += parts
        reading.ledger.understood(child.number)
    reading.addresses.add(name, found[False].minus(found[True]))
    resolved = reading.addresses.resolve(name)
    known: AddressSet | None = None if resolved.unresolved else resolved.value
    reading.set_objects.append(AddressObject(name, known, "group", block.numbers))
    reading.set_groups.append(ObjectGroup(name, "network", tuple(texts[False]), block.numbers, tuple(texts[True])))


def _ports(reading: Reading, name: str, block: Block) -> None:
    members: list[str] = []
    for child in block.children:
        try:
            reading.services.add(name, (Service(destination_ports=port_list(child.text)),))
            members.append(child.text)
            reading.ledger.understood(child.number)
        except NotUnderstood as reason:
            reading.ledger.unparsed(child.line, str(reason))
            reading.services.leave_open(name, f"{name}: {child.text[:80]}")
    reading.services.define(name)
    reading.set_services.append(ServiceObject(name, reading.services.resolve(name).value, block.numbers))
    reading.set_groups.append(ObjectGroup(name, "service", tuple(members), block.numbers))


def port_list(text: str) -> tuple[Interval, ...]:
    """`80,443,8000-8010`, `80 443`, names. Raises NotUnderstood."""
    found: list[Interval] = []
    for part in re.split(r"[,\s]+", text.strip()):
        low, _, high = part.partition("-") if part[:1].isdigit() else (part, "", "")
        ends = sorted((NAMES.port(low, None), NAMES.port(high or low, None)))
        found.append((ends[0], ends[1]))
    return normalise(found)


def policies(reading: Reading) -> list[Policy]:
    found = []
    for name, blocks in reading.traffic_policies.items():
        rules: dict[str, Rule] = {}
        for child in (below for block in blocks for below in block.children):
            words = Words(child.words)
            if words.accept("match") and words:
                rule = _rule(reading, name, words.next(), words.next("a family") if words else "", child)
                rules[rule.name] = rule
            elif child.words[0] not in ("counter", "exit"):
                reading.ledger.unparsed(child.line, "match is expected")
                continue
            reading.ledger.understood(child.number)
        lines = tuple(number for block in blocks for number in block.numbers)
        bindings = tuple(reading.traffic_bindings.get(name, ()))
        ordered = sorted(rules.values(), key=lambda rule: rule.name.endswith(("ipv4-all-default", "ipv6-all-default")))
        found.append(Policy(name, tuple(ordered), Action.PERMIT, 0, bindings, lines))
    for name, bound in reading.traffic_bindings.items():
        if name not in reading.traffic_policies:
            lines = tuple(line for binding in bound for line in binding.lines)
            notes = (UNDEFINED_UNKNOWN,)
            found.append(Policy(name, (), None, 0, tuple(bound), lines, notes=notes))
    return found


def marks(reading: Reading) -> list[QosPolicy]:
    """What traffic policies mark, known once their rules are: a QoS policy with a class per match that sets a mark."""
    found = []
    for name, classes in reading.traffic_marks.items():
        bound = (QosAttachment(b.interface, b.direction, b.lines) for b in reading.traffic_bindings.get(name, ()))
        lines = tuple(line for made in classes.values() for line in made.lines)
        found.append(QosPolicy(f"traffic-policy {name}", tuple(classes.values()), tuple(bound), lines))
    return found


@dataclass(slots=True)
class _Parts:
    source: AddressSet
    destination: AddressSet
    services: list[Service] = field(default_factory=list)
    dscp: frozenset[int] | None = None
    conditions: list[str] = field(default_factory=list)
    unresolved: list[str] = field(default_factory=list)
    references: list[str] = field(default_factory=list)
    action: Action = Action.PERMIT
    logged: bool = False
    marker: Marker = field(default_factory=Marker)
    mark_lines: list[int] = field(default_factory=list)


def _rule(reading: Reading, policy: str, name: str, family: str, block: Block) -> Rule:
    every = {"ipv4": ANY4, "ipv6": ANY6}.get(family.lower(), ANY4.union(ANY6))
    parts = _Parts(every, every)
    for child in block.children:
        try:
            _line(reading, parts, child)
            reading.ledger.understood(child.number)
        except NotUnderstood as reason:
            reading.ledger.unparsed(child.line, str(reason))
            parts.conditions.append(child.text[:200])
    if parts.mark_lines:
        picked = ClassMatch(other=(f"traffic-policy {policy} match {name}",))
        made = QosClass(name, picked, parts.marker, lines=(block.number, *parts.mark_lines))
        reading.traffic_marks.setdefault(policy, {})[name] = made
    services = tuple(dict.fromkeys(parts.services)) or (ANY_SERVICE,)
    unresolved = tuple(dict.fromkeys(parts.unresolved))
    match = Match(parts.source, parts.destination, services, (), (), parts.dscp, tuple(parts.conditions), unresolved)
    title = f"{policy} {name}"
    references = tuple(dict.fromkeys(parts.references))
    return Rule(title, parts.action, match, block.numbers, block.text, True, parts.logged, hit_key=title, references=references)


def _line(reading: Reading, parts: _Parts, child: Block) -> None:
    words = Words(child.words)
    word = words.next().lower()
    if word in ("source", "destination") and words.accept("prefix"):
        known = _addresses(reading, parts, words)
        if word == "source":
            parts.source = parts.source.intersection(known) if known is not None else parts.source
        else:
            parts.destination = parts.destination.intersection(known) if known is not None else parts.destination
    elif word == "protocol":
        _protocol(reading, parts, words)
    elif word == "dscp":
        values = words.rest().replace(",", " ").split()
        parts.dscp = frozenset(mark for value in values for mark in _marks(value))
    elif word == "actions":
        _actions(reading, parts, child)
    elif word in VERBATIM or word in ("source", "destination"):
        parts.conditions.append(child.text)
    else:
        raise NotUnderstood(f"{word[:40]!r} is not understood here")


def _addresses(reading: Reading, parts: _Parts, words: Words) -> AddressSet | None:
    """None when one of the sets is unknown: then the bound is everything."""
    if words.accept("field-set"):
        found, unknown = NOWHERE, False
        for name in words.rest().split():
            parts.references.append(name)
            resolved = reading.addresses.resolve(name)
            parts.unresolved += resolved.unresolved
            unknown = unknown or bool(resolved.unresolved)
            found = found.union(resolved.value)
        return None if unknown else found
    values = [_addresses_of(part) for part in words.rest().split()]
    known = [value for value in values if value is not None]
    if not values or len(known) != len(values):
        raise NotUnderstood("prefixes are expected")
    return NOWHERE.union(*known)


def _addresses_of(text: str) -> AddressSet | None:
    return prefix_set(text) or host_set(text) or (range_set(*text.split("-", 1)) if "-" in text else None)


def _protocol(reading: Reading, parts: _Parts, words: Words) -> None:
    """`protocol P.. [flags F..] [source port ..] [destination port ..] [type ..]`. Several lines: any of them."""
    numbers: list[Interval] = []
    while words and (NAMES.knows_protocol(words.peek()) or re.match(r"^\d{1,3}[-,]", words.peek())):
        for part in words.next().rstrip(",").split(","):
            low, _, high = part.partition("-") if part[:1].isdigit() else (part, "", "")
            first, last = NAMES.protocol(low), NAMES.protocol(high or low)
            numbers.append((0, 255) if first is None or last is None else (min(first, last), max(first, last)))
    if not numbers:
        parts.conditions.append(f"protocol {words.rest()}")  # neighbors bgp, ..
        return
    source = destination = NO_PORTS
    while words:
        word = words.next().lower()
        if word in ("source", "destination") and words.accept("port"):
            ports = _port_words(reading, parts, words)
            source, destination = (ports, destination) if word == "source" else (source, ports)
        elif word in ("flags", "type"):
            stop = ("source", "destination")
            rest = [words.next() for _ in range(len(words.words)) if words and words.peek() not in stop]
            icmp = _icmp_type(numbers, rest) if word == "type" else None
            if icmp is not None:
                parts.services.append(icmp)
                return
            prefix = "icmp " if word == "type" else ""
            parts.conditions.append(f"{prefix}{word} {' '.join(rest)}")
        else:
            raise NotUnderstood(f"{word[:40]!r} is not understood here")
    if (source or destination) and any(low != high or low not in WITH_PORTS for low, high in numbers):
        raise NotUnderstood("ports are given for a protocol that has none")
    for number in numbers:
        parts.services.append(Service((number,), source or ((0, 65535),), destination or ((0, 65535),)))


def _icmp_type(numbers: list[Interval], rest: list[str]) -> Service | None:
    """`TYPE [code all]` of one protocol; None for lists and single codes, which stay words."""
    if len(numbers) != 1 or numbers[0] not in ((1, 1), (58, 58)) or rest[1:] not in ([], ["code", "all"]):
        return None
    return NAMES.read_icmp(Words(rest[:1]), numbers[0][0])


def _port_words(reading: Reading, parts: _Parts, words: Words) -> tuple[Interval, ...]:
    stop = ("source", "destination", "flags", "type")
    if words.accept("field-set"):
        found: list[Interval] = []
        while words and words.peek() not in stop:
            name = words.next()
            parts.references.append(name)
            resolved = reading.services.resolve(name)
            parts.unresolved += resolved.unresolved
            found += [(0, 65535)] if resolved.unresolved else [i for s in resolved.value for i in s.destination_ports]
        return normalise(found)
    texts = []
    while words and words.peek() not in stop and words.peek() != "all":
        texts.append(words.next())
    words.accept("all")
    return port_list(" ".join(texts)) if texts else ((0, 65535),)


def _marks(text: str) -> range:
    low, _, high = text.partition("-") if text[:1].isdigit() else (text, "", "")
    try:
        found = range(parse_dscp(low), parse_dscp(high or low) + 1)
    except ValueError as error:
        raise NotUnderstood(f"{text[:40]!r} is not a dscp") from error
    if not found:
        raise NotUnderstood(f"{text[:40]!r} is no range")
    return found


def _actions(reading: Reading, parts: _Parts, block: Block) -> None:
    """Passing or dropping, logging and marks; what else becomes of the packet stands in the rule's lines."""
    for child in block.children:
        with reading.ledger.booking(child.line):
            word = child.words[0].lower()
            if word not in ACTION_WORDS:
                raise NotUnderstood(f"{word[:40]!r} is not an action")
            if word == "drop":
                parts.action = Action.DENY
            if word == "set":
                _mark(parts, Words(child.words, 1), child.number)
            parts.logged = parts.logged or word == "log"


def _mark(parts: _Parts, words: Words, line: int) -> None:
    """`set dscp N`, `set traffic class N`; other fields are words only."""
    if words.accept("dscp"):
        parts.marker = replace(parts.marker, dscp=_marks(words.next("a dscp"))[0])
    elif words.accept("traffic") and words.accept("class"):
        parts.marker = replace(parts.marker, queue=number_in(words.next("a traffic class"), 0, 63, "a traffic class"))
    else:
        return
    parts.mark_lines.append(line)
