"""What one iptables rule says, collected option by option: exact where the model can be, a condition where it cannot."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field
from functools import lru_cache

from policyhub.domain.addresses import ANY4, ANY6, MAX6, AddressSet, Interval, intersect, normalise
from policyhub.domain.addresses import complement as complement_of
from policyhub.domain.rules import Match
from policyhub.domain.services import (
    ALL_PORTS,
    ALL_PROTOCOLS,
    ANY_SERVICE,
    ICMP,
    ICMPV6,
    MAX_PORT,
    MAX_PROTOCOL,
    WITH_PORTS,
    Service,
    ports_except,
    shared_service,
)
from policyhub.vendorkit.lexing import NotUnderstood, all_but, host_set, is_decimal, masked_set, prefix_set, range_set
from policyhub.vendorkit.operands import alone
from policyhub.vendorkit.service_names import ServiceNames
from policyhub.vendorkit.xtables.sets import SetTable

PACKAGE = "policyhub.vendorkit.xtables"
NAMES = ServiceNames.of(PACKAGE)
ICMP_ANY = 255  # iptables' own number for "every type"
KEY_PROTOCOLS = {1: "icmp", 6: "tcp", 17: "udp", 47: "gre", 50: "esp", 51: "ah", 58: "icmpv6", 132: "sctp"}
ANY_OF = {4: ANY4, 6: ANY6}
MOST_KNOWN = 256  # addresses held for rules that use them again: most never come again, and each takes ten times its text


@dataclass(slots=True)
class Context:
    """What rules of one text share: named sets, and the last addresses read."""

    sets: SetTable
    addresses: dict[tuple[int, str], tuple[AddressSet | None, str]] = field(default_factory=dict)
    named: dict[tuple[int, bool, str], AddressSet | None] = field(default_factory=dict)


@dataclass(slots=True)
class Facts:
    """One rule while it is read. `key` holds the parts by which a save and a listing of one rule are known as equal."""

    version: int
    context: Context
    source: AddressSet
    destination: AddressSet
    protocol: int | None = None
    protocol_is_negated: bool = False
    source_ports: tuple[Interval, ...] = ALL_PORTS
    destination_ports: tuple[Interval, ...] = ALL_PORTS
    icmp: tuple[Interval, ...] | None = None
    port_services: tuple[Service, ...] | None = None
    zones_in: tuple[str, ...] = ()
    zones_out: tuple[str, ...] = ()
    dscp: frozenset[int] | None = None
    conditions: list[str] = field(default_factory=list)
    unresolved: list[str] = field(default_factory=list)
    references: list[str] = field(default_factory=list)
    comment: str = ""
    schedule: str = ""
    target: str = ""
    is_goto: bool = False
    target_words: list[str] = field(default_factory=list)
    key: dict[str, str] = field(default_factory=dict)
    middle: str = ""

    @classmethod
    def start(cls, version: int, context: Context) -> Facts:
        return cls(version, context, ANY_OF[version], ANY_OF[version])

    def set_address(self, side: str, text: str, negated: bool) -> None:
        """`-s`/`-d`: host, prefix, mask, list of them, or a name that only the device can resolve."""
        known = self.context.addresses.get((self.version, text))
        if known is None:
            if len(self.context.addresses) >= MOST_KNOWN:
                self.context.addresses.clear()
            known = self.context.addresses[self.version, text] = (self._addresses(text), _spelled(text))
        found, spelled = known
        if spelled:
            self.key[side] = f"! {spelled}" if negated else spelled
        if found is None:
            self.unresolved.append(text)
            return
        self.narrow(side, all_but(ANY_OF[self.version], found) if negated else found)

    def narrow(self, side: str, found: AddressSet) -> None:
        whole = ANY_OF[self.version]
        if side == "-s":
            self.source = found if self.source is whole else self.source.intersection(found)
        else:
            self.destination = found if self.destination is whole else self.destination.intersection(found)

    def _addresses(self, text: str) -> AddressSet | None:
        parts = [self._one_address(part) for part in text.split(",") if part]
        known = [part for part in parts if part is not None]
        if not parts or len(known) < len(parts):
            return None
        return known[0].union(*known[1:]) if len(known) > 1 else known[0]

    def _one_address(self, text: str) -> AddressSet | None:
        """None for a name. Raises NotUnderstood for an address of the other family."""
        if text in ("anywhere", "any", "default"):
            return ANY_OF[self.version]
        address, slash, mask = text.partition("/")
        found = prefix_set(text) if slash and is_decimal(mask) else host_set(text) if not slash else None
        if found is None and slash and not is_decimal(mask):
            found = masked_set(address, mask) or _masked6(address, mask)
        if found is not None and bool(found.v4) != (self.version == 4):
            raise NotUnderstood(f"{text[:60]} is an address of the other family")
        if found is None and (not any(c.isalpha() for c in text) or slash):
            raise NotUnderstood(f"{text[:60]!r} is not an address")
        return found

    def set_range(self, side: str, text: str, negated: bool) -> None:
        low, dash, high = text.partition("-")
        found = range_set(low, high) if dash else host_set(low)
        if found is None or bool(found.v4) != (self.version == 4):
            raise NotUnderstood(f"{text[:60]!r} is not a range of addresses")
        self.narrow(side, all_but(ANY_OF[self.version], found) if negated else found)

    def set_protocol(self, text: str, negated: bool) -> None:
        number = NAMES.protocol(text)
        if number == 0:
            number = None  # iptables: 0 is every protocol
        if number is None:
            if negated:
                raise NotUnderstood("no protocol is left")
            return
        self.protocol, self.protocol_is_negated = number, negated
        name = KEY_PROTOCOLS.get(number, str(number))
        self.key["-p"] = f"! {name}" if negated else name

    def set_interface(self, side: str, text: str, negated: bool) -> None:
        """Wildcards and negations are conditions: an interface list has no complement."""
        if text in ("*", "any", "+") and not negated:
            return
        self.key[side] = f"! {text}" if negated else text
        if negated or text.endswith("+"):
            self.conditions.append(f"{'! ' if negated else ''}{side} {text}")
        elif side == "-i":
            self.zones_in = tuple(text.split(","))  # Cumulus takes lists
        else:
            self.zones_out = tuple(text.split(","))

    def set_ports(self, side: str, text: str, negated: bool) -> None:
        """`22`, `1024:`, `80,443`, `http`; iptables-save and listings print `a:b`."""
        ranges = [self._port_range(part) for part in text.split(",") if part]
        if not ranges:
            raise NotUnderstood(f"{text[:40]!r} is not a port")
        if any(first > last for first, last in ranges):  # older kernels kept such a range; it matches nothing
            self.key[side] = f"! {text}" if negated else text
            self.conditions.append(f"{'! ' if negated else ''}{side} {text}")
            return
        found = normalise(ranges)
        others = ports_except(found)
        if negated and len(others) == 1:  # the kernel prints `! --dport :99` as `--dport 100:65535`
            found, negated = others, False
        spelled = ",".join(str(low) if low == high else f"{low}:{high}" for low, high in found)
        self.key[side] = f"! {spelled}" if negated else spelled
        found = others if negated else found
        if side == "--sport":
            self.source_ports = intersect(self.source_ports, found)
        else:
            self.destination_ports = intersect(self.destination_ports, found)

    def _port_range(self, text: str) -> Interval:
        low, colon, high = text.partition(":")
        if not colon and "-" in text and text.replace("-", "").isdigit():
            low, colon, high = text.partition("-")
        first = NAMES.port(low, self.protocol) if low else 0
        last = (NAMES.port(high, self.protocol) if high else MAX_PORT) if colon else first
        return first, last

    def set_icmp(self, text: str, negated: bool) -> None:
        """`8`, `3/4`, `echo-request`, `any`."""
        word, slash, code_text = text.partition("/")
        known = NAMES.icmp_type(word, ICMPV6 if self.version == 6 else ICMP)
        if known is None and self.version == 4:
            known = NAMES.icmp.get(word)  # names with capitals
        if known is None or (slash and not (is_decimal(code_text) and len(code_text) <= 3 and int(code_text) <= 255)):
            raise NotUnderstood(f"{text[:40]!r} is not an ICMP type")
        kind, code = known
        if slash:
            code = int(code_text)
        if kind == ICMP_ANY and self.version == 4 and code is None:
            return
        base = kind * 256
        found: tuple[Interval, ...] = ((base, base + 255) if code is None else (base + code, base + code),)
        self.icmp = complement_of(found, MAX_PORT) if negated else found
        if self.protocol is None:
            self.protocol = ICMPV6 if self.version == 6 else ICMP

    def set_dscp(self, value: int, negated: bool) -> None:
        found = _marks(value, negated)
        self.dscp = found if self.dscp is None else self.dscp & found

    def use_set(self, name: str, flags: str, negated: bool) -> None:
        """`--match-set NAME src|dst`: exact for sets of addresses or ports."""
        self.references.append(f"set {name}")
        sets = self.context.sets
        if flags not in ("src", "dst"):
            self.conditions.append(f"set {'! ' if negated else ''}--match-set {name} {flags}")
            return
        side = "-s" if flags == "src" else "-d"
        found = self._set(name, negated)
        if found is not None:
            self.narrow(side, found)
            return
        ports = sets.ports_of(name)
        if ports is not None:
            chosen = ports_except(ports) if negated else ports
            if side == "-s":
                self.source_ports = intersect(self.source_ports, chosen)
            else:
                self.destination_ports = intersect(self.destination_ports, chosen)
            if self.protocol is None:
                self.conditions.append("set of ports")
            return
        if name in sets and not sets.is_open(name):
            self.conditions.append(f"set {'! ' if negated else ''}--match-set {name} {flags}")
        else:
            self.unresolved.append(f"set {name}")

    def _set(self, name: str, negated: bool) -> AddressSet | None:
        """Addresses of a set in the rule's family; put together once, however many rules use it."""
        key = (self.version, negated, name)
        if key not in self.context.named:
            found = self.context.sets.addresses_of(name)
            if found is not None:
                found = AddressSet(found.v4) if self.version == 4 else AddressSet((), found.v6)
                found = ANY_OF[self.version].minus(found) if negated else found
            self.context.named[key] = found
        return self.context.named[key]

    def services(self) -> tuple[Service, ...]:
        """Raises NotUnderstood when ports stand without a protocol that has them."""
        has_ports = self.source_ports != ALL_PORTS or self.destination_ports != ALL_PORTS
        if self.protocol is None:
            if has_ports and "set of ports" not in self.conditions:
                raise NotUnderstood("ports are given without a protocol")
            return (Service(ALL_PROTOCOLS, self.source_ports, self.destination_ports),) if has_ports else (ANY_SERVICE,)
        one: tuple[Interval, ...] = ((self.protocol, self.protocol),)
        if self.protocol_is_negated:
            if has_ports or self.icmp is not None:
                raise NotUnderstood("ports or types are given for a negated protocol")
            return (Service(complement_of(one, MAX_PROTOCOL)),)
        if has_ports and self.protocol not in WITH_PORTS:
            raise NotUnderstood("ports are given for a protocol that has none")
        if self.icmp is not None:
            if self.protocol not in (ICMP, ICMPV6):
                raise NotUnderstood("an ICMP type is given for another protocol")
            return (Service(one, ALL_PORTS, self.icmp),)
        if not self.source_ports or not self.destination_ports:
            raise NotUnderstood("no port is left")
        return alone(shared_service(one, self.source_ports, self.destination_ports))

    def match(self) -> Match:
        return Match(
            self.source, self.destination, self.services(), self.zones_in, self.zones_out, self.dscp,
            tuple(dict.fromkeys(self.conditions)), tuple(dict.fromkeys(self.unresolved)),
        )  # fmt: skip

    def key_text(self) -> str:
        parts: list[str] = []
        for option in ("-s", "-d", "-i", "-o", "-p", "--sport", "--dport"):
            value = self.key.get(option)
            if value:
                parts.append(f"! {option} {value[2:]}" if value.startswith("! ") else f"{option} {value}")
        if self.target:
            parts.append(f"{'-g' if self.is_goto else '-j'} {self.target}")
        return " ".join(parts)


