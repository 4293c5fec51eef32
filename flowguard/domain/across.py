"""Judging across sensors: whose verdict stands, and whether the network changed the mark on the way."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from policyhub.domain.identity import Identity
from policyhub.domain.qos import PRIORITY_DSCP

HOST_VERDICTS = frozenset({"class-not-allowed", "unknown-identity-in-priority"})
ALL_MARKS = frozenset(range(64))


@dataclass(frozen=True, slots=True)
class Sighting:
    """One sensor's verdict; `key` is that of the contract. Times in ns of packet time."""

    sensor: int
    key: tuple[object, ...]
    first_ns: int
    last_ns: int

    def overlaps(self, other: Sighting, slack_ns: int) -> bool:
        return self.first_ns <= other.last_ns + slack_ns and other.first_ns <= self.last_ns + slack_ns

    def beats(self, other: Sighting, slack_ns: int) -> bool:
        """Whether both are one event of two sensors and this one saw it first; equal times go to the older sensor."""
        if self.sensor == other.sensor or self.key != other.key or not self.overlaps(other, slack_ns):
            return False
        return (self.first_ns, self.sensor) < (other.first_ns, other.sensor)


@dataclass(frozen=True, slots=True)
class Marks:
    """What one point counted of one source over a window.

    complete: every second of the window is there and dropped nothing. unnamed: marks of packets whose source the row left out.
    """

    complete: bool
    packets: Mapping[int, int]
    unnamed: frozenset[int] = frozenset()


def marks_of(source: str, rows: Iterable[tuple[int, bool, list[dict[str, object]]]], *, seconds: frozenset[int]) -> Marks:
    """rows: (start_ns, complete, sources) of one point. seconds: the start_ns that must be there for a complete answer."""
    packets: dict[int, int] = {}
    unnamed: set[int] = set()
    whole: set[int] = set()
    for start_ns, complete, sources in rows:
        if complete:
            whole.add(start_ns)
        for row in sources:
            dscp, count = int(str(row["dscp"])), int(str(row["packets"]))
            if row["src"] is None and count:
                unnamed.add(dscp)
            elif row["src"] == source:
                packets[dscp] = packets.get(dscp, 0) + count
    return Marks(seconds <= whole, packets, frozenset(unnamed))


def allowed_marks(name: str, identity: Identity | None) -> frozenset[int]:
    """The marks with which the same packets would not have been a verdict of this name."""
    if name == "unknown-identity-in-priority":
        return ALL_MARKS - PRIORITY_DSCP
    if identity is None or identity.allowed_dscp is None:
        return ALL_MARKS
    return identity.allowed_dscp


def rewritten_on_the_way(before: Marks, *, dscp: int, packets: int, allowed: frozenset[int]) -> bool:
    """Whether an earlier point saw all those packets, with allowed marks and none with the offending one.

    Anything it cannot know (drops, a missing second, sources left out) leaves the host with the blame for a person to look at.
    """
    if not before.complete or dscp in before.unnamed or before.packets.get(dscp, 0) or packets <= 0:
        return False
    return sum(count for mark, count in before.packets.items() if mark in allowed) >= packets
