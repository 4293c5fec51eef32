"""`ip nat [inside|outside] source|destination ..` and `ip nat pool ..`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from policyhub.domain.addresses import ANY4, AddressSet
from policyhub.domain.evaluation import Seen, Stage, StageKind
from policyhub.domain.nat import NatKind, NatRule
from policyhub.domain.rules import Match
from policyhub.domain.services import ANY_SERVICE, TCP, UDP, Service
from policyhub.vendorkit.blocks import Block
from policyhub.vendorkit.ios_nat import read_pool, take_target
from policyhub.vendorkit.lexing import NotUnderstood, Words, host_set, masked_set, number_in, prefix_set
from policyhub.vendors.cisco_ios.reading import NAMES, Reading

BARE = (
    "overload", "extendable", "no-alias", "no-payload", "add-route", "match-in-vrf", "egress-interface", "reversible",
    "forced", "stateless", "oer",
)  # fmt: skip
VALUED = ("vrf", "route-map", "mapping-id", "redundancy")


def read_nat(reading: Reading, block: Block) -> None:
    """A line of the system. Raises NotUnderstood on what is no translation."""
    words = Words(block.words, 2)
    if words.accept("pool"):
        reading.pools.append(read_pool(reading.ledger, words, block, _pool_options))
        return
    side = words.accept("inside", "outside")
    end = words.accept("source", "destination") if side else words.accept("source")  # without a side: between `ip nat enable`
    if not end:
        raise NotUnderstood("not understood")
    rule_set = f"{side} {end}".strip()
    start = words.at
    if words.accept("static"):
        rule = _static(words, rule_set, start, block.number)
    else:
        rule = _dynamic(reading, words, rule_set, start, block.number)
    reading.nat_rules.append(rule)


def _static(words: Words, rule_set: str, start: int, line: int) -> NatRule:
    """`static [tcp|udp|esp|network] A [P] B|interface IF [P] ..`."""
    kind = words.accept("tcp", "udp", "esp", "network")
    number = {"tcp": TCP, "udp": UDP, "esp": 50}.get(kind)
    has_ports = number in (TCP, UDP)
    local = words.next("an address")
    port = NAMES.port(words.next("a port"), number) if has_ports else 0
    notes: list[str] = []
    new = words.next("an address")
    if new.lower() == "interface":
        new = "interface"
        notes.append(f"interface {words.next('an interface')}")
    elif host_set(new) is None:
        raise NotUnderstood(f"{new[:40]!r} is not an address")
    new_service = f"{kind} {NAMES.port(words.next('a port'), number)}" if has_ports else ""
    source, length = _network(words, local) if kind == "network" else (host_set(local), "")
    if source is None:
        raise NotUnderstood(f"{local[:40]!r} is not an address")
    services = (ANY_SERVICE,)
    if number is not None:
        services = (Service.of(number, source=((port, port),)) if has_ports else Service.of(number),)
    name_end = words.at
    notes += _notes(words)
    vrf = next((note for note in notes if note.startswith("vrf ")), "")
    name = " ".join([rule_set, *words.words[start:name_end], *([vrf] if vrf else [])])
    return NatRule(
        name,
        NatKind.STATIC,
        Match(source, ANY4, services),
        (line,),
        new + length,
        "",
        new_service,
        rule_set,
        notes=tuple(notes),
    )


def _network(words: Words, local: str) -> tuple[AddressSet | None, str]:
    """`/24` or a mask behind the two networks."""
    text = words.next("a length")
    if text.startswith("/"):
        return prefix_set(local + text), text
    found = masked_set(local, text)
    return found, "" if found is None else f" {text}"


def _dynamic(reading: Reading, words: Words, rule_set: str, start: int, line: int) -> NatRule:
    """`list ACL|route-map M pool P|interface IF [overload] ..`."""
    kind = words.accept("list", "route-map")
    if not kind:
        raise NotUnderstood("static, list or route-map is expected")
    name = words.next("a name")
    if kind == "list":
        reading.selectors.add(name)
    translated, pools, notes = take_target(words)
    title = " ".join([rule_set, *words.words[start : words.at]])
    notes += _notes(words)
    match = Match(ANY4, ANY4, conditions=(f"{'access-list' if kind == 'list' else 'route-map'} {name}",))
    is_destination = rule_set.endswith("destination")
    return NatRule(
        title,
        NatKind.DESTINATION if is_destination else NatKind.SOURCE,
        match,
        (line,),
        "" if is_destination else translated,
        translated if is_destination else "",
        rule_set=rule_set,
        references=(name, *pools),
        notes=tuple(notes),
    )


def _notes(words: Words) -> list[str]:
    found: list[str] = []
    while words:
        word = words.next().lower()
        if word == "egress-interface" and words:
            word = f"{word} {words.next()}"
        elif word in VALUED:
            word = f"{word} {words.next('a name')}"
        elif word not in BARE:
            raise NotUnderstood(f"{word[:40]!r} is not understood in a translation")
        found.append(word)
    return found


def _pool_options(words: Words) -> None:
    """`netmask M|prefix-length L [type rotary]` and options without a field. Raises NotUnderstood."""
    while words:
        word = words.next().lower()
        if word == "prefix-length":
            number_in(words.next("a length"), 1, 32, "a prefix length")
        elif word in ("netmask", "type"):
            words.next("a value")
        elif word not in ("add-route", "accounting", "arp-ping"):
            raise NotUnderstood(f"{word[:40]!r} is not understood in a pool")


def rules(reading: Reading) -> Iterator[NatRule]:
    """Static ones before dynamic ones; every rule works between the inside and the outside interfaces."""
    notes = [f"from inside: {', '.join(reading.nat_sides['inside'])}"] if reading.nat_sides.get("inside") else []
    notes += [f"to outside: {', '.join(reading.nat_sides['outside'])}"] if reading.nat_sides.get("outside") else []
    notes += [f"between: {', '.join(reading.nat_sides['enable'])}"] if reading.nat_sides.get("enable") else []
    for rule in sorted(reading.nat_rules, key=lambda rule: rule.kind is not NatKind.STATIC):
        yield replace(rule, notes=(*rule.notes, *notes))


def evaluation(reading: Reading) -> tuple[Stage, ...]:
    """Only with NAT. Cisco, "NAT order of operation": from outside it translates before routing, from inside behind it."""
    if not reading.nat_rules:
        return ()
    return (
        Stage(StageKind.FILTER, note="the incoming list of the interface"),
        Stage(StageKind.DESTINATION_NAT),
        Stage(StageKind.ROUTE),
        Stage(StageKind.SOURCE_NAT),
        Stage(StageKind.FILTER, destination=Seen.TRANSLATED, note="the outgoing list of the interface"),
    )
