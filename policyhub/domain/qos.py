"""Quality of service as devices configure it: classes, marks, policers, queues and where they are attached."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

DF, CS1, EF = 0, 8, 46
DSCP_NAMES = {
    "df": 0, "be": 0, "default": 0, "cs0": 0, "cs1": 8, "cs2": 16, "cs3": 24, "cs4": 32, "cs5": 40, "cs6": 48, "cs7": 56,
    "af11": 10, "af12": 12, "af13": 14, "af21": 18, "af22": 20, "af23": 22, "af31": 26, "af32": 28, "af33": 30,
    "af41": 34, "af42": 36, "af43": 38, "ef": 46, "va": 44, "voice-admit": 44, "le": 1,
}  # fmt: skip
PRIORITY_DSCP = frozenset({40, 44, 46, 48, 56})


def parse_dscp(text: str) -> int:
    """A number 0..63 or a name of RFC 2474, 2597, 3246, 5865, 8622. Raises ValueError."""
    known = DSCP_NAMES.get(text.strip().lower())
    if known is not None:
        return known
    value = int(text)
    if not 0 <= value <= 63:
        raise ValueError(f"DSCP {value} is not in 0..63")
    return value


def dscp_name(value: int) -> str:
    """The standard name of a code point, the first where it has several, or its number."""
    return next((name.upper() for name, v in DSCP_NAMES.items() if v == value), str(value))


class Phb(StrEnum):
    EF = "EF"
    AF = "AF"
    CS = "CS"
    DF = "DF"


def phb_of(dscp: int) -> Phb:
    if dscp in (44, 46):
        return Phb.EF
    if dscp == 0:
        return Phb.DF
    return Phb.CS if dscp % 8 == 0 else Phb.AF


@dataclass(frozen=True, slots=True)
class Policer:
    """Drops or re-marks what exceeds a rate.

    rate_bps: layer-2 bit/s unless counts_l3; None beside a percent or for packets. burst_bytes None: the device derives it.
    exceed_action: the device's words, "drop" and "transmit" apart; with a peak rate it is the end of what lies between the rates.
    """

    rate_bps: int | None
    burst_bytes: int | None = None
    percent: float | None = None
    exceed_action: str = "drop"
    counts_l3: bool = False


@dataclass(frozen=True, slots=True)
class Shaper:
    rate_bps: int | None
    burst_bytes: int | None = None
    percent: float | None = None


@dataclass(frozen=True, slots=True)
class Queue:
    """A buffer with its scheduler. ceiling_bps/ceiling_percent: policer or priority rate that bounds a strict queue.

    remaining_percent/remaining_weight: share of what the guarantees leave. early_drop: WRED profile or "" for tail drop.
    drop_min_bytes/drop_max_bytes/drop_max_percent: where early drop (with ecn: marking) starts, ends, and its probability there.
    """

    name: str
    is_strict_priority: bool = False
    guaranteed_bps: int | None = None
    guaranteed_percent: float | None = None
    ceiling_bps: int | None = None
    ceiling_percent: float | None = None
    limit_packets: int | None = None
    limit_bytes: int | None = None
    ecn: bool = False
    remaining_percent: float | None = None
    remaining_weight: int | None = None
    early_drop: str = ""
    drop_min_bytes: int | None = None
    drop_max_bytes: int | None = None
    drop_max_percent: float | None = None


@dataclass(frozen=True, slots=True)
class Marker:
    """Rewrites. Any of them may be None: left as it is. queue: internal class (traffic-class, qos-group, local-precedence)."""

    dscp: int | None = None
    pcp: int | None = None
    queue: int | None = None


@dataclass(frozen=True, slots=True)
class ClassMatch:
    """What a class takes; None = not a criterion. match_all: every criterion must hold, else any of them."""

    dscp: frozenset[int] | None = None
    pcp: frozenset[int] | None = None
    acls: tuple[str, ...] = ()
    any: bool = False
    match_all: bool = True
    other: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class QosClass:
    """notes: what the class does besides, in the device's words (MTU, buffer and pause thresholds, next hops)."""

    name: str
    match: ClassMatch
    marker: Marker | None = None
    policer: Policer | None = None
    shaper: Shaper | None = None
    queue: Queue | None = None
    child_policy: str = ""
    lines: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class QosAttachment:
    interface: str
    direction: str
    lines: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class QosPolicy:
    """Ordered classes, first match wins, bound to interfaces."""

    name: str
    classes: tuple[QosClass, ...]
    attachments: tuple[QosAttachment, ...] = ()
    lines: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Trust:
    """Which mark of arriving packets an interface believes: dscp, pcp, none; None = the platform's default applies."""

    interface: str
    mode: str | None
    lines: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class DscpMap:
    """DSCP -> service level (higher is served better) as configured or the platform's documented default."""

    name: str
    level: tuple[tuple[int, int], ...]
    interfaces: tuple[str, ...] = ()
    is_default: bool = False
    lines: tuple[int, ...] = ()

    def serves(self, dscp: int) -> int | None:
        return dict(self.level).get(dscp)


@dataclass(frozen=True, slots=True)
class QosMap:
    """A table of small numbers other than DSCP -> level, as configured.

    kind: "pcp-to-class", "class-to-queue", "class-to-priority-group", "pfc-priority-to-queue", "class-to-dscp", "class-to-pcp",
    "dscp-to-dscp", "pcp-to-dscp", "dscp-to-pcp"; "unused" when nothing tells the fields. entries: (from, to).
    """

    name: str
    kind: str
    entries: tuple[tuple[int, int], ...]
    interfaces: tuple[str, ...] = ()
    lines: tuple[int, ...] = ()


def served_no_better(maps: tuple[DscpMap, ...], mark: int, than: int) -> bool | None:
    """Whether every map serves `mark` no better than `than`; None when there is no map or one is silent: unknown is not yes."""
    if not maps:
        return None
    for known in maps:
        a, b = known.serves(mark), known.serves(than)
        if a is None or b is None:
            return None
        if a > b:
            return False
    return True
