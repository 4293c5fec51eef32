"""What the readers of one text share: the books, the objects by uid and what was found so far."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from policyhub.domain.addresses import AddressSet
from policyhub.domain.nat import NatRule
from policyhub.domain.objects import AddressObject, ObjectGroup, Schedule, ServiceObject, Zone
from policyhub.vendorkit.blocks import Line
from policyhub.vendorkit.ledger import LineLedger
from policyhub.vendorkit.lexing import is_decimal
from policyhub.vendorkit.operands import NameTable, Services, address_table, service_table
from policyhub.vendors.checkpoint_gaia.answers import Item

PACKAGE = "policyhub.vendors.checkpoint_gaia"
ANY_TYPES = frozenset(("CpmiAnyObject", "any-object"))


@dataclass(slots=True)
class Layer:
    """An access layer while its pages come in. rules: each with the name of its section or ""."""

    name: str
    rules: list[tuple[str, Item]] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Reading:
    """State of one parse. rows: the text line by line. objects: by uid.

    cleanup: layer name -> implicit cleanup action. packages: name -> names of its layers, in order.
    """

    rows: list[str]
    ledger: LineLedger = field(default_factory=LineLedger)
    objects: dict[str, Item] = field(default_factory=dict)
    by_name: dict[str, str] = field(default_factory=dict)
    addresses: NameTable[AddressSet] = field(default_factory=address_table)
    services: NameTable[Services] = field(default_factory=service_table)
    gateways: list[Item] = field(default_factory=list)
    layers: dict[str, Layer] = field(default_factory=dict)
    layer_names: dict[str, str] = field(default_factory=dict)
    cleanup: dict[str, str] = field(default_factory=dict)
    packages: dict[str, list[str]] = field(default_factory=dict)
    nat_items: list[tuple[str, Item]] = field(default_factory=list)
    nat_rules: list[NatRule] = field(default_factory=list)
    address_objects: list[AddressObject] = field(default_factory=list)
    service_objects: list[ServiceObject] = field(default_factory=list)
    groups: list[ObjectGroup] = field(default_factory=list)
    zones: list[Zone] = field(default_factory=list)
    schedules: list[Schedule] = field(default_factory=list)

    def line(self, number: int) -> Line:
        return Line(number, 0, self.rows[number - 1].strip())

    def known(self, entry: Any) -> Item | None:
        """The object that an entry names: by uid, by name, or written out in place."""
        if isinstance(entry, Item):
            return self.objects.get(entry.text("uid"), entry)
        if not isinstance(entry, str):
            return None
        return self.objects.get(entry) or self.objects.get(self.by_name.get(entry, ""))

    def name_of(self, entry: Any) -> str:
        """`uid U` when no answer explains it."""
        item = self.known(entry)
        if item is not None:
            return item.text("name") or f"uid {item.text('uid')}"
        return f"uid {entry}" if isinstance(entry, str) else ""

    def is_any(self, entry: Any) -> bool:
        item = self.known(entry)
        if item is None:
            return isinstance(entry, str) and entry == "Any"
        return item.text("type") in ANY_TYPES or item.text("name") in ("Any", "All")

    def leave(self, first: int, last: int, reason: str) -> None:
        for number in range(first, last + 1):
            if self.rows[number - 1].strip():
                self.ledger.unparsed(self.line(number), reason)

    def leave_unknown(self, item: Item, keys: frozenset[str], where: str) -> list[str]:
        """Keys that nobody knows stay, by the line that names them. They may narrow what the item matches: its conditions."""
        unknown = [key for key in item if key not in keys]
        for key in unknown:
            quoted = f'"{key}"'
            inside = range(item.first, item.last + 1) if item.last > item.first else ()
            at = next((n for n in inside if quoted in self.rows[n - 1]), item.first)
            self.ledger.unparsed(self.line(at), f"{key[:40]!r} is not understood in {where}")
        return [f"{key} {item.text(key)}".strip()[:80] for key in unknown]


def in_order(rules: list[tuple[str, Item]]) -> list[tuple[str, Item]]:
    """By rule number, because pages may come in any order; as they came when numbers are missing or of several rulebases."""
    numbers = [rule.text("rule-number") for _, rule in rules]
    if len({*numbers}) < len(numbers) or not all(is_decimal(number) and len(number) < 10 for number in numbers):
        return rules
    return sorted(rules, key=lambda rule: int(rule[1].text("rule-number")))
