"""One filter or translation rule of pf.conf."""

from __future__ import annotations

from dataclasses import dataclass, field

from policyhub.domain.addresses import ANY, ANY4, ANY6, AddressSet, Interval
from policyhub.domain.rules import Action, Match
from policyhub.domain.services import ALL_PORTS, ICMP, ICMPV6, Service
from policyhub.vendorkit.lexing import NotUnderstood, Words, number_in
from policyhub.vendorkit.operands import NameTable, alone
from policyhub.vendorkit.port_lists import NAMES as COMMON
from policyhub.vendorkit.port_lists import service_of
from policyhub.vendorkit.service_names import ServiceNames, icmp_service
from policyhub.vendors.pf.operands import members, read_host, read_ports

NAMES = COMMON.extended(ServiceNames.of("policyhub.vendors.pf"))
ACTIONS = {"pass": Action.PERMIT, "block": Action.DENY, "match": Action.CONTINUE}
FAMILIES = {"inet": ANY4, "inet6": ANY6}
RETURNS = ("drop", "return", "return-rst", "return-icmp", "return-icmp6")
STATE = ("keep", "modulate", "synproxy", "no")
PLAIN = ("label", "queue", "tag", "rtable", "prio", "max-pkt-rate", "divert-to", "divert-packet")
CONDITIONS = ("tagged", "user", "group", "os", "probability", "received-on", "tos", "rdomain")
LONE = ("allow-opts", "once", "fragment", "sticky-address", "static-port", "divert-reply")
ROUTES = ("route-to", "reply-to", "dup-to")
CONVERSIONS = {"nat-to": "nat", "rdr-to": "rdr", "binat-to": "binat", "->": ""}


@dataclass(slots=True)
class Draft:
    """A rule while it is read. direction "" is both; translated: kind and words of a translation."""

    verb: str
    direction: str = ""
    is_quick: bool = False
    is_logged: bool = False
    interfaces: tuple[str, ...] = ()
    family: AddressSet = ANY
    protocols: list[Interval] = field(default_factory=list)
    source: AddressSet = ANY
    destination: AddressSet = ANY
    source_ports: tuple[Interval, ...] = ALL_PORTS
    destination_ports: tuple[Interval, ...] = ALL_PORTS
    icmp: list[Service] = field(default_factory=list)
    label: str = ""
    conditions: list[str] = field(default_factory=list)
    unresolved: list[str] = field(default_factory=list)
    references: list[str] = field(default_factory=list)
    translated: tuple[str, str, str] | None = None

    def match(self, direction: str) -> Match:
        """Raises NotUnderstood."""
        protocols = tuple(self.protocols) or None
        services = tuple(self.icmp) or alone(service_of(protocols, self.source_ports, self.destination_ports))
        source, destination = self.source.intersection(self.family), self.destination.intersection(self.family)
        for version in (4, 6):  # a rule is of the family of its addresses
            if not getattr(source, f"v{version}") or not getattr(destination, f"v{version}"):
                other = ANY6 if version == 4 else ANY4
                source, destination = source.intersection(other), destination.intersection(other)
        zones = self.interfaces if direction == "in" else (), self.interfaces if direction == "out" else ()
        unresolved = tuple(dict.fromkeys(self.unresolved))
        return Match(source, destination, services, *zones, conditions=tuple(self.conditions), unresolved=unresolved)


def read_rule(tokens: list[str], tables: NameTable[AddressSet]) -> Draft:
    """`pass|block|match ..` and `[no] nat|rdr|binat ..`. Raises NotUnderstood."""
    words = Words(tokens)
    is_exempt = bool(words.accept("no"))
    draft = Draft(words.next())
    if is_exempt:
        draft.translated = (draft.verb, "", "")
    while words:
        _part(draft, words, tables)
    return draft


