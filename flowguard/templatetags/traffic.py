"""Tags of the traffic pages."""

from __future__ import annotations

from typing import Any

from django import template

from flowguard.console import labels
from flowguard.models import Verdict
from policyhub.domain.identity import with_zone

register = template.Library()


@register.filter
def verdict_title(name: str) -> labels.Text:
    return labels.verdict_title(name)


@register.filter
def verdict_reason(name: str) -> labels.Text:
    return labels.verdict_reason(name)


register.filter(with_zone)


@register.filter
def wrong_if(name: str) -> labels.Text:
    return labels.WRONG_IF.get(name, "")


@register.filter
def outcome_title(outcome: str) -> labels.Text:
    return labels.OUTCOMES[outcome][0] if outcome in labels.OUTCOMES else outcome


@register.filter
def outcome_reason(outcome: str) -> labels.Text:
    return labels.OUTCOMES[outcome][1] if outcome in labels.OUTCOMES else ""


@register.filter
def signal(name: Any) -> labels.Text:
    return labels.SIGNALS.get(str(name), str(name))


@register.filter
def server_port(port: str) -> labels.Text:
    return labels.server_port(port)


@register.filter
def gap_reason(reason: str) -> labels.Text:
    return labels.GAP_REASONS.get(reason, reason)


@register.filter
def loss_cause(name: str) -> labels.Text:
    return labels.HEALTH_LOSS.get(name, name)


@register.filter
def bps(verdict: Verdict) -> float | None:
    """Mean over packet time in bit/s; None when all packets share one instant."""
    length = verdict.last_ns - verdict.first_ns
    return verdict.bytes * 8e9 / length if length > 0 else None


@register.filter
def lasted_s(verdict: Verdict) -> float:
    return (verdict.last_ns - verdict.first_ns) / 1e9
