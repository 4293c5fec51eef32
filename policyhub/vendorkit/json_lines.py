"""JSON with source lines, read as far as it can be: damaged text gives what is readable and a list of odd lines. RFC 8259."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from policyhub.vendorkit.blocks import Line
from policyhub.vendorkit.sharing import Pool

TOKEN = re.compile(
    r"[\s\x00]+|(?P<punctuation>[{}\[\]:,])|(?P<string>\"[^\"\\\n]{0,100000}+(?:\\.[^\"\\\n]{0,100000}+){0,100000}+\")|(?P<word>[-+.\w]{1,4000})|(?P<odd>[^\n])"
)
MOST_DEPTH = 200


@dataclass(slots=True)
class Node:
    """A value. `members` of an object, `items` of an array, `text` of anything else (numbers as written). Lines are 1-based."""

    line: int
    end: int
    members: dict[str, Node] | None = None
    items: list[Node] | None = None
    text: str = ""

    @property
    def numbers(self) -> range:
        return range(self.line, self.end + 1)

    @property
    def is_scalar(self) -> bool:
        return self.members is None and self.items is None

    def get(self, *path: str) -> Node | None:
        """The value below the names, None when a step is missing or no object."""
        node: Node | None = self
        for name in path:
            node = node.members.get(name) if node is not None and node.members is not None else None
        return node

    def word(self, name: str) -> str:
        """A scalar member's text, "" when there is none."""
        node = self.get(name)
        return node.text if node is not None and node.is_scalar else ""

    def pairs(self) -> Iterator[tuple[str, Node]]:
        yield from (self.members or {}).items()

    def words(self) -> list[str]:
        """Texts of an array, or of a comma separated word."""
        if self.items is not None:
            return [item.text for item in self.items if item.is_scalar]
        return [part.strip() for part in self.text.split(",") if part.strip()]


@dataclass(slots=True)
class Document:
    """roots: the values of the text, mostly one. odd: line -> reason for lines that break the grammar."""

    roots: list[Node] = field(default_factory=list)
    odd: dict[int, str] = field(default_factory=dict)


@dataclass(slots=True)
class _Frame:
    node: Node
    key: str | None = None
    key_line: int = 0
    wants_value: bool = False


class _Reader:
    def __init__(self) -> None:
        self.document = Document()
        self.stack: list[_Frame] = []
        self.pool = Pool()

    def value(self, node: Node) -> None:
        """Put a value where the text stands."""
        if not self.stack:
            self.document.roots.append(node)
            return
        frame = self.stack[-1]
        if frame.node.items is not None:
            frame.node.items.append(node)
        elif frame.key is not None and frame.wants_value and frame.node.members is not None:
            node.line = min(node.line, frame.key_line)
            known = frame.node.members.get(frame.key)
            if known is not None and known.members is not None and node.members is not None:
                node.members = {**known.members, **node.members}
            frame.node.members[frame.key] = node
            frame.key, frame.wants_value = None, False
        else:
            self.document.odd.setdefault(node.line, "a value without a name")

    def string(self, written: str, line: int) -> None:
        text = self.pool(_unquoted(written))
        frame = self.stack[-1] if self.stack else None
        if frame is not None and frame.node.members is not None and not frame.wants_value:
            if frame.key is not None:
                self.document.odd.setdefault(line, "a name without a value")
            frame.key, frame.key_line = text, line
        else:
            self.value(Node(line, line, text=text))

    def open(self, char: str, line: int) -> None:
        node = Node(line, line, members={} if char == "{" else None, items=[] if char == "[" else None)
        key_before = bool(self.stack and self.stack[-1].wants_value) or not self.stack or self.stack[-1].node.items is not None
        if len(self.stack) >= MOST_DEPTH:
            self.document.odd.setdefault(line, "nested too deeply")
            return
        if key_before:
            self.value(node)
        else:
            self.document.odd.setdefault(line, "a value without a name")
        self.stack.append(_Frame(node))

    def close(self, char: str, line: int) -> None:
        wanted = "members" if char == "}" else "items"
        if not any(getattr(frame.node, wanted) is not None for frame in self.stack):
            self.document.odd.setdefault(line, f"nothing is open that {char} closes")
            return
        while self.stack:
            frame = self.stack.pop()
            node = frame.node
            if frame.key is not None:
                self.document.odd.setdefault(frame.key_line, "a name without a value")
            node.end = max(node.end, line)
            if getattr(node, wanted) is not None:
                return
            self.document.odd.setdefault(line, f"{char} closes what something else opened")

    def punctuation(self, char: str, line: int) -> None:
        """A bracket, or a colon or comma where none belongs."""
        if char in "{[":
            self.open(char, line)
        elif char in "}]":
            self.close(char, line)
        elif char == ":":
            self.document.odd.setdefault(line, "a colon without a name")
        elif self.stack and self.stack[-1].key is not None:
            self.document.odd.setdefault(line, "a name without a value")
            self.stack[-1].key, self.stack[-1].wants_value = None, False


def read_json(lines: Iterable[Line]) -> Document:
    """All values of the lines. Total; time grows with the text."""
    reader = _Reader()
    stack = reader.stack
    last = 0
    for line in lines:
        last = line.number
        for found in TOKEN.finditer(line.text):
            kind = found.lastgroup
            if kind == "punctuation":
                char = found[0]
                if char == ":" and stack and stack[-1].key is not None:  # nearly half of all
                    stack[-1].wants_value = True
                elif char != "," or not stack or stack[-1].key is not None:
                    reader.punctuation(char, last)
            elif kind == "string":
                reader.string(found[0], last)
            elif kind == "word":
                frame = stack[-1] if stack else None
                if frame is None or (frame.node.members is not None and not frame.wants_value) or not _is_literal(found[0]):
                    reader.document.odd.setdefault(last, "not JSON")
                else:
                    reader.value(Node(last, last, text="" if found[0] == "null" else reader.pool(found[0])))
            elif kind == "odd":
                reader.document.odd.setdefault(last, "not JSON")
    for frame in stack:
        frame.node.end = max(frame.node.end, last)
    return reader.document


def _is_literal(word: str) -> bool:
    return word in ("true", "false", "null") or word[0] in "-0123456789"


def _unquoted(text: str) -> str:
    if "\\" not in text:
        return text[1:-1]
    try:
        found: str = json.loads(text)
    except ValueError:
        return text[1:-1]
    return found
