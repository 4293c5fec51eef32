"""`nat-policy`, `nat server` and address groups."""

from __future__ import annotations

from dataclasses import dataclass, field

from policyhub.domain.addresses import ANY, NOWHERE, AddressSet
from policyhub.domain.nat import NatKind, NatRule
from policyhub.domain.objects import AddressObject
from policyhub.domain.rules import Match
from policyhub.domain.services import ANY_SERVICE, Service
from policyhub.vendorkit.blocks import Block
from policyhub.vendorkit.lexing import NotUnderstood, Words, host_set, is_decimal, range_set
from policyhub.vendorkit.vrp_lines import interface_name, quoted_words
from policyhub.vendors.huawei_usg.reading import NAMES, Reading, Vsys
from policyhub.vendors.huawei_usg.security import Draft, rule_name

POLICY = "nat-policy"
SERVER = "nat server"
BOTH_WAYS = "the server's own traffic is translated as well"


@dataclass(slots=True)
class _Translation:
    """What the `action` lines of one rule say; groups are the address groups they name."""

    kind: NatKind = NatKind.EXEMPT
    source: str = ""
    destination: str = ""
    service: str = ""
    notes: list[str] = field(default_factory=lambda: ["no action"])
    groups: list[str] = field(default_factory=list)


def read_rules(reading: Reading, vsys: Vsys, blocks: list[Block]) -> list[NatRule]:
    """All `nat-policy` blocks of one virtual system."""
    found: list[NatRule] = []
    for block in blocks:
        reading.ledger.understood(block.number)
        for child in block.children:
            try:
                if child.words[0].lower() != "rule":
                    continue
                found.append(_rule(reading, vsys, child))
                reading.ledger.understood(child.number)
            except NotUnderstood as reason:
                reading.ledger.unparsed(child.line, str(reason))
    return found


def _rule(reading: Reading, vsys: Vsys, block: Block) -> NatRule:
    name = rule_name(block)
    draft = Draft(vsys)
    does = _Translation()
    for child in block.below():
        with draft.booking(reading.ledger, child):
            words = Words(quoted_words(child.text))
            if words.accept("action"):
                _action(does, words)
            elif not draft.take(child):
                raise NotUnderstood(f"{child.words[0][:40]!r} is not understood in a NAT rule")
    return NatRule(
        name,
        does.kind,
        draft.match(),
        block.numbers,
        translated_source=does.source,
        translated_destination=does.destination,
        translated_service=does.service,
        rule_set=vsys.prefix + POLICY,
        context=vsys.name,
        enabled=draft.enabled,
        comment=draft.comment,
        hit_key=name,
        references=tuple(dict.fromkeys([*draft.references, *does.groups])),
        notes=tuple(does.notes),
    )


def _action(does: _Translation, words: Words) -> None:
    """`source-nat|nat address-group G [no-pat]`, `easy-ip`, `no-nat`, `destination-nat ..`. Raises NotUnderstood."""
    word = words.next("an action").lower()
    does.notes = [note for note in does.notes if note != "no action"]
    if word == "no-nat":
        does.kind = NatKind.EXEMPT
    elif word in ("source-nat", "nat", "snat"):
        if does.kind is not NatKind.DESTINATION:
            does.kind = NatKind.SOURCE
        _source(does, words)
    elif word in ("destination-nat", "dnat"):
        does.kind = NatKind.DESTINATION
        _destination(does, words)
    else:
        raise NotUnderstood(f"{word[:40]!r} is not a NAT action")


def _source(does: _Translation, words: Words) -> None:
    kind = words.next("how").lower()
    if kind == "easy-ip":
        does.source = "interface"
    elif kind in ("address-group", "static-mapping", "static"):
        words.accept("address-group")
        does.source = words.next("an address group")
        does.groups.append(does.source)
    else:
        raise NotUnderstood(f"{kind[:40]!r} is not easy-ip or address-group")
    does.notes += [word for word in words.rest().split() if word != "pat"]


def _destination(does: _Translation, words: Words) -> None:
    """`address A [B] [[port] P]`, `[static address-to-address] address-group G`, `address-set ..`: verbatim but for `address`."""
    kept: list[str] = []
    while words:
        word = words.next()
        if word.lower() in ("port", "port-to-port") and words:
            does.service = words.rest().replace(" to ", "-").replace(" ", "-")
        elif word.lower() == "address-group" and words:
            does.groups.append(words.peek())
            kept += [word, words.next()]
        elif kept and not does.groups and is_decimal(word) and not words:
            does.service = word  # `address 10.0.0.5 8080`
        elif word.lower() != "address":
            kept.append(word)
    if not kept:
        raise NotUnderstood("a destination is expected")
    does.destination = " ".join(kept)


