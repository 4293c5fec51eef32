"""What the handlers of one parse share: the books, the named operands and what was collected so far."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from policyhub.domain.qos import DscpMap, QosClass, Queue, Shaper
from policyhub.vendorkit.blocks import Block
from policyhub.vendorkit.ios_reading import IosReading
from policyhub.vendorkit.mark_maps import MarkMaps
from policyhub.vendorkit.service_names import ServiceNames

PACKAGE = "policyhub.vendors.cisco_ios"
NAMES = ServiceNames.of("policyhub.vendorkit", "ios_names.json")


@dataclass(slots=True)
class PortQueues:
    """What the lines of one port said so far about its queues, by number of the queue."""

    queues: dict[int, Queue] = field(default_factory=dict)
    shapers: dict[int, Shaper] = field(default_factory=dict)
    lines: dict[int, list[int]] = field(default_factory=dict)
    marks: dict[int, set[int]] = field(default_factory=dict)
    whole: Shaper | None = None
    notes: list[str] = field(default_factory=list)
    whole_lines: list[int] = field(default_factory=list)

    def change(self, number: int, line: int, **changes: object) -> None:
        known = self.queues.get(number) or Queue(str(number))
        self.queues[number] = replace(known, **changes)  # type: ignore[arg-type]
        self.lines.setdefault(number, []).append(line)


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
    vlan_maps: dict[str, list[Block]] = field(default_factory=dict)
    vlan_filters: list[tuple[str, str, int]] = field(default_factory=list)
    nat_sides: dict[str, list[str]] = field(default_factory=dict)
    port_queues: dict[str, PortQueues] = field(default_factory=dict)
    rates: dict[tuple[str, str], list[QosClass]] = field(default_factory=dict)
    queue_marks: dict[tuple[str, int], tuple[set[int], list[int]]] = field(default_factory=dict)
    queue_notes: list[tuple[str, int]] = field(default_factory=list)
    qos_maps: MarkMaps = field(default_factory=MarkMaps)
    mutations: dict[str, list[str]] = field(default_factory=dict)
