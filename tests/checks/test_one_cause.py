"""One rule, one root cause: width is told once, and not of rules that no packet reaches."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from policyhub.checks.context import Context
from policyhub.checks.registry import all_checks, run_checks, select
from policyhub.domain.finding import Severity
from policyhub.domain.hits import HitCount, HitSample
from policyhub.domain.objects import Schedule
from policyhub.domain.rules import Binding, Policy
from tests.checks.make import device, policy, rule

NOW = datetime(2026, 11, 30, tzinfo=UTC)
EVERYTHING = rule("wide", line=9, logged=False)


def told(made: Policy, name: str = "wide", **context) -> dict[str, Severity]:
    bound = replace(made, bindings=(Binding("outside", "in"),))
    device_of = context.pop("device", device(bound))
    found = run_checks(Context(replace(device_of, policies=(bound,)), now=NOW, **context), all_checks())
    return {finding.name: finding.severity for finding in found if finding.rule == name}


def hits(count: int | None) -> dict[str, tuple[HitSample, ...]]:
    days = (datetime(2026, 8, 1, tzinfo=UTC), datetime(2026, 11, 29, tzinfo=UTC))
    rows = (HitCount("OUTSIDE_IN", "wide", count),)
    return {"hits": tuple(HitSample("cisco_asa", "sessions", rows, read_at=day, counting_since=days[0]) for day in days)}


def test_a_permit_for_everything_is_told_once():
    assert told(policy(EVERYTHING)) == {"any-any": Severity.HIGH, "unlogged-rule": Severity.INFO}


@pytest.mark.parametrize(
    ("first", "cause"),
    [("deny", "shadowed-rule"), ("permit", "redundant-rule")],
)
def test_the_width_of_a_rule_that_no_packet_reaches_is_not_told(first, cause):
    assert set(told(policy(rule("first", first, logged=True), EVERYTHING))) == {cause}


def test_the_width_of_a_rule_whose_time_is_over_is_not_told():
    timed = replace(EVERYTHING, schedule="MIGRATION", match=replace(EVERYTHING.match, conditions=("time-range MIGRATION",)))
    over = device(schedules=(Schedule("MIGRATION", "absolute end", "2024-03-31T23:00"),))
    assert set(told(policy(timed), device=over)) == {"expired-rule"}
    still = device(schedules=(Schedule("MIGRATION", "absolute end", "2027-03-31T23:00"),))
    assert "any-any" in told(policy(timed), device=still)


def test_a_rule_that_later_ones_repeat_decides_packets_and_keeps_its_width():
    wide = rule("wide", source="10.0.0.0/8")
    assert set(told(policy(wide, rule("last")))) == {"overbroad-rule", "redundant-rule"}


def test_an_unused_rule_tells_its_width_in_the_same_finding():
    assert told(policy(EVERYTHING), **hits(0)) == {"zombie-rule": Severity.HIGH, "unlogged-rule": Severity.INFO}
    assert "any-any" in told(policy(EVERYTHING), **hits(7))
    made = policy(EVERYTHING, bindings=(Binding("outside", "in"),))
    (found,) = [f for f in run_checks(Context(device(made), **hits(0)), all_checks()) if f.name == "zombie-rule"]
    assert found.message.startswith("no hit between 2026-08-01 and 2026-11-29")
    assert found.message.endswith("it stands open: lets everything through: any source, any destination, any service")
    assert found.evidence["bound"] is True
    assert found.evidence["hits"] == 0


def test_an_unused_rule_of_a_list_that_is_bound_nowhere_does_not_stand_open():
    found = run_checks(Context(device(policy(EVERYTHING)), **hits(0)), all_checks())
    assert {finding.name: finding.severity for finding in found if finding.rule} == {
        "zombie-rule": Severity.MEDIUM,
        "unlogged-rule": Severity.INFO,
    }
    assert "stands open" not in str([finding.message for finding in found])


def test_an_unused_and_shadowed_rule_opens_nothing():
    made = policy(rule("first", "deny", logged=True), EVERYTHING)
    assert told(made, **hits(0)) == {"shadowed-rule": Severity.MEDIUM, "zombie-rule": Severity.MEDIUM}


def test_a_check_that_was_not_asked_for_hides_nothing():
    made = policy(EVERYTHING, bindings=(Binding("outside", "in"),))
    for wanted in ("any-any", "overbroad-rule"):
        found = run_checks(Context(device(made), **hits(0)), select([wanted]))
        assert [(finding.name, finding.severity) for finding in found] == [(wanted, Severity.HIGH)]


def test_rules_called_alike_in_two_lists_do_not_explain_each_other():
    first = policy(rule("first", "deny", logged=True), EVERYTHING, name="A", bindings=(Binding("a", "in"),))
    second = policy(EVERYTHING, name="B", bindings=(Binding("b", "in"),))
    found = run_checks(Context(device(first, second)), select(["any-any", "shadowed-rule"]))
    assert {(finding.policy, finding.name) for finding in found} == {("A", "shadowed-rule"), ("B", "any-any")}