@dataclass(slots=True)
class _Server:
    """Parts of a `nat server` line. ports are intervals; None: not told."""

    zone: str = ""
    protocol: int | None = None
    outside: AddressSet = NOWHERE
    outside_ports: tuple[int, int] | None = None
    inside: str = ""
    inside_ports: tuple[int, int] | None = None
    no_reverse: bool = False
    unresolved: list[str] = field(default_factory=list)
    conditions: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    comment: str = ""


def read_server(reading: Reading, vsys: Vsys, block: Block) -> NatRule:
    """`nat server N [ID] [zone Z] [protocol P] global A [P] inside B [Q] [no-reverse] ..`. Raises NotUnderstood."""
    words = Words(quoted_words(block.text), 2)
    name = words.next("a name")
    told = _Server()
    if is_decimal(words.peek()):
        words.next()
    has_protocol = "protocol" in [word.lower() for word in words.words]
    while words:
        _server_word(told, words)
    service = ANY_SERVICE
    if has_protocol:
        service = Service.of(told.protocol, (told.outside_ports,) if told.outside_ports else None)
    match = Match(
        destination=ANY if told.unresolved else told.outside,
        services=(service,),
        source_zones=(told.zone,) if told.zone else (),
        conditions=tuple(told.conditions),
        unresolved=tuple(told.unresolved),
    )
    kind = NatKind.STATIC if not has_protocol and not told.no_reverse else NatKind.DESTINATION
    return NatRule(
        name,
        kind,
        match,
        (block.number,),
        translated_destination=told.inside,
        translated_service=_span(told.inside_ports),
        rule_set=vsys.prefix + SERVER,
        context=vsys.name,
        comment=told.comment,
        notes=tuple(told.notes if told.no_reverse else [BOTH_WAYS, *told.notes]),
    )


def _server_word(told: _Server, words: Words) -> None:
    word = words.next().lower()
    if word == "zone":
        told.zone = words.next("a zone")
    elif word == "protocol":
        told.protocol = NAMES.protocol(words.next("a protocol"))
    elif word == "global":
        _outside(told, words)
    elif word == "inside":
        if words.accept("host"):
            pass
        first = words.next("an address")
        last = words.next() if host_set(words.peek()) is not None else ""
        if host_set(first) is None:
            raise NotUnderstood(f"{first[:40]!r} is not an address")
        told.inside = f"{first}-{last}" if last else first
        told.inside_ports = _ports(told, words)
    elif word == "no-reverse":
        told.no_reverse = True
    elif word == "description":
        told.comment = words.rest()
    elif word in ("vrrp", "acl", "vpn-instance", "id"):
        told.conditions += [f"{word} {words.next('a value')}"] if word == "acl" else []
        if word != "acl":
            words.next("a value")
    elif word in ("route", "unr-route", "no-pat", "disable", "enable"):
        told.notes += [word] if word in ("disable",) else []
    else:
        raise NotUnderstood(f"{word[:40]!r} is not understood in a NAT server")


def _outside(told: _Server, words: Words) -> None:
    if words.accept("interface"):
        told.unresolved.append(f"interface {interface_name(words)}")
    else:
        first = words.next("an address")
        last = words.next() if host_set(words.peek()) is not None else first
        found = range_set(first, last)
        if found is None:
            raise NotUnderstood(f"{first[:40]!r} is not an address")
        told.outside = found
    told.outside_ports = _ports(told, words)


def _ports(told: _Server, words: Words) -> tuple[int, int] | None:
    """`P`, `P Q`, `any`; nothing is consumed when no port follows."""
    if words.accept("any"):
        return None
    if not NAMES.knows_port(words.peek(), told.protocol):
        return None
    low = high = NAMES.port(words.next(), told.protocol)
    words.accept("to")
    if NAMES.knows_port(words.peek(), told.protocol):
        high = NAMES.port(words.next(), told.protocol)
    return (min(low, high), max(low, high))


def _span(ports: tuple[int, int] | None) -> str:
    if ports is None:
        return ""
    return str(ports[0]) if ports[0] == ports[1] else f"{ports[0]}-{ports[1]}"


def read_group(reading: Reading, block: Block) -> None:
    """`nat address-group G [ID]`, `destination-nat address-group G`: sections of addresses."""
    words = Words(quoted_words(block.text))
    kind = f"{words.next().lower()} {words.next().lower()}"
    name = words.next("an address group")
    parts: list[AddressSet] = []
    for child in block.children:
        below = Words(child.words)
        if below.accept("section"):
            if is_decimal(below.peek()):
                below.next()
            first = below.next("an address")
            last = below.next() if host_set(below.peek()) is not None else first
            found = range_set(first, last)
            if found is None:
                reading.ledger.unparsed(child.line, f"{first[:40]!r} is not an address")
                continue
            parts.append(found)
        elif not below.accept("mode", "route", "description", "status", "no-pat", "pat", "exclude-ip", "vrrp", "smart-nopat"):
            continue
        reading.ledger.understood(child.number)
    made = AddressObject(name, NOWHERE.union(*parts), lines=block.numbers, text=kind, context=reading.now.name)
    reading.addresses.append(made)
