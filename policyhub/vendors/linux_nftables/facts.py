"""What the matches of one rule say, collected field by field; exact where the model can be, a condition where it cannot."""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from importlib.resources import files

from policyhub.domain.addresses import ANY, ANY4, ANY6, NOWHERE, AddressSet, Interval, complement, normalise
from policyhub.domain.qos import Marker, Policer, parse_dscp
from policyhub.domain.rules import Action, Match
from policyhub.domain.services import ANY_SERVICE, ICMP, ICMPV6, MAX_PORT, MAX_PROTOCOL, WITH_PORTS, Service
from policyhub.vendorkit.lexing import NotUnderstood, is_decimal
from policyhub.vendorkit.operands import Services, narrow
from policyhub.vendors.linux_nftables.cursor import Operand
from policyhub.vendors.linux_nftables.lexer import Token
from policyhub.vendors.linux_nftables.reading import NAMES, PACKAGE, SetDef, Table

_DATA = json.loads(files(PACKAGE).joinpath("names.json").read_text(encoding="utf-8"))
ICMP_CODES: dict[int, dict[str, int]] = {ICMP: _DATA["icmp_codes"], ICMPV6: _DATA["icmp6_codes"]}
TRANSPORTS = {"tcp": 6, "udp": 17, "sctp": 132, "dccp": 33, "udplite": 136, "th": 0}
OWN_DSCP_NAMES = {"lephb": 1}  # RFC 8622 "le"; the other names are the standard ones
ALL_MARKS = frozenset(range(64))
TYPE_OF = {
    "ip saddr": "ipv4_addr", "ip daddr": "ipv4_addr", "ip6 saddr": "ipv6_addr", "ip6 daddr": "ipv6_addr",
    "tcp dport": "inet_service",
    "tcp sport": "inet_service", "udp dport": "inet_service", "udp sport": "inet_service", "th dport": "inet_service",
    "th sport": "inet_service", "meta l4proto": "inet_proto", "iifname": "ifname", "oifname": "ifname", "meta iifname": "ifname",
    "meta oifname": "ifname", "ip protocol": "inet_proto", "ip dscp": "dscp", "ip6 dscp": "dscp", "icmp type": "icmp_type",
    "icmpv6 type": "icmpv6_type",
}  # fmt: skip
HEADER_PROTOCOLS = {
    "icmp": 1, "igmp": 2, "tcp": 6, "udp": 17, "dccp": 33, "gre": 47, "esp": 50, "ah": 51, "icmpv6": 58, "comp": 108, "sctp": 132,
    "udplite": 136,
}  # fmt: skip
ANY_OF = {4: ANY4, 6: ANY6, 0: ANY}


class Inexact(Exception):
    """The field cannot be expressed exactly here; it becomes a condition."""


@dataclass(slots=True)
class Facts:
    """One rule, while it is read. version: 4 or 6 when only that family can match, else 0."""

    table: Table
    version: int = 0
    source: AddressSet = ANY
    destination: AddressSet = ANY
    services: Services = (ANY_SERVICE,)
    icmp_types: tuple[int, ...] | None = None
    icmp_codes: tuple[int, ...] | None = None
    zones_in: tuple[str, ...] = ()
    zones_out: tuple[str, ...] = ()
    dscp: frozenset[int] | None = None
    conditions: list[str] = field(default_factory=list)
    unresolved: list[str] = field(default_factory=list)
    references: list[str] = field(default_factory=list)
    action: Action = Action.CONTINUE
    jumps: list[str] = field(default_factory=list)
    returns: bool = True
    nat: str = ""
    logged: bool = False
    comment: str = ""
    counter: tuple[int, int] | None = None
    counter_name: str = ""
    narrowed_after_counter: bool = False
    marker: Marker | None = None
    policer: Policer | None = None

    def copy(self) -> Facts:
        return replace(
            self, conditions=[*self.conditions], unresolved=[*self.unresolved], references=[*self.references], jumps=[*self.jumps]
        )

    def only(self, version: int) -> None:
        """From here on only packets of one family match."""
        self.version = version if self.version in (0, version) else -1
        self.source = self.source.intersection(ANY_OF[version])
        self.destination = self.destination.intersection(ANY_OF[version])

    def match(self) -> Match:
        services = self.services
        if self.icmp_types is not None:
            services = narrow(services, tuple(self._icmp_services()))
        return Match(
            self.source, self.destination, services, self.zones_in, self.zones_out, self.dscp,
            tuple(dict.fromkeys(self.conditions)), tuple(dict.fromkeys(self.unresolved)),
        )  # fmt: skip

    def _icmp_services(self) -> Iterable[Service]:
        for protocol in (ICMP, ICMPV6):
            if not any(low <= protocol <= high for s in self.services for low, high in s.protocols):
                continue
            intervals: list[Interval] = []
            for kind in self.icmp_types or ():
                codes = self.icmp_codes
                intervals += (
                    [(kind * 256, kind * 256 + 255)] if codes is None else [(kind * 256 + c, kind * 256 + c) for c in codes]
                )
            yield Service.of(protocol, normalise(intervals))


