"""What the handlers of one parse share: the books, and per virtual system what its rules refer to."""

from __future__ import annotations

from dataclasses import dataclass, field

from policyhub.domain.addresses import AddressSet
from policyhub.domain.rules import Binding, Policy, Rule
from policyhub.vendorkit.blocks import Block
from policyhub.vendorkit.collected import Collected
from policyhub.vendorkit.operands import NameTable, Services, address_table, service_table
from policyhub.vendorkit.predefined import read_predefined
from policyhub.vendorkit.service_names import ServiceNames
from policyhub.vendorkit.vrp_acl import Acl
from policyhub.vendorkit.vrp_mqc import Mqc

PACKAGE = "policyhub.vendors.huawei_usg"
NAMES = ServiceNames.of(PACKAGE)
PREDEFINED = read_predefined(PACKAGE)


@dataclass(slots=True)
class Vsys:
    """One virtual system; `name` "" is the public one. Blocks wait here until all names are known."""

    name: str
    addresses: NameTable[AddressSet] = field(default_factory=address_table)
    services: NameTable[Services] = field(default_factory=service_table)
    own_services: set[str] = field(default_factory=set)
    security: list[Block] = field(default_factory=list)
    nat: list[Block] = field(default_factory=list)
    servers: list[Block] = field(default_factory=list)
    bandwidth: list[Block] = field(default_factory=list)
    lists: list[Block] = field(default_factory=list)
    interzone: list[Block] = field(default_factory=list)
    default_rules: list[Rule] = field(default_factory=list)
    priorities: dict[str, int] = field(default_factory=dict)
    acls: dict[tuple[int, str], Acl] = field(default_factory=dict)
    acl_bindings: dict[str, list[Binding]] = field(default_factory=dict)
    acl_uses: dict[str, list[str]] = field(default_factory=dict)
    zone_of: dict[str, str] = field(default_factory=dict)
    objects: list[tuple[str, Block, str]] = field(default_factory=list)

    @property
    def prefix(self) -> str:
        """In front of the names of its policies."""
        return f"{self.name}/" if self.name else ""


@dataclass(slots=True)
class Reading(Collected):
    """State of one parse; `now` is the virtual system whose lines are read."""

    now: Vsys = field(default_factory=lambda: Vsys(""))
    systems: dict[str, Vsys] = field(default_factory=dict)
    assigned: dict[str, str] = field(default_factory=dict)
    local: list[Policy] = field(default_factory=list)
    mqc: Mqc = field(init=False)

    def __post_init__(self) -> None:
        self.systems[""] = self.now
        self.mqc = Mqc(self.ledger)

    def switch(self, name: str) -> None:
        """The lines that follow belong to another virtual system."""
        key = "" if name.lower() in ("", "public") else name
        self.now = self.systems.setdefault(key, Vsys(key))
