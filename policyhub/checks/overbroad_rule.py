"""A permit that opens far more than a service for somebody."""

from __future__ import annotations

from collections.abc import Iterator
from math import log2

from policyhub.checks.breadth import (
    Width,
    core_reached,
    destinations,
    has_every_service,
    is_everywhere,
    is_loose,
    only_icmp,
    opens,
    reaching_core,
    services,
    sources,
    width_of,
)
from policyhub.checks.context import Breadth, Context
from policyhub.checks.registry import check
from policyhub.domain.finding import Finding, Severity
from policyhub.domain.message import Message, gettext_noop
from policyhub.domain.rules import Policy, Rule

EVERYWHERE = gettext_noop("any source may reach any destination; only the service is limited")
EVERY_SERVICE = gettext_noop("opens every service of %(destinations)s; with every service open, more than %(most)s are too many")
TOO_MANY = gettext_noop("%(sources)s may reach %(destinations)s on %(services)s: %(times)s times as much as one rule should open")


@check("PH004", "overbroad-rule", severity=Severity.MEDIUM)
def overbroad_rule(policy: Policy, context: Context) -> Iterator[Finding]:
    """This permit lets through far more than one service needs.

    A permit is too wide when any source may reach any destination, whatever the service (ICMP alone excepted); when every service
    is open to more destinations than a /16 holds (65,536); or when source addresses x destination addresses x services exceed
    2^52. For comparison: a /24 to any address on one port is 2^40, any address to a /16 on one port 2^48, a /16 to a /16 with
    every service 2^56. A /64 of IPv6 counts as one address.
    Conditions narrow a rule by an unknown amount, so rules with conditions other than a schedule are not judged. With an identity
    list the finding names the core business that the rule reaches. In a list that is bound nowhere the severity is low. Of
    traffic to the device itself (an input chain) the destination is one host.

    Why it matters: what is open and not needed is what an intruder or a secret bulk transfer will use, and no counter shows it.
    Example: `permit tcp any any eq 3389`; `permit ip host 10.1.1.1 any`; `permit tcp any 10.2.0.0/16 range 1 65535`.
    Suggested change: replace it by the sources, destinations and services that were seen in use, keep the wide rule below with
    logging for one cycle, then remove it. Safe as long as the wide rule still stands; watch its counter before removing.
    """
    for rule in policy.rules:
        if not opens(policy, rule):
            continue
        width = width_of(policy, rule)
        said = _reason(policy, rule, width, context.breadth)
        if said:
            evidence = {
                "bits": width.bits,
                "source_bits": round(width.source, 1),
                "destination_bits": round(width.destination, 1),
                "service_bits": round(width.service, 1),
                "max_bits": context.breadth.max_bits,
                "rule": rule.text,
            }
            core = core_reached(rule, context)
            if core:
                evidence["reaches_core"] = core
                said = reaching_core(said, core)
            severity = _severity(policy, rule)
            yield overbroad_rule.finding(policy.name, rule.name, rule.lines, said, evidence=evidence, severity=severity)


def _severity(policy: Policy, rule: Rule) -> Severity:
    if is_loose(policy):
        return Severity.LOW
    return Severity.HIGH if is_everywhere(policy, rule) else Severity.MEDIUM


def _reason(policy: Policy, rule: Rule, width: Width, limits: Breadth) -> Message | None:
    if is_everywhere(policy, rule) and not only_icmp(rule):
        return Message(EVERYWHERE)
    if has_every_service(rule.match.services) and width.destination > log2(limits.any_service_addresses):
        most = f"{limits.any_service_addresses:,}"
        return Message(EVERY_SERVICE, {"destinations": destinations(policy, rule), "most": most})
    if width.bits > limits.max_bits and not only_icmp(rule):
        words = {"sources": sources(policy, rule), "destinations": destinations(policy, rule), "services": services(rule)}
        return Message(TOO_MANY, {**words, "times": _times(width.bits - limits.max_bits)})
    return None


def _times(bits: float) -> str:
    """2^bits with two figures that matter: 1.4, 16, 4,096."""
    times: float = 2**bits
    return f"{times:,.0f}" if times >= 10 else f"{times:.1f}"
