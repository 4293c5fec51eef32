"""Address translation of AR and NE routers: `nat outbound`, `nat server`, `nat static`, pools, and NE's NAT instances."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from policyhub.domain.addresses import ANY, ANY4, AddressSet
from policyhub.domain.nat import NatKind, NatRule
from policyhub.domain.objects import AddressObject
from policyhub.domain.rules import Match
from policyhub.domain.services import ANY_SERVICE, TCP, UDP, Service
from policyhub.vendorkit.blocks import Block
from policyhub.vendorkit.lexing import NotUnderstood, Words, host_set, is_decimal, prefix_set, range_set
from policyhub.vendorkit.vrp_lines import interface_name, mask_length
from policyhub.vendors.huawei_vrp.reading import NAMES, Reading

BARE = (
    "no-reverse",
    "no-pat",
    "no-port",
    "unnat",
    "unr-route",
    "no-unr-route",
    "vrrp",
    "current-interface",
    "slave",
    "interzone",
)
VALUED = ("vpn-instance", "acl", "description", "group-id", "vrrp", "zone")
PROTOCOLS = {"tcp": TCP, "udp": UDP}


@dataclass(slots=True)
class Place:
    """Where a line stands. label: interface or instance, "" for the whole device."""

    label: str = ""
    is_interface: bool = False
    notes: list[str] = field(default_factory=list)

    @property
    def rule_set(self) -> str:
        return self.label if self.is_interface or not self.label else f"nat instance {self.label}"

    @property
    def zones(self) -> tuple[str, ...]:
        return (self.label,) if self.is_interface else ()


def spoken(block: Block) -> Words:
    """Words of the line without what a manual's example says behind `//`."""
    text, _, _ = block.text.partition("//")
    return Words(text.split())


def read_global(reading: Reading, block: Block) -> None:
    """A line of the system view, or `nat instance NAME id N` with its lines. Raises NotUnderstood."""
    words = spoken(block)
    family = words.next().lower()
    if not words.accept("instance"):
        _line(reading, Place(), block)
        return
    place = Place(words.next("a name"))
    if words.accept("id"):
        words.next("a number")
    words.end()
    for child in block.children:
        if child.words[0].lower() not in ("nat", "nat64"):
            _instance_line(reading, place, child)
            continue
        try:
            _line(reading, place, child)
            reading.ledger.understood(child.number)
        except NotUnderstood as reason:
            reading.left_over.append((child, str(reason)))
    if family == "nat64":
        place.notes.insert(0, "nat64")
    reading.nat_instances.setdefault(place.label, []).extend(place.notes)


def _instance_line(reading: Reading, place: Place, child: Block) -> None:
    """What an instance says besides translations: which board works for it, how many ports a user gets."""
    first = child.words[0].lower()
    if first in ("port-range", "port-single", "port-block"):
        place.notes.append(" ".join(spoken(child).words))
        reading.ledger.understood(child.number)


def read_at_interface(reading: Reading, interface: str, block: Block) -> None:
    """Below an interface. Raises NotUnderstood."""
    _line(reading, Place(interface, True), block)


def _line(reading: Reading, place: Place, block: Block) -> None:
    words = spoken(block)
    is_64 = words.next().lower() == "nat64"
    kind = words.next("a keyword").lower()
    if kind == "address-group":
        _pool(reading, place, words, block)
    elif kind == "outbound":
        _outbound(reading, place, words, block, is_64)
    elif kind in ("server", "static") and words:
        _server(reading, place, words, block, kind)
    elif kind == "bind":
        _bind(reading, place, words)
    elif is_64 and kind == "prefix":
        place.notes.append(f"prefix {words.rest()}")
    else:
        raise NotUnderstood("not a translation that is modelled")


