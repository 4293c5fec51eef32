"""What the readers of one text have found so far, in the terms of the model."""

from __future__ import annotations

from dataclasses import dataclass, field

from policyhub.domain.device_config import DeviceConfig, Interface, Losslessness, Route
from policyhub.domain.evaluation import Stage
from policyhub.domain.nat import NatRule
from policyhub.domain.objects import AddressObject, ObjectGroup, Schedule, ServiceObject, Zone
from policyhub.domain.qos import DscpMap, QosMap, QosPolicy, Trust
from policyhub.domain.rules import Policy
from policyhub.vendorkit.ledger import LineLedger


@dataclass(slots=True, kw_only=True)
class Collected:
    """Base of the state of one parse where the model's parts are collected one by one."""

    ledger: LineLedger = field(default_factory=LineLedger)
    hostname: str = ""
    version: str = ""
    managed_by: str = ""
    policies: list[Policy] = field(default_factory=list)
    qos_policies: list[QosPolicy] = field(default_factory=list)
    dscp_maps: list[DscpMap] = field(default_factory=list)
    qos_maps: list[QosMap] = field(default_factory=list)
    trusts: list[Trust] = field(default_factory=list)
    losslessness: list[Losslessness] = field(default_factory=list)
    interfaces: list[Interface] = field(default_factory=list)
    addresses: list[AddressObject] = field(default_factory=list)
    services: list[ServiceObject] = field(default_factory=list)
    groups: list[ObjectGroup] = field(default_factory=list)
    zones: list[Zone] = field(default_factory=list)
    schedules: list[Schedule] = field(default_factory=list)
    nat_rules: list[NatRule] = field(default_factory=list)
    routes: list[Route] = field(default_factory=list)
    evaluation: list[Stage] = field(default_factory=list)

    def config(self, platform: str, lines: int) -> DeviceConfig:
        """The model, once every line is booked. lines: how many the text has."""
        return DeviceConfig(
            platform,
            self.hostname,
            lines,
            policies=tuple(self.policies),
            qos_policies=tuple(self.qos_policies),
            dscp_maps=tuple(self.dscp_maps),
            trusts=tuple(self.trusts),
            interfaces=tuple(self.interfaces),
            addresses=tuple(self.addresses),
            services=tuple(self.services),
            groups=tuple(self.groups),
            zones=tuple(self.zones),
            schedules=tuple(self.schedules),
            ignored=self.ledger.ignored_lines,
            unparsed=self.ledger.unparsed_lines,
            nat_rules=tuple(self.nat_rules),
            routes=tuple(self.routes),
            evaluation=tuple(self.evaluation),
            losslessness=tuple(self.losslessness),
            qos_maps=tuple(self.qos_maps),
            managed_by=self.managed_by,
            version=self.version,
            special=self.ledger.special_lines,
        )
