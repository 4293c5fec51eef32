"""Services: IP protocol plus ports or ICMP types, as closed intervals."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from policyhub.domain.addresses import Interval, complement, intersect, normalise

MAX_PORT = 65535
MAX_PROTOCOL = 255
ICMP, TCP, UDP, ICMPV6, SCTP = 1, 6, 17, 58, 132
WITH_PORTS = frozenset({TCP, UDP, SCTP, 33, 136})
ALL_PORTS: tuple[Interval, ...] = ((0, MAX_PORT),)
ALL_PROTOCOLS: tuple[Interval, ...] = ((0, MAX_PROTOCOL),)


@dataclass(frozen=True, slots=True)
class Service:
    """One product of protocol, source port and destination port intervals.

    For ICMP and ICMPv6 `destination_ports` holds type * 256 + code (0..65535) and `source_ports` is everything.
    """

    protocols: tuple[Interval, ...] = ALL_PROTOCOLS
    source_ports: tuple[Interval, ...] = ALL_PORTS
    destination_ports: tuple[Interval, ...] = ALL_PORTS

    @classmethod
    def of(
        cls,
        protocol: int | None = None,
        destination: tuple[Interval, ...] | None = None,
        source: tuple[Interval, ...] | None = None,
    ) -> Service:
        protocols = ALL_PROTOCOLS if protocol is None else ((protocol, protocol),)
        return shared_service(protocols, normalise(source or ALL_PORTS), normalise(destination or ALL_PORTS))

    @property
    def is_any(self) -> bool:
        return self == ANY_SERVICE

    @property
    def any_port(self) -> bool:
        return self.destination_ports == ALL_PORTS

    def overlaps(self, other: Service) -> bool:
        return bool(
            intersect(self.protocols, other.protocols)
            and intersect(self.source_ports, other.source_ports)
            and intersect(self.destination_ports, other.destination_ports)
        )


ANY_SERVICE = Service()
#: One object for equal services: thousands of rules use the same few. Arguments as those of Service.
shared_service = lru_cache(maxsize=1024)(Service)


def ports_except(ports: tuple[Interval, ...]) -> tuple[Interval, ...]:
    """For `neq`."""
    return complement(normalise(ports), MAX_PORT)
