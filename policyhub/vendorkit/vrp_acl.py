"""ACLs as VRP and Comware write them: rules, their numbering, comments; what a platform adds is in its `AclDialect`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from policyhub.domain.addresses import ANY, ANY4, ANY6, AddressSet
from policyhub.domain.rules import UNDEFINED_UNKNOWN, Action, Binding, Match, Policy, Rule
from policyhub.domain.services import ICMP, ICMPV6, Service
from policyhub.vendorkit.blocks import Block
from policyhub.vendorkit.ledger import LineLedger
from policyhub.vendorkit.lexing import (
    NotUnderstood,
    TooScattered,
    Words,
    dscp_in,
    host_set,
    is_decimal,
    number_in,
    prefix_set,
    wildcard_set,
)
from policyhub.vendorkit.operands import Resolved, Services
from policyhub.vendorkit.service_names import PORT_WORDS, ServiceNames, icmp_service

COUNT = re.compile(r"\s*\((?:(?:\d+) (?:times )?match(?:es|ed)?|match-counter \d+|\d+ times|\d+ packets?)\)")
BARE_COUNT = re.compile(r"^\((?:\d+) (?:times )?match(?:es|ed)?\)$|^\(match-counter \d+\)$")
ENTRY = re.compile(r"^(?:undo )?rule ", re.IGNORECASE)
PRECEDENCES = ("routine", "priority", "immediate", "flash", "flash-override", "critical", "internet", "network")
NAMED_SETS = (
    "address-set", "address-group", "ip-group", "domain-set", "object-group", "user-group", "ucl-group", "geo-location",
)  # fmt: skip
BARE = (
    "fragment", "none-first-fragment", "first-fragment", "non-fragment", "fragment-subseq", "established", "logging", "log",
    "destination-ucl-group", "hop-by-hop",
)  # fmt: skip
ONE_VALUE = (
    "tos", "vpn-instance", "fragment-type", "igmp-type", "vlan", "vni", "routing", "ip-group", "destination-option", "set-type",
)  # fmt: skip
FLAGS = ("ack", "fin", "psh", "rst", "syn", "urg", "established")
AUTO_NOTE = "match-order auto: the device sorts rules by depth; their order here is as printed"


def bound_only(bound: Mapping[tuple[int, str], list[tuple[Binding, str]]]) -> Iterator[Policy]:
    """Lists that are bound and stand nowhere, by (family, name): without rules, and with a note that says so."""
    for (family, name), pairs in bound.items():
        bindings = tuple(binding for binding, _ in pairs)
        lines = tuple(line for binding in bindings for line in binding.lines)
        yield Policy(name, (), None, family, bindings, lines, notes=(UNDEFINED_UNKNOWN,))


@dataclass(frozen=True, slots=True)
class AclDialect:
    """comment: word of `rule N <comment> T`. bare, one_value: further words kept as conditions. ignored: words without meaning
    for the match. addresses, services: what a named group stands for (None: groups are not resolved)."""

    names: ServiceNames
    comment: str = "description"
    bare: tuple[str, ...] = ()
    one_value: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    first_id: int | None = None
    addresses: Callable[[str], Resolved[AddressSet]] | None = None
    services: Callable[[str], Resolved[Services]] | None = None


@dataclass(slots=True)
class Acl:
    """One list. `kind`: basic, advanced, layer-2 or user. `number` "" when the device keeps it to itself."""

    family: int
    name: str
    kind: str
    number: str = ""
    auto: bool = False
    step: int = 5
    lines: list[int] = field(default_factory=list)
    entries: list[Block] = field(default_factory=list)


@dataclass(slots=True)
class _Parts:
    """What a rule is put together from."""

    family: int
    source: AddressSet
    destination: AddressSet
    dialect: AclDialect
    protocol: int | None = None
    source_ports: Service | None = None
    service: Service = field(default_factory=Service)
    dscp: frozenset[int] | None = None
    conditions: list[str] = field(default_factory=list)
    unresolved: list[str] = field(default_factory=list)
    references: list[str] = field(default_factory=list)
    logged: bool = False
    schedule: str = ""


def any_of(family: int) -> AddressSet:
    return {4: ANY4, 6: ANY6}.get(family, ANY)


def is_number(word: str) -> bool:
    return is_decimal(word) and len(word) <= 10


def collect(ledger: LineLedger, acl: Acl, block: Block) -> None:
    """Rules, step and description below a header. A step decides the numbers of rules without one."""
    for child in block.below():
        words = Words(child.words)
        if ENTRY.match(child.text):
            acl.entries.append(child)
        elif words.accept("step") and is_number(words.peek()):
            acl.step = max(1, int(words.peek()))
            ledger.understood(child.number)
        elif words.accept("description") or BARE_COUNT.match(child.text):
            ledger.understood(child.number)
        else:
            continue
        acl.lines.append(child.number)


def rules(ledger: LineLedger, dialect: AclDialect, acl: Acl, family: int) -> tuple[Rule, ...]:
    """In the order of identifiers; a rule without one gets the next multiple of the step."""
    found: dict[int, Rule] = {}
    comments: dict[int, str] = {}
    last = -1
    for entry in acl.entries:
        words = Words(COUNT.sub("", entry.text).split(), 1)
        if entry.words[0].lower() == "undo":
            ledger.unparsed(entry.line, "a command, not configuration")
            continue
        written = int(words.next()) if is_number(words.peek()) else None
        first = acl.step if dialect.first_id is None else dialect.first_id
        number = written if written is not None else first if last < 0 else (last // acl.step + 1) * acl.step
        try:
            if words.accept(dialect.comment):
                comments[number] = words.rest().strip('"')
            else:
                found[number] = _rule(dialect, acl, family, words, entry, f"{acl.name} {number}")
                last = max(last, number)
            ledger.understood(entry.number)
        except NotUnderstood as reason:
            ledger.unparsed(entry.line, str(reason))
            last = max(last, number)
    ordered = list(found.items()) if acl.auto else sorted(found.items())
    return tuple(replace(rule, comment=comments.get(number, "")) for number, rule in ordered)


def _rule(dialect: AclDialect, acl: Acl, family: int, words: Words, entry: Block, name: str) -> Rule:
    verb = words.next("permit or deny").lower()
    if verb not in ("permit", "deny"):
        raise NotUnderstood(f"{verb[:40]!r} is not permit or deny")
    parts = _Parts(family, any_of(family), any_of(family), dialect)
    if acl.kind in ("layer-2", "user"):
        parts.conditions = [words.rest()] if words else []
    else:
        _body(acl, parts, words)
    services = parts.service
    if parts.source_ports is not None:
        services = Service(services.protocols, parts.source_ports.source_ports, services.destination_ports)
    match = Match(
        source=parts.source,
        destination=parts.destination,
        services=(services,),
        dscp=parts.dscp,
        conditions=tuple(parts.conditions),
        unresolved=tuple(dict.fromkeys(parts.unresolved)),
    )
    return Rule(
        name,
        Action(verb),
        match,
        (entry.number,),
        text=" ".join(entry.words),
        logged=parts.logged,
        schedule=parts.schedule,
        hit_key=name,
        references=tuple(dict.fromkeys(parts.references)),
    )


def _body(acl: Acl, parts: _Parts, words: Words) -> None:
    if acl.kind == "advanced" and words:
        parts.protocol = parts.dialect.names.protocol(words.next("a protocol"))
        if parts.family == 6 and parts.protocol == ICMP:
            parts.protocol = ICMPV6
        parts.service = Service.of(parts.protocol)
    while words:
        word = words.next().lower()
        if word == "source":
            parts.source = _address(parts, words)
        elif word == "destination":
            parts.destination = _address(parts, words)
        elif word in ("source-port", "destination-port"):
            _ports(parts, word, words)
        else:
            _option(parts, word, words)


def _address(parts: _Parts, words: Words) -> AddressSet:
    """`any`, `A 0`, `A W`, `P/L`, `P L` (IPv6), or a named set."""
    first = words.next("an address")
    if first.lower() == "any":
        return any_of(parts.family)
    if first.lower() in NAMED_SETS:
        return _named(parts, words.next("a name"))
    found = prefix_set(first)
    if found is None and ":" in first:
        second = words.next("a prefix length")
        found = prefix_set(f"{first}/{number_in(second, 0, 128, 'a prefix length')}")
    elif found is None:
        found = _wildcard(parts, first, words.next("a wildcard"))
    if found is None:
        raise NotUnderstood(f"{first[:40]!r} is not an address")
    if (parts.family == 6) != bool(found.v6):
        raise NotUnderstood(f"{first[:40]!r} is not an address of IPv{parts.family}")
    return found


def _named(parts: _Parts, name: str) -> AddressSet:
    parts.references.append(name)
    known = Resolved(any_of(parts.family), (name,)) if parts.dialect.addresses is None else parts.dialect.addresses(name)
    parts.unresolved += known.unresolved
    return any_of(parts.family) if known.unresolved else known.value


def _wildcard(parts: _Parts, address: str, wildcard: str) -> AddressSet | None:
    """A wildcard of too many pieces is everything, with the words as a condition: an upper bound that covers nothing."""
    try:
        return host_set(address) if wildcard == "0" else wildcard_set(address, wildcard)
    except TooScattered:
        parts.conditions.append(f"address {address} wildcard {wildcard}")
        return any_of(parts.family)


def _ports(parts: _Parts, word: str, words: Words) -> None:
    operator = words.next("an operator").lower()
    if operator == "object-group":
        intervals = _port_group(parts, words.next("a name"))
    elif operator in PORT_WORDS:
        words.at -= 1
        intervals = parts.dialect.names.read_ports(words, parts.protocol, several=True)
    else:
        raise NotUnderstood(f"{operator[:40]!r} is not one of {', '.join(PORT_WORDS)}")
    if word == "source-port":
        parts.source_ports = Service(source_ports=intervals)
    else:
        parts.service = Service(parts.service.protocols, parts.service.source_ports, intervals)


def _port_group(parts: _Parts, name: str) -> tuple[tuple[int, int], ...]:
    parts.references.append(name)
    known: Resolved[Services] = Resolved((), (name,)) if parts.dialect.services is None else parts.dialect.services(name)
    parts.unresolved += known.unresolved
    if known.unresolved:
        return Service().destination_ports
    return destination_ports_of(known.value)


def destination_ports_of(services: Services) -> tuple[tuple[int, int], ...]:
    """All destination ports of a group of ports."""
    merged = Service.of(None, tuple(interval for service in services for interval in service.destination_ports) or None)
    return merged.destination_ports


def _option(parts: _Parts, word: str, words: Words) -> None:
    dialect = parts.dialect
    if word in ("logging", "log"):
        parts.logged = True
    elif word in dialect.ignored:
        return
    elif word in ("routing", "hop-by-hop") and words.accept("type"):
        parts.conditions.append(f"{word} type {words.next('a type')}")
    elif word in BARE or word in dialect.bare:
        parts.conditions.append(word)
    elif word in ("icmp-type", "icmp6-type"):
        parts.service = _icmp(parts, words)
    elif word in ("dscp", "precedence"):
        parts.dscp = marks(word, words.next("a mark"))
    elif word == "tcp-flag":
        parts.conditions.append(_flags(words))
    elif word in FLAGS:
        parts.conditions.append(f"{word} {words.next('0 or 1')}")
    elif word == "time-range":
        parts.schedule = words.next("a time range")
        parts.conditions.append(f"time-range {parts.schedule}")
        parts.references.append(parts.schedule)
    elif word in ("ttl", "packet-length", "ttl-expired"):
        parts.conditions.append(_compared(word, words))
    elif word in ONE_VALUE or word in dialect.one_value:
        parts.conditions.append(f"{word} {words.next('a value')}")
    elif word.endswith("-pool"):
        parts.unresolved.append(words.next("a pool"))
        parts.references.append(parts.unresolved[-1])
    else:
        raise NotUnderstood(f"{word[:40]!r} is not understood here")


def _compared(word: str, words: Words) -> str:
    if word == "ttl-expired":
        return word
    operator = words.next("an operator").lower()
    return " ".join([word, operator, *(words.next("a number") for _ in range(2 if operator == "range" else 1))])


def _flags(words: Words) -> str:
    """`tcp-flag established`, `tcp-flag syn ack`, `tcp-flag 18 mask 63`."""
    text = ["tcp-flag", words.next("a flag").lower()]
    if is_number(text[1]):
        if words.accept("mask"):
            text += ["mask", words.next("a mask")]
        return " ".join(text)
    while words.peek().lower() in FLAGS:
        text.append(words.next().lower())
    return " ".join(text)


def _icmp(parts: _Parts, words: Words) -> Service:
    """A name, or `TYPE [CODE]`."""
    protocol = parts.protocol if parts.protocol in (ICMP, ICMPV6) else (ICMPV6 if parts.family == 6 else ICMP)
    first = words.next("an ICMP type")
    if is_number(first):
        kind = number_in(first, 0, 255, "an ICMP type")
        code = number_in(words.next(), 0, 255, "an ICMP code") if is_number(words.peek()) else None
        return icmp_service(kind, code, protocol)
    known = parts.dialect.names.icmp_type(first, protocol)
    if known is None:
        raise NotUnderstood(f"{first[:40]!r} is not an ICMP type")
    return icmp_service(*known, protocol)


def marks(word: str, text: str) -> frozenset[int]:
    """Code points of `dscp X` or `precedence X`; a precedence stands for eight of them."""
    if word == "dscp":
        return frozenset({dscp_in(text)})
    level = PRECEDENCES.index(text.lower()) if text.lower() in PRECEDENCES else number_in(text, 0, 7, "a precedence")
    return frozenset(range(level * 8, level * 8 + 8))
