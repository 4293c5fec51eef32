"""What the handlers of one parse share: the books, the named operands and what was collected so far."""

from __future__ import annotations

from dataclasses import dataclass, field

from policyhub.domain.addresses import ANY, ANY4, AddressSet
from policyhub.domain.device_config import Interface, Route
from policyhub.domain.nat import NatRule
from policyhub.domain.objects import AddressObject, Schedule
from policyhub.domain.qos import QosPolicy
from policyhub.domain.rules import Binding, Rule
from policyhub.vendorkit.blocks import Block
from policyhub.vendorkit.ledger import LineLedger
from policyhub.vendorkit.lexing import host_set, masked_set, prefix_set
from policyhub.vendorkit.operands import NameTable, Services, address_table, service_table
from policyhub.vendorkit.service_names import ServiceNames

PACKAGE = "policyhub.vendors.cisco_asa"
NAMES = ServiceNames.of(PACKAGE)


@dataclass(frozen=True, slots=True)
class Pool:
    """One `global` line. text: its addresses as written, or `interface`."""

    interface: str
    text: str
    line: int


@dataclass(slots=True)
class Definition:
    """An object or group as configured. `kind`: object network|service, or group network|service|protocol|icmp."""

    kind: str
    is_group: bool
    members: list[str] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    dynamic: str = ""


@dataclass(slots=True)
class Reading:
    """State of one parse. Networks and services have separate tables: the device keeps names apart by type."""

    ledger: LineLedger = field(default_factory=LineLedger)
    hostname: str = ""
    version: int | None = None
    aliases: dict[str, str] = field(default_factory=dict)
    definitions: dict[tuple[bool, str], Definition] = field(default_factory=dict)
    addresses: NameTable[AddressSet] = field(default_factory=address_table)
    services: NameTable[Services] = field(default_factory=service_table)
    entries: dict[str, list[Block]] = field(default_factory=dict)
    ipv6_lists: set[str] = field(default_factory=set)
    bindings: dict[str, list[Binding]] = field(default_factory=dict)
    selectors: set[str] = field(default_factory=set)
    interfaces: dict[str, Interface] = field(default_factory=dict)
    hardware: dict[str, str] = field(default_factory=dict)
    zone_lines: dict[str, list[int]] = field(default_factory=dict)
    zone_members: dict[str, list[str]] = field(default_factory=dict)
    schedules: list[Schedule] = field(default_factory=list)
    class_maps: dict[str, Block] = field(default_factory=dict)
    minor: int = 0
    release: str = ""
    routes: list[Route] = field(default_factory=list)
    twice: dict[str, list[tuple[Block, tuple[str, ...], list[str]]]] = field(default_factory=dict)
    object_nat: list[tuple[str, Block, tuple[str, ...], list[str]]] = field(default_factory=list)
    old_nat: list[tuple[str, NatRule]] = field(default_factory=list)
    globals: dict[str, list[Pool]] = field(default_factory=dict)
    pools: dict[str, AddressObject] = field(default_factory=dict)
    icmp_rules: dict[str, list[tuple[str, Rule]]] = field(default_factory=dict)
    equal_levels: list[str] = field(default_factory=list)
    priority_queues: list[QosPolicy] = field(default_factory=list)
    policy_maps: dict[str, Block] = field(default_factory=dict)
    service_policies: dict[str, list[Block]] = field(default_factory=dict)

    @property
    def any_address(self) -> AddressSet:
        """From 9.0 on `any` means both families; before, IPv6 had its own lists."""
        return ANY if self.version is None or self.version >= 9 else ANY4

    @property
    def is_before_83(self) -> bool:
        """From 8.3 on NAT and lists changed their meaning; without a version line the forms of NAT tell."""
        if self.version is None:
            return bool(self.old_nat) and not self.twice and not self.object_nat
        return (self.version, self.minor) < (8, 3)

    def own_addresses(self, name: str, unresolved: list[str]) -> AddressSet:
        """The device's addresses at a nameif; unresolved when they come by DHCP."""
        known = self.interfaces.get(self.hardware.get(name, ""))
        texts = [address.partition("/")[0] for address in known.addresses] if known is not None else []
        if texts:
            return AddressSet.of(*texts)
        unresolved.append(f"interface {name}")
        return ANY

    def define(self, name: str, kind: str, is_group: bool, line: int) -> Definition:
        """Opening a name again adds to it."""
        known = self.definitions.setdefault((kind != "network", name), Definition(kind, is_group))
        known.lines.append(line)
        (self.addresses if kind == "network" else self.services).define(name)
        return known

    def host(self, word: str) -> AddressSet | None:
        """An address or a `name` alias."""
        return host_set(self.aliases.get(word, word))

    def literal(self, word: str, mask: str) -> tuple[AddressSet | None, int]:
        """`address mask` or `address/length`: the set and how many words it took; None when it is neither."""
        v6 = prefix_set(word)
        if v6 is not None:
            return v6, 1
        if "/" in word:  # a name alias with a length
            alias, _, length = word.partition("/")
            return prefix_set(f"{self.aliases.get(alias, alias)}/{length}"), 1
        return masked_set(self.aliases.get(word, word), self.aliases.get(mask, mask)), 2
