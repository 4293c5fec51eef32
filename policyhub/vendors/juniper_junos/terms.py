"""What a term of a firewall filter matches (`from`)."""

from __future__ import annotations

from dataclasses import dataclass, field

from policyhub.domain.addresses import ANY, ANY4, ANY6, NOWHERE, AddressSet, Interval, complement, normalise
from policyhub.domain.qos import parse_dscp
from policyhub.domain.rules import Match
from policyhub.domain.services import ALL_PROTOCOLS, ANY_SERVICE, ICMP, ICMPV6, MAX_PORT, MAX_PROTOCOL, WITH_PORTS, Service
from policyhub.vendorkit.lexing import NotUnderstood, TooScattered, is_decimal
from policyhub.vendorkit.operands import Services, compact
from policyhub.vendors.juniper_junos.objects import icmp_code, port_range
from policyhub.vendors.juniper_junos.reading import NAMES, Context, Reading
from policyhub.vendors.juniper_junos.tree import Node, one_or_list

SIDES = {
    "source-address": "source", "ip-source-address": "source", "ip6-source-address": "source", "source-prefix-list": "source",
    "destination-address": "destination", "ip-destination-address": "destination", "ip6-destination-address": "destination",
    "destination-prefix-list": "destination",
}  # fmt: skip
PROTOCOLS = ("protocol", "next-header", "payload-protocol", "ip-protocol")
PORTS = ("source-port", "destination-port")
MARKS = ("dscp", "traffic-class", "precedence", "ip-precedence")
# hints to the compiler of filters: they change no match
HINTS = ("source-port-range-optimize", "destination-port-range-optimize", "apply-groups")
Weighed = tuple[int, bool, AddressSet]


@dataclass(slots=True)
class Draft:
    """One term while it is read. protocols, ports and kinds: None = not a criterion."""

    any_address: AddressSet
    prefixes: dict[str, list[Weighed]] = field(default_factory=dict)
    excepted: dict[str, str] = field(default_factory=dict)
    protocols: tuple[Interval, ...] | None = None
    source_ports: tuple[Interval, ...] | None = None
    destination_ports: tuple[Interval, ...] | None = None
    kinds: list[tuple[Node, bool]] = field(default_factory=list)
    codes: list[Node] = field(default_factory=list)
    dscp: frozenset[int] | None = None
    conditions: list[str] = field(default_factory=list)
    unresolved: list[str] = field(default_factory=list)
    references: list[str] = field(default_factory=list)


def any_of_family(family: int) -> AddressSet:
    return {4: ANY4, 6: ANY6}.get(family, ANY)


def read_match(reading: Reading, context: Context, term: Node, family: int) -> tuple[Match, tuple[str, ...]]:
    """The match and the prefix lists it names. A value that is not understood is unparsed, and a condition."""
    draft = Draft(any_of_family(family))
    origin = term.at("from")
    kids = origin.active() if origin is not None else []
    for kid in kids:
        try:
            _read(reading, context, draft, kid)
        except TooScattered:
            draft.conditions.append(condition(kid))
        except NotUnderstood as reason:
            reading.leave(kid, str(reason))
            draft.conditions.append(condition(kid))
    draft.conditions += [text for side, text in draft.excepted.items() if _is_list_alone(draft, side)]
    source = _side(reading, draft, "source")
    destination = _side(reading, draft, "destination")
    services = _services(reading, draft, family)
    match = Match(
        source,
        destination,
        services,
        dscp=draft.dscp,
        conditions=tuple(draft.conditions),
        unresolved=tuple(dict.fromkeys(draft.unresolved)),
    )
    return match, tuple(dict.fromkeys(draft.references))


def condition(kid: Node) -> str:
    return one_or_list(kid.word, kid.statements())


def _read(reading: Reading, context: Context, draft: Draft, kid: Node) -> None:
    key, negated = (kid.word[:-7], True) if kid.word.endswith("-except") else (kid.word, False)
    if key in SIDES:
        _read_side(reading, context, draft, kid, SIDES[key])
    elif key in PROTOCOLS:
        draft.protocols = _cut(draft.protocols, _protocols(kid, negated), ALL_PROTOCOLS)
    elif key in PORTS:
        ports = normalise(interval for word in kid.active() for interval in port_range(word.word, None))
        ports = complement(ports, MAX_PORT) if negated else ports
        if key == "source-port":
            draft.source_ports = _cut(draft.source_ports, ports, ((0, MAX_PORT),))
        else:
            draft.destination_ports = _cut(draft.destination_ports, ports, ((0, MAX_PORT),))
    elif key == "icmp-type":
        draft.kinds.append((kid, negated))
    elif key == "icmp-code":
        draft.codes.append(kid)
    elif key in MARKS:
        marks = _marks(context, kid, key)
        marks = frozenset(range(64)) - marks if negated else marks
        draft.dscp = marks if draft.dscp is None else draft.dscp & marks
    elif key not in HINTS:
        draft.conditions.append(condition(kid))


