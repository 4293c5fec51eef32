"""Intended edits of a device and the lines that make and unmake them."""

from __future__ import annotations

import hashlib
import ipaddress
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

OWN_PREFIX = "PHG-"  # every object we create on a device starts with it; nothing else is ever edited or removed
OWN_NAME = re.compile(r"^PHG-[A-Z0-9]{1,12}$")


class ChangeKind(StrEnum):
    GUARD_INSTALL = "guard-install"
    GUARD_REMOVE = "guard-remove"
    MEMBER_ADD = "member-add"
    MEMBER_REMOVE = "member-remove"


class PushOutcome(StrEnum):
    APPLIED = "applied"
    NOT_APPLIED = "not-applied"
    PARTIAL = "partial"
    UNKNOWN = "unknown"


class EnforcementOutcome(StrEnum):
    HELPED = "helped"
    HARMED = "harmed"
    OFFENDER_STOPPED = "offender-stopped"
    CANNOT_TELL = "cannot-tell"


@dataclass(frozen=True, slots=True)
class GuardSpec:
    """A prepared policy, class, optional meter and counters, attached once with an empty address set.

    name: own name, e.g. "PHG-CORE1". interfaces: where traffic enters. marks: DSCPs taken from members.
    target_dscp: what members' packets are rewritten to. rate_bps: meter for members together; None = no meter.
    families: 4 and/or 6.
    """

    name: str
    interfaces: tuple[str, ...]
    marks: frozenset[int]
    target_dscp: int = 0
    rate_bps: int | None = None
    families: tuple[int, ...] = (4, 6)

    def __post_init__(self) -> None:
        if not OWN_NAME.match(self.name):
            raise ValueError(f"guard name {self.name!r} is not {OWN_PREFIX} and up to 12 characters of A-Z and 0-9")
        if not self.interfaces or not self.marks:
            raise ValueError("a guard needs at least one interface and one mark")

    def as_json(self) -> dict[str, Any]:
        """As it is stored and shown."""
        return {
            "name": self.name,
            "interfaces": list(self.interfaces),
            "marks": sorted(self.marks),
            "target_dscp": self.target_dscp,
            "rate_bps": self.rate_bps,
            "families": list(self.families),
        }

    @classmethod
    def of_json(cls, plain: Mapping[str, Any]) -> GuardSpec:
        """From what `as_json` gave."""
        return cls(
            name=plain["name"],
            interfaces=tuple(plain["interfaces"]),
            marks=frozenset(plain["marks"]),
            target_dscp=plain["target_dscp"],
            rate_bps=plain["rate_bps"],
            families=tuple(plain["families"]),
        )


@dataclass(frozen=True, slots=True)
class Commands:
    """Device lines in push order and their exact inverse, rendered before anything is sent.

    reads: operational commands whose outputs `Renderer.read` needs to tell the state.
    """

    lines: tuple[str, ...]
    inverse: tuple[str, ...]
    reads: tuple[str, ...]

    @property
    def sha256(self) -> str:
        body = json.dumps([self.lines, self.inverse, self.reads], ensure_ascii=False)
        return hashlib.sha256(body.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class GuardState:
    """What a fresh read of the device says.

    installed: the guard's own objects exist. intact: they and their attachment are exactly what the renderer writes.
    members: prefixes in the address set. foreign_sha256: digest of everything in the running configuration that is not ours,
    counters and times left out, so that two reads can be compared. packets/bytes: the guard's own counters; None = not counted.
    """

    installed: bool
    intact: bool
    members: frozenset[str]
    foreign_sha256: str
    packets: int | None = None
    bytes: int | None = None
    problems: tuple[str, ...] = ()


def canonical_member(text: str) -> str:
    """An address or prefix as prefix text, e.g. "10.1.2.3/32". Raises ValueError (host bits set, not an address)."""
    return str(ipaddress.ip_network(text, strict=True))
