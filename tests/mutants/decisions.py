"""The decisions of a module and how each can be wrong: comparisons, conditions, numbers, results, branches; never texts."""

from __future__ import annotations

import ast
import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult, ast.Div: ast.Mult,
    ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.LShift: ast.RShift, ast.RShift: ast.LShift,
}  # fmt: skip
# What is no decision: messages, types, defaults that are evaluated once at import; neither is `strict=True`, an assertion.
LEFT_OUT = (ast.Raise, ast.Assert, ast.JoinedStr, ast.arguments)
LEFT_OUT_FIELDS = {"annotation", "returns", "decorator_list"}
JUMPS = (ast.Continue, ast.Break)  # compiled into the condition before them: no line of their own is ever run
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True, eq=False)
class Mutant:
    """One wrong decision: `place` of the `tree` holds `after` instead of `before`; `owner` is the outermost function's name."""

    path: Path
    tree: ast.Module
    owner: str
    owner_line: int  # as in its code object: that of its first decorator
    lines: range  # of the statement as far as the decision goes
    place: tuple[ast.AST, str, int | None]
    before: ast.AST
    after: ast.AST

    @property
    def change(self) -> str:
        return f"{_text(self.before)} → {_text(self.after)}"

    @property
    def line(self) -> int:
        return self.lines[-1]

    def apply(self) -> None:
        parent, field, index = self.place
        if index is None:
            setattr(parent, field, self.after)
        else:
            getattr(parent, field)[index] = self.after
        ast.fix_missing_locations(ast.copy_location(self.after, self.before))


def _text(node: ast.AST) -> str:
    shown = {ast.And: "and", ast.Or: "or"}
    if type(node) in shown:
        return shown[type(node)]
    if isinstance(node, ast.cmpop | ast.operator):
        return type(node).__name__
    if isinstance(node, ast.match_case):
        return ast.unparse(ast.Match(ast.Name("_"), [node])).split("\n")[1].strip()
    return " ".join(ast.unparse(node).split("\n")[0].split())


def _wrong(node: ast.AST) -> Iterator[tuple[str, int | None, ast.AST, ast.AST]]:
    """(field, index, before, after) for each way in which a part of this node can be wrong."""
    match node:
        case ast.Compare(ops=ops):
            yield from (("ops", i, op, COMPARISONS[type(op)]()) for i, op in enumerate(ops))
        case ast.BoolOp(op=op):
            yield "op", None, op, ast.Or() if isinstance(op, ast.And) else ast.And()
        case ast.BinOp(op=op) | ast.AugAssign(op=op) if type(op) in OPERATORS and not _joins_texts(node):
            yield "op", None, op, OPERATORS[type(op)]()
        case ast.If(test=test) | ast.IfExp(test=test):
            yield "test", None, test, ast.Constant(False)
        case ast.comprehension(ifs=ifs):
            yield from (("ifs", i, test, ast.Constant(True)) for i, test in enumerate(ifs))
        case ast.match_case(guard=guard):
            yield "guard", None, guard or ast.Constant(True), ast.Constant(False)
        case ast.Return(value=value) if value is not None and not isinstance(value, ast.Constant):
            yield "value", None, value, ast.Constant(None)


def _replaced(node: ast.AST) -> ast.AST | None:
    """What may stand in the place of the whole node."""
    match node:
        case ast.Constant(value=bool() as value):
            return ast.Constant(not value)
        case ast.Constant(value=int() as value):
            return ast.Constant(value + 1)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return operand
        case ast.Continue():
            return ast.Break()
        case ast.Break():
            return ast.Continue()
    return None


def _joins_texts(node: ast.BinOp | ast.AugAssign) -> bool:
    parts = (node.left, node.right) if isinstance(node, ast.BinOp) else (node.value,)
    return any(
        isinstance(p, ast.JoinedStr | ast.Tuple | ast.List) or (isinstance(p, ast.Constant) and isinstance(p.value, str))
        for p in parts
    )


def _sites(node: ast.AST, start: int) -> Iterator[tuple[int, int, tuple[ast.AST, str, int | None], ast.AST, ast.AST]]:
    for field, index, before, after in _wrong(node):
        at = before if hasattr(before, "lineno") else node
        line = getattr(at, "lineno", start)
        yield start, line, (node, field, index), before, after
    for field, value in ast.iter_fields(node):
        if field in LEFT_OUT_FIELDS:
            continue
        for index, child in enumerate(value) if isinstance(value, list) else ((None, value),):
            if not isinstance(child, ast.AST) or isinstance(child, LEFT_OUT) or getattr(child, "arg", "") == "strict":
                continue
            inner = child.lineno if isinstance(child, ast.stmt) and not isinstance(child, JUMPS) else start
            if (after := _replaced(child)) is not None:
                yield inner, getattr(child, "lineno", inner), (node, field, index), child, after
            yield from _sites(child, inner)


def _functions(node: ast.AST, prefix: str = "") -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, FUNCTIONS):
            yield prefix + child.name, child
        elif isinstance(child, ast.ClassDef):
            yield from _functions(child, f"{prefix}{child.name}.")


def mutants(path: Path) -> Iterator[Mutant]:
    """Every mutant of every function of a file, in the order of its text."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for owner, function in _functions(tree):
        first = min([function.lineno, *(d.lineno for d in function.decorator_list)])
        for start, line, place, before, after in _sites(function, function.lineno):
            yield Mutant(path, tree, owner, first, range(start, max(line, start) + 1), place, before, after)


def sample(all_mutants: list[Mutant], size: int, seed: int) -> list[Mutant]:
    """`size` of them, chosen by what they say and not by where they stand: an edit elsewhere does not change the choice."""
    seen: Counter[tuple[str, str, str]] = Counter()
    ranked = []
    for mutant in all_mutants:
        key = ("/".join(mutant.path.parts[-3:]), mutant.owner, mutant.change)
        seen[key] += 1
        ranked.append((hashlib.sha256(repr((seed, key, seen[key])).encode()).digest(), mutant))
    return [mutant for _, mutant in sorted(ranked, key=lambda pair: pair[0])[:size]]
