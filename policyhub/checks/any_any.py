"""A permit for everything."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from policyhub.checks.breadth import core_reached, has_every_service, is_everywhere, is_loose, opens, reaching_core
from policyhub.checks.context import Context
from policyhub.checks.registry import check
from policyhub.domain.finding import Finding, Severity
from policyhub.domain.message import Message, gettext_noop
from policyhub.domain.rules import Policy, Rule

EVERYTHING = gettext_noop("lets everything through: any source, any destination, any service")
FROM_ZONES = gettext_noop("lets through everything that comes from %(from)s: any source, any destination, any service")
TO_ZONES = gettext_noop("lets through everything that goes to %(to)s: any source, any destination, any service")
BETWEEN = gettext_noop("lets through everything from %(from)s to %(to)s: any source, any destination, any service")


@check("PH005", "any-any", severity=Severity.HIGH)
def any_any(policy: Policy, context: Context) -> Iterator[Finding]:
    """This permit lets everything through: any source, any destination, any service.

    It is told once: not as overbroad-rule, too, and not of a rule that no packet reaches.

    Why it matters: from this line on there is no firewall, only a router; every rule below it is dead.
    Example: `access-list OUTSIDE_IN extended permit ip any any`.
    Suggested change: log the rule for a business cycle, write rules for what is seen, move it behind them, and remove it when its
    counter stands still. Safe in this order only; removing it at once cuts traffic that nobody listed.
    """
    for rule in policy.rules:
        if opens(policy, rule) and is_everywhere(policy, rule) and has_every_service(rule.match.services):
            evidence: dict[str, Any] = {"rule": rule.text, "bound": bool(policy.bindings)}
            said = _said(rule)
            core = core_reached(rule, context)
            if core:
                evidence["reaches_core"] = core
                said = reaching_core(said, core)
            severity = Severity.LOW if is_loose(policy) else Severity.HIGH
            yield any_any.finding(policy.name, rule.name, rule.lines, said, evidence=evidence, severity=severity)


def _said(rule: Rule) -> Message:
    zones = {"from": ", ".join(rule.match.source_zones), "to": ", ".join(rule.match.destination_zones)}
    match bool(zones["from"]), bool(zones["to"]):
        case True, True:
            return Message(BETWEEN, zones)
        case True, False:
            return Message(FROM_ZONES, zones)
        case False, True:
            return Message(TO_ZONES, zones)
    return Message(EVERYTHING)
