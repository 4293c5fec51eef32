"""VyOS configuration as a tree of words, from braces and from set commands. Total."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice

from policyhub.vendorkit.blocks import Line
from policyhub.vendorkit.ledger import LineLedger
from policyhub.vendorkit.rendering import is_prompt
from policyhub.vendorkit.sharing import NOTHING, Pool, with_child

WORD = re.compile(r"\"([^\"]*)\"|'([^']*)'|([^\s\"']+)")
MOST_DEPTH = 60


@dataclass(slots=True)
class Node:
    """children by word, in text order. own: lines that end here or open the block. Most words have none of either."""

    children: Mapping[str, Node] = field(default_factory=lambda: NOTHING)
    own: tuple[int, ...] = ()

    def child(self, word: str) -> Node:
        """The one below that word, made when there is none."""
        known = self.children.get(word)
        if known is None:
            known = Node()
            self.children = with_child(self.children, word, known)
        return known

    def get(self, *path: str) -> Node | None:
        node: Node | None = self
        for word in path:
            node = node.children.get(word) if node is not None else None
        return node

    def word(self, *path: str) -> str:
        """The first value below the path, "" when there is none."""
        node = self.get(*path)
        return next(iter(node.children), "") if node is not None else ""

    def words(self, *path: str) -> list[str]:
        node = self.get(*path)
        return list(node.children) if node is not None else []

    def has(self, *path: str) -> bool:
        return self.get(*path) is not None

    def pairs(self, *path: str) -> Iterator[tuple[str, Node]]:
        node = self.get(*path)
        yield from node.children.items() if node is not None else ()

    @property
    def lines(self) -> tuple[int, ...]:
        """Of itself and everything below it, sorted."""
        found: set[int] = set()
        stack = [self]
        while stack:
            node = stack.pop()
            found.update(node.own)
            stack.extend(node.children.values())
        return tuple(sorted(found))

    def leaves(self, prefix: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Node]]:
        """(words, node) of everything below that ends, in text order."""
        stack = [(prefix, self)]
        while stack:
            path, node = stack.pop()
            if not node.children and path:
                yield path, node
            stack.extend(((*path, word), child) for word, child in reversed([*node.children.items()]))


def split_words(text: str) -> list[str]:
    return [double or single or plain for double, single, plain in WORD.findall(text)]


def put(root: Node, path: Iterable[str], number: int) -> Node:
    node = root
    for word in islice(path, MOST_DEPTH + 20):
        node = node.child(word)
    node.own = (*node.own, number)
    return node


def read_tree(lines: Iterable[Line], ledger: LineLedger) -> Node:
    """Comments, prompts and closing braces are booked; what is in the tree is booked by who reads it."""
    root, pool = Node(), Pool()
    stack: list[list[str]] = []
    is_comment = False
    for line in lines:
        text = line.text
        if not text:
            continue
        if is_comment or text.startswith(("//", "/*", "#")) or (is_prompt(text) and not text.endswith("{")):
            is_comment = (is_comment or text.startswith("/*")) and not text.endswith("*/")
            ledger.understood(line.number)
        elif text.startswith("set ") and not stack:
            put(root, map(pool, split_words(text)[1:]), line.number)
        elif text.startswith(("delete ", "no ")) and not stack:
            ledger.unparsed(line, "a command that takes away is no configuration")
        elif text == "}":
            if stack:
                stack.pop()
                ledger.understood(line.number)
            else:
                ledger.unparsed(line, "nothing is open that } closes")
        elif text.endswith("{") and len(stack) < MOST_DEPTH:
            words = split_words(text[:-1])
            stack.append(words)
            put(root, (word for level in stack for word in level), line.number)
        else:
            put(root, (*(word for level in stack for word in level), *map(pool, split_words(text))), line.number)
    return root
