"""Address translation as devices configure it."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from policyhub.domain.rules import Match


class NatKind(StrEnum):
    SOURCE = "source"  # the sender's address, many to a pool or interface
    DESTINATION = "destination"  # the receiver's address or port (VIP, port forward, server)
    STATIC = "static"  # one to one, in both directions
    EXEMPT = "exempt"  # what matches is not translated


@dataclass(frozen=True, slots=True)
class NatRule:
    """One translation; the first enabled match of its list decides.

    match: the packet as it arrives (addresses before translation). translated_*: what it becomes, as the device writes it
    (prefix, range, object, pool name; "interface" for the address of the egress interface), "" when it is left alone.
    rule_set: name of the list, section or rule set; order in `DeviceConfig.nat_rules` is evaluation order.
    """

    name: str
    kind: NatKind
    match: Match
    lines: tuple[int, ...]
    translated_source: str = ""
    translated_destination: str = ""
    translated_service: str = ""
    rule_set: str = ""
    context: str = ""
    enabled: bool = True
    comment: str = ""
    hit_key: str = ""
    references: tuple[str, ...] = ()
    notes: tuple[str, ...] = field(default=())
