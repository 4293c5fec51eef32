"""A configuration as one tree of words: `a b { c d; }` and `set a b c d` are the same path. Total, and without recursion."""

from __future__ import annotations

from collections.abc import Iterator
from sys import intern

LEAF: dict[str, Node] = {}  # what every node without children shares; `adopt` never fills it


class Node:
    """One word. `lines`: of the statements and headers that end here; `group`: the group it is inherited from, "" for its own.

    taken: its lines and all below are booked.
    """

    __slots__ = ("children", "group", "inactive", "lines", "taken", "word")

    def __init__(self, word: str, group: str = "") -> None:
        self.word = intern(word)  # the same hundred keywords make most of a configuration
        self.children = LEAF
        self.lines: tuple[int, ...] = ()
        self.inactive = False
        self.taken = False
        self.group = group

    def child(self, word: str) -> Node:
        """The child of that word, made when it is missing."""
        return self.children.get(word) or self.adopt(Node(word))

    def adopt(self, child: Node) -> Node:
        if self.children is LEAF:
            self.children = {}
        self.children[child.word] = child
        return child

    def at(self, *words: str) -> Node | None:
        """The node below, None when a word is missing or inactive."""
        node = self
        for word in words:
            found = node.children.get(word)
            if found is None or found.inactive:
                return None
            node = found
        return node

    def has(self, *words: str) -> bool:
        return self.at(*words) is not None

    def active(self) -> list[Node]:
        return [child for child in self.children.values() if not child.inactive]

    def kids(self, *words: str) -> list[Node]:
        """Active children of the node below."""
        found = self.at(*words)
        return [] if found is None else found.active()

    def values(self, *words: str) -> list[str]:
        return [child.word for child in self.kids(*words)]

    def value(self, *words: str) -> str:
        """Of a statement that holds one: the last configured word, else the first inherited one, else ""."""
        kids = self.kids(*words)
        own = [kid.word for kid in kids if not kid.group]
        return own[-1] if own else kids[0].word if kids else ""

    def walk(self) -> Iterator[Node]:
        stack = [self]
        while stack:
            node = stack.pop()
            yield node
            stack.extend(reversed(node.children.values()))

    def all_lines(self) -> tuple[int, ...]:
        """Line numbers of itself and everything below, sorted."""
        return tuple(sorted({number for node in self.walk() for number in node.lines}))

    def paths(self) -> Iterator[list[str]]:
        """The words of every active path below, in the order of the text."""
        above: list[str] = []
        stack = [(kid, 0) for kid in reversed(self.active())]
        while stack:
            node, depth = stack.pop()
            above[depth:] = [node.word]
            kids = node.active()
            if not kids:
                yield above.copy()
            stack.extend((kid, depth + 1) for kid in reversed(kids))

    def statements(self) -> list[str]:
        """The same as text: `daily start-time 08:00:00`, `daily stop-time 17:00:00`."""
        return [" ".join(path) for path in self.paths()]


def one_or_list(key: str, values: list[str]) -> str:
    """`key value`, `key [ a b ]`, or the key alone."""
    if not values:
        return key
    return f"{key} {values[0]}" if len(values) == 1 else f"{key} [ {' '.join(values)} ]"
