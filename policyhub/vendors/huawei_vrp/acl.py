"""ACLs, basic to user-defined, IPv4 and IPv6, from the configuration and from `display acl`."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from policyhub.domain.addresses import ANY, ANY4, ANY6, AddressSet
from policyhub.domain.qos import parse_dscp
from policyhub.domain.rules import Action, Binding, Match, Policy, Rule
from policyhub.domain.services import ICMP, ICMPV6, Service
from policyhub.vendorkit.blocks import Block
from policyhub.vendorkit.lexing import (
    NotUnderstood,
    TooScattered,
    Words,
    host_set,
    number_in,
    port_interval,
    prefix_set,
    wildcard_set,
)
from policyhub.vendorkit.service_names import icmp_service
from policyhub.vendors.huawei_vrp.reading import NAMES, Acl, AclKey, Reading, is_number

SHOWN = re.compile(
    r"^(?P<kind>Basic|Advanced|Ethernet frame|L2|User|User-defined|UCL) (?P<v6>IPv6 )?ACL(?P<v6b>6)?"
    r" (?:name )?(?P<names>\S+(?: \S+)?), (?P<count>\d+|no) rules?",
    re.IGNORECASE,
)
SHOWN_STEP = re.compile(r"^ACL(?:6)?'s step is (\d{1,6})$", re.IGNORECASE)
QUANTITY = re.compile(r"^Total quantity of nonempty ACL number is \d+$|^Total nonempty ACL number is \d+$", re.IGNORECASE)
COUNT = re.compile(r"\s*\((?:(?:\d+) (?:times )?match(?:es|ed)?|match-counter \d+|\d+ times)\)")
BARE_COUNT = re.compile(r"^\((?:\d+) (?:times )?match(?:es|ed)?\)$|^\(match-counter \d+\)$")
ENTRY = re.compile(r"^(?:undo )?rule ", re.IGNORECASE)
PRECEDENCES = ("routine", "priority", "immediate", "flash", "flash-override", "critical", "internet", "network")
KINDS = ((2000, "basic"), (3000, "advanced"), (4000, "layer-2"), (5000, "user"), (6000, "advanced"), (10000, "layer-2"))
KIND_WORDS = {
    "basic": "basic",
    "advance": "advanced",
    "advanced": "advanced",
    "link": "layer-2",
    "user": "user",
    "ucl": "advanced",
}
PORT_OPERATORS = ("eq", "neq", "lt", "gt", "range")
BARE = (
    "fragment", "none-first-fragment", "first-fragment", "non-fragment", "fragment-subseq", "established", "logging", "log",
    "destination-ucl-group", "hop-by-hop",
)  # fmt: skip
ONE_VALUE = (
    "tos",
    "vpn-instance",
    "fragment-type",
    "igmp-type",
    "vlan",
    "vni",
    "routing",
    "ip-group",
    "destination-option",
    "set-type",
)
AUTO_NOTE = "match-order auto: the device sorts rules by depth; their order here is as printed"


@dataclass(slots=True)
class Parts:
    """What a rule is put together from."""

    family: int
    source: AddressSet
    destination: AddressSet
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


def kind_of(number: int) -> str:
    """By number; NE and AR reuse higher ranges for other purposes."""
    kind = "advanced"
    for low, name in KINDS:
        if number >= low:
            kind = name
    return kind


def read_acl(reading: Reading, block: Block) -> None:
    """`acl [ipv6] [number N | name X [basic|advance|N]] [match-order auto]`; everything below is taken here."""
    words = Words(block.words, 1)
    if words.accept("ip-pool", "port-pool", "all"):
        raise NotUnderstood("pools of addresses and ports are not modelled")
    family = 6 if words.accept("ipv6") else 4
    named = words.accept("number", "name") == "name"
    name, number, kind, auto = words.next("an ACL"), "", "", False
    named = named or not is_number(name)
    while words:
        word = words.next().lower()
        if is_number(word):
            number = word
        elif word == "name":
            name, number, named = words.next("a name"), name, True
        elif word == "match-order":
            auto = words.next("auto or config").lower() == "auto"
        elif word in KIND_WORDS:
            kind = KIND_WORDS[word]
        elif word not in ("number", "smart", "ucl-group"):
            raise NotUnderstood(f"{word[:40]!r} is not understood here")
    number = number or ("" if named else name)
    kind = kind or (kind_of(int(number)) if number else "advanced")
    acl = _open(reading, reading.configured, family, name, kind, number)
    acl.auto = acl.auto or auto
    acl.lines.append(block.number)
    _collect(reading, acl, block)


def _open(reading: Reading, lists: dict[AclKey, Acl], family: int, name: str, kind: str, number: str) -> Acl:
    key = (family, name)
    if number and number != name:
        reading.aliases[(family, number)] = key
    return lists.setdefault(key, Acl(family, name, kind, number))


def _collect(reading: Reading, acl: Acl, block: Block) -> None:
    for child in (below for top in block.children for below in top.walk()):
        words = Words(child.words)
        if ENTRY.match(child.text):
            acl.entries.append(child)
        elif words.accept("step") and is_number(words.peek()):
            acl.step = max(1, int(words.peek()))
            reading.ledger.understood(child.number)
        elif words.accept("description") or BARE_COUNT.match(child.text):
            reading.ledger.understood(child.number)
        else:
            continue
        acl.lines.append(child.number)


def read_shown(reading: Reading, blocks: list[Block]) -> None:
    """`display acl`: a heading, the step, and the rules, indented or not; for all top-level blocks of the text."""
    acl: Acl | None = None
    for block in blocks:
        heading = SHOWN.match(block.text)
        if heading:
            names = heading["names"].split()
            kind = {"basic": "basic", "advanced": "advanced", "ucl": "advanced"}.get(heading["kind"].lower(), "layer-2")
            family = 6 if heading["v6"] or heading["v6b"] else 4
            acl = _open(reading, reading.shown, family, names[0], kind, names[-1] if is_number(names[-1]) else "")
            acl.lines.append(block.number)
            reading.ledger.understood(block.number)
        elif acl is not None and SHOWN_STEP.match(block.text):
            step = SHOWN_STEP.match(block.text)
            acl.step = max(1, int(step[1])) if step else acl.step
            acl.lines.append(block.number)
            reading.ledger.understood(block.number)
        elif QUANTITY.match(block.text):
            reading.ledger.understood(block.number)
            continue
        elif acl is not None and (ENTRY.match(block.text) or BARE_COUNT.match(block.text)):
            _collect(reading, acl, Block(block.line, [block]))
            continue
        else:
            acl = None
            continue
        _collect(reading, acl, block)


def policies(reading: Reading) -> list[Policy]:
    """Configured lists, and lists only seen in a display output."""
    lists = dict(reading.configured)
    for key, shown in reading.shown.items():
        known = reading.resolve(key)
        if known in lists:
            reading.ledger.understood(*shown.lines)
        else:
            lists[key] = shown
    bound: dict[AclKey, list[tuple[Binding, str]]] = {}
    for at, pairs in reading.bindings.items():
        bound.setdefault(reading.resolve(at), []).extend(pairs)
    uses: dict[AclKey, list[str]] = {}
    for at, use in reading.selectors.items():
        uses.setdefault(reading.resolve(at), []).append(use)
    return [_policy(reading, acl, bound.get(key, []), uses.get(key, [])) for key, acl in lists.items()]


def _policy(reading: Reading, acl: Acl, bound: list[tuple[Binding, str]], use: list[str]) -> Policy:
    """`use`: for what else the list picks packets."""
    ends = {end for _, end in bound}
    default = Action.DENY if ends == {"deny"} else Action.PERMIT if ends == {"permit"} else None
    notes = [AUTO_NOTE] if acl.auto else []
    if len(ends) > 1:
        notes.append("bound in places that treat packets without a match differently")
    notes += dict.fromkeys(use)
    purpose = {"layer-2": "mac", "user": "user"}.get(acl.kind, "match" if use and not bound else "filter")
    family = 0 if acl.kind in ("layer-2", "user") else acl.family
    bindings = tuple(binding for binding, _ in bound)
    return Policy(
        acl.name, _rules(reading, acl, family), default, family, bindings, tuple(acl.lines), True, purpose, tuple(notes)
    )


def _rules(reading: Reading, acl: Acl, family: int) -> tuple[Rule, ...]:
    """In the order of identifiers; a rule without one gets the next multiple of the step. `rule N description` is its comment."""
    found: dict[int, Rule] = {}
    comments: dict[int, str] = {}
    last = -1
    for entry in acl.entries:
        words = Words(COUNT.sub("", entry.text).split(), 1)
        if entry.words[0].lower() == "undo":
            reading.ledger.unparsed(entry.line, "a command, not configuration")
            continue
        written = int(words.next()) if is_number(words.peek()) else None
        number = written if written is not None else acl.step if last < 0 else (last // acl.step + 1) * acl.step
        try:
            if words.accept("description"):
                comments[number] = words.rest().strip('"')
            else:
                found[number] = _rule(acl, family, words, entry, f"{acl.name} {number}")
                last = max(last, number)
            reading.ledger.understood(entry.number)
        except NotUnderstood as reason:
            reading.ledger.unparsed(entry.line, str(reason))
            last = max(last, number)
    ordered = list(found.items()) if acl.auto else sorted(found.items())
    return tuple(replace(rule, comment=comments.get(number, "")) for number, rule in ordered)


def _rule(acl: Acl, family: int, words: Words, entry: Block, name: str) -> Rule:
    verb = words.next("permit or deny").lower()
    if verb not in ("permit", "deny"):
        raise NotUnderstood(f"{verb[:40]!r} is not permit or deny")
    parts = Parts(family, any_of(family), any_of(family))
    if acl.kind in ("layer-2", "user"):
        parts.conditions = [words.rest()] if words else []
    else:
        _body(acl, parts, words)
    services = parts.service
    if parts.source_ports is not None:
        services = Service(services.protocols, parts.source_ports.source_ports, services.destination_ports)
    match = Match(
        parts.source,
        parts.destination,
        (services,),
        (),
        (),
        parts.dscp,
        tuple(parts.conditions),
        tuple(dict.fromkeys(parts.unresolved)),
    )
    text = " ".join(entry.words)
    return Rule(
        name,
        Action(verb),
        match,
        (entry.number,),
        text,
        True,
        parts.logged,
        "",
        parts.schedule,
        name,
        tuple(dict.fromkeys(parts.references)),
    )


def _body(acl: Acl, parts: Parts, words: Words) -> None:
    if acl.kind == "advanced" and words:
        parts.protocol = NAMES.protocol(words.next("a protocol"))
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


def _address(parts: Parts, words: Words) -> AddressSet:
    """`any`, `A 0`, `A W`, `P/L`, `P L` (IPv6), or a named set that this model does not resolve."""
    first = words.next("an address")
    if first.lower() == "any":
        return any_of(parts.family)
    if first.lower() in ("address-set", "address-group", "ip-group", "domain-set", "object-group", "user-group", "ucl-group"):
        parts.unresolved.append(words.next("a name"))
        parts.references.append(parts.unresolved[-1])
        return any_of(parts.family)
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


def _wildcard(parts: Parts, address: str, wildcard: str) -> AddressSet | None:
    """A wildcard of too many pieces is everything, with the words as a condition: an upper bound that covers nothing."""
    try:
        return host_set(address) if wildcard == "0" else wildcard_set(address, wildcard)
    except TooScattered:
        parts.conditions.append(f"address {address} wildcard {wildcard}")
        return any_of(parts.family)


def _ports(parts: Parts, word: str, words: Words) -> None:
    operator = words.next("an operator").lower()
    if operator not in PORT_OPERATORS:
        raise NotUnderstood(f"{operator[:40]!r} is not one of {', '.join(PORT_OPERATORS)}")
    count = 2 if operator == "range" else 1
    ports = [NAMES.port(words.next("a port"), parts.protocol) for _ in range(count)]
    intervals = port_interval(operator, ports)
    if word == "source-port":
        parts.source_ports = Service(source_ports=intervals)
    else:
        parts.service = Service(parts.service.protocols, parts.service.source_ports, intervals)


def _option(parts: Parts, word: str, words: Words) -> None:
    if word in ("logging", "log"):
        parts.logged = True
    elif word in BARE:
        parts.conditions.append(word)
    elif word in ("icmp-type", "icmp6-type"):
        parts.service = _icmp(parts, words)
    elif word in ("dscp", "precedence"):
        parts.dscp = _marks(word, words.next("a mark"))
    elif word == "tcp-flag":
        parts.conditions.append(_flags(words))
    elif word == "time-range":
        parts.schedule = words.next("a time range")
        parts.conditions.append(f"time-range {parts.schedule}")
        parts.references.append(parts.schedule)
    elif word in ("ttl", "packet-length", "ttl-expired"):
        parts.conditions.append(_compared(word, words))
    elif word in ONE_VALUE:
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
    while words.peek().lower() in ("ack", "fin", "psh", "rst", "syn", "urg", "established"):
        text.append(words.next().lower())
    return " ".join(text)


def _icmp(parts: Parts, words: Words) -> Service:
    """A name, or `TYPE [CODE]`."""
    protocol = parts.protocol if parts.protocol in (ICMP, ICMPV6) else (ICMPV6 if parts.family == 6 else ICMP)
    first = words.next("an ICMP type")
    if is_number(first):
        kind = number_in(first, 0, 255, "an ICMP type")
        code = number_in(words.next(), 0, 255, "an ICMP code") if is_number(words.peek()) else None
        return icmp_service(kind, code, protocol)
    known = NAMES.icmp_type(first, protocol)
    if known is None:
        raise NotUnderstood(f"{first[:40]!r} is not an ICMP type")
    return icmp_service(*known, protocol)


def _marks(word: str, text: str) -> frozenset[int]:
    """A precedence stands for its eight code points."""
    if word == "dscp":
        try:
            return frozenset({parse_dscp(text)})
        except ValueError as error:
            raise NotUnderstood(f"{text[:40]!r} is not a DSCP") from error
    level = PRECEDENCES.index(text.lower()) if text.lower() in PRECEDENCES else number_in(text, 0, 7, "a precedence")
    return frozenset(range(level * 8, level * 8 + 8))
