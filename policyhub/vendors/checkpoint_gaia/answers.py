"""Answers of the management API inside a text, each object with its lines. Total: what is damaged is told by line."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[][{},]')
STARTS = ("{", "[")
RESUMES = ("{", "[", "set ", "add ", "#")


class Item(dict[str, Any]):
    """An object of JSON; first and last line, 1-based."""

    __slots__ = ("first", "last")
    first: int
    last: int

    @property
    def lines(self) -> tuple[int, ...]:
        return tuple(range(self.first, self.last + 1))

    def text(self, key: str) -> str:
        """A string, or a number as one; "" for anything else."""
        value = self.get(key)
        if isinstance(value, str):
            return value
        return str(value) if isinstance(value, int) and not isinstance(value, bool) else ""

    def list_of(self, key: str) -> list[Any]:
        """A list; a single value is a list of one, a missing one is empty."""
        value = self.get(key)
        return value if isinstance(value, list) else [] if value is None else [value]

    def items_of(self, key: str) -> list[Item]:
        return [entry for entry in self.list_of(key) if isinstance(entry, Item)]


@dataclass(slots=True)
class Answer:
    """One document. `lines` is where it stands."""

    value: Any
    lines: range


@dataclass(slots=True)
class Found:
    """damaged: (line number, reason)."""

    answers: list[Answer] = field(default_factory=list)
    damaged: list[tuple[int, str]] = field(default_factory=list)


def find(text: str, lines: list[str]) -> Found:
    """Every document that begins at the start of a line. lines: `text` split at its line breaks."""
    found = Found()
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    at = 0
    while at < len(lines):
        if not lines[at].lstrip().startswith(STARTS):
            at += 1
            continue
        at = _read(found, text, lines, starts, at)
    return found


def _read(found: Found, text: str, lines: list[str], starts: list[int], at: int) -> int:
    """Reads the document that begins in line index `at`; returns the index to go on from."""
    begin = starts[at] + len(lines[at]) - len(lines[at].lstrip())
    try:
        value, end = _decode(text, begin, starts)
    except json.JSONDecodeError as error:
        return _salvage(found, text, lines, starts, at, begin, error)
    except RecursionError:
        found.damaged.extend((n + 1, "nested too deeply") for n in range(at, len(lines)) if lines[n].strip())
        return len(lines)
    last = _line(starts, end - 1)
    found.answers.append(Answer(value, range(at + 1, last + 1)))
    return last if lines[last - 1][end - starts[last - 1] :].strip() == "" else _rest(found, lines, last)


def _rest(found: Found, lines: list[str], last: int) -> int:
    """Words behind the end of a document."""
    found.damaged.append((last, "something stands behind the end of the answer"))
    return last


def _salvage(
    found: Found, text: str, lines: list[str], starts: list[int], at: int, begin: int, error: json.JSONDecodeError
) -> int:
    """What is complete before the damage; the lines up to the next answer or command are damaged."""
    cut = _complete(text, begin, error.pos)
    kept = at
    if cut is not None:
        end, closers = cut
        try:
            value, _ = _decode(text[begin:end] + closers, 0, starts, begin)
        except (json.JSONDecodeError, RecursionError):
            value = None
        if value is not None:
            kept = _line(starts, end)
            found.answers.append(Answer(value, range(at + 1, kept + 1)))
    following = max(kept, _line(starts, min(error.pos, len(text) - 1)), at + 1)
    while following < len(lines) and not lines[following].startswith(RESUMES):
        following += 1
    reason = f"not valid JSON: {error.msg} (line {_line(starts, min(error.pos, len(text) - 1))})"
    found.damaged.extend((n + 1, reason) for n in range(kept, following) if lines[n].strip())
    return following


def _complete(text: str, begin: int, stop: int) -> tuple[int, str] | None:
    """Where the last complete value before `stop` ends, and the brackets that close what is open there."""
    comma = next((m.start() for m in reversed(list(TOKEN.finditer(text, begin, stop))) if m[0] == ","), None)
    if comma is None:
        return None
    stack: list[str] = []
    for match in TOKEN.finditer(text, begin, comma):
        if match[0] in "{[":
            stack.append("}" if match[0] == "{" else "]")
        elif match[0] in "}]" and stack:
            stack.pop()
    return comma, "".join(reversed(stack))


def _decode(text: str, begin: int, starts: list[int], shift: int = 0) -> tuple[Any, int]:
    """The value and where it ends. Objects are handed out in the order in which they close: so they get their lines.

    shift: where `text` begins in the text that `starts` is of.
    """
    closed: list[Item] = []

    def take(pairs: list[tuple[str, Any]]) -> Item:
        item = Item(pairs)
        item.first = item.last = 1
        closed.append(item)
        return item

    value, end = json.JSONDecoder(object_pairs_hook=take).raw_decode(text, begin)
    for item, (first, last) in zip(closed, _spans(text, begin, end), strict=False):
        item.first, item.last = _line(starts, first + shift), _line(starts, last + shift)
    return value, end


def _spans(text: str, begin: int, end: int) -> Iterator[tuple[int, int]]:
    """Offsets of the braces of each object, in the order of the closing ones."""
    opened: list[int] = []
    for match in TOKEN.finditer(text, begin, end):
        if match[0] == "{":
            opened.append(match.start())
        elif match[0] == "}" and opened:
            yield opened.pop(), match.start()


def _line(starts: list[int], offset: int) -> int:
    """1-based; an offset behind the end is on the last line."""
    return min(bisect_right(starts, offset), len(starts) - 1)
