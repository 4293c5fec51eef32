"""Checks register, document themselves, and run in a stable order."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from policyhub.checks.catalogue import words
from policyhub.checks.context import Context
from policyhub.checks.registry import BadCheck, all_checks, check, run_checks, select
from policyhub.domain.errors import BadInput
from policyhub.domain.finding import Severity
from policyhub.domain.rules import Policy
from tests.checks.make import device, policy, rule

DOCS = Path(__file__).parents[2] / "docs" / "checks"
CONTRACT = {
    "zombie-rule", "no-hit-evidence", "shadowed-rule", "redundant-rule", "overbroad-rule", "any-any", "expired-rule",
    "disabled-rule", "unlogged-rule", "ef-without-limit", "undefined-reference", "undefined-qos-reference",
}  # fmt: skip


def test_the_names_of_the_contract_are_registered_under_distinct_codes():
    checks = all_checks()
    assert {one.name for one in checks} >= CONTRACT
    assert len({one.code for one in checks}) == len(checks)


def test_generated_pages_are_current_and_none_is_left_over():
    spec = importlib.util.spec_from_file_location("generate", DOCS / "generate.py")
    generate = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generate)
    pages = generate.pages()
    assert {path.name for path in DOCS.glob("*.md")} == set(pages), "run python docs/checks/generate.py"
    for name, text in pages.items():
        assert (DOCS / name).read_text(encoding="utf-8") == text, f"{name}: run python docs/checks/generate.py"
    assert generate.WORDS.read_text(encoding="utf-8") == words(all_checks()), "run python docs/checks/generate.py"


@pytest.mark.parametrize("one", all_checks(), ids=lambda one: one.name)
def test_every_check_says_why_it_matters_gives_an_example_and_a_safe_change(one):
    assert one.why and one.example
    assert "safe" in one.fix.lower()
    assert not one.title.endswith("..") and one.title.endswith(".")


def test_a_check_without_the_needed_paragraphs_is_refused():
    with pytest.raises(BadCheck, match="Why it matters"):

        @check("PH999", "sloppy", severity=Severity.INFO)
        def sloppy(policy: Policy):
            """No reasons given."""


def test_select_takes_names_and_codes_and_names_the_known_ones_when_it_does_not_know():
    assert [one.name for one in select(["any-any", "PH001"])] == ["zombie-rule", "any-any"]
    with pytest.raises(BadInput, match=r"no check is called 'zombi'\. Known: .*zombie-rule"):
        select(["zombi"])


def test_findings_carry_the_device_and_come_worst_first():
    found = run_checks(Context(device(policy(rule("1", enabled=False, line=1), rule("2", line=2)))), all_checks())
    assert {finding.device for finding in found} == {"fw-01"}
    ranks = [finding.severity.rank for finding in found]
    assert ranks == sorted(ranks, reverse=True)
    assert found[0].name in ("any-any", "overbroad-rule")


def test_at_most_one_finding_per_rule_and_check():
    rules = [rule(str(n), "permit" if n % 2 else "deny", line=n) for n in range(1, 6)]
    found = run_checks(Context(device(policy(*rules))), all_checks())
    assert len({finding.fingerprint for finding in found}) == len(found)


def test_lists_that_share_a_name_keep_their_findings_apart():
    lists = (
        policy(rule("IN 10"), name="IN", family=4),
        policy(rule("IN 10"), name="IN", family=6),
        policy(rule("IN 10"), name="IN"),
    )
    found = run_checks(Context(device(*lists)), select(["any-any"]))
    assert [finding.policy for finding in found] == ["IN", "IN (2)", "IN (IPv6)"]
    assert len({finding.fingerprint for finding in found}) == 3
