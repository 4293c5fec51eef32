"""Address translation from release 8.3 on: twice NAT (`nat .. source ..`) and NAT inside a network object, in three sections."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from policyhub.domain.addresses import ANY, AddressSet
from policyhub.domain.nat import NatKind, NatRule
from policyhub.domain.rules import Match
from policyhub.domain.services import ANY_SERVICE, TCP, UDP, Service
from policyhub.vendorkit.blocks import Block
from policyhub.vendorkit.lexing import NotUnderstood, Words, host_set, is_decimal, prefix_set, range_set
from policyhub.vendorkit.operands import Services, bound
from policyhub.vendors.cisco_asa import nat_before_83
from policyhub.vendors.cisco_asa.reading import NAMES, Reading

OPTIONS = ("no-proxy-arp", "route-lookup", "net-to-net", "dns", "unidirectional")
POOL_OPTIONS = ("extended", "flat", "include-reserve", "round-robin", "block-allocation")
SCTP = 132


@dataclass(slots=True)
class _Twice:
    """What one `nat .. source ..` line says so far."""

    zones: tuple[str, str] = ("", "")
    source: AddressSet = ANY
    destination: AddressSet = ANY
    services: Services = (ANY_SERVICE,)
    source_after: str = ""
    destination_after: str = ""
    service_after: str = ""
    is_dynamic: bool = False
    references: list[str] = field(default_factory=list)
    unresolved: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    comment: str = ""
    enabled: bool = True


def read_nat(reading: Reading, block: Block) -> None:
    """A line at the top: twice NAT, or `nat (IF) ID ..` of older releases. Raises NotUnderstood on what is neither."""
    words = Words(block.words, 1)
    interfaces = read_pair(words)
    line = int(words.next()[:9]) if is_decimal(words.peek()) and words.peek(1).lower() == "source" else None
    section = "after-auto" if words.accept("after-auto") else "manual"
    if section == "after-auto" and is_decimal(words.peek()):
        line = int(words.next()[:9])
    if words.accept("source"):
        known = reading.twice.setdefault(section, [])
        place = len(known) if line is None or not 0 < line <= len(known) else line - 1
        known.insert(place, (block, interfaces, words.words[words.at :]))
    elif len(interfaces) == 1 and section == "manual":
        nat_before_83.read_nat(reading, block, interfaces[0], words)
    else:
        raise NotUnderstood("source, or a NAT id is expected")


def read_object_nat(reading: Reading, name: str, child: Block) -> None:
    """`nat [(REAL,MAPPED)] static|dynamic ..` below `object network NAME`."""
    words = Words(child.words, 1)
    interfaces = read_pair(words)
    if words.peek().lower() not in ("static", "dynamic"):
        raise NotUnderstood("static or dynamic is expected")
    reading.object_nat.append((name, child, interfaces, words.words[words.at :]))


def read_pair(words: Words) -> tuple[str, ...]:
    """`(real,mapped)` or `(interface)`; () when nothing stands in brackets."""
    if not words.peek().startswith("("):
        return ()
    text = words.next()
    while not text.endswith(")"):
        text += words.next("a closing bracket")
    names = tuple(part.strip() for part in text[1:-1].split(","))
    if not all(names) or len(names) > 2:
        raise NotUnderstood(f"{text[:60]!r} is not one interface or two")
    return names


def zones_of(pair: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Zones of the packet as it arrives and as it leaves; `any` is no criterion."""
    real, mapped = (*pair, "any", "any")[:2]
    return (() if real == "any" else (real,)), (() if mapped == "any" else (mapped,))


def rules(reading: Reading) -> list[NatRule]:
    """In the order of evaluation: section 1, objects, section 3; older releases have their own order."""
    found = list(_section(reading, "manual"))
    found += _objects(reading)
    found += _section(reading, "after-auto")
    return [*found, *nat_before_83.rules(reading)]


def _section(reading: Reading, section: str) -> Iterator[NatRule]:
    for number, (block, pair, body) in enumerate(reading.twice.get(section, ()), 1):
        try:
            yield _twice(reading, f"{section} {number}", section, block, pair, Words(body))
        except NotUnderstood as reason:
            reading.ledger.unparsed(block.line, str(reason))


def _twice(reading: Reading, name: str, section: str, block: Block, pair: tuple[str, ...], words: Words) -> NatRule:
    real, mapped = (*pair, "any", "any")[:2]
    made = _Twice((real, mapped))
    original = _source(reading, made, words)
    is_same = original == made.source_after
    moved = False
    while words:
        word = words.next().lower()
        if word == "destination":
            moved = _destination(reading, made, words)
        elif word == "service":
            _service(reading, made, words)
        elif word in OPTIONS:
            made.notes.append(word)
        elif word == "inactive":
            made.enabled = False
        elif word == "description":
            made.comment = block.text.partition(" description ")[2].strip()
            words.rest()
        else:
            raise NotUnderstood(f"{word[:40]!r} is not understood in a translation")
    kind = _kind(made, is_same, moved)
    zones = zones_of(pair)
    match = Match(made.source, made.destination, made.services, *zones, unresolved=tuple(dict.fromkeys(made.unresolved)))
    return NatRule(
        name,
        kind,
        match,
        (block.number,),
        "" if is_same else made.source_after,
        made.destination_after,
        made.service_after,
        section,
        enabled=made.enabled,
        comment=made.comment,
        references=tuple(dict.fromkeys(made.references)),
        notes=tuple(made.notes),
    )


def _kind(made: _Twice, is_same: bool, moved: bool) -> NatKind:
    if made.is_dynamic:
        return NatKind.SOURCE
    if not is_same:
        return NatKind.STATIC
    return NatKind.DESTINATION if moved or made.service_after else NatKind.EXEMPT


