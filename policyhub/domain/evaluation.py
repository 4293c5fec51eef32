"""In what order a device asks its policies, and which addresses a rule sees: where vendors differ most."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class StageKind(StrEnum):
    RAW = "raw"  # before connection tracking
    DESTINATION_NAT = "destination-nat"
    ROUTE = "route"
    FILTER = "filter"
    SOURCE_NAT = "source-nat"


class Seen(StrEnum):
    """Which destination address a filter's rules are written for, when the packet is translated."""

    ORIGINAL = "original"
    TRANSLATED = "translated"


@dataclass(frozen=True, slots=True)
class Stage:
    """One step of the device's path.

    policies: names in the order they are asked; a policy whose `default` is None hands over to the next one of the stage,
    any other ends the stage. () = all policies of this kind that are bound where the packet passes.
    """

    kind: StageKind
    policies: tuple[str, ...] = ()
    destination: Seen = Seen.ORIGINAL
    context: str = ""
    note: str = ""
