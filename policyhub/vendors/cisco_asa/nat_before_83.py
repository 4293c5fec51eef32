"""Address translation of PIX, FWSM and ASA before 8.3: `nat (IF) ID ..`, `global (IF) ID ..`, `static (REAL,MAPPED) ..`."""

from __future__ import annotations

from dataclasses import replace

from policyhub.domain.addresses import ANY4, AddressSet, Interval
from policyhub.domain.nat import NatKind, NatRule
from policyhub.domain.objects import AddressObject
from policyhub.domain.rules import Match
from policyhub.domain.services import ANY_SERVICE, TCP, UDP, Service
from policyhub.vendorkit.blocks import Block
from policyhub.vendorkit.lexing import NotUnderstood, Words, is_decimal, number_in, range_set
from policyhub.vendors.cisco_asa.reading import NAMES, Pool, Reading

MARKS = ("dns", "norandomseq", "outside", "nailed")
ORDER = ("exempt", "static", "policy", "dynamic")  # Cisco PIX 6.3 and ASA 8.2 configuration guides: order of NAT commands


def read_global(reading: Reading, block: Block) -> None:
    """`global (IF) ID A[-B] [netmask M]` or `.. interface`: what `nat` lines of that id translate to."""
    words = Words(block.words, 1)
    interface, number = _one_interface(words), str(number_in(words.next("a NAT id"), 1, 2**31, "a NAT id"))
    text = words.next("an address")
    if text != "interface":
        low, _, high = text.partition("-")
        if words.accept("netmask"):
            mask = words.next("a mask")
            found = range_set(low, high) if high else reading.literal(low, mask)[0]
        else:
            found = range_set(low, high or low)
        if found is None:
            raise NotUnderstood(f"{text[:60]!r} is not an address or a range")
        known = reading.pools.get(f"global ({interface}) {number}")
        lines = (*(known.lines if known else ()), block.number)
        addresses = found if known is None or known.addresses is None else known.addresses.union(found)
        name = f"global ({interface}) {number}"
        reading.pools[name] = AddressObject(name, addresses, "pool", lines)
    words.end()
    reading.globals.setdefault(number, []).append(Pool(interface, text, block.number))


def read_nat(reading: Reading, block: Block, interface: str, words: Words) -> None:
    """`nat (IF) ID A M ..` or `nat (IF) ID access-list NAME ..`; id 0 leaves the address as it is."""
    number = str(number_in(words.next("a NAT id"), 0, 2**31, "a NAT id"))
    match = Match(ANY4, ANY4, source_zones=(interface,))
    references: tuple[str, ...] = ()
    if words.accept("access-list"):
        match, references = _picked(reading, match, words.next("an access list"))
        rule_set = "exempt" if number == "0" else "policy"
    else:
        match = replace(match, source=_network(reading, words))
        rule_set = "dynamic"
    name = " ".join(block.words[: words.at])
    kind = NatKind.EXEMPT if number == "0" else NatKind.SOURCE
    rule = NatRule(name, kind, match, (block.number,), rule_set=rule_set, references=references, notes=_notes(words))
    reading.old_nat.append((number, rule))


def _picked(reading: Reading, match: Match, acl: str) -> tuple[Match, tuple[str, ...]]:
    reading.selectors.add(acl)
    return replace(match, conditions=(f"access-list {acl}",)), (acl,)


def _network(reading: Reading, words: Words) -> AddressSet:
    """`A M`, `A` (one host); `0` stands for 0.0.0.0."""
    address = words.next("an address")
    mask = words.next() if words else "255.255.255.255"
    address, mask = ("0.0.0.0" if word == "0" else word for word in (address, mask))  # noqa: S104 (an operand, nothing is bound)
    found = reading.literal(address, mask)[0]
    if found is None:
        raise NotUnderstood(f"{address[:60]!r} is not an address")
    return found


