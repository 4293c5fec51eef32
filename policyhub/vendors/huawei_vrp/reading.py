"""What the handlers of one parse share: the books and what was collected so far."""

from __future__ import annotations

from dataclasses import dataclass, field

from policyhub.domain.device_config import Interface, Route
from policyhub.domain.nat import NatRule
from policyhub.domain.objects import AddressObject, Schedule
from policyhub.domain.qos import QosAttachment, QosPolicy, Trust
from policyhub.domain.rules import Binding
from policyhub.vendorkit.blocks import Block
from policyhub.vendorkit.ledger import LineLedger
from policyhub.vendorkit.lexing import Words
from policyhub.vendorkit.mark_maps import MarkMaps
from policyhub.vendorkit.service_names import ServiceNames
from policyhub.vendorkit.vrp_acl import Acl

PACKAGE = "policyhub.vendors.huawei_vrp"
NAMES = ServiceNames.of(PACKAGE)
AclKey = tuple[int, str]  # family 4 or 6, name or number


@dataclass(slots=True)
class QueueLine:
    """A line about queues of a port, in file order."""

    interface: str
    block: Block


@dataclass(slots=True)
class Reading:
    """State of one parse. `shown` holds lists of `display acl`, used where the configuration has none."""

    ledger: LineLedger = field(default_factory=LineLedger)
    hostname: str = ""
    configured: dict[AclKey, Acl] = field(default_factory=dict)
    shown: dict[AclKey, Acl] = field(default_factory=dict)
    aliases: dict[AclKey, AclKey] = field(default_factory=dict)
    bindings: dict[AclKey, list[tuple[Binding, str]]] = field(default_factory=dict)
    selectors: dict[AclKey, str] = field(default_factory=dict)
    interfaces: list[Interface] = field(default_factory=list)
    schedules: list[Schedule] = field(default_factory=list)
    classifiers: dict[str, Block] = field(default_factory=dict)
    behaviors: dict[str, Block] = field(default_factory=dict)
    traffic_policies: dict[str, Block] = field(default_factory=dict)
    profiles: dict[str, Block] = field(default_factory=dict)
    cars: dict[str, Block] = field(default_factory=dict)
    simple: list[tuple[str, Block]] = field(default_factory=list)
    queue_lines: list[QueueLine] = field(default_factory=list)
    schedulers: dict[str, Block] = field(default_factory=dict)
    attachments: dict[str, list[QosAttachment]] = field(default_factory=dict)
    user_groups: dict[str, Block] = field(default_factory=dict)
    flow_queues: dict[str, Block] = field(default_factory=dict)
    profile_attachments: dict[str, list[QosAttachment]] = field(default_factory=dict)
    trusts: list[Trust] = field(default_factory=list)
    domains: dict[str, Block] = field(default_factory=dict)
    domain_ports: dict[str, list[str]] = field(default_factory=dict)

    routes: list[Route] = field(default_factory=list)
    nat_rules: list[tuple[str, NatRule]] = field(default_factory=list)
    nat_instances: dict[str, list[str]] = field(default_factory=dict)
    left_over: list[tuple[Block, str]] = field(default_factory=list)
    pools: list[AddressObject] = field(default_factory=list)
    pfc_profiles: dict[str, tuple[set[int], list[int]]] = field(default_factory=dict)
    pfc_ports: list[tuple[str, str, bool | None, int]] = field(default_factory=list)
    pfc_off: list[tuple[str, int]] = field(default_factory=list)
    pfc_watchdog: list[int] = field(default_factory=list)
    ets_profiles: dict[str, Block] = field(default_factory=dict)
    drop_profiles: dict[str, Block] = field(default_factory=dict)
    device_notes: list[tuple[str, int]] = field(default_factory=list)
    qos_maps: MarkMaps = field(default_factory=MarkMaps)
    cpu_policies: dict[str, QosPolicy] = field(default_factory=dict)
    cpu_attachments: dict[str, list[QosAttachment]] = field(default_factory=dict)
    segments: dict[tuple[str, str], Block] = field(default_factory=dict)
    segment_policies: list[tuple[str, int]] = field(default_factory=list)
    segment_notes: list[str] = field(default_factory=list)

    def bind(self, key: AclKey, interface: str, direction: str, line: int, use: str) -> None:
        """`use`: what the place does with packets that no rule matches: "permit" or "deny"."""
        self.bindings.setdefault(key, []).append((Binding(interface, direction, (line,)), use))

    def resolve(self, key: AclKey) -> AclKey:
        """A list may be referred to by its number or its name."""
        return self.aliases.get(key, key)


def take_acl(words: Words) -> AclKey:
    """`[ipv6] [number|name] X` after the word `acl` (which may stand before or after `ipv6`)."""
    family = 4
    for _ in range(3):
        word = words.accept("acl", "ipv6", "acl6", "number", "name")
        if word in ("ipv6", "acl6"):
            family = 6
        if not word:
            break
    return family, words.next("an ACL")
