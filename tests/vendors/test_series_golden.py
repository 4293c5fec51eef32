"""Golden cases of counters as series: tests/vendors/<platform>/<case>/{series.txt, series.json}.

A row is [line, interface, queue, name, value, unit]; `unread` are the lines with figures that nobody understood.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from policyhub.vendorkit.registry import REGISTRY

HERE = Path(__file__).parent
CASES = sorted(path.parent for path in HERE.glob("*/*/series.txt"))


def read(case: Path) -> dict[str, object]:
    series = REGISTRY.get(case.parent.name).series
    assert series is not None
    found = series((case / "series.txt").read_text(encoding="utf-8"), None)
    rows = [[row.line, row.interface, row.queue, row.name, row.value, row.unit] for row in found.rows]
    return {"rows": rows, "unread": list(found.unread)}


def written(told: dict[str, object]) -> str:
    """A row a line, so that a person can read it beside the text."""
    rows = ",\n".join(f" {json.dumps(row)}" for row in told["rows"])  # type: ignore[attr-defined]
    return f'{{"unread": {json.dumps(told["unread"])},\n"rows": [\n{rows}\n]}}\n'


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.parent.name}-{case.name}")
def test_output_becomes_the_expected_rows(case: Path, request: pytest.FixtureRequest) -> None:
    expected = case / "series.json"
    if request.config.getoption("--update-golden", default=False):
        expected.write_text(written(read(case)), encoding="utf-8")
    assert read(case) == json.loads(expected.read_text(encoding="utf-8"))


def test_every_platform_with_series_has_a_case() -> None:
    told = {case.parent.name for case in CASES}
    assert told == {name for name in REGISTRY.names() if REGISTRY.get(name).series}
