"""Statements of pf.conf as tokens: continuation lines, quotes, macros, lists. Total."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from policyhub.vendorkit.blocks import Line

TOKEN = re.compile(r'"([^"]*)"|(<[\w.:-]{1,100}>)|(->|!=|<=|>=|><|<>|[{}(),=!<>])|([^\s"{}(),=!<>]+)')
MACRO = re.compile(r"^([A-Za-z]\w{0,60})\s{0,9}=\s{0,9}(\S.*)$")
MOST_TOKENS = 20_000


@dataclass(slots=True)
class Statement:
    """One statement, and the numbers of the lines it stands on. text: as written, on one line.

    expanded: its tokens with macros replaced, None when it uses none.
    """

    numbers: tuple[int, ...]
    text: str
    expanded: list[str] | None = None
    is_macro: bool = False

    def tokens(self) -> list[str]:
        """Made again for whoever asks: the tokens of all statements together are ten times the text."""
        return [] if self.is_macro else tokens_of(self.text) if self.expanded is None else self.expanded


def tokens_of(text: str) -> list[str]:
    return [next(part for part in found if part) if any(found) else "" for found in TOKEN.findall(text)]


def _without_comment(text: str) -> str:
    at, inside = 0, False
    for at, char in enumerate(text):
        if char == '"':
            inside = not inside
        elif char == "#" and not inside:
            return text[:at].rstrip()
    return text


def statements(lines: Iterable[Line]) -> Iterator[Statement]:
    """Logical lines: a backslash or an open brace goes on in the next one."""
    held: list[int] = []
    parts: list[str] = []
    for line in lines:
        text = _without_comment(line.text)
        goes_on = text.endswith("\\")
        text = text.removesuffix("\\").rstrip()
        if text or held:
            held.append(line.number)
            parts.append(text)
        whole = " ".join(parts) if len(parts) > 1 else text
        if held and not goes_on and not (whole.count("{") > whole.count("}") and len(held) < 500):
            yield Statement(tuple(held), whole)
            held, parts = [], []
    if held:
        yield Statement(tuple(held), " ".join(parts))


@dataclass(slots=True)
class Macros:
    """Name -> tokens. Macros may use those before them; all of a text expand to a bounded size."""

    known: dict[str, list[str]] = field(default_factory=dict)

    def define(self, text: str) -> bool:
        """Whether the statement is a macro."""
        found = MACRO.match(text)
        if found is None:
            return False
        body = found[2].strip()
        inner = body[1:-1] if len(body) > 1 and body[0] == body[-1] == '"' else body
        self.known[found[1]] = self.expand(tokens_of(inner))
        return True

    def expand(self, tokens: list[str]) -> list[str]:
        found: list[str] = []
        for token in tokens:
            if token.startswith("$"):
                found += self.known.get(token[1:], [token])
            else:
                found.append(token)
            if len(found) > MOST_TOKENS:
                break
        return found
