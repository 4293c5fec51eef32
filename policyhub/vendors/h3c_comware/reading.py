"""What the handlers of one parse share: the books, the tables of names, and what was collected so far."""

from __future__ import annotations

from dataclasses import dataclass, field

from policyhub.domain.addresses import AddressSet
from policyhub.domain.device_config import Interface, Losslessness, Route
from policyhub.domain.nat import NatRule
from policyhub.domain.objects import AddressObject, ObjectGroup, Schedule, Zone
from policyhub.domain.qos import QosAttachment, QosMap, QosPolicy, Trust
from policyhub.domain.rules import Action, Binding, Policy, Rule
from policyhub.vendorkit.blocks import Block
from policyhub.vendorkit.ledger import LineLedger
from policyhub.vendorkit.lexing import Words
from policyhub.vendorkit.operands import NameTable, Resolved, Services, address_table, service_table
from policyhub.vendorkit.predefined import read_predefined
from policyhub.vendorkit.service_names import ServiceNames
from policyhub.vendorkit.vrp_acl import Acl
from policyhub.vendorkit.vrp_mqc import Mqc

PACKAGE = "policyhub.vendors.h3c_comware"
NAMES = ServiceNames.of(PACKAGE)
PREDEFINED = read_predefined(PACKAGE)
AclKey = tuple[int, str]  # family 4, 6 or 0 (layer 2, user-defined), name or number


@dataclass(slots=True)
class OtherPolicy:
    """A list that grows line by line: route filters, policy routing, services of the device at a port."""

    purpose: str
    default: Action | None = None
    family: int = 0
    bindings: tuple[Binding, ...] = ()
    rules: list[Rule] = field(default_factory=list)

    def policy(self, name: str) -> Policy:
        lines = tuple(rule.lines[0] for rule in self.rules)
        return Policy(name, tuple(self.rules), self.default, self.family, self.bindings, lines, purpose=self.purpose)


@dataclass(slots=True)
class Reading:
    """State of one parse. Names of groups do not care about case; tables hold them in lower case."""

    ledger: LineLedger = field(default_factory=LineLedger)
    hostname: str = ""
    version: str = ""
    addresses: NameTable[AddressSet] = field(default_factory=address_table)
    services: NameTable[Services] = field(default_factory=service_table)
    own_services: set[str] = field(default_factory=set)
    groups: list[ObjectGroup] = field(default_factory=list)
    address_objects: list[AddressObject] = field(default_factory=list)
    security: dict[str, list[Block]] = field(default_factory=dict)
    object_policies: dict[str, Block] = field(default_factory=dict)
    object_bindings: dict[str, list[Binding]] = field(default_factory=dict)
    acls: dict[AclKey, Acl] = field(default_factory=dict)
    shown: dict[AclKey, Acl] = field(default_factory=dict)
    aliases: dict[AclKey, AclKey] = field(default_factory=dict)
    bindings: dict[AclKey, list[tuple[Binding, str]]] = field(default_factory=dict)
    uncounted: dict[AclKey, list[str]] = field(default_factory=dict)
    uses: dict[AclKey, list[str]] = field(default_factory=dict)
    filter_default: str = "permit"
    other: dict[str, OtherPolicy] = field(default_factory=dict)
    nat_blocks: list[Block] = field(default_factory=list)
    servers: list[NatRule] = field(default_factory=list)
    statics: list[NatRule] = field(default_factory=list)
    outbound: list[NatRule] = field(default_factory=list)
    zones: list[Zone] = field(default_factory=list)
    zone_of: dict[str, str] = field(default_factory=dict)
    context_of: dict[str, str] = field(default_factory=dict)
    schedules: list[Schedule] = field(default_factory=list)
    interfaces: list[Interface] = field(default_factory=list)
    routes: list[Route] = field(default_factory=list)
    queue_lines: list[tuple[str, Block]] = field(default_factory=list)
    tables: dict[str, Block] = field(default_factory=dict)
    read_tables: dict[str, dict[int, tuple[dict[str, object], list[int]]]] = field(default_factory=dict)
    map_tables: dict[str, Block] = field(default_factory=dict)
    trusts: list[Trust] = field(default_factory=list)
    lossless: dict[str, Losslessness] = field(default_factory=dict)
    port_cars: list[QosPolicy] = field(default_factory=list)
    qos_maps: list[QosMap] = field(default_factory=list)
    mqc: Mqc = field(init=False)

    def __post_init__(self) -> None:
        self.mqc = Mqc(self.ledger, match_all=True)

    def bind(self, key: AclKey, interface: str, direction: str, use: str, *lines: int) -> None:
        """`use`: what happens there to packets that no rule matches: permit, deny, or "filter" (the device-wide default)."""
        self.bindings.setdefault(key, []).append((Binding(interface, direction, lines), use))

    def attach(self, policy: str, interface: str, direction: str, line: int) -> None:
        self.mqc.attachments.setdefault(policy, []).append(QosAttachment(interface, direction, (line,)))

    def address_group(self, name: str) -> Resolved[AddressSet]:
        if name.lower() in self.addresses:
            return self.addresses.resolve(name.lower())
        return Resolved(AddressSet(), (name,))

    def service_group(self, name: str) -> Resolved[Services]:
        """Own groups hide predefined services."""
        if name.lower() in self.services:
            return self.services.resolve(name.lower())
        known = PREDEFINED.get(name.lower())
        return Resolved(known) if known is not None else Resolved((), (name,))


def take_acl(words: Words) -> AclKey:
    """`[acl] [ipv6|mac|user-defined] [number|name] X`. Raises NotUnderstood."""
    family = 4
    while True:
        word = words.accept("acl", "ipv6", "mac", "user-defined", "number", "name")
        if not word:
            return family, words.next("an ACL")
        family = {"ipv6": 6, "mac": 0, "user-defined": 0}.get(word, family)
        if word == "name":
            return family, words.next("an ACL")
