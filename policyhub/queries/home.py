"""What Home shows of the policy side: what was done today, what waits for a person, what stands open."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Q

from policyhub.domain.change import ChangeKind
from policyhub.models import Change, ChangeEvent, Device, Finding, HostKey, Sweep
from policyhub.queries.findings import OPEN, open_by_severity, unchecked
from policyhub.queries.listings import latest_sweep

DAY = timedelta(hours=24)
# Members come and go with an enforcement, which tells its own story; only trouble with one is told here.
MEMBERS = (ChangeKind.MEMBER_ADD, ChangeKind.MEMBER_REMOVE)
TROUBLE = ("failed", "refused")
# How changes ended. A proposal, an approval and a failed revert are no ends: somebody has to act.
TOLD = ("confirmed", "reverted", *TROUBLE)
MOST = 8


@dataclass(frozen=True, slots=True)
class Waiting:
    """What needs a person, worst first."""

    stuck: tuple[Change, ...]
    proposed: tuple[Change, ...]
    keys: tuple[HostKey, ...]
    quarantined: tuple[Device, ...]

    @property
    def count(self) -> int:
        return len(self.stuck) + len(self.proposed) + len(self.keys) + len(self.quarantined)


def stuck() -> list[Change]:
    """Changes whose inverse did not take effect, with their timelines."""
    rows = Change.objects.select_related("device").prefetch_related("events").filter(state=Change.State.REVERT_FAILED)
    return list(rows.order_by("-pk")[:MOST])


def waiting() -> Waiting:
    """At most a handful of each; the lists behind hold the rest."""
    undecided = Q(state=Change.State.PROPOSED) & ~Q(kind__in=MEMBERS)
    open_changes = Change.objects.select_related("device").filter(Q(state=Change.State.REVERT_FAILED) | undecided)
    open_changes = open_changes.order_by("-pk")[: MOST * 4]
    rows = list(open_changes)
    return Waiting(
        stuck=tuple(row for row in rows if row.state == Change.State.REVERT_FAILED),
        proposed=tuple(row for row in rows if row.state == Change.State.PROPOSED)[:MOST],
        keys=tuple(
            HostKey.objects.select_related("device").filter(state=HostKey.State.PENDING).order_by("-first_seen_at")[:MOST]
        ),
        quarantined=tuple(Device.objects.exclude(quarantine_reason="").order_by("name")[:MOST]),
    )


def done_today(now: datetime) -> list[ChangeEvent]:
    """What changes came to in the last 24 h, newest first."""
    rows = ChangeEvent.objects.select_related("change__device").filter(at__gte=now - DAY, state__in=TOLD)
    rows = rows.filter(~Q(change__kind__in=MEMBERS) | Q(state__in=TROUBLE))
    return list(rows.order_by("-pk")[:MOST])


@dataclass(frozen=True, slots=True)
class Standing:
    """Open findings per severity, the newest of them, the last sweep (None: never swept), devices no sweep has looked at."""

    by_severity: dict[str, int]
    newest: tuple[Finding, ...]
    sweep: Sweep | None
    unchecked: int

    @property
    def total(self) -> int:
        return sum(self.by_severity.values())


def standing() -> Standing:
    newest = Finding.objects.select_related("device").filter(status__in=OPEN, severity__in=("critical", "high"))
    return Standing(open_by_severity(), tuple(newest.order_by("-first_seen_at")[:5]), latest_sweep(), unchecked())


def pulse() -> str:
    """Differs whenever one of the lists above may differ."""
    event = ChangeEvent.objects.order_by("-pk").values_list("pk", flat=True).first() or 0
    sweep = Sweep.objects.order_by("-pk").values_list("pk", "devices_done", "state").first() or (0, 0, "")
    key = HostKey.objects.order_by("-pk").values_list("pk", flat=True).first() or 0
    return f"{event}.{key}." + ".".join(map(str, sweep))
