"""Device counters of rules, with what they count and since when. "No data" is never "zero"."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum


def in_utc(moment: datetime) -> datetime:
    """A device's clock without a zone is taken as UTC: all readings of one device are then off by the same amount."""
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


@dataclass(frozen=True, slots=True)
class HitCount:
    """One counter.

    hits: packets, sessions or matches as `HitSample.counts` says; None when the device prints no number for this rule.
    key: equals Rule.hit_key. since: when this rule's own counter began (creation, edit or reset of the rule), when known.
    """

    policy: str
    key: str
    hits: int | None
    bytes: int | None = None
    last_hit_at: datetime | None = None
    line: int | None = None
    since: datetime | None = None


@dataclass(frozen=True, slots=True)
class HitSample:
    """All counters of one reading.

    counts: "packets" | "sessions" | "matches". enabled: False when the platform does not count unless told to and was not.
    zero_is_printed: False for platforms that print nothing at zero (IOS): then a listed rule without a number has zero hits.
    read_at: when it was read; None when the file does not say. counting_since: boot or last clear, when known.
    since_boot: whether counting_since is a boot, which ends all sessions; a clear does not. boot_id: differs after each boot.
    member: which device of a cluster, when the members share a host name. role: "active", "standby" or "" when not told.
    is_fresh: False when the device or its manager says that the numbers are old. covers_from: the numbers are those of
    [covers_from, read_at] only, not a running total.
    """

    platform: str
    counts: str
    hits: tuple[HitCount, ...]
    enabled: bool = True
    zero_is_printed: bool = True
    read_at: datetime | None = None
    counting_since: datetime | None = None
    hostname: str = ""
    since_boot: bool = False
    boot_id: str = ""
    member: str = ""
    role: str = ""
    is_fresh: bool = True
    covers_from: datetime | None = None

    @property
    def whose(self) -> str:
        """The member that these counters belong to."""
        return self.member or self.hostname


class HitEventKind(StrEnum):
    INSTALLED = "installed"
    RENAMED = "renamed"
    EDITED = "edited"
    RESET = "reset"
    BOOTED = "booted"
    COUNTING_OFF = "counting-off"


@dataclass(frozen=True, slots=True)
class HitEvent:
    """Something that happened to a rule's counter. policy and key "": to all of the device. new_key: after a rename.

    member: the cluster member it happened on, "" for all.
    """

    at: datetime
    kind: HitEventKind
    policy: str = ""
    key: str = ""
    new_key: str = ""
    member: str = ""


@dataclass(frozen=True, slots=True)
class RuleUse:
    """One rule's uses in a traffic or session log. policy "" when the log names only the rule; key: Rule.hit_key or name."""

    policy: str
    key: str
    sessions: int
    first_at: datetime | None
    last_at: datetime | None
    hostname: str = ""