@lru_cache(maxsize=128)
def _marks(value: int, negated: bool) -> frozenset[int]:
    """Shared: all marks but one take four kB."""
    return frozenset(range(64)) - {value} if negated else frozenset({value})


def _spelled(text: str) -> str:
    """An address as both outputs would print it, host bits cleared; "" for everything."""
    return ",".join(filter(None, (_spelled_one(part) for part in text.split(",")))) if "," in text else _spelled_one(text)


def _spelled_one(text: str) -> str:
    if text in ("anywhere", "any", "default", "0.0.0.0/0", "::/0", "0/0"):
        return ""
    address, slash, mask = text.partition("/")
    if not slash:
        return text
    try:
        network = ipaddress.ip_network(f"{address}/{_length6(mask) if ':' in mask else mask}", strict=False)
    except ValueError:
        return text
    if network.prefixlen in (0, network.max_prefixlen):
        return str(network.network_address) if network.prefixlen else ""
    return str(network)


def _length6(mask: str) -> int:
    """Raises ValueError for a mask with holes."""
    bits = int(ipaddress.IPv6Address(mask)) ^ MAX6
    if bits & (bits + 1):
        raise ValueError("a mask with holes")
    return 128 - bits.bit_length()


def _masked6(address: str, mask: str) -> AddressSet | None:
    if ":" not in address or ":" not in mask:
        return None
    try:
        return AddressSet.of(f"{address}/{_length6(mask)}")
    except ValueError:
        return None
