"""Which decisions are tried, and that a sample is the same tomorrow."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.mutants.decisions import mutants, sample
from tests.mutants.killing import change, place

CODE = '''
LIMIT = 7


@cache
def f(x: int | None, *, most: int = 3) -> bool:
    """Of 5."""
    if x is None or x < 0:
        raise ValueError(f"{x + 1} is not 5")
    for item in (i for i in range(x) if i):
        if not item:
            continue
    return [1 if x else 2, "text" + "s"]


class C:
    def g(self, x):
        match x:
            case 1 if self.y:
                return True
        return None
'''
CHANGES = [
    ("f", 8, "x is None or x < 0 → False"),
    ("f", 8, "or → and"),
    ("f", 8, "Is → IsNot"),
    ("f", 8, "Lt → LtE"),
    ("f", 8, "0 → 1"),
    ("f", 10, "i → True"),
    ("f", 11, "not item → False"),
    ("f", 11, "not item → item"),
    ("f", 12, "continue → break"),
    ("f", 13, "[1 if x else 2, 'text' + 's'] → None"),
    ("f", 13, "x → False"),
    ("f", 13, "1 → 2"),
    ("f", 13, "2 → 3"),
    ("C.g", 19, "self.y → False"),
    ("C.g", 19, "1 → 2"),
    ("C.g", 20, "True → False"),
]


@pytest.fixture
def module(tmp_path: Path) -> Path:
    path = tmp_path / "module.py"
    path.write_text(CODE, encoding="utf-8")
    return path


def test_decisions_are_tried_and_words_and_types_are_not(module: Path) -> None:
    found = [(mutant.owner, mutant.line, mutant.change) for mutant in mutants(module)]
    assert found == CHANGES
    assert next(mutants(module)).owner_line == 5


def test_a_mutant_changes_its_tree_and_nothing_else(module: Path) -> None:
    (mutant,) = (m for m in mutants(module) if m.change == "Lt → LtE")
    mutant.apply()
    scope: dict[str, object] = {"cache": lambda function: function}
    exec(compile(mutant.tree, "module", "exec"), scope)
    with pytest.raises(ValueError, match="1 is not 5"):
        scope["f"](0)
    assert module.read_text(encoding="utf-8") == CODE


def test_an_edit_elsewhere_does_not_change_the_sample(module: Path) -> None:
    before = [(m.owner, m.change) for m in sample(list(mutants(module)), 6, seed=1)]
    module.write_text(CODE.replace("LIMIT = 7", "LIMIT = 8\nMORE = 9"), encoding="utf-8")
    assert [(m.owner, m.change) for m in sample(list(mutants(module)), 6, seed=1)] == before
    assert [(m.owner, m.change) for m in sample(list(mutants(module)), 6, seed=2)] != before


def test_a_check_that_was_made_before_is_wrong_too(tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text("def at_most(high):\n    def check(x):\n        return x <= high\n    return check\n", encoding="utf-8")
    scope: dict[str, Callable[..., Any]] = {}
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), scope)
    check = scope["at_most"](3)
    (mutant,) = (m for m in mutants(path) if m.change == "LtE → Lt")
    assert check(3)
    change(mutant, {place(function.__code__): [function] for function in (scope["at_most"], check)})
    assert not check(3) and not scope["at_most"](3)(3)