def _part(draft: Draft, words: Words, tables: NameTable[AddressSet]) -> None:
    word = words.next()
    if word in ("in", "out"):
        draft.direction = word
    elif word in ("pass", "quick", "all"):
        draft.is_quick = draft.is_quick or word == "quick"
    elif word == "log":
        draft.is_logged = True
        _brackets(words)
    elif word in RETURNS:
        _brackets(words)
    elif word == "on":
        _interface(draft, words)
    elif word in FAMILIES:
        draft.family = FAMILIES[word]
    elif word == "proto":
        for at in members(words):
            number = NAMES.protocol(at.next("a protocol"))
            draft.protocols += [] if number is None else [(number, number)]
    elif word in ("from", "to"):
        _side(draft, "source" if word == "from" else "destination", words, tables)
    elif word in ("icmp-type", "icmp6-type"):
        _icmp(draft, ICMP if word == "icmp-type" else ICMPV6, words)
    elif word in CONVERSIONS:
        _translation(draft, word, words)
    else:
        _option(draft, word, words)


def _option(draft: Draft, word: str, words: Words) -> None:
    if word == "flags":
        flags = words.next("flags")
        if flags.upper() not in ("S/SA", "ANY"):
            draft.conditions.append(f"flags {flags}")
    elif word in STATE and words.peek() == "state":
        words.next()
        _brackets(words)
    elif word in CONDITIONS:
        draft.conditions.append(f"{word} {_value(words)}")
    elif word in PLAIN:
        value = _value(words)
        draft.label = value.strip() if word == "label" else draft.label
    elif word in LONE:
        draft.conditions += [word] if word == "fragment" else []
    elif word in ROUTES:
        draft.conditions.append(f"{word} {_value(words)}")
    elif word in ("set", "scrub", "no-sync", "round-robin", "random", "source-hash", "bitmask", "least-states"):
        _brackets(words)
    else:
        raise NotUnderstood(f"{word[:40]!r} is not understood here")


def _brackets(words: Words) -> str:
    """Everything in brackets, "" when there are none."""
    if not words.accept("("):
        return ""
    depth, inside = 1, []
    while words and depth:
        word = words.next()
        depth += {"(": 1, ")": -1}.get(word, 0)
        inside += [word] if depth else []
    return f"({' '.join(inside)})"


def _value(words: Words) -> str:
    """A word, a list or brackets, as written."""
    if words.peek() == "(":
        return _brackets(words)
    if words.peek() != "{":
        operator = words.next() if words.peek() in ("!", "=", "!=", "<", ">") else ""
        return f"{operator} {words.next('a value')}".strip()
    found = [at.next() for at in members(words)]
    return f"{{ {' '.join(found)} }}"


def _interface(draft: Draft, words: Words) -> None:
    names: list[str] = []
    negated: list[str] = []
    for at in members(words):
        where = negated if at.accept("!") else names
        where.append(at.next("an interface"))
    draft.interfaces = tuple(names) if not negated and names != ["any"] else ()
    draft.conditions += [f"on ! {' '.join(negated)}"] if negated else []


def _side(draft: Draft, side: str, words: Words, tables: NameTable[AddressSet]) -> None:
    if words.peek() != "port":
        before = words.at
        host = read_host(words, tables, side)
        setattr(draft, side, host.value)
        draft.unresolved += host.unresolved
        draft.conditions += host.conditions
        draft.references += [word[1:-1] for word in words.words[before : words.at] if word.startswith("<") and len(word) > 2]
    if words.accept("port"):
        protocol = draft.protocols[0][0] if len(draft.protocols) == 1 else None
        setattr(draft, f"{side}_ports", read_ports(words, protocol))


def _icmp(draft: Draft, protocol: int, words: Words) -> None:
    for at in members(words):
        found = NAMES.icmp_type(at.next("an ICMP type"), protocol)
        if found is None:
            raise NotUnderstood("not an ICMP type")
        code = number_in(at.next("a code"), 0, 255, "an ICMP code") if at.accept("code") else found[1]
        draft.icmp.append(icmp_service(found[0], code, protocol))


def _translation(draft: Draft, word: str, words: Words) -> None:
    kind = CONVERSIONS[word] or draft.verb
    if kind not in CONVERSIONS.values():
        raise NotUnderstood(f"{word!r} does not belong to {draft.verb[:20]!r}")
    found = [at.next("an address") if at.peek() != "(" else _brackets(at) for at in members(words)]
    port = ""
    if words.accept("port"):
        port = words.next("a port")
    draft.translated = (kind, ", ".join(found), port)