def _pool(reading: Reading, place: Place, words: Words, block: Block) -> None:
    """`address-group G [group-id N] [A B|A mask M|unnumbered interface IF|bind-ip-pool P] ..`, sections below."""
    name = words.next("a group")
    addresses: AddressSet | None = None
    kind, text = "pool", ""
    while words:
        word = words.next().lower()
        if word == "unnumbered" and words.accept("interface"):
            kind, text = "dynamic", f"interface {interface_name(words)}"
        elif word == "bind-ip-pool":
            kind, text = "dynamic", f"ip-pool {words.next('a pool')}"
        elif host_set(word) is not None:
            addresses = _span(word, words)
        elif word in VALUED and words:
            words.next()
        elif word not in ("pat", "no-pat", "mode", "local", "pat-mode"):
            raise NotUnderstood(f"{word[:40]!r} is not understood in a group of addresses")
    lines = [block.number]
    for child in block.children:
        below = spoken(child)
        if below.accept("section"):
            if is_decimal(below.peek()):
                below.next()
            part = _span(below.next("an address"), below)
            addresses = part if addresses is None else addresses.union(part)
            lines.append(child.number)
            reading.ledger.understood(child.number)
    context = "" if place.is_interface else place.label
    reading.pools.append(AddressObject(name, addresses, kind, tuple(lines), text, context))


def _span(first: str, words: Words) -> AddressSet:
    """`A B`, `A mask M|L`, `A`."""
    if words.accept("mask"):
        length = mask_length(words.next("a mask"))
        found = prefix_set(f"{first}/{length}") if length is not None else None
    elif host_set(words.peek()) is not None:
        found = range_set(first, words.next())
    else:
        found = host_set(first)
    if found is None:
        raise NotUnderstood(f"{first[:40]!r} begins no range of addresses")
    return found


def _outbound(reading: Reading, place: Place, words: Words, block: Block, is_64: bool) -> None:
    """`outbound ACL|any [address-group G [no-pat]|interface IF] ..`; at an interface without a group: its own address."""
    acl = words.next("an ACL")
    match = Match(ANY if is_64 else ANY4, ANY if is_64 else ANY4, destination_zones=place.zones)
    references: list[str] = []
    if acl != "any":
        acl = words.next("an ACL") if acl == "acl" else acl
        reading.selectors.setdefault((4, acl), "selects packets for nat")
        match = replace(match, conditions=(f"acl {acl}",))
        references.append(acl)
    translated, notes = "interface", []
    while words:
        word = words.next().lower()
        if word == "address-group":
            translated = words.next("a group")
            references.append(translated)
        elif word == "interface":
            notes.append(f"interface {interface_name(words)}")
        elif word in BARE:
            notes.append(word)
        elif word in VALUED:
            notes.append(f"{word} {words.next('a value')}")
        else:
            raise NotUnderstood(f"{word[:40]!r} is not understood in a translation")
    name = " ".join([*([place.label] if place.label else []), "outbound", acl])
    rule = NatRule(
        name,
        NatKind.SOURCE,
        match,
        (block.number,),
        translated,
        rule_set=place.rule_set,
        references=tuple(references),
        notes=tuple(notes),
    )
    reading.nat_rules.append((place.label, rule))


