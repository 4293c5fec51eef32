"""Routes, MTU, contexts, ICMP to the device itself, and the path of a packet."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from policyhub.domain.addresses import ANY4, ANY6, AddressSet
from policyhub.domain.device_config import Route
from policyhub.domain.evaluation import Seen, Stage, StageKind
from policyhub.domain.rules import Action, Binding, Match, Policy, Rule
from policyhub.domain.services import ICMP, ICMPV6, Service
from policyhub.vendorkit.blocks import Block
from policyhub.vendorkit.ios_lines import take_prefix
from policyhub.vendorkit.lexing import NotUnderstood, Words, host_set, is_decimal, number_in, prefix_set
from policyhub.vendors.cisco_asa.interfaces import new_interface
from policyhub.vendors.cisco_asa.objects import read_literal
from policyhub.vendors.cisco_asa.reading import NAMES, Reading

DISCARDING = "null0"
INTERFACE_THEN_GLOBAL = "the list of the interface, then the global one"
EQUAL_LEVELS = {
    "inter-interface": "interfaces of equal security level may talk to each other",
    "intra-interface": "traffic may leave through the interface it came from",
}


def read_route(reading: Reading, block: Block) -> None:
    """`route IF A M GATEWAY [DISTANCE] [track N|tunneled]`, `route Null0 A M`."""
    words = Words(block.words, 1)
    interface = words.next("an interface")
    address, mask = words.next("a destination"), words.next("a mask")
    address, mask = ("0.0.0.0" if word == "0" else reading.aliases.get(word, word) for word in (address, mask))  # noqa: S104 (an operand)
    prefix = take_prefix(Words([address, mask]))
    _add_route(reading, words, prefix, interface, block.number)


def read_ipv6_route(reading: Reading, block: Block) -> None:
    """`ipv6 route IF P/L GATEWAY [DISTANCE]`."""
    words = Words(block.words, 2)
    interface, prefix = words.next("an interface"), words.next("a prefix")
    if prefix_set(prefix) is None:
        raise NotUnderstood(f"{prefix[:60]!r} is not a prefix")
    _add_route(reading, words, prefix, interface, block.number)


def _add_route(reading: Reading, words: Words, prefix: str, interface: str, line: int) -> None:
    hop = reading.aliases.get(words.peek(), words.peek())
    if host_set(hop) is None:
        hop = ""
    else:
        words.next()
    distance = number_in(words.next(), 0, 255, "a distance") if is_decimal(words.peek()) else None
    while words:
        if words.accept("track"):
            words.next("a number")
        elif not words.accept("tunneled"):
            raise NotUnderstood(f"{words.peek()[:40]!r} is not understood in a route")
    is_null = interface.lower() == DISCARDING
    reading.routes.append(Route(prefix, hop, interface, distance=distance, discard=is_null, lines=(line,)))


def read_mtu(reading: Reading, block: Block) -> None:
    """`mtu IF BYTES`."""
    words = Words(block.words, 1)
    zone, mtu = words.next("an interface"), number_in(words.next("bytes"), 64, 65535, "an MTU in bytes")
    known = reading.interfaces.get(reading.hardware.get(zone, ""))
    if known is not None:
        reading.interfaces[known.name] = replace(known, mtu=mtu)


PORT_RANGE = re.compile(r"^(?P<stem>[A-Za-z][\w/.-]*?)(?P<low>\d{1,6})-(?P=stem)(?P<high>\d{1,6})$")
MOST_PORTS = 1024  # of one range; a device has fewer


def read_context(reading: Reading, block: Block) -> None:
    """`context NAME` of the system configuration: whose interfaces are whose. `allocate-interface IF[-IF] [ALIAS] [visible]`."""
    words = Words(block.words, 1)
    name = words.next("a name")
    words.end()
    for child in block.children:
        below = Words(child.words)
        if not below.accept("allocate-interface"):
            continue
        with reading.ledger.booking(child.line):
            for hardware in _allocated(below.next("an interface")):
                known = reading.interfaces.get(hardware) or new_interface(hardware)
                reading.interfaces[hardware] = replace(known, context=name, lines=(*known.lines, child.number))


def _allocated(text: str) -> list[str]:
    """`GigabitEthernet0/1.100-GigabitEthernet0/1.110` is every port between. Raises NotUnderstood."""
    found = PORT_RANGE.match(text)
    if found is None:
        return [text]
    low, high = int(found["low"]), int(found["high"])
    if not low <= high < low + MOST_PORTS:
        raise NotUnderstood(f"{text[:40]!r} is not a range of interfaces")
    return [f"{found['stem']}{number}" for number in range(low, high + 1)]


def read_icmp(reading: Reading, block: Block) -> None:
    """`icmp permit|deny A M|host A|any [TYPE] IF`: who may send ICMP to the device. Other `icmp` lines hold no rule."""
    words = Words(block.words, 1)
    is_v6 = words.accept("icmp") == "icmp"
    verb = words.accept("permit", "deny")
    if not verb:
        raise NotUnderstood("not understood")
    source = _icmp_source(reading, words, ANY6 if is_v6 else ANY4)
    protocol = ICMPV6 if is_v6 else ICMP
    service = None if len(words.words) - words.at < 2 else NAMES.read_icmp(words, protocol)
    interface = words.next("an interface")
    words.end()
    name = f"{'ipv6 icmp' if is_v6 else 'icmp'} {interface}"
    known = reading.icmp_rules.setdefault(name, [])
    match = Match(source, ANY6 if is_v6 else ANY4, (service or Service.of(protocol),))
    rule = Rule(f"{name} line {len(known) + 1}", Action(verb), match, (block.number,), " ".join(block.words))
    known.append((interface, rule))


def _icmp_source(reading: Reading, words: Words, everything: AddressSet) -> AddressSet:
    if words.accept("any"):
        return everything
    found = reading.host(words.next("an address")) if words.accept("host") else read_literal(reading, words)[0]
    if found is None:
        raise NotUnderstood("an address is expected")
    return found


def icmp_policies(reading: Reading) -> Iterator[Policy]:
    """An interface with such a line refuses what no line permits; one without takes all ICMP."""
    for name, entries in reading.icmp_rules.items():
        rules = tuple(rule for _, rule in entries)
        lines = tuple(line for rule in rules for line in rule.lines)
        family = 6 if name.startswith("ipv6") else 4
        binding = Binding(entries[0][0], "local", lines)
        yield Policy(name, rules, Action.DENY, family, (binding,), lines, notes=("ICMP to the device itself",))


def read_same_security(reading: Reading, block: Block) -> None:
    """`same-security-traffic permit inter-interface|intra-interface`."""
    words = Words(block.words, 1)
    note = EQUAL_LEVELS.get(words.next().lower()) if words.accept("permit") else None
    if note is None:
        raise NotUnderstood("permit inter-interface or permit intra-interface is expected")
    words.end()
    reading.equal_levels.append(note)


def evaluation(reading: Reading, policies: list[Policy]) -> Iterator[Stage]:
    """Lists see real addresses from 8.3 on, before that the addresses of their interface (Cisco ASA, migrating to 8.3)."""
    coming = [p.name for p in policies if any(b.direction == "in" and b.interface for b in p.bindings)]
    everywhere = [p.name for p in policies if any(b.direction == "in" and not b.interface for b in p.bindings)]
    leaving = tuple(p.name for p in policies if any(b.direction == "out" for b in p.bindings))
    has_nat = bool(reading.twice or reading.object_nat or reading.old_nat)
    if not (coming or everywhere or leaving or has_nat or reading.equal_levels):
        return
    is_old = reading.is_before_83
    seen = Seen.ORIGINAL if is_old else Seen.TRANSLATED
    first = tuple(dict.fromkeys([*coming, *everywhere]))
    note = "; ".join([INTERFACE_THEN_GLOBAL, *dict.fromkeys(reading.equal_levels)])
    entering = Stage(StageKind.FILTER, first, seen, note=note)
    exits = [Stage(StageKind.FILTER, leaving, Seen.TRANSLATED, note="the list of the interface")] if leaving else []
    undo = [Stage(StageKind.DESTINATION_NAT)] if has_nat else []
    do = [Stage(StageKind.SOURCE_NAT)] if has_nat else []
    route = Stage(StageKind.ROUTE)
    yield from [entering, *undo, route, *do, *exits] if is_old else [*undo, entering, route, *exits, *do]
