"""What the handlers of one parse share: the books, the named operands and what was collected so far."""

from __future__ import annotations

from dataclasses import dataclass, field

from policyhub.domain.qos import DscpMap
from policyhub.vendorkit.blocks import Block
from policyhub.vendorkit.ios_reading import IosReading
from policyhub.vendorkit.service_names import ServiceNames

PACKAGE = "policyhub.vendors.cisco_ios"
NAMES = ServiceNames.of("policyhub.vendorkit", "ios_names.json")


@dataclass(slots=True)
class Reading(IosReading):
    """State of one parse: what IOS has beside the other Cisco-like platforms."""

    zone_lines: dict[str, list[int]] = field(default_factory=dict)
    zone_members: dict[str, list[str]] = field(default_factory=dict)
    zone_pairs: list[Block] = field(default_factory=list)
    inspect_classes: dict[str, Block] = field(default_factory=dict)
    inspect_policies: dict[str, Block] = field(default_factory=dict)
    mls_line: int = 0
    dscp_to_cos: dict[int, int] = field(default_factory=dict)
    dscp_to_cos_lines: list[int] = field(default_factory=list)
    maps: list[DscpMap] = field(default_factory=list)
