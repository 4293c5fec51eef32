"""Text of StoneOS as blocks that end with `exit`. Total.

Indentation tells what belongs to a block whose header is not known; without any indentation only known headers open one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from sys import intern

from policyhub.vendorkit.blocks import Line
from policyhub.vendorkit.ledger import MAX_LINE, LineLedger
from policyhub.vendorkit.sharing import Pool

WORD = re.compile(r'"([^"]*)"?|([^\s"]+)')
# `SG-6000# `, `hostname(config)# `, `hostname(vsys-a)(config-policy)# `
PROMPT = re.compile(r"^[\w.\-/]{1,64}(?:\([^()\s]{1,64}\)){0,2}[#>](?:\s|$)")
ASKS = ("show", "exec", "save", "clear", "configure", "end", "exit", "no terminal", "terminal")
FRAMES = re.compile(r"^(?:!.*|Building configuration\.*|Running configuration:?|[Ee]nd|\S{0,40}\.\.)$")
OPENERS = frozenset(
    {
        "address", "service", "servgroup", "schedule", "zone", "interface", "policy-global", "policy-group", "class-map",
        "qos-profile", "qos-engine", "root-pipe", "pipe", "pipe-map", "class", "aaa-server", "vswitch",
    }
)  # fmt: skip
MOST_WORDS = 8  # of a line that `no` repeats
RULE_HEADER = re.compile(r'^rule(?: id \d+)?(?: name (?:"[^"]*"|\S+))?(?: (?:top|(?:before|after) \S+))?$')


def split(text: str) -> list[str]:
    """Words, or names in double quotes (there is no escape in them)."""
    if '"' not in text:
        return text.split()
    return [intern(quoted or bare) for quoted, bare in WORD.findall(text)]


@dataclass(slots=True)
class Node:
    """A line, and the lines of its block. `closing`: number of its `exit`, 0 without one; `context`: the vsys it stands in.

    Most lines have none below, and a list for each would double the memory of a text.
    """

    number: int
    indent: int
    text: str
    context: str = ""
    closing: int = 0
    children: list[Node] | tuple[()] = ()

    @property
    def line(self) -> Line:
        return Line(self.number, self.indent, self.text)

    @property
    def words(self) -> list[str]:
        return split(self.text)

    @property
    def numbers(self) -> tuple[int, ...]:
        """Its own lines: header and `exit`."""
        return (self.number, self.closing) if self.closing else (self.number,)

    def adopt(self, child: Node) -> None:
        if isinstance(self.children, list):
            self.children.append(child)
        else:
            self.children = [child]

    def all_numbers(self) -> tuple[int, ...]:
        """Line numbers of itself and everything below, sorted."""
        if not self.children:
            return self.numbers
        return tuple(sorted(number for node in self.walk() for number in node.numbers))

    def walk(self) -> Iterator[Node]:
        """Itself and all below, without recursion (nesting comes from outside)."""
        stack = [self]
        while stack:
            node = stack.pop()
            yield node
            if node.children:
                stack.extend(reversed(node.children))


class _Builder:
    def __init__(self, lines: Iterable[Line], ledger: LineLedger) -> None:
        self.ledger = ledger
        self.pool = Pool()
        self.root = Node(0, -1, "")
        self.stack = [self.root]
        self.context = ""
        self.beginnings: dict[int, dict[str, list[Node]]] = {}
        self.taken: set[int] = set()
        self.thinned: dict[int, Node] = {}
        self.kept = [self._bare(line) for line in lines if line.text]
        self.kept = [line for line in self.kept if line.text]
        self.is_flat = all(line.indent == 0 for line in self.kept)

    def _bare(self, line: Line) -> Line:
        """The line without a prompt in front; what only asks is booked and becomes empty."""
        if len(line.text) > MAX_LINE:
            self.ledger.unparsed(line, "the line is too long to be configuration")
            return Line(line.number, 0, "")
        if line.indent or line.text == "exit":
            return line
        if FRAMES.match(line.text):
            self.ledger.understood(*(() if line.text[0] == "!" else (line.number,)))
            return Line(line.number, 0, "")
        prompt = PROMPT.match(line.text) if "#" in line.text or ">" in line.text else None
        if prompt is None:
            return line
        rest = line.text[prompt.end() :].strip()
        if not rest or (rest != "exit" and rest.startswith(ASKS)):
            self.ledger.understood(line.number)
            return Line(line.number, 0, "")
        return Line(line.number, line.indent, rest)

    def build(self) -> Node:
        for at, line in enumerate(self.kept):
            if line.text == "exit":
                self._exit(line)
                continue
            if not self.is_flat:
                while len(self.stack) > 1 and self.stack[-1].indent >= line.indent:
                    self.stack.pop()  # its `exit` is lost
            if self._enters(line):
                continue
            top = self.stack[-1]
            if line.text.startswith("no ") and self._takes_away(top, line):
                continue
            node = Node(line.number, line.indent, self.pool(line.text), self.context)
            top.adopt(node)
            if id(top) in self.beginnings:
                _note(self.beginnings[id(top)], node)
            if self._opens(line, self.kept[at + 1] if at + 1 < len(self.kept) else None):
                self.stack.append(node)
        for block in self.thinned.values():
            block.children = [node for node in block.children if id(node) not in self.taken]
        return self.root

    def _exit(self, line: Line) -> None:
        if len(self.stack) == 1:
            self.root.adopt(Node(line.number, line.indent, line.text))
            return
        while not self.is_flat and len(self.stack) > 2 and self.stack[-1].indent > line.indent:
            self.stack.pop()
        self.stack.pop().closing = line.number

    def _enters(self, line: Line) -> bool:
        """`enter-vsys NAME` and `exit-vsys`."""
        if not line.text.startswith(("enter-vsys ", "exit-vsys")):
            return False
        words = split(line.text)
        self.context = words[1] if words[0] == "enter-vsys" and len(words) > 1 else ""
        self.ledger.understood(line.number)
        del self.stack[1:]
        return True

    def _opens(self, line: Line, following: Line | None) -> bool:
        if following is None:
            return False
        if not self.is_flat:
            if following.indent > line.indent:
                return True
            if following.text != "exit" or following.indent != line.indent:
                return False
            return len(self.stack) == 1 or self._is_header(line)
        first, _, rest = line.text.partition(" ")
        return self._is_header(line) and bool(rest or first in ("policy-global", "pipe-map"))

    def _is_header(self, line: Line) -> bool:
        """Whether a line opens a block by its words; in a block some of them name a thing instead."""
        first = line.text.partition(" ")[0]
        if len(self.stack) > 1 and first in ("service", "zone", "qos-profile", "schedule"):
            return False
        if first == "rule":
            in_group = len(self.stack) > 1 and self.stack[-1].text.startswith("policy-group")
            return not in_group and RULE_HEADER.match(line.text) is not None
        return first in OPENERS or line.text.startswith("ip vrouter ")

    def _takes_away(self, block: Node, line: Line) -> bool:
        """Earlier lines that begin like what stands behind `no`; whether there were any."""
        index = self.beginnings.get(id(block))
        if index is None:
            index = self.beginnings[id(block)] = {}
            for child in block.children:
                _note(index, child)
        gone = index.pop(line.text.removeprefix("no ").strip(), [])
        gone = [node for node in gone if id(node) not in self.taken]
        if not gone:
            return False
        self.ledger.understood(line.number, *(number for node in gone for number in node.all_numbers()))
        self.taken.update(id(node) for node in gone)
        self.thinned[id(block)] = block
        return True


def _note(index: dict[str, list[Node]], node: Node) -> None:
    """A line under each of its beginnings, whole words."""
    words = node.text.split(" ", MOST_WORDS)
    for count in range(1, min(len(words), MOST_WORDS) + 1):
        index.setdefault(" ".join(words[:count]), []).append(node)


def read_tree(lines: Iterable[Line], ledger: LineLedger) -> Node:
    return _Builder(lines, ledger).build()
