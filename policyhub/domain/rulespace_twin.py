"""The slow twin of `native_capture.rulespace`: the same answers by listing every cell. For small cases only; oracle in tests."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product

from policyhub.domain.rulespace import BUDGET, Reply, RuleBoxes, ValueSet

Cell = tuple[int, ...]
Cells = frozenset[Cell]
NOTHING: Cells = frozenset()


def analyse(
    axes: Sequence[Sequence[ValueSet]],
    rules: Sequence[RuleBoxes],
    *,
    default_action: str | None = None,
    below: bool = True,
    witnesses: bool = False,
    budget: int = BUDGET,
) -> list[Reply]:
    """Same arguments and answers as the native engine, without a budget. Time and memory grow with the product of the axes."""
    axis_edges = [_edges(table) for table in axes]
    numbered = [[_cells(value_set, edges) for value_set in table] for table, edges in zip(axes, axis_edges, strict=True)]
    held = [_union(frozenset(product(*(numbered[a][s] for a, s in enumerate(box)))) for box in rule[3]) for rule in rules]
    replies: list[Reply] = []
    for number in range(len(rules)):
        replies.append(_above(number, rules, held, replies, axis_edges if witnesses else None))
    if below:
        for number in reversed(range(len(rules))):
            replies[number] = _below(number, rules, held, replies, default_action)
    return replies


def _edges(table: Sequence[ValueSet]) -> list[tuple[int, int]]:
    return sorted({(space, edge) for space, intervals in table for low, high in intervals for edge in (low, high + 1)})


def _cells(value_set: ValueSet, edges: list[tuple[int, int]]) -> list[int]:
    space, intervals = value_set
    return [
        number
        for number, (its_space, edge) in enumerate(edges)
        if its_space == space and any(low <= edge <= high for low, high in intervals)
    ]


def _union(parts: Iterable[Cells]) -> Cells:
    return NOTHING.union(*parts)


def _decides(rule: RuleBoxes) -> bool:
    action, enabled, exact, _ = rule
    return enabled and exact and action != "continue"


def _minimal(target: Cells, by: list[int], held: list[Cells]) -> list[int]:
    for candidate in reversed(by):
        fewer = [other for other in by if other != candidate]
        if target <= _union(held[other] for other in fewer):
            by = fewer
    return by


def _above(
    number: int,
    rules: Sequence[RuleBoxes],
    held: list[Cells],
    replies: list[Reply],
    axis_edges: list[list[tuple[int, int]]] | None,
) -> Reply:
    action, enabled, _, _ = rules[number]
    mine = held[number]
    if not enabled or not mine:
        return "skipped", [], False, None
    live = [n for n in range(number) if _decides(rules[n]) and replies[n][0] not in ("shadowed", "redundant") and held[n] & mine]
    left = mine - _union(held[n] for n in live)
    if left:
        witness = [edges[cell] for edges, cell in zip(axis_edges, min(left), strict=True)] if axis_edges else None
        return "free", [], False, witness
    same = [n for n in live if rules[n][0] == action]
    others = [n for n in live if rules[n][0] != action]
    if not mine <= _union(held[n] for n in same):
        return "shadowed", _minimal(mine, live, held), False, None
    if any(rules[next(n for n in live if cell in held[n])][0] == action for cell in mine):
        return "redundant", _minimal(mine, same, held), False, None
    return "shadowed", _minimal(mine, others, held), False, None


def _below(number: int, rules: Sequence[RuleBoxes], held: list[Cells], replies: list[Reply], default: str | None) -> Reply:
    action = rules[number][0]
    if replies[number][0] != "free" or action == "continue":
        return replies[number]
    left = held[number] - _union(held[n] for n in range(number) if _decides(rules[n]))
    by: list[int] = []
    for later in range(number + 1, len(rules)):
        if not rules[later][1] or not held[later] & left:
            continue
        if rules[later][0] != action:
            return replies[number]
        if rules[later][2] and replies[later][0] == "free":
            by.append(later)
            left -= held[later]
    if left and default != action:
        return replies[number]
    return "redundant-below", by, bool(left), replies[number][3]
