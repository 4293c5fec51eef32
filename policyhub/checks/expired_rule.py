"""A rule whose time is over."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from policyhub.checks.context import Context
from policyhub.checks.registry import check
from policyhub.domain.finding import Finding, Severity
from policyhub.domain.hits import in_utc
from policyhub.domain.message import Message, gettext_noop
from policyhub.domain.rules import Policy


@check("PH007", "expired-rule", severity=Severity.LOW)
def expired_rule(policy: Policy, context: Context) -> Iterator[Finding]:
    """The schedule of this rule ended, and it will never match again.

    Why it matters: temporary openings that stay in the policy come back when somebody edits the schedule for something else.
    Example: `time-range MIGRATION / absolute end 23:00 31 March 2024`, used by a permit.
    Suggested change: delete the rule, then the schedule when nothing uses it any more. Safe: it matches no packet since then. The
    device's clock is taken as UTC, so the last day may differ.
    """
    if context.now is None:
        return
    ends = {schedule.name: schedule.expires for schedule in context.device.schedules if schedule.expires}
    for rule in policy.rules:
        expires = ends.get(rule.schedule)
        if rule.enabled and expires and _is_over(expires, context.now):
            evidence = {"schedule": rule.schedule, "expired": expires, "rule": rule.text}
            said = Message(
                gettext_noop("schedule %(schedule)s ended on %(day)s"), {"schedule": rule.schedule, "day": expires[:10]}
            )
            yield expired_rule.finding(policy.name, rule.name, rule.lines, said, evidence=evidence)


def _is_over(expires: str, now: datetime) -> bool:
    try:
        return in_utc(datetime.fromisoformat(expires)) < in_utc(now)
    except ValueError:  # not a date: nothing is known, so nothing is said
        return False
