"""What the readers of one text share: the books, the named operands of the current context and what was found so far."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import PurePosixPath

from policyhub.domain.addresses import AddressSet
from policyhub.domain.rules import Binding
from policyhub.vendorkit.blocks import Line
from policyhub.vendorkit.collected import Collected
from policyhub.vendorkit.lexing import host_set, masked_set, prefix_set
from policyhub.vendorkit.operands import NameTable, Services, address_table, service_table
from policyhub.vendorkit.service_names import ServiceNames
from policyhub.vendors.juniper_junos.tree import Node

PACKAGE = "policyhub.vendors.juniper_junos"
NAMES = ServiceNames.of(PACKAGE)
GLOBAL_BOOK = "global"
SEPARATOR = "\x1f"  # between book and name; stands in no name of a device
INHERITS = ("apply-groups", "apply-groups-except")
Grammar = dict[str, "Grammar | None"]
KNOWN: dict[str, Grammar] = json.loads(files(PACKAGE).joinpath("known.json").read_text(encoding="utf-8"))
UNKNOWN: Grammar = {"": None}  # what no list gives
UNITS = {"k": 10**3, "m": 10**6, "g": 10**9}
AMOUNT = re.compile(r"^(\d{1,15})([kmg]?)$", re.IGNORECASE)


@dataclass(slots=True)
class Context:
    """One logical system, tenant, or the device itself (name ""): names are looked up inside it.

    books: zone -> address book. queues: forwarding class -> queue number. units: interfaces by name, with their zone and table.
    """

    name: str
    root: Node
    addresses: NameTable[AddressSet] = field(default_factory=address_table)
    services: NameTable[Services] = field(default_factory=service_table)
    prefix_lists: NameTable[AddressSet] = field(default_factory=address_table)
    books: dict[str, str] = field(default_factory=dict)
    zone_of: dict[str, str] = field(default_factory=dict)
    vrf_of: dict[str, str] = field(default_factory=dict)
    interface_names: list[str] = field(default_factory=list)
    queues: dict[str, int] = field(default_factory=dict)
    lossless: set[str] = field(default_factory=set)
    filter_bindings: dict[tuple[str, tuple[str, ...]], list[Binding]] = field(default_factory=dict)
    filter_names: dict[tuple[str, str], str] = field(default_factory=dict)
    pools: dict[tuple[str, str], Node] = field(default_factory=dict)

    def named(self, name: str) -> str:
        return f"{self.name}/{name}" if self.name else name

    def interfaces_like(self, word: str) -> list[str]:
        """`ge-*`, `all`, or one interface."""
        if word == "all":
            return [name for name in self.interface_names if "." not in name] or [word]
        if "*" not in word:
            return [word]
        plain = [
            name
            for name in self.interface_names
            if "." not in name and PurePosixPath(name.replace("/", ":")).match(word.replace("/", ":"))
        ]
        return plain or [word]


@dataclass(slots=True)
class Reading(Collected):
    """Everything found in one text, over all contexts. lines: of the text, the first is number 1."""

    lines: Sequence[Line]

    def take(self, *nodes: Node | None) -> None:
        """These and everything below them is understood."""
        for node in nodes:
            if node is not None:
                node.taken = True
                self.ledger.understood(*(number for below in node.walk() for number in below.lines))

    def take_known(self, node: Node | None, stanza: str) -> None:
        """As `take`, but a statement that `known.json` does not list for the stanza stays unparsed."""
        if node is None:
            return
        self.take(node)
        stack: list[tuple[Node, Grammar]] = [(node, KNOWN[stanza])]
        while stack:
            here, grammar = stack.pop()
            for kid in here.children.values():
                below = grammar.get(kid.word, grammar.get("*", UNKNOWN)) if kid.word not in INHERITS else None
                if below is UNKNOWN:
                    self.leave(kid, f"not understood in {here.word[:60]}")
                elif below is not None:
                    stack.append((kid, below))

    def take_headers(self, *nodes: Node | None) -> None:
        """Only the statements that end at these nodes."""
        for node in nodes:
            if node is not None:
                self.ledger.understood(*node.lines)

    def leave(self, node: Node, reason: str) -> None:
        """Everything of a statement stays unparsed."""
        self.leave_lines(node.all_lines(), reason)

    def leave_lines(self, numbers: Iterable[int], reason: str) -> None:
        for number in numbers:
            self.ledger.unparsed(self.lines[number - 1], reason)

    def address(self, text: str) -> AddressSet | None:
        """A prefix or an address; None when it is neither."""
        return prefix_set(text) or host_set(text)

    def masked(self, text: str) -> AddressSet | None:
        """The same, or address and mask with a slash, as filters and books may have. Raises TooScattered."""
        found = self.address(text)
        if found is None and text.count("/") == 1:
            base, _, mask = text.partition("/")
            found = masked_set(base, mask)
        return found


def amount(text: str) -> int | None:
    """`15k`, `10m`, `1g` (decimal multiples, as Junos counts rates and burst sizes); None when it is not one."""
    found = AMOUNT.match(text)
    return int(found[1]) * UNITS.get(found[2].lower(), 1) if found is not None else None
