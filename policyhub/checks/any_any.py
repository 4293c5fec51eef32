"""A permit for everything."""

from __future__ import annotations

from collections.abc import Iterator

from policyhub.checks.breadth import has_every_service, is_everywhere, is_loose, opens
from policyhub.checks.registry import check
from policyhub.domain.finding import Finding, Severity
from policyhub.domain.message import Message, gettext_noop
from policyhub.domain.rules import Policy

FROM_EVERYWHERE = gettext_noop("any source, any destination, any service")
FROM_ZONES = gettext_noop("any source, any destination, any service from %(zones)s")


@check("PH005", "any-any", severity=Severity.HIGH)
def any_any(policy: Policy) -> Iterator[Finding]:
    """Any source may use any service of any destination.

    Why it matters: from this line on there is no firewall, only a router; every rule below it is dead.
    Example: `access-list OUTSIDE_IN extended permit ip any any`.
    Suggested change: log the rule for a business cycle, write rules for what is seen, move it behind them, and remove it when its
    counter stands still. Safe in this order only; removing it at once cuts traffic that nobody listed.
    """
    for rule in policy.rules:
        match = rule.match
        if opens(policy, rule) and is_everywhere(policy, rule) and has_every_service(match.services):
            said = (
                Message(FROM_ZONES, {"zones": ", ".join(match.source_zones)}) if match.source_zones else Message(FROM_EVERYWHERE)
            )
            severity = Severity.LOW if is_loose(policy) else Severity.HIGH
            evidence = {"rule": rule.text, "bound": bool(policy.bindings)}
            yield any_any.finding(policy.name, rule.name, rule.lines, said, evidence=evidence, severity=severity)