def start(table: Table) -> Facts:
    facts = Facts(table)
    if table.family in ("ip", "ip6"):
        facts.only(4 if table.family == "ip" else 6)
    return facts


def apply(facts: Facts, name: str, operator: str, right: Operand) -> None:
    """Narrow the facts by one match. What cannot be exact becomes a condition; unknown sets become `unresolved`."""
    if facts.counter is not None or facts.counter_name:
        facts.narrowed_after_counter = True
    handler = FIELDS.get(name)
    facts.references += [f"@{known}" for known in right.sets]
    before = (facts.source, facts.destination, facts.services)
    try:
        if handler is None:
            raise Inexact
        handler(facts, name, operator, right)
    except (Inexact, NotUnderstood):
        facts.source, facts.destination, facts.services = before
        implied(facts, name)
        facts.conditions.append(" ".join(part for part in (name, "" if operator == "==" else operator, right.text) if part))


def implied(facts: Facts, name: str) -> None:
    """Whatever is asked of a header, the packet must have it: `ip ttl` means IPv4, `tcp flags` means TCP."""
    layer = name.partition(" ")[0]
    if layer in ("ip", "ip6", "icmp", "icmpv6"):
        facts.only(4 if layer in ("ip", "icmp") else 6)
    if layer in HEADER_PROTOCOLS:
        facts.services = narrow(facts.services, (Service.of(HEADER_PROTOCOLS[layer]),))


def members(facts: Facts, right: Operand, kind: str) -> list[str] | None:
    """Plain values and the elements of named sets of that type; None when a set is unknown or changes by itself."""
    found = list(right.values)
    for name in right.sets:
        known = facts.table.sets.get(name)
        if known is None or known.is_dynamic:
            facts.unresolved.append(f"@{name}")
            return None
        if types(known) != (kind,):
            raise Inexact
        found += keys(known)
    return found


def types(known: SetDef) -> tuple[str, ...]:
    return tuple(TYPE_OF.get(kind, kind) for kind in known.types)


def keys(known: SetDef) -> list[str]:
    found: list[str] = []
    for part in known.elements:
        first = part[0]
        if not isinstance(first, Token) or first.text == "*":
            raise Inexact
        found.append(first.text)
    return found


def address_of(text: str, version: int) -> AddressSet:
    """Host, prefix, prefix with a mask, or range. Raises Inexact for names and the other family."""
    try:
        if "/" in text and "." in text.partition("/")[2]:
            text = str(ipaddress.IPv4Network(text, strict=False))
        found = AddressSet.of(text)
    except ValueError as error:
        raise Inexact from error
    if (version == 4) != bool(found.v4):
        raise Inexact
    return found


def _address(facts: Facts, name: str, operator: str, right: Operand) -> None:
    layer, _, side = name.partition(" ")
    version = 4 if layer == "ip" else 6
    chosen = _addresses(facts, right, version)
    facts.only(version)
    if chosen is None:
        return
    if operator == "!=":
        chosen = ANY_OF[version].minus(chosen)
    elif operator != "==":
        raise Inexact
    if side == "saddr":
        facts.source = chosen if facts.source == ANY_OF[version] else facts.source.intersection(chosen)
    else:
        facts.destination = chosen if facts.destination == ANY_OF[version] else facts.destination.intersection(chosen)


def _addresses(facts: Facts, right: Operand, version: int) -> AddressSet | None:
    """A named set is put together once, however many rules use it. None when it is unknown or changes by itself."""
    known = facts.table.sets.get(right.sets[0]) if len(right.sets) == 1 and not right.values else None
    if known is not None and known.addresses is not None:
        if types(known) != (f"ipv{version}_addr",):
            raise Inexact
        return known.addresses
    texts = members(facts, right, f"ipv{version}_addr")
    if texts is None:
        return None
    chosen = NOWHERE.union(*(address_of(text, version) for text in texts))
    if known is not None:
        known.addresses = chosen
    return chosen


def _numbers(texts: Iterable[str], of: Callable[[str], int]) -> tuple[Interval, ...]:
    """Values and `a-b` ranges. A name may hold a dash: it is tried whole first. Raises NotUnderstood."""
    found: list[Interval] = []
    for text in texts:
        low, dash, high = text.partition("-")
        if dash and is_decimal(low) and is_decimal(high):
            found.append((of(low), of(high)))
            if found[-1][0] > found[-1][1]:
                raise NotUnderstood(f"{text[:40]!r} is not a range")
        else:
            found.append((of(text), of(text)))
    return normalise(found)


def compared(operator: str, chosen: tuple[Interval, ...], top: int) -> tuple[Interval, ...]:
    """`< 1024` and the like, on one value."""
    if operator == "==":
        return chosen
    if operator == "!=":
        return complement(normalise(chosen), top)
    if len(chosen) != 1 or chosen[0][0] != chosen[0][1]:
        raise Inexact
    value = chosen[0][0]
    bounds = {"<": (0, value - 1), "<=": (0, value), ">": (value + 1, top), ">=": (value, top)}[operator]
    return (bounds,) if bounds[0] <= bounds[1] else ()


