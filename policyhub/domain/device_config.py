"""One device's configuration as read: everything understood, plus what was not, by line."""

from __future__ import annotations

from dataclasses import dataclass

from policyhub.domain.objects import AddressObject, ObjectGroup, Schedule, ServiceObject, Zone
from policyhub.domain.qos import DscpMap, QosPolicy, Trust
from policyhub.domain.rules import Policy


@dataclass(frozen=True, slots=True)
class Unparsed:
    """A line nobody understood; it is counted and shown, never dropped."""

    line: int
    text: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Interface:
    name: str
    addresses: tuple[str, ...] = ()
    description: str = ""
    zone: str = ""
    speed_bps: int | None = None
    enabled: bool = True
    lines: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class DeviceConfig:
    """lines: of the text; ignored: line numbers of the platform's explicit ignore list."""

    platform: str
    hostname: str
    lines: int
    policies: tuple[Policy, ...] = ()
    qos_policies: tuple[QosPolicy, ...] = ()
    dscp_maps: tuple[DscpMap, ...] = ()
    trusts: tuple[Trust, ...] = ()
    interfaces: tuple[Interface, ...] = ()
    addresses: tuple[AddressObject, ...] = ()
    services: tuple[ServiceObject, ...] = ()
    groups: tuple[ObjectGroup, ...] = ()
    zones: tuple[Zone, ...] = ()
    schedules: tuple[Schedule, ...] = ()
    ignored: tuple[int, ...] = ()
    unparsed: tuple[Unparsed, ...] = ()

    @property
    def rule_count(self) -> int:
        return sum(len(policy.rules) for policy in self.policies)

    def policy(self, name: str) -> Policy | None:
        return next((policy for policy in self.policies if policy.name == name), None)
