"""Evidence is read by people: every key that a check writes has a label, every value a form."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from policyhub.checks import evidence
from policyhub.checks.evidence import FIELDS, WORDS, Fact, facts

CHECKS = Path(evidence.__file__).parent
WRITERS = [*sorted(CHECKS.glob("*.py")), CHECKS.parent / "domain" / "hit_ledger.py"]


def keys_of(tree: ast.AST) -> Iterator[str]:
    """Keys that stand in a dict given or assigned as `evidence`, set into it, or returned by `_facts`."""
    for node in ast.walk(tree):
        found: list[ast.AST] = []
        match node:
            case ast.keyword(arg="evidence"):
                found = [node.value]
            case ast.Assign(targets=[ast.Name(id="evidence")]) | ast.AnnAssign(target=ast.Name(id="evidence")):
                found = [node.value] if node.value else []
            case ast.Assign(targets=[ast.Subscript(value=ast.Name(id="evidence"), slice=ast.Constant(value=str(key)))]):
                yield key
            case ast.FunctionDef(name="_facts"):
                found = [one.value for one in ast.walk(node) if isinstance(one, ast.Return) and one.value]
        for place in found:
            for inner in ast.walk(place):
                if isinstance(inner, ast.Dict):
                    yield from (str(key.value) for key in inner.keys if isinstance(key, ast.Constant))


def test_every_key_that_a_check_writes_has_a_label():
    written = {key for path in WRITERS for key in keys_of(ast.parse(path.read_text(encoding="utf-8")))}
    assert {"rule", "hits", "since", "reaches_core", "expired"} <= written
    assert written <= set(FIELDS)


def test_the_scan_sees_each_way_of_writing_evidence():
    source = 'f(evidence={"a": 1, **{"b": 2}})\nevidence = {"c": 3}\nevidence["d"] = 4\ndef _facts():\n    return {"e": 5}\n'
    assert set(keys_of(ast.parse(source))) == {"a", "b", "c", "d", "e"}


@pytest.mark.parametrize(
    ("key", "value", "form", "read"),
    [
        ("rule", "permit ip any any", "code", "permit ip any any"),
        ("rule", "", "unknown", None),
        ("hits", None, "unknown", None),
        ("hits", 0, "count", 0),
        ("since", "2026-05-14T08:00:00+08:00", "time", datetime(2026, 5, 14, 0, 0, tzinfo=UTC)),
        ("expired", "2024-03-31T23:00", "time", datetime(2024, 3, 31, 23, 0, tzinfo=UTC)),
        ("expired", "never", "code", "never"),
        ("bound", False, "flag", False),
        ("bits", 52.3, "bits", 52.3),
        ("interfaces", ["Gi0/1", "Gi0/2"], "names", ("Gi0/1", "Gi0/2")),
        ("other_action", [], "names", ()),
        ("cover", "union", "word", WORDS["union"]),
        ("cover", "of-a-later-release", "code", "of-a-later-release"),
        ("hits", {"a": 1}, "pairs", (("a", "1"),)),
    ],
)
def test_value_is_read_by_its_form(key, value, form, read):
    assert facts({key: value}) == (Fact(FIELDS[key][0], form, read),)


def test_key_without_a_label_comes_last_under_its_own_name():
    assert [(fact.label, fact.known) for fact in facts({"witness": "tcp", "hits": 3})] == [
        (FIELDS["hits"][0], True),
        ("witness", False),
    ]


def test_the_reason_is_not_told_twice():
    assert facts({"reason": "no counters given"}) == ()
