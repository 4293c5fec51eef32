"""Device counters of rules, with what they count and since when. "No data" is never "zero"."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class HitCount:
    """One counter.

    hits: packets, sessions or matches as `HitSample.counts` says; None when the device prints no number for this rule.
    key: equals Rule.hit_key.
    """

    policy: str
    key: str
    hits: int | None
    bytes: int | None = None
    last_hit_at: datetime | None = None
    line: int | None = None


@dataclass(frozen=True, slots=True)
class HitSample:
    """All counters of one reading.

    counts: "packets" | "sessions" | "matches". enabled: False when the platform does not count unless told to and was not.
    zero_is_printed: False for platforms that print nothing at zero (IOS): then a listed rule without a number has zero hits.
    read_at: when it was read; None when the file does not say. counting_since: boot or last clear, when known.
    """

    platform: str
    counts: str
    hits: tuple[HitCount, ...]
    enabled: bool = True
    zero_is_printed: bool = True
    read_at: datetime | None = None
    counting_since: datetime | None = None
    hostname: str = ""


@dataclass(frozen=True, slots=True)
class RuleUse:
    """One rule's uses in a traffic or session log. policy "" when the log names only the rule; key: Rule.hit_key or name."""

    policy: str
    key: str
    sessions: int
    first_at: datetime | None
    last_at: datetime | None
    hostname: str = ""