def _cut(known: tuple[Interval, ...] | None, more: tuple[Interval, ...], whole: tuple[Interval, ...]) -> tuple[Interval, ...]:
    if known is None:
        return more
    top = whole[0][1]
    return complement(normalise((*complement(known, top), *complement(more, top))), top)


def _protocols(kid: Node, negated: bool) -> tuple[Interval, ...]:
    found: list[Interval] = []
    for word in kid.active():
        low, dash, high = word.word.partition("-")
        if dash and is_decimal(low) and is_decimal(high) and int(low) <= int(high) <= MAX_PROTOCOL:
            found.append((int(low), int(high)))
            continue
        number = NAMES.protocol(word.word)
        found.append((0, MAX_PROTOCOL) if number is None else (number, number))
    whole = normalise(found)
    return complement(whole, MAX_PROTOCOL) if negated else whole


def _marks(context: Context, kid: Node, key: str) -> frozenset[int]:
    marks: set[int] = set()
    for word in kid.active():
        if key.endswith("precedence"):
            level = PRECEDENCE.get(word.word, int(word.word) if is_decimal(word.word) and len(word.word) == 1 else 9)
            if level > 7:
                raise NotUnderstood(f"{word.word[:40]!r} is not a precedence")
            marks.update(range(level * 8, level * 8 + 8))
        else:
            marks.add(code_point(context, "dscp", word.word))
    return frozenset(marks)


PRECEDENCE = {
    "routine": 0, "priority": 1, "immediate": 2, "flash": 3, "flash-override": 4, "critical-ecp": 5, "internet-control": 6,
    "net-control": 7,
}  # fmt: skip


def code_point(context: Context, kind: str, text: str) -> int:
    """Six (or three) binary digits, an alias of the device, a standard name or a number. Raises NotUnderstood."""
    aliases = context.root.at("class-of-service", "code-point-aliases", kind)
    alias = aliases.value(text) if aliases is not None else ""
    word = alias or text
    if set(word) <= {"0", "1"} and len(word) in (3, 6) and (len(word) == 6) == kind.startswith("dscp"):
        return int(word, 2)
    if word.lower().startswith("0x"):
        word = str(int(word, 16)) if len(word) < 5 and set(word[2:].lower()) <= set("0123456789abcdef") and word[2:] else word
    if kind.startswith("dscp"):
        try:
            return parse_dscp({"nc1": "cs6", "nc2": "cs7"}.get(word, word)) if word.isascii() else parse_dscp("x")
        except ValueError as error:
            raise NotUnderstood(f"{text[:40]!r} is not a code point") from error
    known = PCP_NAMES.get(word, int(word) if is_decimal(word) and len(word) == 1 else 9)
    if known > 7:
        raise NotUnderstood(f"{text[:40]!r} is not a code point")
    return known


# default aliases of ieee-802.1, exp and inet-precedence
PCP_NAMES = {"be": 0, "be1": 1, "ef": 2, "ef1": 3, "af11": 4, "af12": 5, "nc1": 6, "nc2": 7}


def _read_side(reading: Reading, context: Context, draft: Draft, kid: Node, side: str) -> None:
    """Prefixes with their length, because the longest decides when some are excepted."""
    into = draft.prefixes.setdefault(side, [])
    is_list = kid.word.endswith("prefix-list")
    for word in kid.active():
        excepted = word.has("except")
        if is_list:
            draft.references.append(word.word)
            resolved = context.prefix_lists.resolve(word.word)
            if resolved.unresolved:
                draft.unresolved.extend(resolved.unresolved)
                continue
            value, length = resolved.value, -1
        else:
            found = reading.masked(word.word)
            if found is None:
                raise NotUnderstood(f"{word.word[:40]!r} is not a prefix")
            value, length = found, _length(word.word)
        into.append((length, excepted, value))
    if is_list and all(word.has("except") for word in kid.active()) and kid.active():
        draft.excepted[side] = condition(kid)


def _length(text: str) -> int:
    tail = text.partition("/")[2]
    return int(tail) if is_decimal(tail) else 128 if ":" in text else 32 if not tail else 16


def _side(reading: Reading, draft: Draft, side: str) -> AddressSet:
    parts = draft.prefixes.get(side)
    if parts is None:
        return draft.any_address
    if draft.unresolved:
        return draft.any_address
    whole = NOWHERE
    if _is_list_alone(draft, side):
        whole = draft.any_address
    if not any(excepted for _, excepted, _ in parts):
        return NOWHERE.union(*(value for _, _, value in parts)).intersection(draft.any_address)
    for _, found in _by_length(parts):
        whole = whole.union(*(v for excepted, v in found if not excepted))
        gone = NOWHERE.union(*(v for excepted, v in found if excepted))
        whole = whole.minus(gone) if not gone.is_empty else whole
    return whole.intersection(draft.any_address)


