"""In what order a firewall, or a device group of Panorama, asks its policies."""

from __future__ import annotations

from collections.abc import Iterator

from policyhub.domain.evaluation import Seen, Stage, StageKind
from policyhub.domain.nat import NatRule
from policyhub.domain.rules import Policy
from policyhub.vendors.paloalto_panos.reading import LOCAL, POST, PRE, Reading, Scope
from policyhub.vendors.paloalto_panos.rules import DEFAULT_POLICY, SECURITY, policy_name

FILTER_NOTE = "addresses before translation, destination zone after it"
NAT_NOTE = "looked up before the security rules; the packet is rewritten when it leaves"


def stages(reading: Reading, policies: list[Policy], nat_rules: list[NatRule]) -> tuple[Stage, ...]:
    known = {policy.name for policy in policies} | {rule.rule_set for rule in nat_rules}
    found: list[Stage] = []
    if reading.groups:
        for scope in reading.groups.values():
            found.extend(_path(scope.context, known, *_panorama(reading, scope)))
    elif any(base for base in reading.shared.rulebases):
        found.extend(_path(reading.shared.context, known, *_panorama(reading, reading.shared)))
    for scope in reading.vsys.values():
        found.extend(_path(reading.context_of(scope), known, *_firewall(scope)))
    return tuple(found)


def _firewall(scope: Scope) -> tuple[list[str], list[str], list[str]]:
    """Names that routes, NAT and filter would have."""
    names = {kind: policy_name(scope, LOCAL, kind) for kind in ("pbf", "nat", SECURITY, DEFAULT_POLICY)}
    return [names["pbf"]], [names["nat"]], [names[SECURITY], names[DEFAULT_POLICY]]


def _panorama(reading: Reading, scope: Scope) -> tuple[list[str], list[str], list[str]]:
    """pre of shared, of the parents from the top, of the group; post the other way round; then the default rules."""
    upwards = scope.chain()

    def around(kind: str) -> list[str]:
        before = [policy_name(each, PRE, kind) for each in reversed(upwards)]
        return [*before, *(policy_name(each, POST, kind) for each in upwards)]

    defaults = [policy_name(each, LOCAL, DEFAULT_POLICY) for each in upwards]
    return around("pbf"), around("nat"), [*around(SECURITY), *defaults]


def _path(context: str, known: set[str], routes: list[str], nat: list[str], filters: list[str]) -> Iterator[Stage]:
    """Stages that have something to ask."""
    for kind, names, note in (
        (StageKind.ROUTE, routes, ""),
        (StageKind.DESTINATION_NAT, nat, NAT_NOTE),
        (StageKind.FILTER, filters, FILTER_NOTE),
        (StageKind.SOURCE_NAT, nat, ""),
    ):
        present = tuple(name for name in names if name in known)
        if present:
            yield Stage(kind, present, Seen.ORIGINAL, context, note)
