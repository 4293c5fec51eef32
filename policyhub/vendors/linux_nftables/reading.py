"""What one parse collects: tables with chains, sets and named objects, in the order of the text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from policyhub.domain.addresses import AddressSet
from policyhub.vendorkit.ledger import LineLedger
from policyhub.vendorkit.lexing import NotUnderstood
from policyhub.vendorkit.service_names import ServiceNames
from policyhub.vendors.linux_nftables.lexer import Group, Node, Token, elements, nodes_of, text_of

PACKAGE = "policyhub.vendors.linux_nftables"
NAMES = ServiceNames.of(PACKAGE)
FAMILIES = ("ip", "ip6", "inet", "arp", "bridge", "netdev")
VERSIONS = {"ip": 4, "ip6": 6}
MOST_BRANCHES = 20_000  # rules that the verdict maps of one table may stand for; what goes beyond is a condition
MOST_NODES = 200_000  # of an expanded `define`: definitions that double each other must not fill the memory


@dataclass(slots=True)
class SetDef:
    """A set or map. `types`: key types in order; `data`: type of a map's values, "" for a set; elements: one node list each."""

    name: str
    types: tuple[str, ...] = ()
    data: str = ""
    flags: tuple[str, ...] = ()
    elements: list[list[Node]] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    addresses: AddressSet | None = None  # of the elements, once somebody asked

    @property
    def is_dynamic(self) -> bool:
        """Filled by packets or emptied by time: what it holds now says nothing about a minute later."""
        return bool({"dynamic", "timeout"} & set(self.flags))


@dataclass(slots=True)
class RuleText:
    """A rule as one line in nft's own spacing: its nodes take ten times as much, and are made again for whoever asks."""

    text: str
    lines: tuple[int, ...]
    handle: str = ""

    @property
    def nodes(self) -> list[Node]:
        return nodes_of(self.text)


@dataclass(slots=True)
class Chain:
    """`hook` "" for a chain that is only jumped to. nameless: how many chains without a name its rules hold."""

    name: str
    kind: str = ""
    hook: str = ""
    devices: tuple[str, ...] = ()
    priority: str = ""
    policy: str = ""
    nameless: int = 0
    rules: list[RuleText] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Table:
    family: str
    name: str
    chains: dict[str, Chain] = field(default_factory=dict)
    sets: dict[str, SetDef] = field(default_factory=dict)
    counters: dict[str, tuple[int, int]] = field(default_factory=dict)
    limits: dict[str, list[Node]] = field(default_factory=dict)
    dormant: bool = False
    branches_left: int = MOST_BRANCHES

    @property
    def title(self) -> str:
        return f"{self.family} {self.name}"


@dataclass(slots=True)
class Reading:
    ledger: LineLedger = field(default_factory=LineLedger)
    tables: dict[tuple[str, str], Table] = field(default_factory=dict)
    defines: dict[str, list[Node]] = field(default_factory=dict)

    def table(self, family: str, name: str) -> Table:
        return self.tables.setdefault((family, name), Table(family, name))

    def define(self, name: str, nodes: Sequence[Node]) -> bool:
        """Values are expanded when they are defined, so a name can only mean earlier ones. False when it grows too large."""
        expanded = self.expand(nodes)
        if count(expanded) > MOST_NODES:
            return False
        self.defines[name] = expanded
        return True

    def expand(self, nodes: Sequence[Node]) -> list[Node]:
        """`$name` replaced by its value, at the top and inside braces; a name that is not defined stays."""
        found: list[Node] = []
        for node in nodes:
            if isinstance(node, Group):
                inner = Group(node.line, [], node.end, node.closed)
                for item in node.items:
                    inner.items += self._replace(item) if isinstance(item, Token) else [item]
                found.append(inner)
            else:
                found += self._replace(node)
        return found

    def _replace(self, token: Token) -> list[Node]:
        known = self.defines.get(token.text[1:]) if token.kind == "word" and token.text.startswith("$") else None
        return [token] if known is None else known


def count(nodes: Sequence[Node]) -> int:
    total, stack = 0, list(nodes)
    while stack and total <= MOST_NODES:
        node = stack.pop()
        total += 1
        if isinstance(node, Group):
            stack.extend(node.items)
    return total


NOTES = frozenset(("counter", "comment", "timeout", "expires", "quota", "limit", "last", "ct"))  # behind an element, nft(8), SETS
BETWEEN = frozenset((".", ":", "-", "/", "&", "|", "^", "and", "or", "xor", "<<", ">>"))


def is_note(node: Node) -> bool:
    return isinstance(node, Token) and node.text in NOTES


def is_element(part: Sequence[Node]) -> bool:
    """Whether these are one value, or values with a joint between each two, and notes. Without its comma an element is two."""
    at, words = 1, [node.text if isinstance(node, Token) and node.kind == "word" else "" for node in part[1:]]
    while at < len(words) and words[at - 1] in BETWEEN:
        at += 3 if words[at] in ("jump", "goto") else 2
    return at > len(words) or is_note(part[at])


def flat_elements(group: Group) -> list[list[Node]]:
    """Elements with sets inside sets (from definitions) laid flat."""
    found: list[list[Node]] = []
    stack = list(reversed(elements(group)))
    while stack:
        part = stack.pop()
        if len(part) == 1 and isinstance(part[0], Group):
            stack.extend(reversed(elements(part[0])))
        else:
            found.append(part)
    return found


class NoElement(NotUnderstood):
    """Nothing is known of the whole rule: where its set ends is a guess."""


def elements_of(group: Group) -> list[list[Node]]:
    """The same, of a set that is read. Raises NoElement."""
    parts = flat_elements(group)
    odd = next((part for part in parts if not is_element(part)), None)
    if odd is not None:
        raise NoElement(f"{text_of(odd[:8])[:40]!r} is no element of a set")
    return parts
