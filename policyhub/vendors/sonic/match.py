"""Fields of an ACL rule (sonic-swss aclorch, YANG sonic-acl) and of OpenConfig entries as a Match."""

from __future__ import annotations

from dataclasses import dataclass, field

from policyhub.domain.addresses import ANY, ANY4, ANY6, AddressSet, Interval
from policyhub.domain.rules import Match
from policyhub.domain.services import (
    ALL_PORTS,
    ANY_SERVICE,
    ICMP,
    ICMPV6,
    MAX_PORT,
    MAX_PROTOCOL,
    TCP,
    UDP,
    Service,
    shared_service,
)
from policyhub.vendorkit.lexing import NotUnderstood, host_set, is_decimal, number_in, prefix_set
from policyhub.vendorkit.operands import alone

TCP_AND_UDP: tuple[Interval, ...] = ((TCP, TCP), (UDP, UDP))
ANY_OF = {0: ANY, 4: ANY4, 6: ANY6}
IP_TYPES = {
    "ANY": 0, "IP": 0, "NON_IP": -1, "IPV4ANY": 4, "IPV4": 4, "NON_IPV4": -1, "IPV6ANY": 6, "IPV6": 6, "NON_IPV6": -1,
    "ARP": -1, "ARP_REQUEST": -1, "ARP_REPLY": -1,
}  # fmt: skip
PROTOCOL_NAMES = {
    "IP_ICMP": 1, "IP_IGMP": 2, "IP_TCP": 6, "IP_UDP": 17, "IP_RSVP": 46, "IP_GRE": 47, "IP_AUTH": 51, "IP_ICMPV6": 58,
    "IP_PIM": 103, "IP_L2TP": 115, "TCP": 6, "UDP": 17, "ICMP": 1, "ICMPV6": 58, "GRE": 47,
}  # fmt: skip


@dataclass(slots=True)
class Fields:
    """One rule while it is read. version: 4 or 6 when only that family can match."""

    version: int = 0
    source: AddressSet | None = None
    destination: AddressSet | None = None
    protocol: int | None = None
    source_ports: tuple[Interval, ...] = ALL_PORTS
    destination_ports: tuple[Interval, ...] = ALL_PORTS
    icmp_type: int | None = None
    icmp_code: int | None = None
    dscp: frozenset[int] | None = None
    zones_in: tuple[str, ...] = ()
    zones_out: tuple[str, ...] = ()
    conditions: list[str] = field(default_factory=list)
    unresolved: list[str] = field(default_factory=list)

    def only(self, version: int) -> None:
        """Raises NotUnderstood when the rule is of the other family."""
        if self.version not in (0, version):
            raise NotUnderstood("fields of IPv4 and IPv6 stand in one rule")
        self.version = version

    def address(self, side: str, text: str, version: int = 0) -> None:
        found = prefix_set(text) if "/" in text else host_set(text)
        if found is None:
            raise NotUnderstood(f"{text[:60]!r} is not an address")
        family = 4 if found.v4 else 6
        if version not in (0, family):
            raise NotUnderstood(f"{text[:60]!r} is not an IPv{version} address")
        self.only(family)
        if side == "source":
            self.source = found
        else:
            self.destination = found

    def set_protocol(self, text: str) -> None:
        self.protocol = (
            PROTOCOL_NAMES[text.upper()] if text.upper() in PROTOCOL_NAMES else number_in(text, 0, MAX_PROTOCOL, "a protocol")
        )

    def icmp(self, protocol: int, kind: str, text: str) -> None:
        number = number_in(text, 0, 255, f"an ICMP {kind}")
        if kind == "type":
            self.icmp_type = number
        else:
            self.icmp_code = number
        if self.protocol not in (None, ICMP, ICMPV6):
            raise NotUnderstood("an ICMP field is given for another protocol")
        self.protocol = self.protocol or protocol

    def services(self) -> tuple[Service, ...]:
        has_ports = self.source_ports != ALL_PORTS or self.destination_ports != ALL_PORTS
        if self.icmp_type is not None:
            base = self.icmp_type * 256
            code = self.icmp_code
            return (Service.of(self.protocol, ((base, base + 255) if code is None else (base + code, base + code),)),)
        if self.protocol is None:
            return alone(shared_service(TCP_AND_UDP, self.source_ports, self.destination_ports) if has_ports else ANY_SERVICE)
        return alone(shared_service(((self.protocol, self.protocol),), self.source_ports, self.destination_ports))

    def match(self) -> Match:
        whole = ANY_OF[self.version]
        if self.icmp_code is not None and self.icmp_type is None:
            self.conditions.append(f"ICMP code {self.icmp_code}")
        return Match(
            self.source or whole, self.destination or whole, self.services(), self.zones_in, self.zones_out, self.dscp,
            tuple(self.conditions), tuple(self.unresolved),
        )  # fmt: skip


def ports(text: str) -> tuple[Interval, ...]:
    """`80`, `80-90`, `80..90`. Raises NotUnderstood."""
    low, dash, high = text.replace("..", "-").partition("-")
    first = number_in(low.strip(), 0, MAX_PORT, "a port")
    last = number_in(high.strip(), 0, MAX_PORT, "a port") if dash else first
    if first > last:
        raise NotUnderstood(f"{text[:40]!r} is not a range of ports")
    return ((first, last),)


def masked(text: str, most: int) -> frozenset[int]:
    """`46`, `46/63`, `0x2e/0x3f`: the numbers 0..most that agree under the mask. Raises NotUnderstood."""
    value, slash, mask = text.partition("/")
    number, bits = integer(value), integer(mask) if slash else most
    if number > most:
        raise NotUnderstood(f"{text[:40]!r} is over {most}")
    return frozenset(n for n in range(most + 1) if n & bits == number & bits)


def integer(text: str) -> int:
    text = text.strip()
    if is_decimal(text) and len(text) < 12:
        return int(text)
    try:
        return int(text, 16) if text.lower().startswith("0x") and len(text) < 14 else _no(text)
    except ValueError:
        return _no(text)


def _no(text: str) -> int:
    raise NotUnderstood(f"{text[:40]!r} is not a number")


def ethertype(fields: Fields, text: str, name: str) -> None:
    number = integer(text)
    if number == 0x0800:
        fields.only(4)
    elif number == 0x86DD:
        fields.only(6)
    else:
        fields.conditions.append(f"{name} {text}")
