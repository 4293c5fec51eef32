"""Text of a device as numbered lines and as blocks nested by indentation. Total: any text gives lines and blocks."""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from operator import sub
from typing import NamedTuple, overload

MOVE = r"(?:\x08{1,90}|\x1b\[\d{1,3}D)"  # how a pager goes back over its own words
# every repetition is bounded: a line of a million dashes must cost no more than a line of words
PAGER = re.compile(
    rf"[ \t]{{0,20}}<?-{{2,20}} ?\(?more\)? ?(?:\([0-9/% ]{{1,20}}\))? ?-{{2,20}}>?[ \t]{{0,20}}(?:{MOVE}(?: {{1,90}}{MOVE})?)?",
    re.IGNORECASE,
)
REMNANTS = ("\x08", "\x1b", "\x00", "ore", "ORE")  # what PAGER or TERMINAL match holds one of them
TERMINAL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]|\x08+|\x00")


class Line(NamedTuple):
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


class Block:
    """A line and the deeper lines below it. Most lines have none, and a list for each would double the memory of a text."""

    __slots__ = ("children", "indent", "number", "text")

    def __init__(self, line: Line, children: Sequence[Block] = ()) -> None:
        self.number, self.indent, self.text = line
        self.children = children

    @property
    def line(self) -> Line:
        return Line(self.number, self.indent, self.text)

    def adopt(self, child: Block) -> None:
        if isinstance(self.children, list):
            self.children.append(child)
        else:
            self.children = [child]

    @property
    def words(self) -> list[str]:
        return self.text.split()

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


class Lines(Sequence[Line]):
    """The lines of a text, made when they are asked for: all of them at once are four times the text.

    longest: characters of the longest as it stands in the text.
    """

    __slots__ = ("_is_clean", "_last", "_starts", "_text", "longest")

    def __init__(self, text: str) -> None:
        self._text = text
        self._last = Line(0, 0, "")  # that somebody asked for: JSON in one line is asked for by each of its members
        self._is_clean = not any(mark in text for mark in REMNANTS)
        starts = array("Q", [1 if text.startswith("\ufeff") else 0])
        while (end := text.find("\n", starts[-1])) >= 0:
            starts.append(end + 1)
        starts.append(len(text) + 1)
        self.longest = max(map(sub, starts[1:], starts)) - 1
        self._starts = starts
        if len(starts) > 2 and text.endswith("\n"):
            starts.pop()

    def __len__(self) -> int:
        return len(self._starts) - 1

    def __iter__(self) -> Iterator[Line]:
        text, made = self._text, self._made
        for number, (start, end) in enumerate(pairwise(self._starts), 1):
            yield made(number, text[start : end - 1])

    def texts(self) -> Iterator[str]:
        """`text` of each line; the lines themselves are not made."""
        if not self._is_clean:
            yield from (line.text for line in self)
            return
        text = self._text
        for start, end in pairwise(self._starts):
            yield text[start : end - 1].strip()

    @overload
    def __getitem__(self, at: int) -> Line: ...

    @overload
    def __getitem__(self, at: slice) -> list[Line]: ...

    def __getitem__(self, at: int | slice) -> Line | list[Line]:
        if isinstance(at, slice):
            return [self[index] for index in range(*at.indices(len(self)))]
        index = range(len(self))[at]
        if self._last.number != index + 1:
            self._last = self._made(index + 1, self._text[self._starts[index] : self._starts[index + 1] - 1])
        return self._last

    def _made(self, number: int, raw: str) -> Line:
        if not self._is_clean and any(mark in raw for mark in REMNANTS):
            raw = TERMINAL.sub("", PAGER.sub("", raw))
        body = raw.rstrip()
        text = body.lstrip()
        return Line(number, len(body) - len(text), text)

    def at(self, number: int) -> Line:
        """The line of a number, 1-based. Raises IndexError."""
        return self[number - 1]

    def get(self, number: int) -> Line | None:
        """None when the text has no such line."""
        return self[number - 1] if 0 < number < len(self._starts) else None


def read_lines(text: str) -> Lines:
    """Every line, blank ones too, so that numbers are those of an editor. BOM, CR and pager remnants are taken off."""
    return Lines(text)


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
        while stack and stack[-1].indent >= indent:
            if adopts is not None and adopts(stack[-1].text, text):
                break
            stack.pop()
        if stack:
            stack[-1].adopt(block)
        else:
            top.append(block)
        stack.append(block)
    return top
