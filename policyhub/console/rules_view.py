"""The rules of one device's latest configuration, with counters and findings beside them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from policyhub.actions import configs
from policyhub.actions.secrets import redact, unseal
from policyhub.domain.device_config import DeviceConfig
from policyhub.domain.hits import HitCount, HitSample
from policyhub.domain.rules import Policy, Rule
from policyhub.models import ConfigSnapshot, Device, Finding
from policyhub.vendorkit.registry import REGISTRY


@dataclass(frozen=True, slots=True)
class RuleRow:
    """hits None: not known, then `why` says why. text: as the device has it, secrets masked."""

    policy: str
    place: str
    rule: Rule
    text: str
    hits: int | None
    why: str | Promise
    findings: tuple[Finding, ...]

    @property
    def shows_policy(self) -> bool:
        """Not where the rule's own name says it."""
        return not self.rule.name.startswith(self.policy)


def rows(device: Device, snapshot: ConfigSnapshot, findings: Iterable[Finding]) -> tuple[DeviceConfig, list[RuleRow]]:
    """In the order of the configuration. Raises UnknownPlatform, CannotOpen."""
    config = configs.parsed(device, snapshot)
    counters = snapshot.counters_envelope or snapshot.text_envelope
    sample = REGISTRY.get(device.platform).counters(unseal(counters), snapshot.taken_at)
    known = {(count.policy, count.key): count for count in sample.hits} if sample else {}
    found: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        found.setdefault((finding.policy, finding.rule), []).append(finding)
    return config, [
        _row(policy, rule, sample, known.get((policy.name, rule.hit_key)), found.get((policy.name, rule.name), []))
        for policy in config.policies
        for rule in policy.rules
    ]


def _row(policy: Policy, rule: Rule, sample: HitSample | None, count: HitCount | None, found: list[Finding]) -> RuleRow:
    place = ", ".join(f"{binding.interface or '*'} {binding.direction}" for binding in policy.bindings)
    hits, why = _hits(sample, count)
    return RuleRow(policy.name, place, rule, redact(rule.text), hits, why, tuple(found))


def _hits(sample: HitSample | None, count: HitCount | None) -> tuple[int | None, str | Promise]:
    if sample is None:
        return None, _("no counters were read with this configuration")
    if not sample.enabled:
        return None, _("the device does not count: counting is switched off")
    if count is None:
        return None, _("the device prints no counter for this rule")
    if count.hits is None and not sample.zero_is_printed:
        return 0, ""
    return count.hits, _("the device prints no number for this rule")