def _server(reading: Reading, place: Place, words: Words, block: Block, kind: str) -> None:
    """`server|static [protocol P] global A [PORT] inside B [PORT] [netmask M] ..`; a static one works both ways."""
    protocol = words.next("a protocol").lower() if words.accept("protocol") else ""
    number = PROTOCOLS.get(protocol) or (NAMES.protocol(protocol) if protocol else None)
    if not words.accept("global"):
        raise NotUnderstood("global is expected")
    outside, outside_port = _end(words, number)
    if not words.accept("inside"):
        raise NotUnderstood("inside is expected")
    inside, inside_port = _end(words, number)
    length = 32
    notes: list[str] = []
    references: list[str] = []
    while words:
        word = words.next().lower()
        if word in ("netmask", "mask"):
            length = mask_length(words.next("a mask")) or 32
        elif word == "acl":
            references.append(words.next("an ACL"))
            reading.selectors.setdefault((4, references[0]), "selects packets for nat")
        elif word in BARE:
            notes.append(word)
        elif word in VALUED:
            notes.append(f"{word} {words.next('a value')}")
        else:
            raise NotUnderstood(f"{word[:40]!r} is not understood in a translation")
    conditions = tuple(f"acl {acl}" for acl in references)
    name = " ".join(part for part in (place.label, kind, protocol, outside, outside_port) if part)
    if kind == "static":
        match = Match(_addresses(inside, length, []), ANY4, _services(number, inside_port, True), conditions=conditions)
        match = replace(match, destination_zones=place.zones)
        rule = NatRule(name, NatKind.STATIC, match, (block.number,), outside, "", _after(protocol, outside_port, number))
    else:
        unresolved: list[str] = []
        target = _addresses(outside, length, unresolved)
        services = _services(number, outside_port, False)
        match = Match(ANY4, target, services, place.zones, conditions=conditions, unresolved=tuple(unresolved))
        rule = NatRule(name, NatKind.DESTINATION, match, (block.number,), "", inside, _after(protocol, inside_port, number))
    rule = replace(rule, rule_set=place.rule_set, references=tuple(references), notes=tuple(notes))
    reading.nat_rules.append((place.label, rule))


def _end(words: Words, protocol: int | None) -> tuple[str, str]:
    """`A [PORT]`, `current-interface [PORT]`, `unnumbered interface IF [PORT]`, `interface IF [PORT]`."""
    word = words.next("an address")
    if word.lower() == "unnumbered":
        word = words.next("interface")
    if word.lower() == "interface":
        word = f"interface {interface_name(words)}"
    if protocol not in (TCP, UDP) or not NAMES.knows_port(words.peek(), protocol):
        return word, ""
    port = words.next()
    return word, f"{port} to {words.next('a port')}" if words.accept("to") else port


def _addresses(text: str, length: int, unresolved: list[str]) -> AddressSet:
    found = prefix_set(f"{text}/{length}") if host_set(text) is not None else None
    if found is None:
        unresolved.append(text)
        return ANY4
    return found


def _services(number: int | None, port: str, as_source: bool) -> tuple[Service, ...]:
    if number is None:
        return (ANY_SERVICE,)
    if not port:
        return (Service.of(number),)
    ports = _ports(port, number)
    return (Service.of(number, source=(ports,)) if as_source else Service.of(number, (ports,)),)


def _ports(port: str, number: int | None) -> tuple[int, int]:
    """`80` or `1000 to 1010`."""
    low, _, high = port.partition(" to ")
    first, last = NAMES.port(low, number), NAMES.port(high or low, number)
    if last < first:
        raise NotUnderstood(f"{port[:40]!r} is not a range of ports")
    return first, last


def _after(protocol: str, port: str, number: int | None) -> str:
    if not port:
        return ""
    low, high = _ports(port, number)
    return f"{protocol} {low}" if low == high else f"{protocol} {low}-{high}"


def _bind(reading: Reading, place: Place, words: Words) -> None:
    """`bind acl N instance X [precedence P]` at an interface: what the list takes goes to the instance."""
    if not words.accept("acl"):
        raise NotUnderstood("acl is expected")
    acl = words.next("an ACL")
    if not words.accept("instance"):
        raise NotUnderstood("instance is expected")
    name = words.next("an instance")
    reading.selectors.setdefault((4, acl), "selects packets for nat")
    reading.nat_instances.setdefault(name, []).append(f"takes acl {acl} at {place.label}")
    if words.accept("precedence"):
        words.next("a precedence")
    words.end()


def rules(reading: Reading) -> list[NatRule]:
    """Servers and static ones before `outbound`, as the device asks them; notes of the instance on each of its rules."""
    made = [replace(rule, notes=(*rule.notes, *reading.nat_instances.get(label, ()))) for label, rule in reading.nat_rules]
    return sorted(made, key=lambda rule: rule.kind is NatKind.SOURCE)
