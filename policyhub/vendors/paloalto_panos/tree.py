"""The one tree that XML, `set` lines and braces become: names below names, each with its lines.

A value is a child without children: `action allow`, `<action>allow</action>` and `action allow;` are the same tree.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.resources import files

PACKAGE = "policyhub.vendors.paloalto_panos"
_WORDS: dict[str, str] = json.loads(files(PACKAGE).joinpath("words.json").read_text(encoding="utf-8"))

DEEPEST = 64  # PAN-OS nests about 20 deep; what lies deeper belongs to the node above it


def words(name: str) -> frozenset[str]:
    """One list of `words.json`."""
    return frozenset(_WORDS[name].split())


# a field with one value: the value, first and last line, line of the value
OneValue = tuple[str, int, int, int]
Packed = int | OneValue  # a value is its line


class Node:
    """line, end: first and last line; more: further lines (a name opened again, `set` lines); own: lines on which only this
    name stands (opening and closing tag, a `set` line that ends here), None for line and end.

    children: by name, a second one of a name with a NUL and a number behind it. Most of a configuration are values and fields
    with one value; until somebody asks for them as nodes they are packed, because a node costs ten times as much.
    """

    __slots__ = ("children", "end", "line", "more", "name", "own")

    def __init__(self, name: str, line: int, end: int = 0) -> None:
        self.name = name
        self.line = line
        self.end = end or line
        self.more: list[int] | None = None
        self.own: list[int] | None = None
        self.children: dict[str, Node | Packed] | None = None

    def __iter__(self) -> Iterator[Node]:
        children = self.children
        if not children:
            return iter(())
        return iter([child if isinstance(child, Node) else self._grown(name, child) for name, child in children.items()])

    def _grown(self, name: str, packed: Packed) -> Node:
        """What was packed, as a node."""
        if isinstance(packed, int):
            node = Node(name, packed)
        else:
            value, line, end, at = packed
            node = Node(name, line, end)
            node.children = {value: at}
        if self.children is not None:
            self.children[name] = node
        return node

    def get(self, name: str) -> Node | None:
        if self.children is None:
            return None
        child = self.children.get(name)
        return child if child is None or isinstance(child, Node) else self._grown(name, child)

    def pack(self, node: Node) -> None:
        """Put a finished child away when it is a field with one value."""
        found, held = node.children, self.children
        if found is not None and len(found) == 1 and held is not None and held.get(node.name) is node:
            ((value, at),) = found.items()
            if isinstance(at, int):
                held[node.name] = (value, node.line, node.end, at)

    def at(self, *names: str) -> Node | None:
        """What stands below a path of names."""
        node: Node | None = self
        for name in names:
            if node is None:
                return None
            node = node.get(name)
        return node

    @property
    def values(self) -> tuple[str, ...]:
        if not self.children:
            return ()
        found = tuple(self.children)
        return tuple(name.partition("\0")[0] for name in found) if "\0" in found[-1] else found

    @property
    def value(self) -> str:
        """The last value: a later `set` replaces an earlier one. "" without one."""
        return next(reversed(self.children)).partition("\0")[0] if self.children else ""

    def text(self, name: str, *more: str) -> str:
        """The value below a path, "" when there is none."""
        if not self.has(name):  # most often
            return ""
        found = self.members(name, *more)
        return found[-1] if found else ""

    def members(self, name: str, *more: str) -> tuple[str, ...]:
        """The values below a path."""
        child = None if self.children is None else self.children.get(name)
        if isinstance(child, tuple) and not more:
            value = child[0]
            return (value.partition("\0")[0],) if "\0" in value else (value,)
        if child is None or isinstance(child, int):
            return ()
        node = self.get(name)
        if node is not None and more:
            node = node.at(*more)
        return () if node is None else node.values

    def has(self, name: str) -> bool:
        return self.children is not None and name in self.children

    @property
    def lines(self) -> tuple[int, ...]:
        if self.more is None:
            return (self.line,) if self.end == self.line else tuple(range(self.line, self.end + 1))
        return tuple(sorted({*range(self.line, self.end + 1), *self.more}))

    @property
    def own_lines(self) -> tuple[int, ...]:
        return (self.line, self.end) if self.own is None else tuple(self.own)

    def child(self, name: str, line: int, end: int = 0) -> Node:
        """The child of this name, made when it is missing; opened again, it keeps the further lines."""
        if self.children is None:
            self.children = {}
        known = self.get(name)
        if known is None:
            known = self.children[name] = Node(name, line, end)
        else:
            known.open_again(line, end or line)
        return known

    def open_again(self, line: int, end: int) -> None:
        if self.more is None:
            self.more = []
        self.more.extend(range(line, end + 1))

    def add_twin(self, node: Node) -> None:
        """A further child, also when its name is taken: two rules of one name stay two."""
        if self.children is None:
            self.children = {}
        taken = node.name in self.children
        self.children[f"{node.name}\0{len(self.children)}" if taken else node.name] = node

    def walk(self, path: str) -> Iterator[tuple[Node, str]]:
        """Itself and everything below with paths as in a `set` line; parents first."""
        stack = [(self, path)]
        while stack:
            node, at = stack.pop()
            yield node, at
            if node.children:
                stack.extend((child, f"{at} {child.name[:200]}") for child in reversed(list(node)))


def unknown(node: Node, known: frozenset[str]) -> list[Node]:
    """The children whose names are not among the known ones."""
    if node.children is None or known.issuperset(node.children):
        return []
    return [child for child in node if child.name not in known]
