"""A port's traffic copied to another place, as it is wished for; what a device does for it is its vendor's business."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from policyhub.domain.change import Commands

OWN_SESSION = "PHM"  # name of our sessions where a platform names them: PHM and the number


class Copied(StrEnum):
    """Which packets of the source port are copied."""

    RX = "rx"
    TX = "tx"
    BOTH = "both"

    @property
    def ways(self) -> tuple[Copied, ...]:
        """The single directions, for platforms that take one at a time."""
        return (Copied.RX, Copied.TX) if self is Copied.BOTH else (self,)


class MirrorKind(StrEnum):
    SPAN = "span"
    RSPAN = "rspan"
    ERSPAN = "erspan"


@dataclass(frozen=True, slots=True)
class MirrorEnds:
    """What is copied, and where to.

    destination: port that the copies leave by, "" where routing decides. vlan: of RSPAN. collector, origin: addresses of ERSPAN's
    outer header.
    """

    source: str
    copied: Copied = Copied.BOTH
    destination: str = ""
    vlan: int | None = None
    collector: str = ""
    origin: str = ""

    @property
    def kind(self) -> MirrorKind:
        if self.collector:
            return MirrorKind.ERSPAN
        return MirrorKind.SPAN if self.vlan is None else MirrorKind.RSPAN


@dataclass(frozen=True, slots=True, kw_only=True)
class Mirror(MirrorEnds):
    """numbers: of the sessions, as many as the platform needs (one mostly), free on the device.

    dscp: mark of ERSPAN's outer header, None where the platform sets none.
    """

    numbers: tuple[int, ...]
    dscp: int | None = None

    @property
    def number(self) -> int:
        return self.numbers[0]

    @property
    def name(self) -> str:
        return f"{OWN_SESSION}{self.number}"


@dataclass(frozen=True, slots=True)
class MirrorDrafts:
    """What a vendor knows of mirror sessions: lines that a person may type, with their way back. Nothing here is ever pushed.

    numbers: of sessions that the platform has. kinds: what it can be asked for.

    taken(running): numbers in use there. draft(wish, running): the lines, their inverse, and the commands that show the state;
    raises CannotRender. by_port: kinds whose lines name the port that copies leave by; the others leave where VLAN or route lead.
    marks: whether it sets the mark of ERSPAN copies. one_way: a session copies one direction.
    """

    numbers: range
    kinds: frozenset[MirrorKind]
    taken: Callable[[str], frozenset[int]]
    draft: Callable[[Mirror, str], Commands]
    by_port: frozenset[MirrorKind] = frozenset({MirrorKind.SPAN})
    marks: bool = True
    one_way: bool = False


def numbers_in(session: re.Pattern[str]) -> Callable[[str], frozenset[int]]:
    """Reads the numbers that any group of the pattern finds."""

    def taken(running: str) -> frozenset[int]:
        return frozenset(int(number) for found in session.finditer(running) for number in found.groups() if number)

    return taken
