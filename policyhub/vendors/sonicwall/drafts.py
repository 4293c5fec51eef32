"""What both forms of a SonicOS configuration become before names are resolved."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TypeVar

from policyhub.domain.addresses import ANY4, ANY6, AddressSet
from policyhub.domain.objects import AddressObject, ObjectGroup, ServiceObject
from policyhub.domain.qos import Marker
from policyhub.domain.rules import Action, Binding, Match, Policy, Rule
from policyhub.domain.services import ANY_SERVICE, MAX_PORT, Service
from policyhub.vendorkit.lexing import NotUnderstood, host_set, is_decimal, masked_set, number_in, prefix_set, range_set
from policyhub.vendorkit.naming import told_apart
from policyhub.vendorkit.operands import NameTable, Services, address_table, as_source, narrow, service_table

ACTIONS = {"allow": Action.PERMIT, "deny": Action.DENY, "discard": Action.DENY}
FAMILIES = {"ipv4": (4, ANY4), "ipv6": (6, ANY6)}
# numbers of the predefined IP protocols for service objects (SonicOS administration guides, Services)
PROTOCOLS = {"icmp": 1, "igmp": 2, "gre": 47, "esp": 50, "ah": 51, "eigrp": 88, "ospf": 89, "pim": 103, "l2tp": 115}
WITH_RANGE = {"tcp": 6, "udp": 17}
NO_CONDITION = {"users included all", "users excluded none", "schedule always-on"}
# members of a rule that do not change what it matches or does (SonicOS 7 API reference, access rules)
NO_MATCH = {
    "uuid", "reflexive", "fragments", "flow_reporting", "packet_monitoring", "single_sign_on", "cos_override", "tcp", "udp",
    "max_connections", "management", "sip", "h323", "dpi", "dpi_ssl",
}  # fmt: skip
SIDES = ("source", "destination", "service")
ANY_ZONE = "rules from or to any zone: their order among those of other zones is not known"


@dataclass(slots=True)
class RuleDraft:
    """An access rule as written. Operands are names, () for any; `lines` are 1-based."""

    family: str = "ipv4"
    lines: tuple[int, ...] = ()
    text: str = ""
    zones: dict[str, str] = field(default_factory=dict)
    action: str = ""
    operands: dict[str, tuple[str, ...]] = field(default_factory=dict)
    name: str = ""
    identity: str = ""
    comment: str = ""
    schedule: str = ""
    is_enabled: bool = True
    is_logged: bool | None = None
    priority: int | None = None
    conditions: list[str] = field(default_factory=list)
    marker: Marker | None = None

    @property
    def title(self) -> str:
        return self.name or self.identity or f"line {self.lines[0]}"

    def check(self) -> None:
        """Raises NotUnderstood when there is no action, or not both zones."""
        if self.action not in ACTIONS:
            raise NotUnderstood("a rule has no action" if not self.action else f"{self.action[:40]!r} is not an action")
        if len(self.zones) != 2:
            raise NotUnderstood("a rule has no zones")

    def mark(self, **values: int) -> None:
        """dscp or pcp that packets of the rule get."""
        self.marker = replace(self.marker or Marker(), **values)

    def zone(self, side: str) -> tuple[str, ...]:
        name = self.zones.get(side, "any")
        return () if name.lower() == "any" else (name,)


@dataclass(slots=True)
class NatDraft:
    """Operands are names, () for any; translated: what each side becomes, "" when it is left alone."""

    family: str
    lines: tuple[int, ...]
    name: str = ""
    inbound: str = ""
    outbound: str = ""
    operands: dict[str, tuple[str, ...]] = field(default_factory=dict)
    translated: dict[str, str] = field(default_factory=dict)
    is_enabled: bool = True
    comment: str = ""
    priority: int | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RouteDraft:
    """destination and gateway are names or addresses; () is every destination, "" no gateway."""

    family: str
    lines: tuple[int, ...]
    destination: tuple[str, ...]
    interface: str = ""
    gateway: str = ""
    distance: int | None = None


@dataclass(slots=True)
class Reading:
    """Objects and rules of one text."""

    addresses: NameTable[AddressSet] = field(default_factory=address_table)
    services: NameTable[Services] = field(default_factory=service_table)
    address_objects: list[AddressObject] = field(default_factory=list)
    service_objects: list[ServiceObject] = field(default_factory=list)
    groups: list[ObjectGroup] = field(default_factory=list)
    drafts: list[RuleDraft] = field(default_factory=list)
    nat: list[NatDraft] = field(default_factory=list)
    routes: list[RouteDraft] = field(default_factory=list)

    def add_address(self, name: str, value: AddressSet | None, lines: tuple[int, ...], text: str, kind: str = "static") -> None:
        """value None: only the device knows it."""
        if value is None:
            self.addresses.leave_open(name, name)
        else:
            self.addresses.add(name, value)
        self.address_objects.append(AddressObject(name, value, kind, lines, text))

    def add_service(self, name: str, service: Service, lines: tuple[int, ...]) -> None:
        self.services.add(name, (service,))
        self.service_objects.append(ServiceObject(name, (service,), lines))

    def add_group(self, name: str, kind: str, members: tuple[str, ...], lines: tuple[int, ...], is_whole: bool = True) -> None:
        """A group of which members could not be read, or none is there, is not known."""
        table: NameTable[AddressSet] | NameTable[Services] = self.addresses if kind == "network" else self.services
        table.define(name)
        for member in members:
            table.refer(name, member)
        if not members or not is_whole:
            table.leave_open(name, name)
        self.groups.append(ObjectGroup(name, kind, members, lines))

    def policies(self) -> tuple[Policy, ...]:
        """One for each family. Priorities order the rules of a pair of zones (SonicOS 7 Rules and Policies, Access Rules)."""
        found: list[Policy] = []
        for family, (number, _) in FAMILIES.items():
            pairs: dict[tuple[str, str], list[RuleDraft]] = {}
            for draft in self.drafts:
                if draft.family == family:
                    pairs.setdefault((draft.zones.get("from", ""), draft.zones.get("to", "")), []).append(draft)
            drafts = [draft for pair in pairs.values() for draft in ordered(pair)]
            if drafts:
                notes = (ANY_ZONE,) if any(not draft.zone(side) for draft in drafts for side in ("from", "to")) else ()
                rules = told_apart([self._rule(draft) for draft in drafts])
                found.append(Policy(family, rules, None, number, (Binding("", "forward"),), notes=notes))
        return tuple(found)

    def _rule(self, draft: RuleDraft) -> Rule:
        unresolved: list[str] = []
        whole = FAMILIES[draft.family][1]
        sides = [self.addresses_of(draft.operands.get(side, ()), whole, unresolved) for side in ("source", "destination")]
        services = self.services_of(draft.operands.get("service", ()), unresolved)
        ports = self.services_of(draft.operands.get("port", ()), unresolved)
        if ports != (ANY_SERVICE,):
            services = narrow(services, as_source(ports))
        names = tuple(dict.fromkeys(unresolved))
        silent = [f"{key} not given" for key in SIDES if key not in draft.operands]
        conditions = (*draft.conditions, *silent)
        match = Match(sides[0], sides[1], services, draft.zone("from"), draft.zone("to"), None, conditions, names)
        references = tuple(dict.fromkeys(name for operand in draft.operands.values() for name in operand))
        return Rule(
            draft.title, ACTIONS[draft.action], match, draft.lines, draft.text[:400],
            draft.is_enabled, draft.is_logged, draft.comment, draft.schedule, references=references,
        )  # fmt: skip

    def addresses_of(self, names: tuple[str, ...], whole: AddressSet, unresolved: list[str]) -> AddressSet:
        """`whole` for no names, and when one is not known: those are added to `unresolved`."""
        if not names:
            return whole
        found = [self.addresses.resolve(name) for name in names]
        missing = [name for resolved in found for name in resolved.unresolved]
        unresolved.extend(missing)
        return whole if missing else AddressSet().union(*(resolved.value for resolved in found)).intersection(whole)

    def services_of(self, names: tuple[str, ...], unresolved: list[str]) -> Services:
        """Any for no names, and when one is not known: those are added to `unresolved`."""
        found = [self.services.resolve(name) for name in names]
        missing = [name for resolved in found for name in resolved.unresolved]
        unresolved.extend(missing)
        return (ANY_SERVICE,) if missing or not names else tuple(dict.fromkeys(s for resolved in found for s in resolved.value))


Draft = TypeVar("Draft", RuleDraft, NatDraft)


def ordered(drafts: list[Draft]) -> list[Draft]:
    """By manual priority when each has one, else as written."""
    return drafts if any(draft.priority is None for draft in drafts) else sorted(drafts, key=lambda draft: draft.priority or 0)


def host(text: str) -> AddressSet:
    """Raises NotUnderstood."""
    return _known(host_set(text), text)


def network(text: str, mask: str) -> AddressSet:
    """The mask is dotted, `/24` or `24`. Raises NotUnderstood."""
    length = mask.removeprefix("/")
    return _known(prefix_set(f"{text}/{length}") if is_decimal(length) else masked_set(text, mask), f"{text} {mask}")


def address_range(low: str, high: str) -> AddressSet:
    """Raises NotUnderstood."""
    return _known(range_set(low, high), f"{low} {high}")


def _known(value: AddressSet | None, text: str) -> AddressSet:
    if value is None:
        raise NotUnderstood(f"{text[:40]!r} is not an address")
    return value


def service(protocol: str, low: str, high: str) -> Service:
    """TCP and UDP have two ports, the others none. Raises NotUnderstood."""
    word = protocol.lower()
    if word in PROTOCOLS and not low and not high:
        return Service.of(PROTOCOLS[word])
    if word not in WITH_RANGE:
        raise NotUnderstood(f"{protocol[:40]!r} is not a protocol that is read")
    first, last = (number_in(text, 0, MAX_PORT, "a port") for text in (low, high))
    if first > last:
        raise NotUnderstood(f"{first}-{last} is not a range of ports")
    return Service.of(WITH_RANGE[word], ((first, last),))
