"""What the handlers of one parse share: the books, the named operands and what was collected so far."""

from __future__ import annotations

from dataclasses import dataclass, field

from policyhub.domain.addresses import AddressSet
from policyhub.domain.device_config import Interface
from policyhub.domain.objects import Schedule
from policyhub.domain.qos import DscpMap, QosAttachment, Trust
from policyhub.domain.rules import Binding
from policyhub.vendorkit.blocks import Block
from policyhub.vendorkit.ledger import LineLedger
from policyhub.vendorkit.lexing import Budget
from policyhub.vendorkit.operands import NameTable, Services, address_table, service_table
from policyhub.vendorkit.service_names import ServiceNames

PACKAGE = "policyhub.vendors.cisco_ios"
NAMES = ServiceNames.of(PACKAGE)
AclKey = tuple[int, str]  # family 4, 6 or 0 (MAC), name


@dataclass(slots=True)
class Group:
    """An object group; `kind` is network, service or protocol."""

    kind: str
    members: list[str] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)


@dataclass(slots=True)
class AccessList:
    """Entries of one list in file order. `form`: standard, extended, ipv6, mac, role-based."""

    form: str
    lines: list[int] = field(default_factory=list)
    entries: list[Block] = field(default_factory=list)


@dataclass(slots=True)
class Reading:
    """State of one parse. `shown` holds lists of show outputs, used where the configuration has none."""

    ledger: LineLedger = field(default_factory=LineLedger)
    hostname: str = ""
    groups: dict[tuple[bool, str], Group] = field(default_factory=dict)
    addresses: NameTable[AddressSet] = field(default_factory=address_table)
    services: NameTable[Services] = field(default_factory=service_table)
    configured: dict[AclKey, AccessList] = field(default_factory=dict)
    shown: dict[AclKey, AccessList] = field(default_factory=dict)
    bindings: dict[AclKey, list[Binding]] = field(default_factory=dict)
    selectors: set[str] = field(default_factory=set)
    interfaces: dict[str, Interface] = field(default_factory=dict)
    budget: Budget = field(default_factory=Budget)
    zone_lines: dict[str, list[int]] = field(default_factory=dict)
    zone_members: dict[str, list[str]] = field(default_factory=dict)
    zone_pairs: list[Block] = field(default_factory=list)
    schedules: list[Schedule] = field(default_factory=list)
    class_maps: dict[str, Block] = field(default_factory=dict)
    policy_maps: dict[str, Block] = field(default_factory=dict)
    inspect_classes: dict[str, Block] = field(default_factory=dict)
    inspect_policies: dict[str, Block] = field(default_factory=dict)
    attachments: dict[str, list[QosAttachment]] = field(default_factory=dict)
    trusts: list[Trust] = field(default_factory=list)
    mls_line: int = 0
    dscp_to_cos: dict[int, int] = field(default_factory=dict)
    dscp_to_cos_lines: list[int] = field(default_factory=list)
    aggregate_policers: dict[str, Block] = field(default_factory=dict)
    maps: list[DscpMap] = field(default_factory=list)

    def bind(self, family: int, name: str, interface: str, direction: str, line: int) -> None:
        self.bindings.setdefault((family, name), []).append(Binding(interface, direction, (line,)))

    def attach(self, policy: str, interface: str, direction: str, line: int) -> None:
        self.attachments.setdefault(policy, []).append(QosAttachment(interface, direction, (line,)))
