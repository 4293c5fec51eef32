"""nftables' own test vectors (`rule;ok[;canonical]`): every valid rule is understood, and its canonical form reads the same."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from policyhub.vendors.linux_nftables.parse import parse

pytestmark = pytest.mark.corpus
ROOT = Path(os.environ.get("POLICYHUB_CORPUS") or Path(__file__).resolve().parents[2].parent / "shared" / "data")
NOT_RULES = ":*#!?%-"  # chains, tables, comments, sets, elements; "-" marks vectors that nftables itself does not pass


FAMILIES = ("ip", "ip6", "inet")


def vectors(family: str) -> list[tuple[str, str]]:
    """(rule, canonical form) of one family's files; where no other form is given the rule is its own."""
    files = sorted((ROOT / "configs" / "linux_nftables").glob("*.t"))
    assert files, f"no vectors under {ROOT / 'configs'}: set POLICYHUB_CORPUS"
    found = []
    for path in files:
        own = path.name.split("__")[1]
        if (own if own in FAMILIES else "inet") == family:
            for line in path.read_text(encoding="utf-8").splitlines():
                parts = line.replace("\\&", "&").replace("\\<", "<").split(";")  # some are escaped for a shell
                if line and line[0] not in NOT_RULES and len(parts) > 1 and parts[1] == "ok":
                    found.append((parts[0], parts[2] if len(parts) > 2 else parts[0]))
    return found


def rules_of(family: str, texts: list[str]):
    config = parse(f"table {family} t {{\nchain c {{\n" + "\n".join(texts) + "\n}\n}\n")
    assert [(u.text, u.reason) for u in config.unparsed] == []
    by_line: dict[int, list] = {}
    for rule in config.policies[0].rules:
        by_line.setdefault(rule.lines[0], []).append((rule.action, rule.match))
    return [by_line[line] for line in range(3, 3 + len(texts))]


@pytest.mark.parametrize("family", FAMILIES)
def test_every_valid_rule_is_understood(family: str) -> None:
    found = vectors(family)
    assert len(found) > 50
    rules_of(family, [rule for rule, _ in found])
    rules_of(family, [canonical for _, canonical in found])


@pytest.mark.parametrize("family", FAMILIES)
def test_a_rule_and_its_canonical_form_match_the_same_packets(family: str) -> None:
    """Where the model holds both exactly."""
    found = vectors(family)
    written, shown = (rules_of(family, [pair[side] for pair in found]) for side in (0, 1))
    compared = 0
    for pair, mine, theirs in zip(found, written, shown, strict=True):
        if all(match.is_exact for _, match in (*mine, *theirs)):
            assert mine == theirs, pair
            compared += 1
    assert compared > 15
