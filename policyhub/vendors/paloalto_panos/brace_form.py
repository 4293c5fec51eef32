"""The brace form: `show config running` (`name { field value; list [ a b ]; }`) and the policies that `show running` prints."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from policyhub.vendorkit.blocks import Line
from policyhub.vendors.paloalto_panos.set_form import unquoted
from policyhub.vendors.paloalto_panos.tree import DEEPEST, Node

TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|[{};\[\]]|[^\s{};\[\]]+')


@dataclass(slots=True)
class BraceText:
    root: Node
    odd: list[tuple[Line, str]] = field(default_factory=list)


@dataclass(slots=True)
class _Reading:
    result: BraceText
    stack: list[Node]
    words: list[str] = field(default_factory=list)
    first: int = 0
    begun: list[Line] = field(default_factory=list)
    group: list[str] | None = None
    too_deep: int = 0


def read_braces(lines: Iterable[Line]) -> BraceText:
    """Total. Lines that start with # or ! are comments and not among `lines`."""
    root = Node("", 1)
    result = BraceText(root)
    reading = _Reading(result, [root])
    last: Line | None = None
    for line in lines:
        last = line
        _give_up(reading, line)
        for mark in TOKEN.findall(line.text):
            _take(reading, mark, line)
        if reading.words and reading.words[0].endswith(":") and reading.group is None:
            _end_statement(reading, line.number)  # `icmp-unreachable: no` has no semicolon
    if last is not None and (len(reading.stack) > 1 or reading.words):
        reason = (
            f"the text ends inside {len(reading.stack) - 1} open braces" if len(reading.stack) > 1 else "a semicolon is missing"
        )
        _end_statement(reading, last.number)
        for node in reading.stack[1:]:
            _close(node, last.number)
        result.odd.append((last, reason))
    return result


def _give_up(reading: _Reading, line: Line) -> None:
    """A statement that is still open when a line of its own sense begins has lost its end; keys go on with one word per line."""
    if reading.words and reading.group is None and len(line.text.split(None, 1)) > 1:
        reading.result.odd.extend((known, "a semicolon is missing") for known in reading.begun)
        reading.words.clear()
    if not reading.words:
        reading.begun.clear()
    reading.begun.append(line)


def _take(reading: _Reading, mark: str, line: Line) -> None:
    if mark == "{":
        _open(reading, line)
    elif mark == "}":
        if reading.words:
            _end_statement(reading, line.number)
        if reading.too_deep:
            reading.too_deep -= 1
        elif len(reading.stack) > 1:
            _close(reading.stack.pop(), line.number)
        else:
            reading.result.odd.append((line, "a brace closes that was not opened"))
    elif mark == ";":
        _end_statement(reading, line.number)
    elif mark == "[":
        reading.group = reading.group or []
    elif mark == "]":
        pass  # a list ends with its statement
    else:
        if not reading.words:
            reading.first = line.number
        (reading.words if reading.group is None else reading.group).append(unquoted(mark))


def _open(reading: _Reading, line: Line) -> None:
    if not reading.words:
        reading.result.odd.append((line, "a brace opens without a name"))
    if reading.too_deep or len(reading.stack) >= DEEPEST:
        reading.too_deep += 1
        reading.result.odd.append((line, "nested too deep"))
    else:
        node = reading.stack[-1]
        for word in reading.words or [""]:
            node = _named(node, word, reading.first or line.number)
        reading.stack.append(node)
    reading.words.clear()
    reading.group = None


def _named(parent: Node, name: str, line: int) -> Node:
    known = parent.get(name)
    if known is None:
        return parent.child(name, line)
    if known.own is None:
        known.own = [known.line, known.end]
    known.own.append(line)
    return known


def _close(node: Node, line: int) -> None:
    if node.own is None:
        node.end = max(node.end, line)
    else:
        node.open_again(node.own[-1], line)
        node.own.append(line)


def _end_statement(reading: _Reading, line: int) -> None:
    """`field value`, `field [ a b ]`, or a name alone."""
    words, group = reading.words[:DEEPEST], reading.group
    reading.words = []
    reading.group = None
    if not words or reading.too_deep:
        return
    node = reading.stack[-1]
    for word in words:
        node = node.child(word, reading.first, line)
    for word in group or ():
        node.child(word, reading.first, line)
