"""Firewall policies of NSX, JSON of the policy API or XML of NSX for vSphere, into the domain model."""

from __future__ import annotations

from dataclasses import replace

from policyhub.domain.device_config import DeviceConfig
from policyhub.domain.evaluation import Stage, StageKind
from policyhub.vendorkit.json_books import JsonBooks
from policyhub.vendorkit.lexing import score
from policyhub.vendorkit.naming import told_apart
from policyhub.vendors.vmware_nsx.policy_api import read_answers
from policyhub.vendors.vmware_nsx.sections import read_sections

NAME = "vmware_nsx"
SIGNS = (
    (r'"resource_type"\s*:\s*"(GatewayPolicy|SecurityPolicy|IPAddressExpression|L4PortSetServiceEntry)"', 0.9),
    (r'"(source_groups|destination_groups|service_entries)"\s*:', 0.5),
    (r"^[ \t]*<section [^>]{0,200}name=", 0.4),
    (r"^[ \t]*<rule [^>]{0,200}(logged|disabled)=", 0.4),
    (r"<firewallConfiguration|<appliedToList>|<(sources|destinations) excluded=", 0.3),
)


def looks_like(text: str) -> float:
    return score(text[:400_000], SIGNS)


def parse(text: str) -> DeviceConfig:
    """Total: any text gives a model; what is not understood is in `unparsed`."""
    books = JsonBooks.read(text)
    sections = read_sections(books)
    answers = read_answers(books) if not sections else None
    distributed = tuple(policy.name for policy in (*sections, *(answers.distributed if answers else ())))
    stages = (Stage(StageKind.FILTER, distributed),) if len(distributed) > 1 else ()
    policies = told_apart([*sections, *(answers.policies if answers else ())])
    groups = answers.groups if answers else ()
    return replace(books.config(NAME), policies=policies, groups=groups, evaluation=stages)
