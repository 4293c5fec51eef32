"""A rule that should leave a trace, and leaves none."""

from __future__ import annotations

from collections.abc import Iterator

from policyhub.checks.breadth import opens
from policyhub.checks.registry import check
from policyhub.checks.wording import ACTION
from policyhub.domain.finding import Finding, Severity
from policyhub.domain.message import Message, gettext_noop
from policyhub.domain.rules import Action, Policy, Rule

WITHOUT = gettext_noop("%(action)s without logging")


@check("PH009", "unlogged-rule", severity=Severity.INFO)
def unlogged_rule(policy: Policy) -> Iterator[Finding]:
    """This deny, or permit from anywhere, is not logged.

    Why it matters: what is forbidden and what is open to everybody are the two things that people ask about afterwards. Other
    permits are left out on purpose: logging them all buries what matters. So are platforms that do not say whether they log.
    Example: `deny ip any any` without `log` on an IOS router.
    Suggested change: add logging to the rule. Safe for forwarding; watch the CPU of software routers and the rate of messages.
    """
    for rule in policy.rules:
        if rule.logged is False and rule.enabled and _should_be_seen(policy, rule):
            said = Message(WITHOUT, {"action": ACTION[rule.action]})
            yield unlogged_rule.finding(policy.name, rule.name, rule.lines, said, evidence={"rule": rule.text})


def _should_be_seen(policy: Policy, rule: Rule) -> bool:
    if rule.action is Action.DENY:
        return policy.purpose == "filter"
    return opens(policy, rule) and rule.match.source.is_any
