"""nftables text as a tree: tokens with line numbers, braces nested, statements split. Total, and without recursion."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from policyhub.vendorkit.blocks import Line
from policyhub.vendorkit.sharing import Pool

TOKEN = re.compile(
    r'(?P<string>"[^"]*"?)|(?P<handle>#\s*handle (?P<number>\d{1,18}))|(?P<comment>#.*)|(?P<open>\{)|(?P<close>\})'
    r'|(?P<sep>;)|(?P<comma>,)|(?P<word>[^\s{};,"#]+)'
)
WRITTEN = re.compile(r'(?P<string>"[^"]*")|(?P<open>\{)|(?P<close>\})|(?P<comma>,)|(?P<word>[^\s{},"]+)')  # by text_of
BLOCK_WORDS = frozenset(
    ("table", "chain", "set", "map", "counter", "quota", "limit", "flowtable", "secmark", "synproxy", "ct", "element", "elements")
)


class Token(NamedTuple):
    """kind: word, string, sep, comma, handle, or a stray close."""

    kind: str
    text: str
    line: int


@dataclass(slots=True)
class Group:
    """What stands between braces. `end` is the line of the closing one; `closed` False when the text ends before it."""

    line: int
    items: list[Token | Group] = field(default_factory=list)
    end: int = 0
    closed: bool = False


Node = Token | Group


def tokens(lines: Iterable[Line]) -> Iterator[Token]:
    """Comments are dropped, except `# handle N`, which names a rule. A backslash at the end of a line joins the next."""
    pool = Pool()
    for line in lines:
        text = line.text
        joined = text.endswith("\\")
        for match in TOKEN.finditer(text[:-1] if joined else text):
            kind = match.lastgroup
            if match["handle"]:
                yield Token("handle", match["number"], line.number)
            elif kind == "string":
                yield Token("string", match[0].strip('"'), line.number)
            elif kind and kind != "comment":
                yield Token(kind, pool(match[0]), line.number)
        if not joined:
            yield Token("sep", "\n", line.number)


def nodes_of(text: str) -> list[Node]:
    """What `text_of` wrote as nodes again, all of them on line 0."""
    known: dict[str, Token] = {}  # a rule whose end is lost may be the rest of a file, and says the same words again and again
    return tree(_token(found, known) for found in WRITTEN.finditer(text))


def _token(found: re.Match[str], known: dict[str, Token]) -> Token:
    token = known.get(found[0])
    if token is None:
        token = known[found[0]] = Token(found.lastgroup or "", found[0].strip('"'), 0)
    return token


def tree(flat: Iterable[Token]) -> list[Node]:
    """Braces nested; what is open at the end of the text is closed there."""
    top: list[Node] = []
    stack: list[Group] = []
    last = 0
    for token in flat:
        last = token.line
        here = stack[-1].items if stack else top
        if token.kind == "open":
            group = Group(token.line)
            here.append(group)
            stack.append(group)
        elif token.kind == "close" and stack:
            done = stack.pop()
            done.end, done.closed = token.line, True
        else:
            here.append(token)
    for group in stack:
        group.end = last
    return top


def split(nodes: Iterable[Node], blocks: bool = False) -> Iterator[list[Node]]:
    """Statements. blocks: braces may hold a body (`chain x { .. }`) and end their statement; inside a chain they never do."""
    now: list[Node] = []
    for node in nodes:
        if isinstance(node, Token) and node.kind == "sep":
            if now:
                yield now
            now = []
        elif now or not (isinstance(node, Token) and node.kind == "handle"):  # a handle behind an opening brace names the block
            now.append(node)
            if blocks and isinstance(node, Group) and is_block(now):
                yield now
                now = []
    if now:
        yield now


def is_block(statement: Sequence[Node]) -> bool:
    """Whether the statement's last braces hold a body. `add rule` is a rule, whatever it holds."""
    first = statement[0]
    return not isinstance(first, Token) or first.text in BLOCK_WORDS


def line_span(nodes: Sequence[Node]) -> tuple[int, int]:
    """First and last line."""
    last = nodes[-1]
    return nodes[0].line, last.end if isinstance(last, Group) else last.line


def elements(group: Group) -> list[list[Node]]:
    """Parts between commas; line breaks do not count."""
    found: list[list[Node]] = [[]]
    for node in group.items:
        if isinstance(node, Token) and node.kind == "comma":
            found.append([])
        elif not (isinstance(node, Token) and node.kind in ("sep", "handle")):
            found[-1].append(node)
    return [part for part in found if part]


def text_of(nodes: Sequence[Node]) -> str:
    """One line in nft's own spacing."""
    if all(isinstance(node, Token) and node.kind == "word" for node in nodes):
        return " ".join([node.text for node in nodes if isinstance(node, Token)])
    text: list[str] = []
    before = ","
    for part in _parts(nodes):
        text += (part,) if before.endswith((",", ", ")) or part.startswith(",") else (" ", part)
        before = part
    return "".join(text)


def _parts(nodes: Sequence[Node]) -> Iterator[str]:
    stack: list[tuple[Sequence[Node], int]] = [(nodes, 0)]
    while stack:
        items, at = stack.pop()
        depth = len(stack)
        while at < len(items):
            node = items[at]
            at += 1
            if isinstance(node, Group):
                yield "{"
                stack.append((items, at))
                items, at, depth = node.items, 0, depth + 1
            elif node.kind == "comma":
                yield ", " if depth else ","
            elif node.kind == "string":
                yield f'"{node.text}"'
            elif node.kind not in ("sep", "handle"):
                yield node.text
        if depth:
            yield "}"
