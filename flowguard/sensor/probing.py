"""Sends marked probes at a steady rate. The socket, the clock and the sleep are the caller's."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable
from dataclasses import dataclass

from flowguard.domain.probe import IP4_HEAD, IP6_HEAD, UDP_HEAD, payload

MOST_PER_SECOND, MOST_PACKETS = 1_000, 100_000
ETHERNET = 14


@dataclass(frozen=True, slots=True)
class Plan:
    """count: probes of each mark; the marks take turns. size: bytes of payload. run: 16 hex digits."""

    run: str
    to: str
    port: int
    marks: tuple[int, ...]
    count: int
    per_second: int
    size: int

    @property
    def family(self) -> socket.AddressFamily:
        return socket.AF_INET if ipaddress.ip_address(self.to).version == 4 else socket.AF_INET6

    @property
    def sequence(self) -> tuple[int, ...]:
        """The mark of each probe, by its number."""
        return self.marks * self.count

    @property
    def bits_per_second(self) -> int:
        """On the wire, Ethernet header included."""
        head = IP4_HEAD if self.family == socket.AF_INET else IP6_HEAD
        return 8 * self.per_second * (ETHERNET + head + UDP_HEAD + self.size)


def send(plan: Plan, sender: socket.socket, *, clock_ns: Callable[[], int], sleep: Callable[[float], object]) -> None:
    """Every probe of the plan. Two are never closer than the rate allows, also behind a pause of this machine.

    sender: a UDP socket of the plan's family. Raises OSError when one cannot be sent.
    """
    level, option = (
        (socket.IPPROTO_IP, socket.IP_TOS) if plan.family == socket.AF_INET else (socket.IPPROTO_IPV6, socket.IPV6_TCLASS)
    )
    due = clock_ns()
    for number, mark in enumerate(plan.sequence):
        now = clock_ns()
        if due > now:
            sleep((due - now) / 1e9)
        due = max(due, now) + 10**9 // plan.per_second
        sender.setsockopt(level, option, mark << 2)
        sender.sendto(payload(plan.run, number, mark, clock_ns(), plan.size), (plan.to, plan.port))
