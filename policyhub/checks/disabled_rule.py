"""A rule that is switched off and still stands there."""

from __future__ import annotations

from collections.abc import Iterator

from policyhub.checks.registry import check
from policyhub.domain.finding import Finding, Severity
from policyhub.domain.message import Message, gettext_noop
from policyhub.domain.rules import Policy


@check("PH008", "disabled-rule", severity=Severity.INFO)
def disabled_rule(policy: Policy) -> Iterator[Finding]:
    """This rule is disabled.

    Why it matters: one keyword brings it back, without the review that a new rule would get; until then it only makes the policy
    longer.
    Example: `access-list INSIDE extended permit tcp any host 10.1.1.1 eq 23 inactive`.
    Suggested change: delete it when nobody expects it back. Safe: it decides no packet today.
    """
    for rule in policy.rules:
        if not rule.enabled:
            said = Message(gettext_noop("the rule is disabled"))
            yield disabled_rule.finding(policy.name, rule.name, rule.lines, said, evidence={"rule": rule.text})
