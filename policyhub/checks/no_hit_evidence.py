"""A rule of which nobody knows whether it is used."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from policyhub.checks.context import Context
from policyhub.checks.history import NO_COUNTERS, Use, is_judged, is_seen, judge_rules, window_opens
from policyhub.checks.registry import check
from policyhub.domain.finding import Finding, Severity
from policyhub.domain.message import Message, gettext_noop
from policyhub.domain.rules import Policy


@check("PH002", "no-hit-evidence", severity=Severity.INFO)
def no_hit_evidence(policy: Policy, context: Context) -> Iterator[Finding]:
    """Nothing proves that this rule is used, and nothing proves that it is not.

    Why it matters: "no data" is not "zero". Removing a rule on counters that were reset last week, are off, or live on the other
    cluster member is how working rules get deleted.
    Example: `hitcnt=0` in one reading, and the device rebooted twelve days ago.
    Suggested change: collect counters (again) after the missing days, or give the other member's counters: that changes nothing
    on the device and is safe. Where counting is off, switch it on: that is a change of its configuration.
    """
    if not context.counts_hits or not context.hits:
        opens = window_opens(context)
        rules = [rule for rule in policy.rules if is_judged(policy, rule) and not is_seen(policy, rule, context, opens)]
        if rules:
            reason = Message(NO_COUNTERS if context.counts_hits else gettext_noop("the platform does not count hits"))
            said = Message(
                gettext_noop("none of its rules can be judged (%(rules)d): %(reason)s"), {"rules": len(rules), "reason": reason}
            )
            evidence: dict[str, Any] = {"reason": str(reason), "rules": len(rules)}
            yield no_hit_evidence.finding(policy.name, "", policy.lines[:1], said, evidence=evidence)
        return
    for rule, proof in judge_rules(policy, context):
        if proof.use is Use.NO_EVIDENCE:
            evidence = {"reason": str(proof.reason), **proof.evidence}
            yield no_hit_evidence.finding(policy.name, rule.name, rule.lines, proof.reason, evidence=evidence)
