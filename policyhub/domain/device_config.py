"""One device's configuration as read: everything understood, plus what was not, by line."""

from __future__ import annotations

from dataclasses import dataclass

from policyhub.domain.evaluation import Stage
from policyhub.domain.nat import NatRule
from policyhub.domain.objects import AddressObject, ObjectGroup, Schedule, ServiceObject, Zone
from policyhub.domain.qos import DscpMap, QosMap, QosPolicy, Trust
from policyhub.domain.rules import Policy

ENDS_INSIDE = "the text ends inside of "


@dataclass(frozen=True, slots=True)
class Unparsed:
    """A line nobody understood; it is counted and shown, never dropped."""

    line: int
    text: str
    reason: str = ""

    @property
    def is_cut(self) -> bool:
        """Whether the text ended there before what it told was told."""
        return self.reason.startswith(ENDS_INSIDE)


@dataclass(frozen=True, slots=True)
class Interface:
    """addresses: with prefix length. vrf: routing table or virtual router; context: vdom, vsys, logical system. mtu: bytes.

    parent: the port of a subinterface or the bundle of a member.
    """

    name: str
    addresses: tuple[str, ...] = ()
    description: str = ""
    zone: str = ""
    speed_bps: int | None = None
    enabled: bool = True
    lines: tuple[int, ...] = ()
    vrf: str = ""
    context: str = ""
    mtu: int | None = None
    parent: str = ""

    def has(self, address: str) -> bool:
        """address: IPv4, as dotted numbers. What a device accepted is not always an address, so texts are compared."""
        return any(each.partition("/")[0] == address for each in self.addresses)


@dataclass(frozen=True, slots=True)
class Route:
    """A static route. next_hop: address, "" for a directly attached one; discard: a null or blackhole route."""

    prefix: str
    next_hop: str = ""
    interface: str = ""
    vrf: str = ""
    context: str = ""
    distance: int | None = None
    discard: bool = False
    lines: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Losslessness:
    """Priority flow control of one port. priorities: PCP values that pause; None where the platform's default applies."""

    interface: str
    enabled: bool | None = None
    priorities: frozenset[int] | None = None
    watchdog: bool | None = None
    lines: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class DeviceConfig:
    """lines: of the text; ignored: line numbers of the platform's explicit ignore list.

    special: sensitive lines that hold no rule and no QoS, each taken by a row of the platform's `special.txt`; counted apart.
    managed_by: the central manager that owns this device (Panorama, FortiManager, ...), "" when nothing says so.
    evaluation: the path of a packet; () when the platform asks just the policies bound to the interface.
    """

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
    nat_rules: tuple[NatRule, ...] = ()
    routes: tuple[Route, ...] = ()
    evaluation: tuple[Stage, ...] = ()
    losslessness: tuple[Losslessness, ...] = ()
    qos_maps: tuple[QosMap, ...] = ()
    managed_by: str = ""
    version: str = ""
    special: tuple[int, ...] = ()

    @property
    def rule_count(self) -> int:
        return sum(len(policy.rules) for policy in self.policies)

    def policy(self, name: str) -> Policy | None:
        return next((policy for policy in self.policies if policy.name == name), None)

    def interface(self, name: str) -> Interface | None:
        """In whatever case the name is written."""
        return next((each for each in self.interfaces if each.name.casefold() == name.casefold()), None)