def read_static(reading: Reading, block: Block) -> None:
    """`static (REAL,MAPPED) [tcp|udp] MAPPED|interface [PORT] REAL [PORT] [netmask M]`, `.. MAPPED [PORT] access-list NAME`."""
    words = Words(block.words, 1)
    text = words.next("interfaces")
    while not text.endswith(")"):
        text += words.next("a closing bracket")
    real, comma, mapped = text[1:-1].partition(",")
    if not text.startswith("(") or not comma:
        raise NotUnderstood("static (REAL,MAPPED) is expected")
    protocol = words.accept("tcp", "udp")
    number = {"tcp": TCP, "udp": UDP}.get(protocol)
    new = words.next("the mapped address")
    new_service = f"{protocol} {NAMES.port(words.next('a port'), number)}" if protocol else ""
    match = Match(ANY4, ANY4, source_zones=(real.strip(),), destination_zones=(mapped.strip(),))
    references: tuple[str, ...] = ()
    old = ""
    old_port: tuple[Interval, ...] = ()
    if words.accept("access-list"):
        match, references = _picked(reading, match, words.next("an access list"))
    else:
        old = words.next("the real address")
        if protocol:
            port = NAMES.port(words.next("a port"), number)
            old_port = ((port, port),)
    name = " ".join(block.words[: words.at])
    mask = words.words[words.at + 1] if words.peek() == "netmask" and words.peek(1) else "255.255.255.255"
    if old:
        found = reading.literal(old, mask)[0]
        if found is None:
            raise NotUnderstood(f"{old[:60]!r} is not an address")
        services = (Service.of(number, source=old_port),) if old_port else (ANY_SERVICE,)
        match = replace(match, source=found, services=services)
    is_same = reading.aliases.get(old, old) == reading.aliases.get(new, new) and not protocol
    rule = NatRule(
        name,
        NatKind.EXEMPT if is_same else NatKind.STATIC,
        match,
        (block.number,),
        "" if is_same else new,
        "",
        new_service,
        "static",
        references=references,
        notes=_notes(words),
    )
    reading.old_nat.append(("", rule))


def _notes(words: Words) -> tuple[str, ...]:
    """Options behind a translation; limits of connections are left out, they translate nothing."""
    found: list[str] = []
    while words:
        word = words.next().lower()
        if word == "netmask":
            words.next("a mask")
        elif word in MARKS:
            found.append(word)
        elif word not in ("tcp", "udp") and not is_decimal(word):
            raise NotUnderstood(f"{word[:40]!r} is not understood in a translation")
    return tuple(found)


def rules(reading: Reading) -> list[NatRule]:
    """Exemptions, static, policy NAT, dynamic; each in file order. Of dynamic ones the device takes the narrowest network."""
    made = [_with_pool(reading, number, rule) for number, rule in reading.old_nat]
    return sorted(made, key=lambda rule: (ORDER.index(rule.rule_set), -_narrowness(rule)))


def _narrowness(rule: NatRule) -> int:
    return -rule.match.source.size if rule.rule_set == "dynamic" else 0


def _with_pool(reading: Reading, number: str, rule: NatRule) -> NatRule:
    if number in ("", "0"):
        return rule
    pools = [pool for pool in reading.globals.get(number, ()) if (pool.interface,) != rule.match.source_zones]
    if not pools:
        return replace(rule, notes=(*rule.notes, f"no global pool {number}"))
    names = (f"global ({pool.interface}) {number}" for pool in pools)
    return replace(
        rule,
        match=replace(rule.match, destination_zones=tuple(dict.fromkeys(pool.interface for pool in pools))),
        translated_source=", ".join(dict.fromkeys(pool.text for pool in pools)),
        lines=(*rule.lines, *(pool.line for pool in pools)),
        references=(*rule.references, *(name for name in dict.fromkeys(names) if name in reading.pools)),
    )


def _one_interface(words: Words) -> str:
    text = words.next("an interface")
    if not (text.startswith("(") and text.endswith(")") and len(text) > 2):
        raise NotUnderstood("an interface in brackets is expected")
    return text[1:-1]
