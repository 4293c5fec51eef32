"""Names and syntax of NX-OS that its readers share."""

from __future__ import annotations

from dataclasses import dataclass, field

from policyhub.vendorkit.blocks import Block
from policyhub.vendorkit.ios_acl import BARE, COMPARED, WITH_VALUE, AclSyntax
from policyhub.vendorkit.ios_reading import IosReading
from policyhub.vendorkit.service_names import ServiceNames

PACKAGE = "policyhub.vendors.cisco_nxos"
NAMES = ServiceNames.of("policyhub.vendorkit", "ios_names.json")
ACL = AclSyntax(
    NAMES,
    address_groups=("addrgroup",),
    port_groups=("portgroup",),
    bare=(*BARE, "capture-all"),
    one_value=(*WITH_VALUE, "tcp-flags-mask", "tcp-option-length", "http-method", "load-share"),
    compared=(*COMPARED, "packet-length"),
    counted=(("nve", 2), ("udf", 3), ("capture", 2), ("redirect", 1)),
)


@dataclass(slots=True)
class Reading(IosReading):
    """vlan_maps: clauses of one map by name; vlan_filters: (map, vlans, line)."""

    vlan_maps: dict[str, list[Block]] = field(default_factory=dict)
    vlan_filters: list[tuple[str, str, int]] = field(default_factory=list)
