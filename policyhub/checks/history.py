"""Which rules the hit-evidence ledger is asked about, with captured traffic and logs beside it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from policyhub.checks.context import Context
from policyhub.domain.hit_ledger import NO_COUNTERS, Ledger, Proof, Use, ledgers, logged, together
from policyhub.domain.hits import in_utc
from policyhub.domain.rules import Action, Policy, Rule

__all__ = ["NO_COUNTERS", "Proof", "Use", "is_judged", "is_seen", "judge_rules", "window_opens"]


def is_judged(policy: Policy, rule: Rule) -> bool:
    """Rules that decide traffic: not disabled ones, not those that only mark or jump, not lists that select for QoS or NAT."""
    return policy.purpose == "filter" and rule.enabled and rule.action is not Action.CONTINUE


def judge_rules(policy: Policy, context: Context) -> Iterator[tuple[Rule, Proof]]:
    """What the counters of the device, or of every member of its cluster, and its logs prove about each rule."""
    members = context.remember("members", lambda: _members(context))
    opens = window_opens(context)
    for rule in policy.rules:
        if not is_judged(policy, rule):
            continue
        if is_seen(policy, rule, context, opens):
            yield rule, Proof(Use.USED)
        else:
            yield rule, together(members, policy.name, rule.hit_key, context.members)


def _members(context: Context) -> list[Ledger]:
    roles = any(sample.role or sample.member for sample in context.hits)
    return ledgers(context.hits, context.window_days, context.events, apart=context.members > 1 or roles)


def is_seen(policy: Policy, rule: Rule, context: Context, opens: datetime | None) -> bool:
    """Whether captured traffic, or a traffic log since `opens`, shows the rule in use."""
    return (policy.name, rule.name) in context.seen or logged(context.uses, policy.name, (rule.hit_key, rule.name), opens)


def window_opens(context: Context) -> datetime | None:
    """Begin of the window that ends with the latest reading."""
    read = [in_utc(sample.read_at) for sample in context.hits if sample.read_at]
    end = max(read) if read else context.now and in_utc(context.now)
    return end - timedelta(days=context.window_days) if end else None
