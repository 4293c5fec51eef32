"""Operands of a rule as the device names them."""

from __future__ import annotations

from dataclasses import dataclass

from policyhub.domain.addresses import AddressSet
from policyhub.domain.services import Service


@dataclass(frozen=True, slots=True)
class AddressObject:
    """`addresses` is None when the device resolves it at run time (FQDN, dynamic, geo)."""

    name: str
    addresses: AddressSet | None
    kind: str = "static"
    lines: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class ServiceObject:
    name: str
    services: tuple[Service, ...]
    lines: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class ObjectGroup:
    """`members` are names of objects or groups, or literal texts; `kind` is network, service, protocol or icmp."""

    name: str
    kind: str
    members: tuple[str, ...]
    lines: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Zone:
    name: str
    interfaces: tuple[str, ...]
    lines: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Schedule:
    """`text` is the device's own wording; `expires` is an ISO local time when it is absolute."""

    name: str
    text: str
    expires: str | None = None
    lines: tuple[int, ...] = ()
