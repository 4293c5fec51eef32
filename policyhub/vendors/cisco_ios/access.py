"""Access lists: standard, extended, IPv6, MAC; numbered, named, and as `show [ip|ipv6] access-lists` prints them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from policyhub.domain.addresses import ANY, ANY4, ANY6, AddressSet
from policyhub.domain.qos import parse_dscp
from policyhub.domain.rules import Action, Match, Policy, Rule
from policyhub.domain.services import ANY_SERVICE, ICMP, ICMPV6, Service
from policyhub.vendorkit.blocks import Block
from policyhub.vendorkit.lexing import (
    Budget,
    NotUnderstood,
    TooScattered,
    Words,
    host_set,
    ipv4_number,
    is_decimal,
    number_in,
    prefix_set,
    wildcard_set,
)
from policyhub.vendorkit.operands import Services, with_ports
from policyhub.vendorkit.service_names import PORT_WORDS
from policyhub.vendors.cisco_ios.reading import NAMES, AccessList, AclKey, Reading

HEADER = re.compile(
    r"^(?:(?P<ip>ip|ipv6|mac) access-list (?:(?P<form>standard|extended|role-based|fqdn) )?(?P<name>\S+)"
    r"|(?P<shown>Standard|Extended|Role-based|Reflexive|FQDN) IP access list (?P<name4>\S+)(?: \(.*\))?"
    r"|IPv6 (?:FQDN )?access list (?P<name6>\S+)(?: \(.*\))?"
    r"|Extended MAC access list (?P<namem>\S+))$"
)
NOT_LISTS = ("resequence", "log-update", "logging", "helper", "persistent", "match-local-traffic", "role-based")
ENTRY = re.compile(r"^(?:(?:sequence )?\d+ +)?(?:permit|deny|remark|evaluate|dynamic|no) ?", re.IGNORECASE)
TAIL = re.compile(r"\([^()]*\)")
PRECEDENCES = ("routine", "priority", "immediate", "flash", "flash-override", "critical", "internet", "network")
FLAGS = ("ack", "fin", "psh", "rst", "syn", "urg")
BARE = ("established", "fragments", "auth", "routing", "undetermined-transport", "hbh", "mobility", "dest-option", *FLAGS)
WITH_VALUE = ("tos", "option", "flow-label", "vlan", "routing-type", "dest-option-type", "mobility-type", "fragment")
IPV6_NOTE = "the device permits nd-na and nd-ns before the final deny"


@dataclass(slots=True)
class Parts:
    """What a rule is put together from."""

    family: int
    budget: Budget
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


def read_named(reading: Reading, block: Block) -> None:
    header = HEADER.match(block.text)
    if header is None or (header["name"] in NOT_LISTS and not block.children):
        raise NotUnderstood("not an access list that is modelled")
    if header["ip"] or header["shown"] is None:
        family = 6 if header["ip"] == "ipv6" or header["name6"] else 0 if header["ip"] == "mac" or header["namem"] else 4
    else:
        family = 4
    form = "mac" if family == 0 else (header["form"] or header["shown"] or ("ipv6" if family == 6 else "extended")).lower()
    name = header["name"] or header["name4"] or header["name6"] or header["namem"]
    lists = reading.configured if header["ip"] else reading.shown
    found = lists.setdefault((family, name), AccessList(form))
    found.lines.append(block.number)
    for child in (below for top in block.children for below in top.walk()):
        if ENTRY.match(child.text):
            found.entries.append(child)
            found.lines.append(child.number)
        elif child.text == "exit":
            reading.ledger.understood(child.number)


def read_numbered(reading: Reading, block: Block) -> None:
    """`access-list N permit|deny|remark ..`: 1-99 and 1300-1999 are standard, 100-199 and 2000-2699 extended."""
    words = block.words
    if len(words) < 3 or not is_decimal(words[1]) or words[2].lower() not in ("permit", "deny", "remark", "dynamic"):
        raise NotUnderstood("not an access list that is modelled")
    number = int(words[1][:6])
    if 1 <= number <= 99 or 1300 <= number <= 1999:
        form = "standard"
    elif 100 <= number <= 199 or 2000 <= number <= 2699:
        form = "extended"
    else:
        raise NotUnderstood("access lists of this number are not modelled")
    found = reading.configured.setdefault((4, words[1]), AccessList(form))
    found.lines.append(block.number)
    found.entries.append(block)


def policies(reading: Reading) -> list[Policy]:
    """Configured lists, lists only seen in a show output, and names that are bound but not defined (IOS then permits all)."""
    lists = dict(reading.configured)
    for key, shown in reading.shown.items():
        if key in lists:
            reading.ledger.understood(*shown.lines)
        else:
            lists[key] = shown
    found = [_policy(reading, key, acl) for key, acl in lists.items()]
    for (family, name), bindings in reading.bindings.items():
        if (family, name) not in lists:
            lines = tuple(line for binding in bindings for line in binding.lines)
            notes = ("bound but not defined: the device permits everything",)
            found.append(Policy(name, (), Action.PERMIT, family, tuple(bindings), lines, notes=notes))
    return found


def _policy(reading: Reading, key: AclKey, acl: AccessList) -> Policy:
    family, name = key
    bindings = tuple(reading.bindings.get(key, ()))
    rules = _rules(reading, family, name, acl)
    default, notes = Action.DENY, (IPV6_NOTE,) if family == 6 else ()
    lost = sum(_verb(entry) != "remark" for entry in acl.entries) - len(rules)
    if lost:
        notes = (*notes, f"{lost} entries are not understood")
    if all(_verb(entry) == "remark" for entry in acl.entries):
        default, notes = Action.PERMIT, ("empty: the device permits everything",)
    purpose = "match" if name in reading.selectors and not bindings else "filter"
    if acl.form in ("mac", "role-based", "reflexive"):
        purpose = acl.form
    return Policy(name, tuple(rules), default, family, bindings, tuple(acl.lines), notes=notes, purpose=purpose)


def _skip(words: list[str]) -> int:
    """How many words stand in front of an entry (numbered lists: "access-list 10")."""
    return 2 if words[0].lower() == "access-list" else 0


def _verb(entry: Block) -> str:
    words = entry.words[_skip(entry.words) :]
    while words and (is_decimal(words[0]) or words[0].lower() == "sequence"):
        words = words[1:]
    return words[0].lower() if words else ""


def _rules(reading: Reading, family: int, name: str, acl: AccessList) -> list[Rule]:
    """In the order of sequence numbers, as the device evaluates; an entry without a number gets the last one plus 10."""
    numbered: list[tuple[int, Rule]] = []
    remarks: list[str] = []
    last = 0
    for entry in acl.entries:
        words = Words(TAIL.sub(" ", entry.text).replace(", wildcard bits", " ").split(), _skip(entry.words))
        sequence = _sequence(words)
        if words.accept("remark"):
            remarks.append(entry.text.partition("remark")[2].strip())
            reading.ledger.understood(entry.number)
            continue
        try:
            rule, written = _rule(reading, family, acl.form, words, entry)
            sequence = sequence or written or last + 10
            reading.ledger.understood(entry.number)
            text = "\n".join(remarks)
            numbered.append((sequence, _named(rule, f"{name} {sequence}", text)))
        except NotUnderstood as reason:
            sequence = sequence or last + 10
            reading.ledger.unparsed(entry.line, str(reason))
        last = max(last, sequence)
        remarks = []
    reading.ledger.understood(acl.lines[0])
    return [rule for _, rule in sorted(numbered, key=lambda pair: pair[0])]


def _sequence(words: Words) -> int | None:
    words.accept("sequence")
    return int(words.next()[:10]) if is_decimal(words.peek()) else None


def _named(rule: Rule, name: str, comment: str) -> Rule:
    return Rule(
        name,
        rule.action,
        rule.match,
        rule.lines,
        rule.text,
        rule.enabled,
        rule.logged,
        comment,
        rule.schedule,
        hit_key=name,
        references=rule.references,
    )


def _rule(reading: Reading, family: int, form: str, words: Words, entry: Block) -> tuple[Rule, int | None]:
    """The rule without its name, and the sequence number when it stands at the end (IPv6)."""
    parts = Parts(family, reading.budget)
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
    elif form == "standard":
        match = Match(_standard(words, parts), parts.any_address)
    elif form in ("mac", "role-based"):
        match = Match(conditions=(f"{form} {words.rest()}",))
    else:
        match = _extended(reading, words, parts)
    _options(words, parts)
    conditions = (*match.conditions, *parts.conditions)
    unresolved = tuple(dict.fromkeys(parts.unresolved))
    match = Match(match.source, match.destination, match.services, (), (), parts.dscp, conditions, unresolved)
    text = " ".join(entry.words)
    references = tuple(dict.fromkeys(parts.references))
    rule = Rule("", Action(verb), match, (entry.number,), text, True, parts.logged, "", parts.schedule, "", references)
    return rule, parts.sequence


def _standard(words: Words, parts: Parts) -> AddressSet:
    """`any`, `host A`, `A`, `A W`."""
    if words.accept("any"):
        return parts.any_address
    words.accept("host")
    address = words.next("an address")
    is_masked = ipv4_number(words.peek()) is not None
    found = _masked(address, words.next(), parts) if is_masked else host_set(address)
    if found is None:
        raise NotUnderstood(f"{address[:40]!r} is not an address")
    return found


def _extended(reading: Reading, words: Words, parts: Parts) -> Match:
    base, protocol = _protocol(reading, words, parts)
    source = _address(reading, words, parts)
    source_ports = NAMES.read_ports(words, protocol, several=True) if words.peek().lower() in PORT_WORDS else None
    destination = _address(reading, words, parts)
    from_ports = None if source_ports is None else (Service(source_ports=source_ports),)
    to_ports: Services | None = None
    if words.peek().lower() in PORT_WORDS:
        to_ports = (Service(destination_ports=NAMES.read_ports(words, protocol, several=True)),)
    elif protocol in (ICMP, ICMPV6):
        found = NAMES.read_icmp(words, protocol)
        base = (found,) if found else base
    elif protocol == 2 and words and words.peek().lower() not in ("log", "log-input", "dscp", "precedence", "tos", "fragments"):
        parts.conditions.append(f"igmp {words.next()}")
    return Match(source, destination, with_ports(base, from_ports, to_ports, bool(parts.unresolved)))


def _protocol(reading: Reading, words: Words, parts: Parts) -> tuple[Services, int | None]:
    named = words.accept("object-group")
    word = words.next("a protocol")
    if named or not NAMES.knows_protocol(word):
        if not named and word not in reading.services and not _is_address(words.peek()):
            raise NotUnderstood(f"{word[:40]!r} is not a protocol name or number")
        parts.references.append(word)
        found = reading.services.resolve(word)
        parts.unresolved += found.unresolved
        return ((ANY_SERVICE,) if found.unresolved else found.value), None
    number = NAMES.protocol(word)
    if parts.family == 6 and number == ICMP:
        number = ICMPV6
    return (Service.of(number),), number


def _is_address(word: str) -> bool:
    """A show output prints a service group by its bare name: then an address follows."""
    return word.lower() in ("object-group", "host", "any") or host_set(word) is not None or prefix_set(word) is not None


def _address(reading: Reading, words: Words, parts: Parts) -> AddressSet:
    if words.accept("any"):
        return parts.any_address
    if words.accept("object-group", "addrgroup", "fqdn-group"):
        name = words.next("a name")
        parts.references.append(name)
        resolved = reading.addresses.resolve(name)
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
        found = prefix_set(address) or _masked(address, words.next("a wildcard"), parts)
    if found is None:
        raise NotUnderstood(f"{address[:40]!r} is not an address")
    return found


def _masked(address: str, wildcard: str, parts: Parts) -> AddressSet | None:
    """A wildcard of too many pieces is everything, with the words as a condition: an upper bound that covers nothing."""
    try:
        return wildcard_set(address, wildcard, parts.budget)
    except TooScattered:
        parts.conditions.append(f"address {address} wildcard {wildcard}")
        return parts.any_address


def _options(words: Words, parts: Parts) -> None:
    while words:
        word = words.next().lower()
        if word in ("log", "log-input"):
            parts.logged = True
        elif word in ("dscp", "precedence"):
            _mark(word, words, parts)
        elif word in BARE:
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
        elif word in WITH_VALUE or word == "ttl":
            count = (2 if words.peek().lower() != "range" else 3) if word == "ttl" else 1
            parts.conditions.append(" ".join([word, *(words.next("a value") for _ in range(count))]))
        else:
            raise NotUnderstood(f"{word[:40]!r} is not understood here")


def _mark(word: str, words: Words, parts: Parts) -> None:
    value = words.next("a mark")
    try:
        if word == "dscp":
            marks = frozenset({parse_dscp(value)})
        else:
            level = PRECEDENCES.index(value.lower()) if value.lower() in PRECEDENCES else number_in(value, 0, 7, "a precedence")
            marks = frozenset(range(level * 8, level * 8 + 8))
    except ValueError as error:
        raise NotUnderstood(f"{value[:40]!r} is not a {word}") from error
    parts.dscp = marks if parts.dscp is None else parts.dscp & marks