def _is_list_alone(draft: Draft, side: str) -> bool:
    """Nothing but lists with `except`: what is left of everything."""
    parts = draft.prefixes.get(side, [])
    return all(excepted for _, excepted, _ in parts) and any(length < 0 for length, _, _ in parts)


def _by_length(parts: list[Weighed]) -> list[tuple[int, list[tuple[bool, AddressSet]]]]:
    """Every prefix at its own length, also those of lists, from the shortest to the longest."""
    lengths: dict[int, list[tuple[bool, AddressSet]]] = {}
    for length, excepted, value in parts:
        if length >= 0:
            lengths.setdefault(length, []).append((excepted, value))
            continue
        for low, high in value.v4:
            lengths.setdefault(32 - (high - low + 1).bit_length() + 1, []).append((excepted, AddressSet(((low, high),))))
        for low, high in value.v6:
            lengths.setdefault(128 - (high - low + 1).bit_length() + 1, []).append((excepted, AddressSet((), ((low, high),))))
    return sorted(lengths.items())


def _services(reading: Reading, draft: Draft, family: int) -> Services:
    protocols = ALL_PROTOCOLS if draft.protocols is None else draft.protocols
    try:
        kinds = _kinds(draft, family)
    except NotUnderstood as reason:
        for node in (*(kid for kid, _ in draft.kinds), *draft.codes):
            reading.leave(node, str(reason))
            draft.conditions.append(condition(node))
        kinds = None
    if kinds is not None:
        number = ICMPV6 if family == 6 or protocols == ((ICMPV6, ICMPV6),) else ICMP
        return (Service(((number, number),), destination_ports=kinds),)
    if draft.source_ports is None and draft.destination_ports is None:
        return (ANY_SERVICE,) if draft.protocols is None else _singly(protocols)
    if draft.protocols is None:  # the device compares ports whatever the protocol is; only these carry any
        protocols = ((6, 6), (17, 17))
    carriers = [n for low, high in protocols for n in range(low, high + 1) if n in WITH_PORTS]
    source = draft.source_ports if draft.source_ports is not None else ((0, MAX_PORT),)
    destination = draft.destination_ports if draft.destination_ports is not None else ((0, MAX_PORT),)
    return compact(Service(((n, n),), source, destination) for n in carriers)


def _singly(protocols: tuple[Interval, ...]) -> Services:
    """One service per protocol, ranges as they are."""
    found: list[Service] = []
    for low, high in protocols:
        found.extend(Service(((n, n),)) for n in range(low, high + 1)) if high - low < 4 else found.append(
            Service(((low, high),))
        )
    return tuple(found)


def _kinds(draft: Draft, family: int) -> tuple[Interval, ...] | None:
    """ICMP types and codes as intervals of type * 256 + code; None when neither is a criterion."""
    if not draft.kinds and not draft.codes:
        return None
    protocol = ICMPV6 if family == 6 or draft.protocols == ((ICMPV6, ICMPV6),) else ICMP
    types: tuple[Interval, ...] = ((0, 255),)
    for kid, negated in draft.kinds:
        found = normalise(interval for word in kid.active() for interval in _kind(word.word, protocol))
        types = _cut(types, complement(found, 255) if negated else found, ((0, 255),))
    codes: list[int] | None = None
    for kid in draft.codes:
        listed = {number for word in kid.active() for number in _codes(word.word, protocol)}
        codes = sorted(set(range(256)) - listed if kid.word.endswith("-except") else listed)
    if codes is None:
        return normalise((low * 256, high * 256 + 255) for low, high in types)
    return normalise((kind * 256 + code,) * 2 for low, high in types for kind in range(low, high + 1) for code in codes)


def _codes(text: str, protocol: int) -> range:
    span = _span(text)
    low, high = span or (known := icmp_code(text, protocol) or 0, known)
    return range(low, high + 1)


def _span(text: str) -> Interval | None:
    """`1-3` of types and codes; None for anything else."""
    low, dash, high = text.partition("-")
    if dash and is_decimal(low) and is_decimal(high) and int(low) <= int(high) <= 255:
        return int(low), int(high)
    return None


def _kind(text: str, protocol: int) -> tuple[Interval, ...]:
    span = _span(text)
    if span is not None:
        return (span,)
    found = NAMES.icmp_type(text, protocol)
    if found is None:
        raise NotUnderstood(f"{text[:40]!r} is not an ICMP type")
    return ((found[0], found[0]),)
