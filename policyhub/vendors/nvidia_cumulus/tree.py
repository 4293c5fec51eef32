"""NVUE in any of its forms (`nv set` lines, YAML, JSON) as one tree of words with source lines."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby, islice

from policyhub.vendorkit.blocks import Line
from policyhub.vendorkit.json_lines import Node, read_json
from policyhub.vendorkit.ledger import LineLedger
from policyhub.vendorkit.lexing import is_decimal
from policyhub.vendorkit.sharing import NOTHING, Pool, with_child
from policyhub.vendorkit.xtables.options import split_words

PASTE = re.compile(r"^(?:\\e\[\?2004[hl])+\s*")  # "bracketed paste", when a terminal's record spells its escapes
COMMAND = re.compile(r"^(?:\S{1,64}[@:]\S{0,128}[#$>]\s{0,9})?nv (set|unset)\s+(\S.*)$")
SHOW = re.compile(r"^(?:\S{1,64}[@:]\S{0,128}[#$>]\s{0,9})?(?:nv (?:config|show) .*|nv$)|^(?:\S{1,64}@\S{1,128}[#$>]\s{0,9})$")
KEY = re.compile(r"^((?:'[^']*'|\"[^\"]*\"|[^\s'\"{}\[\]|>][^{}]*?)):(?:\s+(.*))?$")
RANGE = re.compile(r"^(.*?)(\d{1,6})-(?:\1)?(\d{1,6})$")  # `swp1-4`, in the guide also `swp1-swp4`
DEFAULT_GLOBAL = "default-global"
MOST_SPREAD = 1024
MOST_PATH = 60
MOST_SHARED = 8  # lines of a word that are no list yet: one more to a tuple copies it
MOST_PORTS = 20_000  # all lists of a text together


@dataclass(slots=True)
class Branch:
    """A word and the words below it. lines: where it is named. Most words have nothing below, and are named once.

    known_lines: of it and everything below, once somebody asked.
    """

    lines: list[int] | tuple[int, ...] = ()
    children: Mapping[str, Branch] = field(default_factory=lambda: NOTHING)
    known_lines: tuple[int, ...] | None = None

    def child(self, word: str, lines: tuple[int, ...] = ()) -> Branch:
        """The one below that word, made when there is none; named on those lines, too."""
        known = self.children.get(word)
        if known is None:
            known = Branch(lines)
            self.adopt(word, known)
        elif lines and (not known.lines or known.lines[-1] != lines[-1]):
            known.name_on(lines)
        return known

    def adopt(self, word: str, child: Branch) -> None:
        self.children = with_child(self.children, word, child)

    def name_on(self, lines: Sequence[int]) -> None:
        if isinstance(self.lines, list):
            self.lines += lines
        else:
            self.lines = [*self.lines, *lines] if len(self.lines) > MOST_SHARED else (*self.lines, *lines)

    def at(self, *path: str) -> Branch | None:
        branch: Branch | None = self
        for word in path:
            branch = branch.children.get(word) if branch is not None else None
        return branch

    def value(self, *path: str) -> str:
        """The first word below the path, "" when there is none."""
        found = self.at(*path)
        return next(iter(found.children), "") if found is not None else ""

    def items(self, *path: str) -> Iterator[tuple[str, Branch]]:
        """Children of the path with lists in their names spread: `swp1-2,swp5`."""
        found = self.at(*path)
        for name, branch in found.children.items() if found is not None else ():
            for single in spread(name):
                yield single, branch

    def put(self, path: list[str], line: int) -> None:
        branch, lines = self, (line,)
        for word in path[:MOST_PATH]:
            branch = branch.child(word, lines)

    def take(self, path: list[str]) -> None:
        """`nv unset`."""
        above = self.at(*path[:-1])
        if above is None or not path:
            return
        if isinstance(above.children, dict):
            above.children.pop(path[-1], None)
        elif path[-1] in above.children:
            above.children = NOTHING

    def forget(self) -> None:
        """Drop the words below; their lines stay known."""
        self.all_lines()
        self.children = NOTHING

    def all_lines(self) -> tuple[int, ...]:
        """Lines of this branch and of everything below; the tree may not grow afterwards."""
        if self.known_lines is not None:
            return self.known_lines
        found: list[int] = []
        stack = [self]
        while stack:
            branch = stack.pop()
            if branch.known_lines is None:
                found += branch.lines
                stack.extend(branch.children.values())
            else:
                found += branch.known_lines
        found.sort()
        self.known_lines = tuple(number for number, _ in groupby(found))
        return self.known_lines

    def leaves(self) -> Iterator[tuple[tuple[str, ...], tuple[int, ...]]]:
        """Every path of words below, without recursion."""
        stack: list[tuple[tuple[str, ...], Branch]] = [((), self)]
        while stack:
            path, branch = stack.pop()
            if not branch.children and path:
                yield path, tuple(branch.lines)
            stack.extend(((*path, word), child) for word, child in reversed([*branch.children.items()]))


def spread(name: str) -> list[str]:
    """`swp1-3,swp7` -> swp1 swp2 swp3 swp7; a name that is no list stays."""
    found: list[str] = []
    for part in name.split(","):
        known = RANGE.match(part)
        if known and int(known[2]) <= int(known[3]) < int(known[2]) + MOST_SPREAD and "." not in part and ":" not in part:
            found += [f"{known[1]}{n}" for n in range(int(known[2]), int(known[3]) + 1)]
        elif part:
            found.append(part)
    return found[:MOST_SPREAD]


def ports_of(root: Branch) -> dict[str, list[Branch]]:
    """Every interface with the branches that name it (`swp1-18`, `swp1-22`), read once."""
    found: dict[str, list[Branch]] = {}
    for name, branch in islice(root.items("interface"), MOST_PORTS):
        found.setdefault(name, []).append(branch)
    return found


def numbers(name: str, most: int) -> list[int]:
    """`2,4-6` as numbers; others are left out."""
    return [int(part) for part in spread(name) if is_decimal(part) and len(part) < 4 and int(part) <= most]


@dataclass(slots=True)
class Reading:
    root: Branch = field(default_factory=Branch)
    header: dict[str, str] = field(default_factory=dict)
    nvue_lines: LineLedger = field(default_factory=LineLedger)


def read_nvue(lines: Iterable[Line], text: str, ledger: LineLedger) -> Reading:
    """`text` is what the lines are of. Lines of NVUE are booked in `nvue_lines`; booking is up to who understands the branch."""
    reading, pool = Reading(), Pool()
    rest: list[Line] = []
    for line in lines:
        if line.text.startswith("\\e["):
            line = Line(line.number, line.indent, PASTE.sub("", line.text))
        found = COMMAND.match(line.text)
        if found:
            words = [*map(pool, split_words(found[2]))]
            reading.nvue_lines.understood(line.number)
            if found[1] == "set":
                reading.root.put(words, line.number)
            else:
                reading.root.take(words)
                ledger.understood(line.number)
        elif SHOW.match(line.text):
            ledger.understood(line.number)
        else:
            rest.append(line)
    if any(line.text[:1] in "[{" for line in rest[:3]):
        _json(reading, rest, ledger)
    elif rest:
        yaml = _Yaml(reading, [line.rstrip() for line in text.removeprefix("\ufeff").split("\n")], ledger)
        for line in rest:
            yaml.line(line)
    return reading


def _json(reading: Reading, lines: list[Line], ledger: LineLedger) -> None:
    document = read_json(lines)
    for line in lines if document.odd else ():
        if line.number in document.odd:
            ledger.unparsed(line, document.odd[line.number])
    for root in document.roots:
        for part in root.items or [root]:
            header, body = part.get("header"), part.get("set")
            reading.nvue_lines.understood(*part.numbers)
            if header is not None:
                ledger.understood(*header.numbers)
                reading.header |= {name: value.text for name, value in header.pairs()}
            if body is not None or header is None:
                _json_branch(reading.root, body or part)
            ledger.understood(part.line, part.end)


def _json_branch(root: Branch, node: Node) -> None:
    stack: list[tuple[Branch, Node]] = [(root, node)]
    while stack:
        branch, here = stack.pop()
        for name, value in here.pairs():
            below = branch.child(name)
            below.name_on((value.line,) if value.end == value.line else (value.line, value.end))
            if value.members is not None:
                stack.append((below, value))
            elif value.items is not None:
                for item in value.items:
                    below.child(item.text).name_on((item.line,))
            elif value.text:
                below.child(value.text).name_on((value.line,))


class _Yaml:
    """The subset that NVUE writes: `- header:`, `- set:`, nested keys, `{}`, plain and block scalars."""

    def __init__(self, reading: Reading, raw: list[str], ledger: LineLedger) -> None:
        self.reading = reading
        self.raw = raw
        self.ledger = ledger
        self.stack: list[tuple[int, Branch]] = []
        self.in_header = False
        self.block_indent: int | None = None

    def line(self, line: Line) -> None:
        text, raw = line.text, self.raw[line.number - 1]
        indent = len(raw) - len(raw.lstrip())
        if self._is_in_block(line, indent):
            return
        if text in ("- header:", "- set:", "header:", "set:") and indent < 4:
            self.in_header = "header" in text
            self.stack = [(indent, self.reading.root)]
            self.ledger.understood(line.number)
            return
        found = KEY.match(text.removeprefix("- "))
        if found is not None and (self.stack or text.rstrip(":") in TOP):
            self._key(line, indent, found)
        elif text.startswith("- ") and self.stack:
            self._item(line, indent)

    def _is_in_block(self, line: Line, indent: int) -> bool:
        """A line of a block scalar (`snippet: |`)."""
        if self.block_indent is None or indent <= self.block_indent:
            self.block_indent = None
            return False
        if self.stack:
            self.stack[-1][1].name_on((line.number,))
            self.reading.nvue_lines.understood(line.number)
        return True

    def _item(self, line: Line, indent: int) -> None:
        while len(self.stack) > 1 and self.stack[-1][0] >= indent:
            self.stack.pop()
        self.stack[-1][1].put([line.text[2:].strip("'\"")], line.number)
        self.reading.nvue_lines.understood(line.number)

    def _key(self, line: Line, indent: int, found: re.Match[str]) -> None:
        name, value = found[1].strip("'\""), (found[2] or "").strip()
        if self.in_header:
            self.reading.header[name] = value.strip("'\"")
            self.ledger.understood(line.number)
            return
        if not self.stack:
            self.stack = [(-1, self.reading.root)]
        while len(self.stack) > 1 and self.stack[-1][0] >= indent:
            self.stack.pop()
        branch = self.stack[-1][1].child(name)
        branch.name_on((line.number,))
        self.reading.nvue_lines.understood(line.number)
        if value in ("|", ">", "|-", ">-"):
            self.block_indent = indent
        elif value and value != "{}":
            branch.child(value.strip("'\"")).name_on((line.number,))
        self.stack.append((indent, branch))


TOP = ("acl", "bridge", "evpn", "interface", "mlag", "nve", "platform", "qos", "router", "service", "system", "vrf")
