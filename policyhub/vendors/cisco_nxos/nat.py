"""`ip nat inside|outside source ..` and `ip nat pool ..`."""

from __future__ import annotations

from policyhub.domain.addresses import ANY4
from policyhub.domain.nat import NatKind, NatRule
from policyhub.domain.rules import Match
from policyhub.domain.services import ANY_SERVICE, Service
from policyhub.vendorkit.blocks import Block
from policyhub.vendorkit.ios_nat import read_pool, take_target
from policyhub.vendorkit.lexing import NotUnderstood, Words, host_set, number_in, prefix_set
from policyhub.vendors.cisco_nxos.reading import NAMES, Reading


def read_nat(reading: Reading, block: Block) -> None:
    """Global lines. Raises NotUnderstood."""
    words = Words(block.words, 2)
    if words.accept("pool"):
        reading.pools.append(read_pool(reading.ledger, words, block, _pool_options))
        return
    if words.accept("translation"):
        words.rest()  # timers and limits of the table
        return
    side = words.accept("inside", "outside")
    if not side or not words.accept("source"):
        raise NotUnderstood("inside source, outside source, pool or translation is expected")
    start = words.at
    if words.accept("static"):
        rule = _static(words, f"{side} source", start, block.number)
    elif words.accept("list"):
        rule = _dynamic(reading, words, f"{side} source", start, block.number)
    else:
        raise NotUnderstood("static or list is expected")
    reading.nat_rules.append(rule)


def _static(words: Words, rule_set: str, start: int, line: int) -> NatRule:
    """`static [tcp|udp] A [P] B [P] [vrf X] [add-route] [match-in-vrf] [group N dynamic]`."""
    protocol = words.accept("tcp", "udp")
    number = NAMES.protocol(protocol) if protocol else None
    services, new_service = (ANY_SERVICE,), ""
    local = words.next("an address")
    known = host_set(local) or prefix_set(local)
    if known is None:
        raise NotUnderstood(f"{local[:40]!r} is not an address")
    if protocol:
        port = NAMES.port(words.next("a port"), number)
        services = (Service.of(number, source=((port, port),)),)
    new = words.next("an address")
    if host_set(new) is None and prefix_set(new) is None:
        raise NotUnderstood(f"{new[:40]!r} is not an address")
    if protocol:
        new_service = f"{protocol} {NAMES.port(words.next('a port'), number)}"
    name = " ".join([rule_set, *words.words[start : words.at]])
    notes = _notes(words)
    match = Match(known, ANY4, services)
    return NatRule(name, NatKind.STATIC, match, (line,), new, "", new_service, rule_set, notes=notes)


def _dynamic(reading: Reading, words: Words, rule_set: str, start: int, line: int) -> NatRule:
    """`list ACL pool P|interface X [overload] ..`."""
    acl = words.next("an access list")
    reading.selectors.add(acl)
    translated, pools, notes = take_target(words)
    name = " ".join([rule_set, *words.words[start : words.at]])
    notes += _notes(words)
    match = Match(ANY4, ANY4, conditions=(f"access-list {acl}",))
    return NatRule(
        name, NatKind.SOURCE, match, (line,), translated, rule_set=rule_set, references=(acl, *pools), notes=tuple(notes)
    )


def _notes(words: Words) -> tuple[str, ...]:
    found: list[str] = []
    while words:
        word = words.next().lower()
        if word in ("vrf", "group"):
            word = f"{word} {words.next('a name')}"
            if words.accept("dynamic"):
                word += " dynamic"
        elif word not in ("overload", "add-route", "match-in-vrf", "no-payload"):
            raise NotUnderstood(f"{word[:40]!r} is not understood in a translation")
        found.append(word)
    return tuple(found)


def _pool_options(words: Words) -> None:
    """`prefix-length L|netmask M`. Raises NotUnderstood."""
    if words.accept("prefix-length"):
        number_in(words.next("a length"), 1, 32, "a prefix length")
    elif words.accept("netmask"):
        words.next("a mask")
    words.end()
