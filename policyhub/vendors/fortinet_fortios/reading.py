"""What the handlers of one parse share: the books, the tables of each vdom, named operands and what was collected so far."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

from policyhub.domain.addresses import ANY, ANY4, ANY6, NOWHERE, AddressSet
from policyhub.domain.objects import Schedule
from policyhub.domain.services import ANY_SERVICE, Service
from policyhub.vendorkit.blocks import Lines
from policyhub.vendorkit.collected import Collected
from policyhub.vendorkit.operands import NameTable, Services, address_table, service_table
from policyhub.vendors.fortinet_fortios.tree import Node, split

PACKAGE = "policyhub.vendors.fortinet_fortios"
NOTE = "\0"  # in front of a condition that travels up through service groups beside the unresolved names
Family = str  # "4", "6", multicast "m4", "m6": the device keeps names of each apart
EVERYTHING = {"4": ANY4, "6": ANY6, "m4": ANY4, "m6": ANY6}
UNKNOWN_SETTING = "the setting is not known"


def load(name: str) -> Any:
    return json.loads(files(PACKAGE).joinpath(name).read_text(encoding="utf-8"))


SETTINGS = load("settings.json")
NAMES = load("names.json")
OBJECT_SETTINGS = frozenset(SETTINGS["objects"])


@dataclass(frozen=True, slots=True)
class Vip:
    """A virtual address. forwarded: the external service when it goes to another port, `note` then says so."""

    name: str
    external: AddressSet
    forwarded: Service | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Addresses:
    """Addresses that a setting names: an upper bound."""

    value: AddressSet
    unresolved: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ServiceList:
    value: Services
    unresolved: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


@dataclass(slots=True)
class Scope:
    """One vdom. `name` is the context of its items, `prefix` stands in front of the names of its policies."""

    name: str = ""
    prefix: str = ""
    tables: dict[str, list[Node]] = field(default_factory=dict)
    addresses: dict[Family, NameTable[AddressSet]] = field(default_factory=dict)
    services: NameTable[Services] = field(default_factory=service_table)
    vips: dict[str, Vip] = field(default_factory=dict)
    vip_groups: dict[str, list[str]] = field(default_factory=dict)
    schedules: dict[str, Schedule] = field(default_factory=dict)
    known_addresses: dict[tuple[Family, str], Addresses] = field(default_factory=dict)
    known_services: dict[str, ServiceList] = field(default_factory=dict)
    known_zones: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.addresses = {family: address_table() for family in EVERYTHING}

    def entries(self, table: str) -> Iterator[Node]:
        for node in self.tables.get(table, ()):
            yield from node.entries.values()

    def setting(self, table: str, name: str) -> str:
        """A setting of a table that has no entries; the last one counts."""
        return next((found for node in reversed(self.tables.get(table, [])) if (found := node.value(name))), "")

    def is_on(self, table: str, name: str) -> bool:
        return self.setting(table, name) == "enable"

    def find_addresses(self, family: Family, raw: str) -> Addresses:
        """What a list of names stands for; everything as soon as one of them is unknown."""
        key = (family, raw)
        found = self.known_addresses.get(key)
        if found is None:
            found = self.known_addresses[key] = self._addresses(family, tuple(dict.fromkeys(split(raw))))
        return found

    def _addresses(self, family: Family, names: tuple[str, ...]) -> Addresses:
        resolved = [self.resolve(family, name) for name in names]
        unresolved = tuple(dict.fromkeys(name for _, missing in resolved for name in missing))
        if unresolved:
            return Addresses(EVERYTHING[family], unresolved, names)
        if len(resolved) == 1:
            return Addresses(resolved[0][0], (), names)
        return Addresses(NOWHERE.union(*(value for value, _ in resolved)) if resolved else ANY, (), names)

    def resolve(self, family: Family, name: str) -> tuple[AddressSet, tuple[str, ...]]:
        """A multicast policy may name multicast addresses and ordinary ones."""
        table = self.addresses[family]
        if family[0] == "m" and name not in table:
            table = self.addresses[family[1:]]
        found = table.resolve(name)
        return found.value, found.unresolved

    def find_zones(self, raw: str) -> tuple[str, ...]:
        """Names of zones or interfaces, () for any."""
        found = self.known_zones.get(raw)
        if found is None:
            names = split(raw)
            found = self.known_zones[raw] = () if "any" in names else tuple(dict.fromkeys(names))
        return found

    def find_services(self, raw: str) -> ServiceList:
        found = self.known_services.get(raw)
        if found is None:
            found = self.known_services[raw] = self._services(tuple(dict.fromkeys(split(raw))))
        return found

    def _services(self, names: tuple[str, ...]) -> ServiceList:
        resolved = [self.services.resolve(name) for name in names]
        left = tuple(dict.fromkeys(name for one in resolved for name in one.unresolved))
        notes = tuple(name.removeprefix(NOTE) for name in left if name.startswith(NOTE))
        unresolved = tuple(name for name in left if not name.startswith(NOTE))
        value = tuple(dict.fromkeys(service for one in resolved for service in one.value))
        if unresolved or not resolved or ANY_SERVICE in value:
            value = (ANY_SERVICE,)
        return ServiceList(value, unresolved, notes, names)

    def vips_of(self, names: Iterable[str]) -> list[Vip]:
        """The virtual addresses among names, those of groups included."""
        found: dict[str, Vip] = {}
        for name in names:
            for member in (name, *self.vip_groups.get(name, ())):
                if member in self.vips:
                    found[member] = self.vips[member]
        return list(found.values())


@dataclass(slots=True)
class Reading(Collected):
    text: Lines = field(default_factory=lambda: Lines(""))
    scopes: list[Scope] = field(default_factory=list)
    contexts: frozenset[str] = frozenset()

    def leave(self, number: int, reason: str) -> None:
        """A line that is not understood."""
        self.ledger.unparsed(self.text.at(number), reason)

    def leave_settings(self, node: Node, known: frozenset[str], reason: str) -> None:
        """Lines of settings that are not known are unparsed."""
        if not known.issuperset(node.settings):
            for name, number in node.fields():
                if name not in known:
                    self.leave(number, reason)

    def book(self, node: Node, known: frozenset[str] = OBJECT_SETTINGS) -> None:
        """An entry with its known settings; the others are unparsed."""
        self.ledger.understood(*node.numbers)
        self.leave_settings(node, known, UNKNOWN_SETTING)

    def book_headers(self, scope: Scope, table: str) -> None:
        """`config`, `end` and commands of a table that holds entries; a setting in its place is unparsed."""
        for node in scope.tables.get(table, ()):
            self.ledger.understood(*node.numbers)
            self.leave_settings(node, frozenset(), "a setting where an entry is expected")

    def book_rows(self, node: Node, table: str, known: frozenset[str] = OBJECT_SETTINGS) -> list[Node]:
        """Entries of a table below an entry, booked."""
        below = node.tables.get(table)
        if below is None:
            return []
        self.ledger.understood(*below.numbers)
        for row in below.entries.values():
            self.book(row, known)
        return list(below.entries.values())
