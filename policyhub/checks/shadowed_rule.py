"""A rule that no packet reaches, though what decides instead acts otherwise."""

from __future__ import annotations

from collections.abc import Iterator

from policyhub.checks.context import Context
from policyhub.checks.registry import check
from policyhub.checks.wording import ACTION, as_configured, listed
from policyhub.domain.finding import Finding, Severity
from policyhub.domain.message import Message, gettext_noop
from policyhub.domain.rules import Action, Policy
from policyhub.domain.rulespace import Fate

ONE = gettext_noop("%(action)s never acts: one earlier rule takes all its packets (%(names)s)")
TOGETHER = gettext_noop("%(action)s never acts: %(count)d earlier rules together take all its packets (%(names)s)")


@check("PH003", "shadowed-rule", severity=Severity.MEDIUM)
def shadowed_rule(policy: Policy, context: Context) -> Iterator[Finding]:
    """Every packet of this rule is decided by earlier rules, and they act otherwise.

    Why it matters: somebody wrote the rule to allow or forbid something, and it does neither. A deny that never acts is worse
    than a permit that never acts: it looks like protection. One earlier rule or the union of several may cause it; rules with
    conditions that the model cannot express (established, time ranges, users) never count as a cause.
    Example: `permit ip 10.1.0.0/16 any`, further down `deny tcp 10.1.5.0/24 any eq 22`: the SSH ban never acts.
    Suggested change: decide which of the two was meant. If the later rule: move it above the rules that cover it, and watch,
    since traffic changes. If the earlier ones: delete this rule; safe, because no packet reaches it.
    """
    for rule, answer in zip(policy.rules, context.coverage(policy), strict=True):
        if answer.fate is not Fate.SHADOWED:
            continue
        causes = [policy.rules[index] for index in answer.by]
        names = tuple(cause.name for cause in causes)
        other = [cause.name for cause in causes if cause.action is not rule.action]
        words = {"action": ACTION[rule.action], "count": len(causes), "names": listed(names)}
        yield shadowed_rule.finding(
            policy.name,
            rule.name,
            rule.lines,
            Message(ONE if len(causes) == 1 else TOGETHER, words),
            by=names,
            severity=Severity.HIGH if rule.action is Action.DENY else Severity.MEDIUM,
            evidence={
                "cover": "single" if len(causes) == 1 else "union",
                "other_action": other,
                "rule": rule.text,
                "causes": as_configured(causes),
            },
        )


@check("PH010", "coverage-undecided", severity=Severity.INFO)
def coverage_undecided(policy: Policy, context: Context) -> Iterator[Finding]:
    """Whether this rule is covered by earlier ones was not decided within the budget.

    Why it matters: "not decided" is not "fine"; the rule may be shadowed or redundant.
    Example: a rule for a scattered group of a thousand hosts below thousands of rules for parts of it.
    Suggested change: read the rule by hand, or simplify the rules above it. Safe: nothing on the device needs to
    change.
    """
    if not policy.first_match:
        return
    for rule, answer in zip(policy.rules, context.coverage(policy), strict=True):
        if answer.fate is Fate.UNDECIDED:
            said = Message(gettext_noop("whether earlier rules cover it was not decided: too many pieces"))
            yield coverage_undecided.finding(policy.name, rule.name, rule.lines, said, evidence={"rule": rule.text})
