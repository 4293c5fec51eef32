"""Text of a device as numbered lines and as blocks nested by indentation. Total: any text gives lines and blocks."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

MOVE = r"(?:\x08{1,90}|\x1b\[\d{1,3}D)"  # how a pager goes back over its own words
# every repetition is bounded: a line of a million dashes must cost no more than a line of words
PAGER = re.compile(
    rf"[ \t]{{0,20}}<?-{{2,20}} ?\(?more\)? ?(?:\([0-9/% ]{{1,20}}\))? ?-{{2,20}}>?[ \t]{{0,20}}(?:{MOVE}(?: {{1,90}}{MOVE})?)?",
    re.IGNORECASE,
)
REMNANTS = ("\x08", "\x1b", "\x00", "ore", "ORE")  # what PAGER or TERMINAL match holds one of them
TERMINAL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]|\x08+|\x00")


@dataclass(frozen=True, slots=True)
class Line:
    """`number` is 1-based; `text` is stripped; `indent` counts leading blanks (a tab is one)."""

    number: int
    indent: int
    text: str

    @property
    def words(self) -> list[str]:
        return self.text.split()

    @property
    def spaced(self) -> str:
        """The words with one blank between them; the text itself, not a copy, when it is written so."""
        text = " ".join(self.text.split())
        return self.text if text == self.text else text


@dataclass(slots=True)
class Block:
    """A line and the deeper lines below it. Most lines have none, and a list for each would double the memory of a text."""

    line: Line
    children: Sequence[Block] = ()

    def adopt(self, child: Block) -> None:
        if isinstance(self.children, list):
            self.children.append(child)
        else:
            self.children = [child]

    @property
    def text(self) -> str:
        return self.line.text

    @property
    def number(self) -> int:
        return self.line.number

    @property
    def words(self) -> list[str]:
        return self.line.text.split()

    def walk(self) -> Iterator[Block]:
        """Itself and all descendants in line order."""
        yield self
        yield from self.below()

    def below(self) -> Iterator[Block]:
        """All descendants in line order, without recursion (nesting comes from outside)."""
        stack = list(reversed(self.children))
        while stack:
            block = stack.pop()
            yield block
            stack.extend(reversed(block.children))

    @property
    def numbers(self) -> tuple[int, ...]:
        """Line numbers of itself and all descendants."""
        return tuple(block.number for block in self.walk())


def reopened(known: Block | None, again: Block) -> Block:
    """A name that is configured in several places: the header of the first with the lines of all."""
    return again if known is None else Block(known.line, [*known.children, *again.children])


def _raw_lines(text: str) -> Iterator[str]:
    """As split would give them, without all of them in memory a second time."""
    start = 1 if text.startswith("\ufeff") else 0
    while (end := text.find("\n", start)) >= 0:
        yield text[start:end]
        start = end + 1
    yield text[start:]


def read_lines(text: str) -> list[Line]:
    """Every line, blank ones too, so that numbers are those of an editor. BOM, CR and pager remnants are taken off."""
    lines: list[Line] = []
    is_clean = not any(mark in text for mark in REMNANTS)
    for number, raw in enumerate(_raw_lines(text), 1):
        if not is_clean and any(mark in raw for mark in REMNANTS):
            raw = TERMINAL.sub("", PAGER.sub("", raw))
        body = raw.rstrip()
        text_only = body.lstrip()
        lines.append(Line(number, len(body) - len(text_only), text_only))
    if lines and not lines[-1].text and text.endswith("\n"):
        lines.pop()
    return lines


def read_blocks(
    lines: Iterable[Line],
    is_comment: Callable[[str], bool] = lambda text: text.startswith("!"),
    adopts: Callable[[str, str], bool] | None = None,
) -> list[Block]:
    """Blocks by indentation: a deeper line belongs to the line above it.

    adopts(parent, child) claims a line that is not deeper (scripts and some outputs lose their indentation).
    Blank and comment lines belong to nobody and end no block.
    """
    top: list[Block] = []
    stack: list[Block] = []
    for line in lines:
        text, indent = line.text, line.indent
        if not text or is_comment(text):
            continue
        block = Block(line)
        while stack and stack[-1].line.indent >= indent:
            if adopts is not None and adopts(stack[-1].line.text, text):
                break
            stack.pop()
        if stack:
            stack[-1].adopt(block)
        else:
            top.append(block)
        stack.append(block)
    return top
