"""A rule that nothing used over the window, proved by counters."""

from __future__ import annotations

from collections.abc import Iterator

from policyhub.checks.context import Context
from policyhub.checks.history import Proof, Use, judge_rules
from policyhub.checks.registry import check
from policyhub.domain.finding import Finding, Severity
from policyhub.domain.message import Message, gettext_noop
from policyhub.domain.rules import Policy

NONE = gettext_noop("no hit between %(since)s and %(until)s (window %(window)d days)")
MORE = gettext_noop("no hit beyond the %(hits)d of before between %(since)s and %(until)s (window %(window)d days)")


@check("PH001", "zombie-rule", severity=Severity.MEDIUM)
def zombie_rule(policy: Policy, context: Context) -> Iterator[Finding]:
    """No packet used this rule over the whole window, and the device was counting all the time.

    When the rule is also too wide, this finding says so and is as severe as that: the cure is the same.

    Why it matters: a rule that nobody needs is a door that nobody watches.
    Example: `permit tcp host 10.9.9.9 any eq 1433` for a server that was switched off a year ago; `hitcnt=0` in two readings
    90 days apart, no counter fell in between.
    Suggested change: ask the owner, disable the rule, watch for its longest business cycle (quarter end, yearly recovery test),
    then delete it. Safe in this order only: a disabled rule is back in a minute. Make sure that the rule is older than the
    window, since the counters of one reading do not tell its age.
    """
    if not context.hits:
        return
    for rule, proof in judge_rules(policy, context):
        if proof.use is Use.PROVEN_UNUSED:
            yield zombie_rule.finding(policy.name, rule.name, rule.lines, _said(proof, context), evidence={**proof.evidence})


def _said(proof: Proof, context: Context) -> Message:
    since, read_at = str(proof.evidence["since"])[:10], str(proof.evidence["read_at"])[:10]
    hits = proof.evidence["hits"]
    return Message(MORE if hits else NONE, {"since": since, "until": read_at, "hits": hits, "window": context.window_days})
