"""Side-by-side differences of device text, computed on the server so that a page needs no script for it."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

CONTEXT = 3
_TAKES_AWAY = re.compile(r"^\s*(?:no|undo)\s|(?:^|[\s;\"])(?:delete|destroy)\s", re.IGNORECASE)
_LEAVES = frozenset({"quit", "exit", "!", "#"})


@dataclass(frozen=True, slots=True)
class DiffRow:
    """kind: same, changed, added, removed or gap (`hidden` lines left out). Line numbers are 1-based, None = no line."""

    kind: str
    left_no: int | None = None
    left: str = ""
    right_no: int | None = None
    right: str = ""
    hidden: int = 0


def side_by_side(before: Sequence[str], after: Sequence[str], context: int = CONTEXT) -> list[DiffRow]:
    """Rows of two columns; unchanged stretches longer than twice the context are folded into one gap row."""
    rows: list[DiffRow] = []
    for tag, a, b, c, d in difflib.SequenceMatcher(a=before, b=after, autojunk=False).get_opcodes():
        if tag == "equal":
            rows += _fold([DiffRow("same", a + i + 1, before[a + i], c + i + 1, after[c + i]) for i in range(b - a)], context)
            continue
        for i in range(max(b - a, d - c)):
            has_left, has_right = a + i < b, c + i < d
            kind = "changed" if has_left and has_right else "removed" if has_left else "added"
            rows.append(
                DiffRow(
                    kind,
                    a + i + 1 if has_left else None,
                    before[a + i] if has_left else "",
                    c + i + 1 if has_right else None,
                    after[c + i] if has_right else "",
                )
            )
    return rows


def expected(lines: Sequence[str], inverse: Sequence[str]) -> list[DiffRow]:
    """What a plan is expected to add to, and take from, the device's configuration; nothing was read back yet.

    The lines of the plan that add something stand on the right, those that its inverse would bring back on the left.
    """
    return side_by_side(list(_adds(inverse)), list(_adds(lines)))


def _adds(lines: Iterable[str]) -> Iterable[str]:
    return (line for line in lines if line.strip() not in _LEAVES and not _TAKES_AWAY.search(line))


def _fold(rows: list[DiffRow], context: int) -> list[DiffRow]:
    if len(rows) <= 2 * context + 1:
        return rows
    hidden = len(rows) - 2 * context
    return [*rows[:context], DiffRow("gap", hidden=hidden), *rows[-context:]]
