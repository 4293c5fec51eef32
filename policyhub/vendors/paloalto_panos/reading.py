"""What the readers of one text share: the books, the scopes with their objects, and the operands of rules resolved once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from policyhub.domain.addresses import AddressSet
from policyhub.domain.device_config import Interface, Route
from policyhub.domain.objects import Zone
from policyhub.domain.qos import QosPolicy
from policyhub.vendorkit.blocks import Lines
from policyhub.vendorkit.ledger import NOT_UNDERSTOOD, IgnoreList, LineLedger, is_sensitive
from policyhub.vendorkit.operands import NameTable, Services, address_table, service_table
from policyhub.vendors.paloalto_panos.tree import PACKAGE, Node

IGNORED = IgnoreList.of(PACKAGE)
SHARED = "shared"
MOST_LEVELS = 16  # Panorama allows four levels of device groups below shared
PRE, LOCAL, POST = "pre-", "", "post-"


@dataclass(slots=True)
class Rulebase:
    """Rules as they stand: position PRE, LOCAL or POST; kind: security, nat, ..; node: the list of rules."""

    position: str
    kind: str
    node: Node
    pushed: bool = False


@dataclass(slots=True)
class Scope:
    """Where names live: a vsys, `shared`, a device group, a template. `above`: where a name is looked up next.

    prefix: of its policies' names. objects: kind ("address", "service-group", ..) -> name -> node.
    """

    context: str
    prefix: str = ""
    is_group: bool = False
    above: Scope | None = None
    objects: dict[str, dict[str, Node]] = field(default_factory=dict)
    rulebases: list[Rulebase] = field(default_factory=list)
    _chain: list[Scope] = field(default_factory=list)

    def chain(self) -> list[Scope]:
        """Itself and what is above it; a cycle of device groups ends. Asked once everything is read."""
        if not self._chain:
            scope: Scope | None = self
            while scope is not None and len(self._chain) < MOST_LEVELS and all(scope is not known for known in self._chain):
                self._chain.append(scope)
                scope = scope.above
        return self._chain

    def find(self, kinds: tuple[str, ...], name: str) -> tuple[Scope, str] | None:
        """The nearest scope that has the name as one of the kinds, and the kind."""
        for scope in self.chain():
            for kind in kinds:
                known = scope.objects.get(kind)
                if known is not None and name in known:
                    return scope, kind
        return None


@dataclass(slots=True)
class Reading:
    lines: Lines
    ledger: LineLedger = field(default_factory=LineLedger)
    hostname: str = ""
    version: str = ""
    manager: str = ""
    shared: Scope = field(default_factory=lambda: Scope(SHARED, f"{SHARED}/"))
    vsys: dict[str, Scope] = field(default_factory=dict)
    groups: dict[str, Scope] = field(default_factory=dict)
    templates: dict[str, Scope] = field(default_factory=dict)
    parents: dict[str, str] = field(default_factory=dict)
    addresses: NameTable[AddressSet] = field(default_factory=address_table)
    services: NameTable[Services] = field(default_factory=service_table)
    interfaces: dict[tuple[str, str], Interface] = field(default_factory=dict)
    imports: dict[tuple[str, str], str] = field(default_factory=dict)
    zones: list[Zone] = field(default_factory=list)
    routes: list[Route] = field(default_factory=list)
    qos_policies: list[QosPolicy] = field(default_factory=list)
    left: list[tuple[Node, str, str]] = field(default_factory=list)
    running: list[Node] = field(default_factory=list)

    def scope_of_vsys(self, name: str) -> Scope:
        """vsys1 gives its policies no prefix, so that counters find them whether or not there are others."""
        if name not in self.vsys:
            self.vsys[name] = Scope(name, "" if name == "vsys1" else f"{name}/", above=self.shared)
        return self.vsys[name]

    def scope_of_group(self, name: str) -> Scope:
        if name not in self.groups:
            self.groups[name] = Scope(name, f"{name}/", is_group=True, above=self.shared)
        return self.groups[name]

    def scope_of_template(self, name: str) -> Scope:
        if name not in self.templates:
            self.templates[name] = Scope(name, f"{name}/", above=self.shared)
        return self.templates[name]

    def context_of(self, scope: Scope) -> str:
        """A single vsys needs no name."""
        return "" if len(self.vsys) == 1 and self.vsys.get(scope.context) is scope else scope.context

    def scopes(self) -> Iterator[Scope]:
        yield self.shared
        yield from self.groups.values()
        yield from self.templates.values()
        yield from self.vsys.values()

    def understand(self, node: Node) -> None:
        """The node with everything below it."""
        if node.more is None:
            self.ledger.understood(*range(node.line, node.end + 1))
        else:
            self.ledger.understood(*node.lines)

    def pass_by(self, node: Node) -> None:
        """A container: only its own lines; what is below is read by others."""
        self.ledger.understood(*node.own_lines)

    def complain(self, node: Node, reason: str) -> None:
        """Everything of the node is unparsed."""
        for number in node.lines:
            if number <= len(self.lines) and self.lines[number - 1].text:
                self.ledger.unparsed(self.lines[number - 1], reason)

    def leave(self, node: Node, path: str, reason: str = NOT_UNDERSTOOD) -> None:
        """Nobody models this: at the end it is on the ignore list or unparsed."""
        self.left.append((node, path, reason))

    def settle_left(self) -> None:
        """Book what was left, when all lines that others understood are known."""
        for node, path, reason in self.left:
            if IGNORED.lines.match(path) or IGNORED.blocks.match(path):
                self._ignore(node, path, reason)
            else:
                self.complain(node, reason)

    def _ignore(self, node: Node, path: str, reason: str) -> None:
        """Each line belongs to the deepest name on it. A line that others understood is judged by the name, not by its text."""
        owners: dict[int, str] = {}
        for below, at in node.walk(path):
            shared = self.ledger.is_booked(below.line)
            if shared and is_sensitive(at) and not IGNORED.excuses(at.replace("\n", " ")):
                self.complain_line(below.line, reason)
            elif not shared:
                owners.update(dict.fromkeys(below.lines, at))
        for number, at in owners.items():
            line = self.lines[number - 1] if number <= len(self.lines) else None
            if line is None or not line.text or self.ledger.is_booked(number):
                continue
            if not is_sensitive(line.text):
                self.ledger.ignore(line)
            elif IGNORED.excuses(at.replace("\n", " ")):
                self.ledger.excuse(number)
            else:
                self.ledger.unparsed(line, reason)

    def complain_line(self, number: int, reason: str) -> None:
        if number <= len(self.lines):
            self.ledger.unparsed(self.lines[number - 1], reason)


def qualified(scope: Scope, name: str) -> str:
    """The name in the tables, which are shared by all scopes."""
    return f"{scope.context}\0{name}"


def plain(names: Iterable[str]) -> tuple[str, ...]:
    """Names as the text has them, each once."""
    return tuple(dict.fromkeys(name.rpartition("\0")[2] for name in names))
