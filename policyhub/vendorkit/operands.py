"""Named operands of rules: nested groups resolved once, cycles and missing names survived and reported."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Generic, TypeVar

from policyhub.domain.addresses import ANY, NOWHERE, AddressSet, Interval, intersect, normalise
from policyhub.domain.services import ALL_PORTS, ALL_PROTOCOLS, WITH_PORTS, Service, shared_service
from policyhub.vendorkit.expansion import current
from policyhub.vendorkit.lexing import NotUnderstood

T = TypeVar("T")
Services = tuple[Service, ...]


@dataclass(frozen=True, slots=True)
class Resolved(Generic[T]):
    """`value` holds what is known; `unresolved` names what is not (then `value` is no upper bound)."""

    value: T
    unresolved: tuple[str, ...] = ()


@dataclass(slots=True)
class _Entry(Generic[T]):
    values: list[T] = field(default_factory=list)
    members: list[str] = field(default_factory=list)
    unresolved: list[str] = field(default_factory=list)


class NameTable(Generic[T]):
    """Names with literal values, references to other names and members that only the device can resolve."""

    def __init__(self, merge: Callable[[Iterable[T]], T], weigh: Callable[[T], int]) -> None:
        self._merge = merge
        self._weigh = weigh
        self._left = current().members
        self._entries: dict[str, _Entry[T]] = {}
        self._known: dict[str, Resolved[T]] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._entries

    def define(self, name: str) -> None:
        """A name may be empty; defining it again adds to it."""
        self._entries.setdefault(name, _Entry())

    def add(self, name: str, value: T) -> None:
        self._entries.setdefault(name, _Entry()).values.append(value)

    def refer(self, name: str, other: str) -> None:
        self._entries.setdefault(name, _Entry()).members.append(other)

    def leave_open(self, name: str, what: str) -> None:
        """A member that is known by name only (FQDN, dynamic, geo)."""
        self._entries.setdefault(name, _Entry()).unresolved.append(what)

    def resolve(self, name: str) -> Resolved[T]:
        """All values below a name. A missing name is unresolved by its own name; a cycle adds nothing."""
        known = self._known.get(name)
        if known is not None:
            return known
        stack = [name]
        open_names: set[str] = set()
        while stack:  # no recursion: nesting comes from outside
            top = stack[-1]
            if top in self._known:
                stack.pop()
                continue
            entry = self._entries.get(top)
            waiting = [] if entry is None or top in open_names else [m for m in entry.members if m not in self._known]
            open_names.add(top)
            waiting = [m for m in waiting if m not in open_names]
            if waiting:
                stack.extend(waiting)
            else:
                stack.pop()
                self._known[top] = self._settle(top, entry)
        return self._known[name]

    def _settle(self, name: str, entry: _Entry[T] | None) -> Resolved[T]:
        if entry is None:
            return Resolved(self._merge(()), (name,))
        below = [self._known[member] for member in dict.fromkeys(entry.members) if member in self._known]
        names = [*entry.unresolved, *(name for part in below for name in part.unresolved)]
        values = [*entry.values, *(part.value for part in below)]
        self._left -= sum(self._weigh(value) for value in values)
        if self._left < 0:
            return Resolved(self._merge(()), (f"{name}: too many members to resolve",))
        return Resolved(self._merge(values), tuple(dict.fromkeys(names)))


def merge_addresses(sets: Iterable[AddressSet]) -> AddressSet:
    parts = list(sets)
    return parts[0] if len(parts) == 1 else NOWHERE.union(*parts)  # one alone is shared, not made again


def merge_services(parts: Iterable[Services]) -> Services:
    return compact(service for part in parts for service in part)


def address_table() -> NameTable[AddressSet]:
    return NameTable(merge_addresses, lambda value: len(value.v4) + len(value.v6))


def service_table() -> NameTable[Services]:
    return NameTable(merge_services, lambda value: sum(len(service.destination_ports) for service in value))


def bound(resolved: Resolved[AddressSet], unknown: AddressSet = ANY) -> AddressSet:
    """The upper bound that a Match needs: everything as soon as one member is unknown."""
    return unknown if resolved.unresolved else resolved.value


@lru_cache(maxsize=1024)
def alone(service: Service) -> Services:
    """The one service as a tuple that all who need it share."""
    return (service,)


def compact(services: Iterable[Service]) -> Services:
    """The same services with destination ports of equal protocol and source merged; the order of first appearance stays."""
    found = tuple(services)
    if len(found) == 1 and len(found[0].destination_ports) < 2:
        return alone(found[0])
    merged: dict[tuple[tuple[Interval, ...], tuple[Interval, ...]], list[Interval]] = {}
    for service in found:
        merged.setdefault((service.protocols, service.source_ports), []).extend(service.destination_ports)
    return tuple(shared_service(protocols, source, normalise(ports)) for (protocols, source), ports in merged.items())


def narrow(base: Services, other: Services) -> Services:
    """Every product of both that is not empty."""
    found: list[Service] = []
    for a in base:
        for b in other:
            protocols = intersect(a.protocols, b.protocols)
            source = intersect(a.source_ports, b.source_ports)
            destination = intersect(a.destination_ports, b.destination_ports)
            if protocols and source and destination:
                found.append(shared_service(protocols, source, destination))
    return compact(found)


def as_source(services: Services) -> Services:
    """A group of destination ports used where the source port stands."""
    return tuple(shared_service(s.protocols, s.destination_ports, ALL_PORTS) for s in services)


def with_ports(base: Services, source: Services | None, destination: Services | None, unknown: bool) -> Services:
    """`base` narrowed by source and destination ports; `unknown`: a name is unresolved, so the base is an upper bound only.

    Raises NotUnderstood when bare ports stand with a protocol that has none, or when nothing is left.
    """
    are_bare = any(ports.protocols == ALL_PROTOCOLS for ports in (*(source or ()), *(destination or ())))
    numbers = [interval for service in base for interval in service.protocols]
    if are_bare and not unknown and not all(low == high and low in WITH_PORTS for low, high in numbers):
        raise NotUnderstood("ports are given for a protocol that has none")
    found = base
    for ports in (source, destination):
        found = found if ports is None else narrow(found, ports)
    if not found and base and source != () and destination != ():
        raise NotUnderstood("no service is left: the ports are not those of the protocol")
    return found
