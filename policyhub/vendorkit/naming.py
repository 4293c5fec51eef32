"""Names of a model are unique where the device's need not be."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TypeVar

from policyhub.domain.rules import Policy, Rule

Named = TypeVar("Named", Policy, Rule)


def told_apart(rows: Iterable[Named]) -> tuple[Named, ...]:
    """The second of a name is `NAME #2`, the third `NAME #3`."""
    counts: dict[str, int] = {}
    found: list[Named] = []
    for row in rows:
        again = counts[row.name] = counts.get(row.name, 0) + 1
        found.append(row if again == 1 else replace(row, name=f"{row.name} #{again}"))
    return tuple(found)
