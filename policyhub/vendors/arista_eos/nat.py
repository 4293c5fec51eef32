"""`ip nat ..` of interfaces and of NAT profiles, pools, and the virtual source NAT of a VRF."""

from __future__ import annotations

from dataclasses import replace

from policyhub.domain.addresses import ANY4, AddressSet
from policyhub.domain.nat import NatKind, NatRule
from policyhub.domain.objects import AddressObject
from policyhub.domain.rules import Match
from policyhub.domain.services import ANY_SERVICE, TCP, UDP, Service
from policyhub.vendorkit.blocks import Block
from policyhub.vendorkit.lexing import NotUnderstood, Words, host_set, is_decimal, number_in, prefix_set, range_set
from policyhub.vendors.arista_eos.reading import Reading

BOTH = ((TCP, TCP), (UDP, UDP))
GLOBAL_OPTIONS = ("translation", "synchronization", "logging", "vrf", "twice")


def read_global(reading: Reading, block: Block) -> None:
    """`ip nat pool ..`, `ip nat profile ..`; options of the whole table change no translation. Raises NotUnderstood."""
    words = Words(block.words, 2)
    if words.accept("pool"):
        _pool(reading, words, block)
    elif words.accept("profile"):
        name = words.next("a name")
        for child in block.children:
            if child.text.startswith(("vrf ", "exit")):
                reading.ledger.understood(child.number)
                continue
            with reading.ledger.booking(child.line):
                if not read_line(reading, f"profile {name}", child):
                    raise NotUnderstood("ip nat is expected")
    elif not words.accept(*GLOBAL_OPTIONS):
        raise NotUnderstood("pool, profile or an option of the table is expected")
    else:
        for child in block.children:
            reading.ledger.understood(child.number)


def _pool(reading: Reading, words: Words, block: Block) -> None:
    name = words.next("a name")
    found: AddressSet | None = None
    texts: list[str] = []
    for child in block.children:
        below = Words(child.words)
        part = range_set(below.next(), below.next("an address")) if below.accept("range") and below.peek(1) else None
        if part is None and not child.text.startswith(("port range ", "utilization ", "exit")):
            reading.ledger.unparsed(child.line, "range FIRST LAST is expected")
            continue
        reading.ledger.understood(child.number)
        if part is None:
            texts.append(child.text)
        else:
            found = part if found is None else found.union(part)
    reading.pools.append(AddressObject(name, found, "pool", block.numbers, "; ".join(texts)))


def read_line(reading: Reading, place: str, child: Block) -> bool:
    """False when it is no `ip nat` line. Raises NotUnderstood."""
    words = Words(child.words)
    if not words.accept("ip") or not words.accept("nat"):
        return False
    if words.accept("service-profile"):
        reading.nat_users.append((words.next("a profile"), place))
        return True
    start = words.at
    side = words.accept("source", "destination")
    if not side:
        raise NotUnderstood("source, destination or service-profile is expected")
    words.accept("ingress", "egress")
    if words.accept("static"):
        rule = _static(reading, words, side, place, start, child.number)
    elif words.accept("dynamic"):
        rule = _dynamic(reading, words, side, place, start, child.number)
    else:
        raise NotUnderstood("static or dynamic is expected")
    reading.nat_rules.append(rule)
    return True


