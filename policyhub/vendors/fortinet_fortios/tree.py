"""Text of FortiOS as a tree: `config TABLE` holds entries (`edit NAME` .. `next`), settings and tables. Total.

Grammar: Fortinet, FortiOS Administration Guide, "Using the CLI" (command structure, subcommands of table, shell and field).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from sys import intern
from types import MappingProxyType

from policyhub.domain.device_config import ENDS_INSIDE
from policyhub.vendorkit.blocks import Lines
from policyhub.vendorkit.ledger import LineLedger
from policyhub.vendorkit.ordering import Order

MARK = re.compile(r'\\.|"')
PIECE = re.compile(r'\\(.)|(")|(\s+)|([^\\"\s]+)|(\\)', re.DOTALL)
# a prompt, alone or before an echoed command: `FGT # `, `FGT (root) # show`; a keyword in front is no prompt
PROMPT = re.compile(
    r"^(?!set |unset |append |select |unselect |edit |config |next |end )[^\s#$]{1,64} (?:\([^)\n]{1,64}\) )?[#$](?: |$)"
)
ASKS = ("show", "get", "diagnose", "diag", "execute", "exec", "fnsysctl", "exit", "quit")
ROOTS = frozenset({"system", "firewall", "router", "vpn"})  # whose tables stand at the top: an `end` before them is missing
DEEPEST = 24  # tables and entries in each other; the deepest of the CLI reference are a third of it
MOST_SHARED = 40  # characters of a value that is kept once for all settings that have it
NOTHING: Mapping[str, Node] = MappingProxyType({})
FIELDS = frozenset({"set", "unset", "append", "select", "unselect", "clear"})
ADDS = frozenset({"set", "select", "append"})
TABLE_WORDS = frozenset({"delete", "rename", "move", "clone", "purge"})


def split(raw: str) -> list[str]:
    """Values of a setting: words, or texts in double quotes with backslash escapes."""
    if '"' not in raw:
        return raw.split()
    if "\\" not in raw:
        if raw[0] == '"' and raw.find('"', 1) == len(raw) - 1:
            return [raw[1:-1]]
        values = _in_quotes(raw.split('"'))
        if values is not None:
            return values
    return _pieces(raw)


def _in_quotes(parts: list[str]) -> list[str] | None:
    """The text cut at its quotes, when blanks stand around each quoted text and every quote is closed; else None."""
    if len(parts) % 2 == 0:
        return None
    first, *between, last = parts[::2]
    if first[-1:] not in ("", " ") or last[:1] not in ("", " ") or not all(p[:1] == " " == p[-1:] for p in between):
        return None
    values: list[str] = []
    for at, part in enumerate(parts):
        if at % 2:
            values.append(part)
        elif part:
            values.extend(part.split())
    return values


def _pieces(raw: str) -> list[str]:
    values: list[str] = []
    current: list[str] | None = None
    quoted = False
    for escaped, quote, blank, word, slash in PIECE.findall(raw):
        if quote:
            quoted = not quoted
            current = [] if current is None else current
        elif blank and not quoted:
            if current is not None:
                values.append("".join(current))
            current = None
        else:
            current = [] if current is None else current
            current.append(escaped or blank or word or slash)
    if current is not None:
        values.append("".join(current))
    return values


def has_open_quote(text: str) -> bool:
    if '"' not in text:
        return False
    if "\\" not in text:
        return text.count('"') % 2 == 1
    marks: list[str] = MARK.findall(text)
    return marks.count('"') % 2 == 1


def without_prompt(text: str) -> str:
    prompt = PROMPT.match(text)
    return text if prompt is None else text[prompt.end() :].strip()


@dataclass(slots=True)
class Node:
    """A table (`config`) or an entry (`edit`). `number`: of its first line; `numbers`: without those of what is below.

    names: of what each of these lines sets, "" for nothing.
    settings: everything behind the name, as written; of one that was appended to, all of it.
    Most nodes have neither entries nor tables, and an empty table for each would cost more than its lines.
    """

    name: str
    is_entry: bool
    number: int
    numbers: list[int] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    settings: dict[str, str] = field(default_factory=dict)
    entries: Mapping[str, Node] = field(default_factory=lambda: NOTHING)
    tables: Mapping[str, Node] = field(default_factory=lambda: NOTHING)
    headers: Sequence[int] = ()
    aliases: Sequence[tuple[str, str]] = ()

    def held(self) -> dict[str, Node]:
        """Its entries, to be changed."""
        if not isinstance(self.entries, dict):
            self.entries = {}
        return self.entries

    def open_table(self, name: str, number: int) -> Node:
        """The table of that name, opened again or made."""
        if not isinstance(self.tables, dict):
            self.tables = {}
        return self.tables.setdefault(name, Node(name, False, number))

    def value(self, name: str) -> str:
        """The first value, "" without one."""
        raw = self.settings.get(name, "")
        if not raw or raw.isalnum():  # most
            return raw
        values = split(raw)
        return values[0] if values else ""

    def values(self, name: str) -> list[str]:
        return split(self.settings.get(name, ""))

    def words(self, name: str) -> str:
        """A setting as it was written, its name in front."""
        raw = self.settings[name]
        return f"{name} {raw}" if raw else name

    def note(self, *numbers: int) -> None:
        """Lines of its own that set nothing."""
        self.numbers.extend(numbers)
        self.names.extend([""] * len(numbers))

    def fields(self) -> Iterator[tuple[str, int]]:
        """Names of its settings, each with the number of a line that sets it."""
        return ((name, number) for name, number in zip(self.names, self.numbers, strict=True) if name in self.settings)

    def forget(self, name: str) -> None:
        """A setting that is taken away."""
        if self.settings.pop(name, None) is not None:
            self.names = ["" if known == name else known for known in self.names]

    def numbers_of(self, name: str) -> tuple[int, ...]:
        """Lines that set or append to a setting."""
        return tuple(number for found, number in self.fields() if found == name)

    def is_on(self, name: str) -> bool:
        return self.value(name) == "enable"

    def all_numbers(self) -> tuple[int, ...]:
        """Line numbers of itself and everything below, sorted."""
        if not self.tables and not self.entries:
            return tuple(self.numbers)
        found: list[int] = []
        stack = [self]
        while stack:
            node = stack.pop()
            found += node.numbers
            stack += [*node.tables.values(), *node.entries.values()]
        return tuple(sorted(found))

    def rows(self, table: str) -> list[Node]:
        """Entries of a table below this one."""
        below = self.tables.get(table)
        return [] if below is None else list(below.entries.values())


@dataclass(slots=True)
class Tree:
    """`root` holds the tables of the text. Line numbers: `stray` belong nowhere, `prompts` are echoed commands and prompts."""

    root: Node
    stray: list[int] = field(default_factory=list)
    prompts: list[int] = field(default_factory=list)


class _Builder:
    def __init__(self, lines: Lines, ledger: LineLedger) -> None:
        self.lines = lines
        self.ledger = ledger
        self.read_to = 0  # number of the line up to which a quoted text goes
        self.tree = Tree(Node("", False, 0))
        self.stack = [self.tree.root]
        self.last_closed = ""
        self.orders: dict[int, tuple[Node, Order]] = {}  # of the tables whose entries were moved

    def build(self) -> Tree:
        for number, text in enumerate(self.lines.texts(), 1):
            if number <= self.read_to or not text or text[0] == "#":
                continue
            words = text.split(None, 2)
            if len(words) == 3 and words[0] == "set":  # by far the most frequent
                self._set(words[1], words[2], number)
                continue
            word, _, rest = text.partition(" ")
            if not self._step(word, rest, number):
                self._other(text, number)
        for key in list(self.orders):
            self._reorder(key)
        self._ended()
        return self.tree

    def _ended(self) -> None:
        """A text that ends inside of an entry was cut: what else the entry says is not known."""
        inside = [node.name for at, node in enumerate(self.stack) if node.is_entry and self.stack[at - 1].name != "vdom"]
        if inside:
            self.ledger.unparsed(self.lines.at(max(self.stack[-1].numbers)), f"{ENDS_INSIDE}{inside[0][:40]!r}")

    def _reorder(self, key: int) -> None:
        """Entries in the order that moves gave them."""
        table, order = self.orders.pop(key)
        table.entries = {name: table.entries[name] for name in order if name in table.entries}

    def _other(self, text: str, number: int) -> None:
        """A prompt with or without a command behind it; else nobody's line."""
        command = without_prompt(text)
        if command is text:
            self.tree.stray.append(number)
            return
        word, _, rest = command.partition(" ")
        if not word or word in ASKS or not self._step(word, rest, number):
            self.tree.prompts.append(number)

    def _step(self, word: str, rest: str, number: int) -> bool:
        if word == "next":
            self._next(number)
        elif word == "edit":
            self._edit(rest, number)
        elif word in FIELDS:
            self._field(word, rest, number)
        elif word == "end":
            self._end(number)
        elif word == "config":
            self._config(rest, number)
        elif word in TABLE_WORDS and len(self.stack) > 1:
            self._table_word(word, split(rest), number)
        else:
            return False
        return True

    def _config(self, rest: str, number: int) -> None:
        name = " ".join(split(rest))
        root, _, below = name.partition(" ")
        if name in ("vdom", "global"):
            del self.stack[1:]
        elif below and root in ROOTS:
            while len(self.stack) > 1 and not self._holds_roots():
                self.stack.pop()
        if len(self.stack) > DEEPEST:
            self.tree.stray.append(number)
            return
        node = self.stack[-1].open_table(name, number)
        node.note(number)
        node.headers = (*node.headers, number)
        self.stack.append(node)

    def _holds_roots(self) -> bool:
        top = self.stack[-1]
        return (top.is_entry and self.stack[-2].name == "vdom") or (not top.is_entry and top.name == "global")

    def _edit(self, rest: str, number: int) -> None:
        if self.stack[-1].is_entry and self._holds_roots() is False:
            self.stack.pop()  # `next` is missing
        top = self.stack[-1]
        if len(self.stack) == 1:
            if self.last_closed != "vdom":
                self.tree.stray.append(number)
                return
            top = self.tree.root.tables["vdom"]
            self.stack.append(top)
        elif top.is_entry:  # another vdom
            self.stack.pop()
            top = self.stack[-1]
        name = " ".join(split(rest))
        key = f"0 {number}" if name == "0" else name  # `edit 0` is a new entry each time
        node = top.entries.get(key)
        if node is None:
            node = top.held()[key] = Node(name, True, number)
            if id(top) in self.orders:
                self.orders[id(top)][1].append(key)
        node.note(number)
        self.stack.append(node)

    def _next(self, number: int) -> None:
        if not self.stack[-1].is_entry:
            self.tree.stray.append(number)
            return
        self.stack.pop().note(number)

    def _end(self, number: int) -> None:
        if len(self.stack) == 1:
            self.tree.stray.append(number)
            return
        if self.stack[-1].is_entry:
            self.stack.pop()
        closed = self.stack.pop()
        closed.note(number)
        self.last_closed = closed.name

    def _field(self, word: str, rest: str, number: int) -> None:
        name, _, raw = rest.lstrip().partition(" ")
        raw = raw.lstrip()  # the line has no blanks at its end
        top = self.stack[-1]
        if word == "append" and name in top.settings and top is not self.tree.root:
            known = top.settings[name]
            self._set(name, raw, number)
            top.settings[name] = f"{known} {top.settings[name]}"
        elif word in ADDS:
            self._set(name, raw, number)
        else:
            top.note(number)
            if has_open_quote(raw):
                raw = self._continued(raw, number)
            self._take_away(word, name, raw, number)

    def _set(self, name: str, raw: str, number: int) -> None:
        top = self.stack[-1]
        name = intern(name)
        top.numbers.append(number)
        top.names.append(name)
        if '"' in raw and has_open_quote(raw):
            raw = self._continued(raw, number)
        elif len(raw) < MOST_SHARED:
            raw = intern(raw)
        if top is self.tree.root or not name:
            self.tree.stray.append(number)
        else:
            top.settings[name] = raw

    def _take_away(self, word: str, name: str, raw: str, number: int) -> None:
        top = self.stack[-1]
        if top is self.tree.root or not name:
            self.tree.stray.append(number)
            return
        self.ledger.understood(number)
        if word == "unselect" and name in top.settings:
            gone = set(split(raw))
            top.settings[name] = " ".join(f'"{value}"' for value in top.values(name) if value not in gone)
        else:
            top.forget(name)

    def _continued(self, raw: str, number: int) -> str:
        """The lines up to the closing quote; a lone `next` or `end` before it means that the quote is never closed."""
        parts = [raw]
        for ahead in range(number + 1, len(self.lines) + 1):
            text = self.lines.at(ahead).text
            if text in ("next", "end"):
                break
            parts.append(text)
            if has_open_quote(text):
                self.stack[-1].note(*range(number + 1, ahead + 1))
                self.ledger.understood(*range(number + 1, ahead + 1))
                self.read_to = ahead
                return "\n".join(parts)
        self.ledger.unparsed(self.lines.at(number), "a quote is not closed")
        return raw

    def _table_word(self, word: str, values: list[str], number: int) -> None:
        """Commands of scripts on the entries of a table."""
        top = self.stack[-1]
        if top.is_entry or not self._moved(top, word, values):
            self.tree.stray.append(number)
            return
        top.note(number)

    def _moved(self, table: Node, word: str, values: list[str]) -> bool:
        entries = table.held()
        if word == "purge":
            self.ledger.understood(*(number for node in entries.values() for number in node.all_numbers()))
            entries.clear()
        elif word == "delete" and len(values) == 1:
            gone = entries.pop(values[0], None)
            self.ledger.understood(*(gone.all_numbers() if gone is not None else ()))
        elif word == "rename" and len(values) == 3 and values[0] in entries and values[2] not in entries:
            if id(table) in self.orders:
                self._reorder(id(table))
                entries = table.held()
            table.aliases = [*table.aliases, (values[0], values[2])]
            entries[values[0]].name = values[2]
            table.entries = {values[2] if name == values[0] else name: node for name, node in entries.items()}
        elif word == "clone" and len(values) == 3 and values[0] in entries and values[2] not in entries:
            of = entries[values[0]]
            entries[values[2]] = Node(
                values[2], True, of.number, [*of.numbers], [*of.names], dict(of.settings), tables=dict(of.tables)
            )
            if id(table) in self.orders:
                self.orders[id(table)][1].append(values[2])
        elif word == "move" and len(values) == 3:
            if id(table) not in self.orders:
                self.orders[id(table)] = (table, Order(entries))
            return values[0] in entries and values[2] in entries and self.orders[id(table)][1].move(*values)
        else:
            return False
        return True


def read_tree(lines: Lines, ledger: LineLedger) -> Tree:
    return _Builder(lines, ledger).build()
