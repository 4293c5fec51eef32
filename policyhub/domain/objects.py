"""Operands of a rule as the device names them."""

from __future__ import annotations

from dataclasses import dataclass

from policyhub.domain.addresses import AddressSet
from policyhub.domain.services import Service


@dataclass(frozen=True, slots=True)
class AddressObject:
    """`addresses` is None when the device resolves it at run time; `kind`: static, fqdn, dynamic, geo. `text`: its words."""

    name: str
    addresses: AddressSet | None
    kind: str = "static"
    lines: tuple[int, ...] = ()
    text: str = ""
    context: str = ""


@dataclass(frozen=True, slots=True)
class ServiceObject:
    name: str
    services: tuple[Service, ...]
    lines: tuple[int, ...] = ()
    context: str = ""


@dataclass(frozen=True, slots=True)
class ObjectGroup:
    """`members` are names of objects or groups, or literal texts; `kind` is network, service, protocol or icmp.

    excluded: members taken away from the others (FortiOS exclude, Hillstone exclude, Check Point group with exclusion).
    """

    name: str
    kind: str
    members: tuple[str, ...]
    lines: tuple[int, ...] = ()
    excluded: tuple[str, ...] = ()
    context: str = ""


@dataclass(frozen=True, slots=True)
class Zone:
    name: str
    interfaces: tuple[str, ...]
    lines: tuple[int, ...] = ()
    context: str = ""


@dataclass(frozen=True, slots=True)
class Schedule:
    """`text` is the device's own wording; `expires` is an ISO local time when it is absolute."""

    name: str
    text: str
    expires: str | None = None
    lines: tuple[int, ...] = ()
    context: str = ""