def _static(reading: Reading, words: Words, side: str, place: str, start: int, line: int) -> NatRule:
    """`static A [P] [access-list X] B [P] [protocol tcp|udp] [group N] [comment ..]`."""
    old, old_port = _end(words)
    conditions: tuple[str, ...] = ()
    references: tuple[str, ...] = ()
    if words.accept("access-list"):
        acl = words.next("an access list")
        reading.selectors.add(acl)
        conditions, references = (f"access-list {acl}",), (acl,)
    at = words.at
    _, new_port = _end(words)
    new = words.words[at]
    if (old_port is None) != (new_port is None):
        raise NotUnderstood("two ports or none are expected")
    name = " ".join(words.words[start : words.at])
    protocol = words.accept("protocol") and words.next("tcp or udp").lower()
    notes = _notes(words)
    protocols = {"tcp": ((TCP, TCP),), "udp": ((UDP, UDP),)}.get(protocol, BOTH)
    service, new_service = ANY_SERVICE, ""
    if old_port is not None:
        ports = ((old_port, old_port),)
        service = Service(protocols, source_ports=ports) if side == "source" else Service(protocols, destination_ports=ports)
        new_service = f"{protocol} {new_port}" if protocol else str(new_port)
    elif protocol:
        service = Service(protocols)
    if side == "source":
        match = Match(old, ANY4, (service,), conditions=conditions)
        return NatRule(name, NatKind.STATIC, match, (line,), new, "", new_service, place, references=references, notes=notes)
    match = Match(ANY4, old, (service,), conditions=conditions)
    return NatRule(name, NatKind.DESTINATION, match, (line,), "", new, new_service, place, references=references, notes=notes)


def _end(words: Words) -> tuple[AddressSet, int | None]:
    text = words.next("an address")
    found = host_set(text) or prefix_set(text)
    if found is None:
        raise NotUnderstood(f"{text[:40]!r} is not an address")
    port = number_in(words.next(), 1, 65535, "a port") if is_decimal(words.peek()) else None
    return found, port


def _dynamic(reading: Reading, words: Words, side: str, place: str, start: int, line: int) -> NatRule:
    """`dynamic access-list X pool P [full-cone]`, `.. overload`."""
    if not words.accept("access-list"):
        raise NotUnderstood("access-list is expected")
    acl = words.next("an access list")
    reading.selectors.add(acl)
    references, notes, translated = [acl], [], "interface"
    if words.accept("pool"):
        translated = words.next("a pool")
        references.append(translated)
    elif words.accept("overload"):
        notes.append("overload")
    else:
        raise NotUnderstood("pool or overload is expected")
    name = " ".join(words.words[start : words.at])
    notes += _notes(words)
    match = Match(ANY4, ANY4, conditions=(f"access-list {acl}",))
    kind = NatKind.SOURCE if side == "source" else NatKind.DESTINATION
    made = NatRule(name, kind, match, (line,), rule_set=place, references=tuple(references), notes=tuple(notes))
    if side == "source":
        return replace(made, translated_source=translated)
    return replace(made, translated_destination=translated)


def _notes(words: Words) -> tuple[str, ...]:
    found: list[str] = []
    while words:
        word = words.next().lower()
        if word == "comment":
            found.append(f"comment {words.rest()}")
        elif word in ("group", "vrf", "pool"):
            found.append(f"{word} {words.next('a value')}")
        elif word in ("overload", "full-cone", "address-only", "port-only"):
            found.append(word)
        else:
            raise NotUnderstood(f"{word[:40]!r} is not understood in a translation")
    return tuple(found)


def read_virtual(reading: Reading, block: Block) -> None:
    """`ip address virtual source-nat vrf V address A`: what the switch sends from its virtual addresses."""
    words = Words(block.words, 4)
    if block.words[1:4] != ["address", "virtual", "source-nat"] or not words.accept("vrf"):
        raise NotUnderstood("not understood")
    vrf = words.next("a vrf")
    if not words.accept("address"):
        raise NotUnderstood("address is expected")
    address = words.next("an address")
    match = Match(ANY4, ANY4, conditions=(f"vrf {vrf}", "sent by the switch itself"))
    name = "virtual source-nat"
    reading.nat_rules.append(NatRule(f"{name} vrf {vrf}", NatKind.SOURCE, match, (block.number,), address, rule_set=name))


def rules(reading: Reading) -> tuple[NatRule, ...]:
    """Rules of a profile name the ports that use it."""
    users: dict[str, list[str]] = {}
    for profile, port in reading.nat_users:
        users.setdefault(f"profile {profile}", []).append(port)
    return tuple(
        replace(rule, notes=(*rule.notes, *(f"interface {port}" for port in users.get(rule.rule_set, ()))))
        for rule in reading.nat_rules
    )