def _port(facts: Facts, name: str, operator: str, right: Operand) -> None:
    layer, _, side = name.partition(" ")
    protocol = TRANSPORTS[layer]
    protocols: tuple[Interval, ...] = ((protocol, protocol),) if protocol else normalise((p, p) for p in WITH_PORTS)
    known = members(facts, right, "inet_service")
    wanted = Service(protocols)
    if known is not None:
        ports = compared(operator, _numbers(known, lambda text: NAMES.port(text, protocol or None)), MAX_PORT)
        wanted = Service(protocols, ports) if side == "sport" else Service(protocols, destination_ports=ports)
    facts.services = narrow(facts.services, (wanted,))


def _protocol(facts: Facts, name: str, operator: str, right: Operand) -> None:
    known = members(facts, right, "inet_proto")
    if name == "ip protocol":
        facts.only(4)
    elif name == "ip6 nexthdr":
        facts.only(6)
    if known is None:
        return
    protocols = compared(operator, _numbers(known, _protocol_number), MAX_PROTOCOL)
    facts.services = narrow(facts.services, (Service(protocols),))


def _protocol_number(text: str) -> int:
    return NAMES.protocol(text) or 0


def _icmp(facts: Facts, name: str, operator: str, right: Operand) -> None:
    layer, _, what = name.partition(" ")
    protocol = ICMP if layer == "icmp" else ICMPV6
    if operator != "==" or right.sets:
        raise Inexact
    facts.only(4 if protocol == ICMP else 6)
    facts.services = narrow(facts.services, (Service.of(protocol),))
    if what == "type":
        found = [NAMES.icmp_type(text, protocol) for text in right.values]
        if None in found:
            raise Inexact
        facts.icmp_types = tuple(pair[0] for pair in found if pair)
    elif facts.icmp_types is not None:
        table = ICMP_CODES[protocol]
        codes = [int(text) if is_decimal(text) and len(text) < 4 else table.get(text, -1) for text in right.values]
        if any(not 0 <= code <= 255 for code in codes):
            raise Inexact
        facts.icmp_codes = tuple(codes)
    else:
        raise Inexact


def _dscp(facts: Facts, name: str, operator: str, right: Operand) -> None:
    known = members(facts, right, "dscp")
    facts.only(4 if name.startswith("ip ") else 6)
    if known is None:
        raise Inexact
    marks = frozenset(mark for low, high in _numbers(known, dscp_of) for mark in range(low, high + 1))
    if operator == "!=":
        marks = ALL_MARKS - marks
    elif operator != "==":
        raise Inexact
    facts.dscp = marks if facts.dscp is None else facts.dscp & marks


def dscp_of(text: str) -> int:
    """A name or a number, decimal or hexadecimal. Raises Inexact."""
    try:
        return (
            OWN_DSCP_NAMES[text] if text in OWN_DSCP_NAMES else parse_dscp(str(int(text, 16)) if text.startswith("0x") else text)
        )
    except ValueError as error:
        raise Inexact from error


def _interface(facts: Facts, name: str, operator: str, right: Operand) -> None:
    known = members(facts, right, "ifname")
    if known is None or operator != "==" or any("*" in text for text in known):
        raise Inexact
    if name.startswith("meta i"):
        facts.zones_in = _narrower(facts.zones_in, known)
    else:
        facts.zones_out = _narrower(facts.zones_out, known)


def _narrower(before: tuple[str, ...], known: list[str]) -> tuple[str, ...]:
    both = tuple(dict.fromkeys(text for text in known if not before or text in before))
    if not both:
        raise Inexact  # two different names never match; the model has no empty zone
    return both


def _family(facts: Facts, name: str, operator: str, right: Operand) -> None:
    wanted = {"ipv4": 4, "ip": 4, "ipv6": 6, "ip6": 6}
    if operator != "==" or right.sets or len(right.values) != 1 or right.values[0] not in wanted:
        raise Inexact
    facts.only(wanted[right.values[0]])


FIELDS: dict[str, Callable[[Facts, str, str, Operand], None]] = {
    **dict.fromkeys(("ip saddr", "ip daddr", "ip6 saddr", "ip6 daddr"), _address),
    **dict.fromkeys([f"{layer} {side}" for layer in TRANSPORTS for side in ("sport", "dport")], _port),
    **dict.fromkeys(("ip protocol", "ip6 nexthdr", "meta l4proto"), _protocol),
    **dict.fromkeys(("icmp type", "icmp code", "icmpv6 type", "icmpv6 code"), _icmp),
    **dict.fromkeys(("ip dscp", "ip6 dscp"), _dscp),
    **dict.fromkeys(("meta iifname", "meta iif", "meta oifname", "meta oif"), _interface),
    **dict.fromkeys(("meta nfproto", "meta protocol", "ether type"), _family),
}
