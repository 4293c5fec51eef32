"""Lists of names in rules as sets, each list resolved once per scope."""

from __future__ import annotations

from dataclasses import dataclass, field

from policyhub.domain.addresses import ANY, AddressSet
from policyhub.domain.services import ANY_SERVICE
from policyhub.vendorkit.operands import Services
from policyhub.vendors.paloalto_panos.objects import (
    ADDRESS_KINDS,
    APPLICATION_KINDS,
    PREDEFINED,
    SERVICE_KINDS,
    literal,
    refer_address,
    refer_application,
    refer_service,
)
from policyhub.vendors.paloalto_panos.reading import Reading, Scope, plain, qualified

ANYTHING = ("any",)
APPLICATION_DEFAULT = ("application-default",)
LIST = "\0list"


@dataclass(frozen=True, slots=True)
class Addresses:
    """value: everything when a name is unresolved. names: objects that were used."""

    value: AddressSet = ANY
    unresolved: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Ports:
    value: Services = (ANY_SERVICE,)
    unresolved: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


@dataclass(slots=True)
class Operands:
    reading: Reading
    _addresses: dict[tuple[str, tuple[str, ...], bool], Addresses] = field(default_factory=dict)
    _services: dict[tuple[str, tuple[str, ...]], Ports] = field(default_factory=dict)
    _defaults: dict[tuple[str, tuple[str, ...]], Ports] = field(default_factory=dict)

    def addresses(self, scope: Scope, members: tuple[str, ...], negated: bool = False) -> Addresses:
        if members == ANYTHING and not negated:
            return Addresses()
        key = (scope.context, members, negated)
        known = self._addresses.get(key)
        if known is None:
            known = self._addresses[key] = self._read_addresses(scope, members, negated)
        return known

    def _read_addresses(self, scope: Scope, members: tuple[str, ...], negated: bool) -> Addresses:
        alone = scope.find(ADDRESS_KINDS, members[0]) if len(members) == 1 else None
        if alone is not None:
            key, names = qualified(alone[0], members[0]), members if members != ANYTHING else ()
        else:
            names = tuple(n for n in members if n != "any" and (scope.find(ADDRESS_KINDS, n) or literal(n) is None))
            key = qualified(scope, f"{LIST} {len(self._addresses)}")
            self.reading.addresses.define(key)
            for member in members:
                refer_address(self.reading, scope, key, member)
        found = self.reading.addresses.resolve(key)
        if found.unresolved:
            return Addresses(ANY, plain(found.unresolved), names)
        return Addresses(ANY.minus(found.value) if negated else found.value, (), names)

    def services(self, scope: Scope, members: tuple[str, ...]) -> Ports:
        if members == ANYTHING:
            return Ports()
        key = (scope.context, members)
        known = self._services.get(key)
        if known is None:
            table = self.reading.services
            name = qualified(scope, f"{LIST} {len(self._services)}")
            table.define(name)
            for member in members:
                refer_service(self.reading, scope, name, member)
            found = table.resolve(name)
            names = tuple(word for word in members if word not in PREDEFINED or scope.find(SERVICE_KINDS, word))
            value = (ANY_SERVICE,) if found.unresolved or ANY_SERVICE in found.value else found.value
            known = self._services[key] = Ports(value, plain(found.unresolved), names)
        return known

    def application_ports(self, scope: Scope, members: tuple[str, ...]) -> Ports:
        """The default ports of applications; `unresolved` names those whose ports are unknown."""
        key = (scope.context, members)
        known = self._defaults.get(key)
        if known is None:
            table = self.reading.services
            name = qualified(scope, f"application {LIST} {len(self._defaults)}")
            table.define(name)
            for member in members:
                refer_application(self.reading, scope, name, member)
            found = table.resolve(name)
            value = (ANY_SERVICE,) if found.unresolved else found.value
            known = self._defaults[key] = Ports(value, plain(found.unresolved))
        return known

    def application_names(self, scope: Scope, members: tuple[str, ...]) -> tuple[str, ...]:
        """Groups and filters among the applications."""
        if members == ANYTHING:
            return ()
        return tuple(name for name in members if scope.find(APPLICATION_KINDS[1:], name))
