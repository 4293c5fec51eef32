"""Ports and protocols as lists in one word, with the names of /etc/services: VyOS, RouterOS, pf."""

from __future__ import annotations

from policyhub.domain.addresses import Interval, complement, normalise
from policyhub.domain.services import (
    ALL_PORTS,
    ANY_SERVICE,
    MAX_PORT,
    MAX_PROTOCOL,
    TCP,
    UDP,
    WITH_PORTS,
    Service,
    shared_service,
)
from policyhub.vendorkit.lexing import NotUnderstood
from policyhub.vendorkit.service_names import ServiceNames

NAMES = ServiceNames.of("policyhub.vendorkit.xtables")


def port_list(text: str, protocol: int | None = None) -> tuple[Interval, ...]:
    """`22,80-90,http`, with `!` in front everything else. Raises NotUnderstood."""
    is_negated = text.startswith("!")
    found: list[Interval] = []
    for part in text.removeprefix("!").split(","):
        name = part.strip()
        if "-" in name and not NAMES.knows_port(name, protocol):
            first, _, last = name.partition("-")
            low, high = NAMES.port(first.strip(), protocol), NAMES.port(last.strip(), protocol)
            if low > high:
                raise NotUnderstood(f"{name[:40]!r} is not a range of ports")
            found.append((low, high))
        elif name:
            port = NAMES.port(name, protocol)
            found.append((port, port))
    if not found:
        raise NotUnderstood("the ports are empty")
    return complement(normalise(found), MAX_PORT) if is_negated else normalise(found)


def service_of(
    protocols: tuple[Interval, ...] | None, source: tuple[Interval, ...], destination: tuple[Interval, ...]
) -> Service:
    """protocols None: none is named, so ports mean TCP and UDP. Raises NotUnderstood when ports stand with a protocol without."""
    has_ports = source != ALL_PORTS or destination != ALL_PORTS
    if protocols is None:
        return shared_service(((TCP, TCP), (UDP, UDP)), source, destination) if has_ports else ANY_SERVICE
    if has_ports and not all(low == high and low in WITH_PORTS for low, high in protocols):
        raise NotUnderstood("ports are given for a protocol that has none")
    return shared_service(protocols, source, destination)


def protocol_list(text: str) -> tuple[Interval, ...] | None:
    """`tcp`, `tcp_udp`, `50`, `!tcp`, None for every protocol. Raises NotUnderstood."""
    word = text.removeprefix("!").lower()
    if word == "tcp_udp":
        found: tuple[Interval, ...] = ((TCP, TCP), (UDP, UDP))
    else:
        number = NAMES.protocol(word)
        if number is None:
            return None
        found = ((number, number),)
    return complement(found, MAX_PROTOCOL) if text.startswith("!") else found
