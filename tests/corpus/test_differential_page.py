"""The table of disagreements and its page tell the same kinds."""

from __future__ import annotations

import re

from tests.corpus.peers import PAGE, TABLE


def test_every_kind_is_explained_and_every_explanation_is_used() -> None:
    rows = [line.split("\t") for line in TABLE.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    assert {len(row) for row in rows} == {5}
    assert len({tuple(row[:4]) for row in rows}) == len(rows)
    section = PAGE.read_text(encoding="utf-8").partition("## Kinds of disagreement")[2]
    explained = re.findall(r"^\| `([a-z0-9-]+)` \| ([^|]+) \|", section, re.MULTILINE)
    readers = {kind: {name.strip() for name in names.split(",")} for kind, names in explained}
    assert {row[4] for row in rows} == readers.keys()
    assert [row for row in rows if row[0] not in readers[row[4]]] == []
