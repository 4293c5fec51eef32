"""Entries of access lists as IOS, NX-OS, IOS-XR and EOS write them: one grammar, what differs is told by an AclSyntax."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from policyhub.domain.addresses import ANY, ANY4, ANY6, AddressSet
from policyhub.domain.qos import parse_dscp
from policyhub.domain.rules import Action, Match, Rule
from policyhub.domain.services import ALL_PORTS, ALL_PROTOCOLS, ANY_SERVICE, ICMP, ICMPV6, Service, shared_service
from policyhub.vendorkit.blocks import Block
from policyhub.vendorkit.ledger import LineLedger
from policyhub.vendorkit.lexing import (
    NotUnderstood,
    TooScattered,
    Words,
    host_set,
    ipv4_number,
    is_decimal,
    number_in,
    port_interval,
    prefix_set,
    wildcard_set,
)
from policyhub.vendorkit.operands import NameTable, Services, alone, as_source, with_ports
from policyhub.vendorkit.service_names import PORT_WORDS, ServiceNames

ENTRY = re.compile(r"^(?:(?:sequence )?\d+ +)?(?:permit|deny|remark|evaluate|dynamic|no) ?", re.IGNORECASE)
TAIL = re.compile(r"\([^()]*\)|\[[^\[\]]*\]")  # counters behind an entry of a show output
PRECEDENCES = ("routine", "priority", "immediate", "flash", "flash-override", "critical", "internet", "network")
FLAGS = ("ack", "fin", "psh", "rst", "syn", "urg")
BARE = ("established", "fragments", "auth", "routing", "undetermined-transport", "hbh", "mobility", "dest-option", *FLAGS)
WITH_VALUE = ("tos", "option", "flow-label", "vlan", "routing-type", "dest-option-type", "mobility-type", "fragment")
COMPARED = ("ttl",)
NO_IGMP_TYPE = ("log", "log-input", "dscp", "precedence", "tos", "fragments")


@dataclass(frozen=True, slots=True)
class AclSyntax:
    """What one platform writes beside the common grammar.

    address_groups/port_groups: words in front of a group's name. bare: conditions of one word; one_value: of two;
    compared: `WORD [OP] N` and `WORD range A B`; counted: a condition's word -> how many words follow it.
    actions: from this word on the line tells what becomes of the packet, not which it is. bare_services: a show output
    prints a service group by its name alone. numbered_remarks: a remark takes a sequence number like an entry.
    sources_alone: an entry may name its source only, without a protocol.
    skipped: words with one value that say nothing about the packet (`counter NAME`).
    """

    names: ServiceNames
    address_groups: tuple[str, ...] = ("object-group", "addrgroup", "fqdn-group")
    port_groups: tuple[str, ...] = ()
    bare: tuple[str, ...] = BARE
    one_value: tuple[str, ...] = WITH_VALUE
    compared: tuple[str, ...] = COMPARED
    counted: tuple[tuple[str, int], ...] = ()
    actions: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    bare_services: bool = False
    numbered_remarks: bool = True
    sources_alone: bool = False


@dataclass(slots=True)
class AclBook:
    """What the entries of one text share."""

    syntax: AclSyntax
    ledger: LineLedger
    addresses: NameTable[AddressSet]
    services: NameTable[Services]


@dataclass(slots=True)
class _Parts:
    """What a rule is put together from."""

    family: int
    book: AclBook
    dscp: frozenset[int] | None = None
    unresolved: list[str] = field(default_factory=list)
    conditions: list[str] = field(default_factory=list)
    references: list[str] = field(default_factory=list)
    logged: bool = False
    schedule: str = ""
    sequence: int | None = None

    @property
    def any_address(self) -> AddressSet:
        return {4: ANY4, 6: ANY6}.get(self.family, ANY)


def skipped_words(words: list[str]) -> int:
    """How many words stand in front of an entry (numbered lists: "access-list 10")."""
    return 2 if words[0].lower() == "access-list" else 0


def verb_of(entry: Block) -> str:
    words = entry.words[skipped_words(entry.words) :]
    while words and (is_decimal(words[0]) or words[0].lower() == "sequence"):
        words = words[1:]
    return words[0].lower() if words else ""


def read_rules(book: AclBook, family: int, name: str, form: str, entries: Sequence[Block]) -> list[Rule]:
    """In the order of sequence numbers, as the device evaluates; an entry without a number gets the highest plus 10."""
    sequences: list[int] = []
    items: list[Rule | str] = []
    remarks: list[str] = []
    last = 0
    for entry in entries:
        words = Words(TAIL.sub(" ", entry.text).replace(", wildcard bits", " ").split(), skipped_words(entry.words))
        sequence = _sequence(words)
        if words.accept("remark"):
            text = entry.text.partition("remark")[2].strip()
            book.ledger.understood(entry.number)
            if book.syntax.numbered_remarks:
                sequence = sequence or last + 10
                sequences.append(sequence)
                items.append(text)
                last = max(last, sequence)
            else:
                remarks.append(text)
            continue
        try:
            rule, written = _rule(book, family, form, words, entry)
            sequence = sequence or written or last + 10
            book.ledger.understood(entry.number)
            title = f"{name} {sequence}"
            sequences.append(sequence)
            items.append(replace(rule, name=title, hit_key=title, comment="\n".join(remarks)))
        except NotUnderstood as reason:
            sequence = sequence or last + 10
            book.ledger.unparsed(entry.line, str(reason))
        last = max(last, sequence)
        remarks = []
    return _commented(items[at] for at in sorted(range(len(items)), key=sequences.__getitem__))


def _commented(ordered: Iterable[Rule | str]) -> list[Rule]:
    """A numbered remark belongs to the entry behind it."""
    found: list[Rule] = []
    remarks: list[str] = []
    for item in ordered:
        if isinstance(item, str):
            remarks.append(item)
            continue
        found.append(replace(item, comment="\n".join(remarks)) if remarks else item)
        remarks = []
    return found


def _sequence(words: Words) -> int | None:
    words.accept("sequence")
    return int(words.next()[:10]) if is_decimal(words.peek()) else None


def _rule(book: AclBook, family: int, form: str, words: Words, entry: Block) -> tuple[Rule, int | None]:
    """The rule without its name, and the sequence number when it stands at the end (IPv6)."""
    parts = _Parts(family, book)
    verb = words.next("permit or deny").lower()
    if verb == "dynamic":
        parts.conditions.append(f"dynamic {words.next('a name')}")
        if words.accept("timeout"):
            words.next("minutes")
        verb = words.next("permit or deny").lower()
    if verb == "evaluate":
        parts.conditions.append(f"evaluate {words.next('a name')}")
        verb, match = "permit", Match(parts.any_address, parts.any_address)
    elif verb not in ("permit", "deny"):
        raise NotUnderstood(f"{verb[:40]!r} is not permit or deny")
    elif form == "standard" or (book.syntax.sources_alone and _is_source_alone(book, words)):
        match = Match(_standard(words, parts), parts.any_address)
    elif form in ("mac", "role-based", "arp"):
        told = []
        while words and words.peek().lower() not in ("log", "log-input", "time-range"):
            told.append(words.next())
        match = Match(conditions=(f"{form} {' '.join(told)}",))
    else:
        match = _extended(words, parts)
    _options(words, parts)
    conditions = (*match.conditions, *parts.conditions)
    unresolved = tuple(dict.fromkeys(parts.unresolved))
    match = Match(match.source, match.destination, match.services, (), (), parts.dscp, conditions, unresolved)
    text = entry.line.spaced
    references = tuple(dict.fromkeys(parts.references))
    rule = Rule("", Action(verb), match, (entry.number,), text, True, parts.logged, "", parts.schedule, "", references)
    return rule, parts.sequence


def _standard(words: Words, parts: _Parts) -> AddressSet:
    """`any`, `host A`, `A`, `A W`, `A/L`."""
    if words.accept("any"):
        return parts.any_address
    words.accept("host")
    address = words.next("an address")
    is_masked = ipv4_number(words.peek()) is not None
    found = _masked(address, words.next(), parts) if is_masked else host_set(address) or prefix_set(address)
    if found is None:
        raise NotUnderstood(f"{address[:40]!r} is not an address")
    return found


def _extended(words: Words, parts: _Parts) -> Match:
    if words.accept("vlan"):  # EOS: `permit vlan 123 0x000 udp ..`
        parts.conditions.append(f"vlan {words.next('a vlan')} {words.next('a mask')}")
    base, protocol = _protocol(words, parts)
    source = _address(words, parts)
    source_ports = _ports(words, parts, protocol)
    destination = _address(words, parts)
    to_ports = _ports(words, parts, protocol)
    if to_ports is None and protocol in (ICMP, ICMPV6):
        found = parts.book.syntax.names.read_icmp(words, protocol)
        base = (found,) if found else base
    elif protocol == 2 and words and words.peek().lower() not in NO_IGMP_TYPE:
        parts.conditions.append(f"igmp {words.next()}")
    from_ports = None if source_ports is None else as_source(source_ports)
    return Match(source, destination, with_ports(base, from_ports, to_ports, bool(parts.unresolved)))


def _is_source_alone(book: AclBook, words: Words) -> bool:
    """`permit A W`, `permit host A`, `permit any`: neither a protocol in front nor a destination behind."""
    word = words.peek().lower()
    if book.syntax.names.knows_protocol(word):
        return False
    length = 1 if word == "any" or "/" in word else 2 if ipv4_number(words.peek(1)) is not None or word == "host" else 1
    return not words.peek(length) or words.peek(length).lower() in ("log", "log-input")


def _ports(words: Words, parts: _Parts, protocol: int | None) -> Services | None:
    """As destination ports; None when the next word is no operator and no port group."""
    syntax = parts.book.syntax
    if words.accept(*syntax.port_groups):
        name = words.next("a name")
        parts.references.append(name)
        found = parts.book.services.resolve(name)
        parts.unresolved += found.unresolved
        return None if found.unresolved else found.value
    if words.peek().lower() not in PORT_WORDS:
        return None
    return alone(shared_service(ALL_PROTOCOLS, ALL_PORTS, syntax.names.read_ports(words, protocol, several=True)))


def _protocol(words: Words, parts: _Parts) -> tuple[Services, int | None]:
    names, services = parts.book.syntax.names, parts.book.services
    named = parts.book.syntax.bare_services and words.accept("object-group")
    word = words.next("a protocol")
    if named or not names.knows_protocol(word):
        known = parts.book.syntax.bare_services and (word in services or _is_address(words.peek()))
        if not named and not known:
            raise NotUnderstood(f"{word[:40]!r} is not a protocol name or number")
        parts.references.append(word)
        found = services.resolve(word)
        parts.unresolved += found.unresolved
        return ((ANY_SERVICE,) if found.unresolved else found.value), None
    number = names.protocol(word)
    if parts.family == 6 and number == ICMP:
        number = ICMPV6
    return alone(Service.of(number)), number


def _is_address(word: str) -> bool:
    """A show output prints a service group by its bare name: then an address follows."""
    return word.lower() in ("object-group", "host", "any") or host_set(word) is not None or prefix_set(word) is not None


def _address(words: Words, parts: _Parts) -> AddressSet:
    if words.accept("any"):
        return parts.any_address
    if words.accept(*parts.book.syntax.address_groups):
        name = words.next("a name")
        parts.references.append(name)
        resolved = parts.book.addresses.resolve(name)
        parts.unresolved += resolved.unresolved
        return parts.any_address if resolved.unresolved else resolved.value
    if words.accept("host"):
        if words.accept("dynamic"):
            parts.unresolved.append(words.next("a domain name"))
            return parts.any_address
        address = words.next("an address")
        found = host_set(address)
    else:
        address = words.next("an address")
        found = prefix_set(address) or (host_set(address) if ":" in address else None)
        found = found or _masked(address, words.next("a wildcard"), parts)
    if found is None:
        raise NotUnderstood(f"{address[:40]!r} is not an address")
    return found


def _masked(address: str, wildcard: str, parts: _Parts) -> AddressSet | None:
    """A wildcard of too many pieces is everything, with the words as a condition: an upper bound that covers nothing."""
    try:
        return wildcard_set(address, wildcard)
    except TooScattered:
        parts.conditions.append(f"address {address} wildcard {wildcard}")
        return parts.any_address


def _options(words: Words, parts: _Parts) -> None:
    syntax = parts.book.syntax
    counted = dict(syntax.counted)
    while words:
        word = words.next().lower()
        if word in ("log", "log-input"):
            parts.logged = True
        elif word in ("dscp", "precedence"):
            _mark(word, words, parts)
        elif word in syntax.bare:
            parts.conditions.append(word)
        elif word in ("match-all", "match-any"):
            flags = [words.next() for _ in range(len(words.words)) if words.peek().startswith(("+", "-"))]
            parts.conditions.append(" ".join([word, *flags]))
        elif word == "time-range":
            parts.schedule = words.next("a time range")
            parts.conditions.append(f"time-range {parts.schedule}")
            parts.references.append(parts.schedule)
        elif word == "reflect":
            parts.references.append(words.next("a name"))
            if words.accept("timeout"):
                words.next("seconds")
        elif word == "sequence":
            parts.sequence = number_in(words.next("a number"), 1, 2**32 - 1, "a sequence number")
        elif word in syntax.compared:
            parts.conditions.append(_compared(word, words))
        elif word in syntax.one_value or word in counted:
            parts.conditions.append(" ".join([word, *(words.next("a value") for _ in range(counted.get(word, 1)))]))
        elif word in syntax.skipped:
            words.next("a value")
        elif word in syntax.actions:
            words.rest()
        else:
            raise NotUnderstood(f"{word[:40]!r} is not understood here")


def _compared(word: str, words: Words) -> str:
    operator = words.accept(*PORT_WORDS)
    count = 2 if operator == "range" else 1
    values = [words.next("a value") for _ in range(count)]
    return " ".join([word, *([operator] if operator else []), *values])


def _mark(word: str, words: Words, parts: _Parts) -> None:
    operator = words.accept(*PORT_WORDS) or "eq"
    values = [_level(word, words.next("a mark")) for _ in range(2 if operator == "range" else 1)]
    top = 63 if word == "dscp" else 7
    levels = [n for low, high in port_interval(operator, values) for n in range(low, min(high, top) + 1)]
    marks = frozenset(levels if word == "dscp" else (mark for level in levels for mark in range(level * 8, level * 8 + 8)))
    parts.dscp = marks if parts.dscp is None else parts.dscp & marks


def _level(kind: str, value: str) -> int:
    if kind == "precedence":
        return PRECEDENCES.index(value.lower()) if value.lower() in PRECEDENCES else number_in(value, 0, 7, "a precedence")
    try:
        return parse_dscp(value)
    except ValueError as error:
        raise NotUnderstood(f"{value[:40]!r} is not a {kind}") from error