def _source(reading: Reading, made: _Twice, words: Words) -> str:
    kind = words.accept("static", "dynamic")
    if not kind:
        raise NotUnderstood("static or dynamic is expected")
    made.is_dynamic = kind == "dynamic"
    original = words.next("the real source")
    made.source = _operand(reading, made, original)
    made.source_after = _mapped(made.references, made.notes, words)
    return original


def _mapped(references: list[str], notes: list[str], words: Words) -> str:
    """`interface [ipv6]`, a name, `pat-pool NAME ..`, each with `interface` as what remains when the pool is used up."""
    parts: list[str] = []
    if words.accept("pat-pool"):
        notes.append("pat-pool")
    word = words.next("the mapped address")
    parts.append(word)
    if word == "interface":
        notes.extend(["ipv6"] if words.accept("ipv6") else [])
    elif word != "any" and host_set(word) is None:
        references.append(word)
    if words.accept("pat-pool"):
        notes.append("pat-pool")
        pool = words.next("a pool")
        references.append(pool)
        parts.append(pool)
    while option := words.accept("interface", *POOL_OPTIONS):
        if option == "interface":
            parts.append("interface")
            notes.extend(["ipv6"] if words.accept("ipv6") else [])
        else:
            notes.append(option)
    return ", ".join(dict.fromkeys(parts))


def _destination(reading: Reading, made: _Twice, words: Words) -> bool:
    """`destination static MAPPED REAL`: the packet arrives with the mapped one. True when it is changed."""
    if not words.accept("static"):
        raise NotUnderstood("destination static is expected")
    arriving = words.next("the mapped destination")
    if arriving == "interface":
        words.accept("ipv6")
        made.destination = reading.own_addresses(made.zones[0], made.unresolved)
    else:
        made.destination = _operand(reading, made, arriving)
    real = words.next("the real destination")
    if real not in ("any", arriving):
        made.references.append(real)
    if real != arriving:
        made.destination_after = real
    return real != arriving


def _service(reading: Reading, made: _Twice, words: Words) -> None:
    arriving, leaving = words.next("a service"), words.next("a service")
    if arriving != "any":
        made.references.append(arriving)
        found = reading.services.resolve(arriving)
        made.unresolved += found.unresolved
        made.services = (ANY_SERVICE,) if found.unresolved else found.value
    if leaving != arriving:
        made.references.append(leaving)
        made.service_after = leaving


def _operand(reading: Reading, made: _Twice, name: str) -> AddressSet:
    if name in ("any", "any4", "any6"):
        return ANY
    made.references.append(name)
    found = reading.addresses.resolve(name)
    made.unresolved += found.unresolved
    return bound(found)


def _objects(reading: Reading) -> list[NatRule]:
    """Section 2 orders itself: static first, then the fewest real addresses, the lowest address, the name."""
    made: list[tuple[tuple[bool, int, int, str], NatRule]] = []
    for name, child, pair, body in reading.object_nat:
        found = reading.addresses.resolve(name)
        intervals = found.value.v4 or found.value.v6
        size = 2**129 if found.unresolved else found.value.size
        try:
            rule = _object(name, child, pair, Words(body))
        except NotUnderstood as reason:
            reading.ledger.unparsed(child.line, str(reason))
            continue
        if rule.kind is NatKind.STATIC and host_set(rule.translated_source) == found.value and not rule.translated_service:
            rule = replace(rule, kind=NatKind.EXEMPT, translated_source="")  # an address that is mapped to itself
        match = replace(rule.match, source=bound(found), unresolved=found.unresolved)
        lowest = intervals[0][0] if intervals else 0
        made.append(((body[0].lower() != "static", size, lowest, name), replace(rule, match=match)))
    return [rule for _, rule in sorted(made, key=lambda item: item[0])]


def _object(name: str, child: Block, pair: tuple[str, ...], words: Words) -> NatRule:
    kind = words.next().lower()
    references, notes, new_service = [name], list[str](), ""
    services: Services = (ANY_SERVICE,)
    translated = _inline(words) or _mapped(references, notes, words)
    while words:
        word = words.next().lower()
        if word == "service" and kind == "static":
            protocol = words.accept("tcp", "udp", "sctp")
            number = {"tcp": TCP, "udp": UDP, "sctp": SCTP}.get(protocol)
            if number is None:
                raise NotUnderstood("service needs tcp, udp or sctp")
            port = NAMES.port(words.next("a port"), number)
            services = (Service.of(number, source=((port, port),)),)
            new_service = f"{protocol} {NAMES.port(words.next('a port'), number)}"
        elif word in OPTIONS:
            notes.append(word)
        else:
            raise NotUnderstood(f"{word[:40]!r} is not understood in a translation")
    return NatRule(
        f"auto {name}",
        _object_kind(kind, name, translated),
        Match(ANY, ANY, services, *zones_of(pair)),
        (child.number,),
        "" if translated == name else translated,
        "",
        new_service,
        "auto",
        references=tuple(dict.fromkeys(references)),
        notes=tuple(notes),
    )


def _object_kind(kind: str, name: str, translated: str) -> NatKind:
    if kind == "dynamic":
        return NatKind.SOURCE
    return NatKind.EXEMPT if translated == name else NatKind.STATIC


def _inline(words: Words) -> str:
    """An address written in place of a name, "" when it is a name."""
    word = words.peek()
    low, _, high = word.partition("-")
    is_literal = host_set(word) is not None or prefix_set(word) is not None or (high and range_set(low, high) is not None)
    return words.next() if is_literal and words.peek(1) != "interface" else ""
