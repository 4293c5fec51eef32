"""What burns: departures of the last day grouped by who and which mark, and what was done about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db.models import F, Min

from flowguard.domain.guardrails import ACTIONABLE
from flowguard.domain.judgement import SECOND_NS
from flowguard.models import Enforcement, EnforcementEvent, Observation, Sensor, Verdict
from flowguard.queries.ground import OPEN
from flowguard.queries.sensors import BEHIND_AFTER_S, behind_s, sees_nothing, with_oldest
from policyhub.domain.finding import Severity

WINDOW = timedelta(hours=24)
BURNS_FOR = timedelta(minutes=15)
GOES_ON_FOR = timedelta(seconds=75)
TOGETHER_NS = 10_000_000_000
QUIET_SENSOR = timedelta(minutes=2)
MOST = 2_000
HELD = ("active", "withdrawing")
TAKEN_BACK = (Enforcement.State.EXPIRED, Enforcement.State.REVERTED)
NOBODYS = (Verdict.Standing.DUPLICATE, Verdict.Standing.OWN)


@dataclass(frozen=True, slots=True)
class Departure:
    """Verdicts of one business (or one unknown sender) on one mark.

    bps: mean over packet time, None when all packets share one instant. blame: "host" or "network".
    problem: the verdicts' name where they are not about a mark that the sender may not use, else "".
    seen_at: when its last packet passed; a backlog that arrives late burned then, not now.
    held: its senders' marks are taken off now. moving: an enforcement is on its way. waits: an enforcement waits for a person.
    taken_back_at: when the last change of the device on account of a sender was taken back; None = nothing ever was changed.
    """

    who: str
    known: bool
    blame: str
    problem: str
    dscp: int
    severity: Severity
    sources: tuple[str, ...]
    packets: int
    bytes: int
    bps: float | None
    first_ns: int
    last_ns: int
    seen_at: datetime
    verdict: int
    enforcement: int | None
    held: bool
    moving: bool
    waits: bool
    needs_person: bool
    taken_back_at: datetime | None

    def burns(self, now: datetime) -> bool:
        return now - self.seen_at <= BURNS_FOR

    def goes_on(self, now: datetime) -> bool:
        """A verdict is closed after 60 s without an offending packet; a batch may be some seconds on its way."""
        return now - self.seen_at <= GOES_ON_FOR


def departures(now: datetime) -> list[Departure]:
    """Worst first: severity, then volume. Three queries. Left out: information, duplicates, what our own guards rewrote."""
    since = int((now - WINDOW).timestamp()) * SECOND_NS
    rows = Verdict.objects.filter(last_ns__gte=since).exclude(severity=Severity.INFO).exclude(standing__in=NOBODYS)
    rows = rows.defer("evidence", "signals").annotate(told_at=F("batch__received_at")).order_by("-last_ns")[:MOST]
    groups: dict[tuple[str, str, str, int], list[Verdict]] = {}
    for row in rows:
        who = row.business or row.identity_name or str(row.src)
        groups.setdefault((_blame(row), "" if row.name in ACTIONABLE else row.name, who, row.dscp), []).append(row)
    handled, ended = _handled(), _taken_back(now)
    found = [_departure(key, rows, handled, ended) for key, rows in groups.items()]
    return sorted(found, key=lambda d: (-d.severity.rank, -d.bytes))


def _blame(row: Verdict) -> str:
    return "network" if row.standing == Verdict.Standing.NETWORK or row.name == "dscp-rewritten" else "host"


def _handled() -> dict[tuple[str, str], Enforcement]:
    """The latest enforcement per (realm, address): it names an address, so it covers all verdicts on it."""
    rows = Enforcement.objects.filter(state__in=(*OPEN, "observed", "refused")).select_related("realm").order_by("pk")
    return {(row.realm.name, row.member.partition("/")[0]): row for row in rows}


def _taken_back(now: datetime) -> dict[tuple[str, str], datetime]:
    """When the last enforcement of (realm, address) ended that had changed a device, in the time that departures are told of."""
    rows = Enforcement.objects.filter(state__in=TAKEN_BACK, ended_at__gte=now - WINDOW, add_change__pushed_at__isnull=False)
    told = rows.order_by("ended_at").values_list("realm__name", "member", "ended_at")
    return {(realm, member.partition("/")[0]): at for realm, member, at in told if at is not None}


def _departure(
    key: tuple[str, str, str, int], rows: list[Verdict], handled: dict[tuple[str, str], Enforcement],
    ended: dict[tuple[str, str], datetime],
) -> Departure:  # fmt: skip
    blame, problem, who, dscp = key
    senders = {(row.realm, str(row.src)) for row in rows}
    sources = tuple(sorted({source for _, source in senders}))
    ours = senders if blame == "host" and not problem else set()
    by_source = [handled[sender] for sender in ours if sender in handled]
    states = {row.state for row in by_source}
    return Departure(
        who=who,
        known=bool(rows[0].business or rows[0].identity_name),
        blame=blame,
        problem=problem,
        dscp=dscp,
        severity=max((Severity(row.severity) for row in rows), key=lambda severity: severity.rank),
        sources=sources,
        packets=sum(row.packets for row in rows),
        bytes=sum(row.bytes for row in rows),
        bps=_rate(rows),
        first_ns=min(row.first_ns for row in rows),
        last_ns=max(row.last_ns for row in rows),
        seen_at=max(_seen_at(row) for row in rows),
        verdict=max(rows, key=lambda row: row.bytes).pk,
        enforcement=max((row.pk for row in by_source), default=None),
        held=bool(by_source) and len(by_source) == len(senders) and states <= set(HELD),
        moving="applying" in states,
        waits="proposed" in states,
        needs_person="needs-person" in states,
        taken_back_at=max((ended[sender] for sender in ours if sender in ended), default=None),
    )


def _seen_at(row: Any) -> datetime:
    """Packet time. A sensor's clock that is ahead makes no packet younger than the batch that told of it."""
    packet = datetime.fromtimestamp(row.last_ns // SECOND_NS, tz=UTC)
    return packet if row.told_at is None else min(packet, row.told_at)


def _rate(rows: Sequence[Verdict]) -> float | None:
    """Sum of the mean rates, in bit/s, of what was still sent at the end: flows that ended before did not add to it.

    A sensor that starts anew judges a flow that goes on a second time, too.
    """
    latest = max(row.last_ns for row in rows) - TOGETHER_NS
    rates = [
        row.bytes * 8e9 / (row.last_ns - row.first_ns) for row in rows if row.last_ns > row.first_ns and row.last_ns >= latest
    ]
    return sum(rates) if rates else None


@dataclass(frozen=True, slots=True)
class Watch:
    """Who looks. judging: sensors heard lately that judge and see packets. silent: known but not heard.

    blind: heard, without a bundle. idle: heard, with a bundle, but no packet came lately.
    behind: heard, but what it told waits, on its disk or here: (name, age of the oldest in seconds), the latest first.
    """

    total: int
    judging: int
    silent: tuple[str, ...]
    blind: tuple[str, ...]
    idle: tuple[str, ...]
    behind: tuple[tuple[str, float], ...]
    dropped: int | None
    received: int | None


def watch(now: datetime) -> Watch:
    sensors = list(with_oldest(Sensor.objects.order_by("name")))
    heard = [s for s in sensors if s.last_seen_at and now - s.last_seen_at <= QUIET_SENSOR]
    drops = [s.health.get("dropped") for s in heard]
    received = [s.health.get("received") for s in heard]
    late = {s.name: age for s in heard if (age := behind_s(s, now) or 0.0) > BEHIND_AFTER_S}
    return Watch(
        total=len(sensors),
        judging=sum(1 for s in heard if s.judging and not sees_nothing(s.health, now)),
        silent=tuple(s.name for s in sensors if s not in heard),
        blind=tuple(s.name for s in heard if not s.judging),
        idle=tuple(s.name for s in heard if s.judging and sees_nothing(s.health, now) and s.name not in late),
        behind=tuple(sorted(late.items(), key=lambda told: -told[1])),
        dropped=sum(sum(d.values()) for d in drops if d) if drops and all(d is not None for d in drops) else None,
        received=sum(r for r in received if r) if received and all(r is not None for r in received) else None,
    )


@dataclass(frozen=True, slots=True)
class Loss:
    """TCP of one mark in the newest seconds that were seen: data segments and how many were sent again."""

    dscp: int
    segments: int
    again: int

    @property
    def ratio(self) -> float:
        return self.again / self.segments


def losses(seconds: int = 10, enough: int = 50) -> dict[int, Loss]:
    """Retransmissions per mark; a mark with too few segments to say anything is left out. One query."""
    segments: dict[int, int] = {}
    again: dict[int, int] = {}
    for tcp in Observation.objects.order_by("-start_ns").values_list("tcp", flat=True)[:seconds]:
        for entry in tcp:
            dscp = entry["dscp"]
            segments[dscp] = segments.get(dscp, 0) + entry["data_segments"]
            again[dscp] = again.get(dscp, 0) + entry["retransmitted"]
    return {dscp: Loss(dscp, count, again[dscp]) for dscp, count in segments.items() if count >= enough}


def done_today(now: datetime, limit: int = 8) -> list[EnforcementEvent]:
    """What enforcements came to in the last 24 h, newest first. Each state is told once, when it was reached.

    What waits for a person is not done.
    """
    told = ("active", "expired", "reverted", "failed")
    first = EnforcementEvent.objects.filter(state__in=told).order_by().values("enforcement", "state").annotate(pk_first=Min("pk"))
    rows = EnforcementEvent.objects.select_related("enforcement__guard__device").filter(at__gte=now - WINDOW)
    return list(rows.filter(pk__in=first.values("pk_first")).order_by("-pk")[:limit])


def needs_person() -> list[Enforcement]:
    rows = Enforcement.objects.select_related("guard__device").filter(state="needs-person")
    return list(rows.order_by("-pk")[:8])


def waiting() -> list[Enforcement]:
    """Enforcements a person must decide on."""
    return list(Enforcement.objects.select_related("guard__device", "add_change").filter(state="proposed").order_by("-pk")[:8])


def pulse() -> str:
    event = EnforcementEvent.objects.order_by("-pk").values_list("pk", flat=True).first() or 0
    verdict = Verdict.objects.order_by("-last_ns", "-pk").values_list("pk", "revision").first() or (0, 0)
    newest = Verdict.objects.order_by("-pk").values_list("pk", flat=True).first() or 0
    judging = "".join("1" if known else "0" for known in Sensor.objects.order_by("pk").values_list("judging", flat=True))
    return f"{event}.{newest}.{verdict[0]}.{verdict[1]}.{judging}"
