"""A rule that could go without any packet noticing."""

from __future__ import annotations

from collections.abc import Iterator

from policyhub.checks.context import Context
from policyhub.checks.registry import check
from policyhub.checks.wording import ACTION, as_configured, listed
from policyhub.domain.finding import Finding, Severity
from policyhub.domain.message import Message, gettext_noop
from policyhub.domain.rules import Action, Policy, Rule
from policyhub.domain.rulespace import Coverage, Fate

EARLIER = gettext_noop("earlier rules already %(action)s all of it (%(names)s)")
LATER = gettext_noop("later rules already %(action)s all of it (%(names)s)")
BY_DEFAULT = gettext_noop("the policy's default is %(action)s anyway")


@check("PH006", "redundant-rule", severity=Severity.LOW)
def redundant_rule(policy: Policy, context: Context) -> Iterator[Finding]:
    """Other rules with the same action already say all of this rule.

    Why it matters: long policies hide mistakes; each superfluous rule is read, reviewed and migrated again and again.
    Example: `permit tcp any host 10.1.1.1 eq 443` below (direction up) or above (direction down) a rule
    `permit tcp any 10.1.1.0/24 eq 443`.
    Suggested change: delete the rule. Safe for forwarding: with direction up no packet reaches it; with direction down its
    packets meet the same action further down, and all rules reported so may go together. Counting and logging then happen at
    the other rule.
    """
    for rule, answer in zip(policy.rules, context.coverage(policy), strict=True):
        if answer.fate is Fate.REDUNDANT:
            direction, template = "up", EARLIER
        elif answer.fate is Fate.REDUNDANT_BELOW and not _is_clean_up(rule, answer):
            direction, template = "down", LATER
        else:
            continue
        causes = [policy.rules[index] for index in answer.by]
        names = tuple(cause.name for cause in causes)
        logs = rule.logged is True and any(cause.logged is False for cause in causes)
        yield redundant_rule.finding(
            policy.name,
            rule.name,
            rule.lines,
            Message(template if names else BY_DEFAULT, {"action": ACTION[rule.action], "names": _named(names, answer)}),
            by=names,
            evidence={
                "direction": direction,
                "by_default": answer.by_default,
                "logging_would_change": logs,
                "rule": rule.text,
                "causes": as_configured(causes),
            },
        )


def _named(names: tuple[str, ...], answer: Coverage) -> str | Message:
    if not answer.by_default:
        return listed(names)
    return Message(gettext_noop("%(names)s, the policy's default"), {"names": listed(names)})


def _is_clean_up(rule: Rule, answer: Coverage) -> bool:
    """A rule that says the default aloud: for everything, or a deny that is there to be logged."""
    wide = rule.match.source.is_any and rule.match.destination.is_any
    return answer.by_default and (wide or (rule.action is Action.DENY and bool(rule.logged)))
