"""Names and syntax of EOS that its readers share."""

from __future__ import annotations

from dataclasses import dataclass, field

from policyhub.domain.objects import AddressObject, ObjectGroup, ServiceObject
from policyhub.domain.qos import QosClass, QosPolicy
from policyhub.domain.rules import Binding
from policyhub.vendorkit.blocks import Block
from policyhub.vendorkit.ios_acl import BARE, COMPARED, WITH_VALUE, AclSyntax
from policyhub.vendorkit.ios_reading import IosReading
from policyhub.vendorkit.service_names import ServiceNames

PACKAGE = "policyhub.vendors.arista_eos"
NAMES = ServiceNames.of("policyhub.vendorkit", "ios_names.json").extended(ServiceNames.of(PACKAGE))
ACL = AclSyntax(
    NAMES,
    address_groups=(),
    bare=(*BARE, "tracked", "inner", "reject-route", "nvgre", "copy-to-cpu"),
    one_value=(*WITH_VALUE, "nexthop-group", "config"),
    compared=(*COMPARED, "hop-limit", "packet-length"),
)


@dataclass(slots=True)
class Reading(IosReading):
    """queues/shapers: what a port or `profile P` says about its queues. profiles: QoS profiles by name; profile_users:
    (profile, port, line). nat_users: (NAT profile, port). field_sets: names of traffic policies.
    """

    queues: dict[str, list[QosClass]] = field(default_factory=dict)
    profiles: dict[str, Block] = field(default_factory=dict)
    profile_users: list[tuple[str, str, int]] = field(default_factory=list)
    nat_users: list[tuple[str, str]] = field(default_factory=list)
    set_objects: list[AddressObject] = field(default_factory=list)
    set_services: list[ServiceObject] = field(default_factory=list)
    set_groups: list[ObjectGroup] = field(default_factory=list)
    traffic_policies: dict[str, list[Block]] = field(default_factory=dict)
    traffic_bindings: dict[str, list[Binding]] = field(default_factory=dict)
    traffic_marks: dict[str, dict[str, QosClass]] = field(default_factory=dict)
    segments: dict[str, list[int]] = field(default_factory=dict)
    segment_bindings: dict[str, list[Binding]] = field(default_factory=dict)
    segment_policies: list[Block] = field(default_factory=list)
    maps: dict[tuple[str, str], dict[int, int]] = field(default_factory=dict)
    map_lines: dict[tuple[str, str], list[int]] = field(default_factory=dict)
    buffers: list[QosPolicy] = field(default_factory=list)
    managed_by: str = ""
