"""shadowed-rule, redundant-rule and coverage-undecided on hand-made policies."""

from __future__ import annotations

from policyhub.checks.context import Context
from policyhub.checks.registry import run_checks, select
from policyhub.domain.finding import Severity
from policyhub.domain.rules import Action
from policyhub.domain.rulespace import coverage
from tests.checks.make import device, policy, rule

NAMES = ["shadowed-rule", "redundant-rule", "coverage-undecided"]


def findings(*rules, **more):
    found = run_checks(Context(device(policy(*rules, **more))), select(NAMES))
    return {(finding.name, finding.rule): finding for finding in found}


def test_shadowed_deny_is_worse_than_shadowed_permit_and_names_its_coverers():
    wide = rule("1", "permit", "10.0.0.0/8")
    found = findings(wide, rule("2", "deny", "10.1.0.0/16", line=7), rule("3", "permit", "11.0.0.0/8"))
    shadowed = found["shadowed-rule", "2"]
    assert (shadowed.severity, shadowed.by, shadowed.lines) == (Severity.HIGH, ("1",), (7,))
    found = findings(rule("1", "deny", "10.0.0.0/8"), rule("2", "permit", "10.1.0.0/16"))
    assert found["shadowed-rule", "2"].severity is Severity.MEDIUM


def test_union_of_mixed_actions_is_shadowed_and_says_which_rules_act_otherwise():
    quarters = [rule(str(n), "deny" if n == 1 else "permit", f"10.0.{n * 64}.0/18") for n in range(4)]
    found = findings(*quarters, rule("all", "permit", "10.0.0.0/16"))
    shadowed = found["shadowed-rule", "all"]
    assert shadowed.by == ("0", "1", "2", "3")
    assert shadowed.evidence["other_action"] == ["1"]
    assert shadowed.evidence["cover"] == "union"
    assert shadowed.evidence["causes"] == [f"{one.name}: {one.text}" for one in quarters]


def test_three_quarters_do_not_shadow():
    quarters = [rule(str(n), "deny", f"10.0.{n * 64}.0/18") for n in range(3)]
    assert ("shadowed-rule", "all") not in findings(*quarters, rule("all", "permit", "10.0.0.0/16"))


def test_redundant_upwards_and_downwards_say_their_direction():
    narrow, wide = rule("narrow", "permit", "10.1.0.0/16"), rule("wide", "permit", "10.0.0.0/8")
    up = findings(wide, narrow)["redundant-rule", "narrow"]
    down = findings(narrow, wide)["redundant-rule", "narrow"]
    assert (up.evidence["direction"], up.by) == ("up", ("wide",))
    assert (down.evidence["direction"], down.by) == ("down", ("wide",))
    assert up.evidence["causes"] == down.evidence["causes"] == [f"wide: {wide.text}"]


def test_a_last_deny_any_that_repeats_the_default_is_not_called_redundant():
    assert not findings(rule("1", "permit", "10.0.0.0/8"), rule("2", "deny", logged=False))


def test_a_logged_deny_before_the_default_is_not_called_redundant_an_unlogged_narrow_one_is():
    assert not findings(rule("1", "deny", "10.1.0.0/16", logged=True))
    found = findings(rule("1", "deny", "10.1.0.0/16", logged=False))
    assert found["redundant-rule", "1"].evidence["by_default"] is True


def test_a_permit_for_everything_that_repeats_a_permitting_default_says_it_aloud_and_a_narrow_one_is_redundant():
    assert not findings(rule("1", "permit"), default=Action.PERMIT)
    found = findings(rule("1", "permit", "10.0.0.0/8"), default=Action.PERMIT)
    assert found["redundant-rule", "1"].message == "the policy's default is permit anyway"


def test_a_policy_that_falls_through_has_no_default_to_be_redundant_with():
    assert not findings(rule("1", "deny", "10.1.0.0/16", logged=False), default=None)


def test_loss_of_logging_is_said():
    found = findings(rule("wide", "permit", "10.0.0.0/8", logged=False), rule("narrow", "permit", "10.1.0.0/16", logged=True))
    assert found["redundant-rule", "narrow"].evidence["logging_would_change"] is True


def test_earlier_rules_that_only_count_or_mark_cover_nothing():
    assert not findings(rule("1", "continue"), rule("2", "deny", "10.0.0.0/8", logged=True), default=Action.PERMIT)


def test_negative_space_between_icmp_types_is_seen():
    from policyhub.domain.services import ICMP, Service

    def icmp(name, action, *types):
        made = rule(name, action)
        spans = tuple((t * 256, t * 256 + 255) for t in types) or None
        services = (Service.of(ICMP, spans),)
        return type(made)(made.name, made.action, type(made.match)(services=services), made.lines)

    found = findings(icmp("1", "permit", 0, 3), icmp("2", "deny", 3), icmp("3", "deny", 8), default=Action.PERMIT)
    assert set(found) == {("shadowed-rule", "2")}


def test_undecided_is_reported_and_not_called_anything_else():
    context = Context(
        device(policy(*(rule(str(n), "permit", f"10.0.0.{n}/32") for n in range(16)), rule("all", "deny", "10.0.0.0/28")))
    )
    the_policy = context.device.policies[0]
    context.remember(("coverage", id(the_policy)), lambda: coverage(the_policy, budget=20))
    found = [(finding.name, finding.rule) for finding in run_checks(context, select(NAMES))]
    assert ("coverage-undecided", "all") in found
    assert ("shadowed-rule", "all") not in found
