"""What the detail pages of the traffic side show, computed from their rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from flowguard.console import labels
from flowguard.domain.judgement import SECOND_NS
from flowguard.domain.taking_back import TakenBack
from flowguard.models import Enforcement, Guard, ObservationPoint, StreamGap, Verdict
from flowguard.queries import verdicts
from flowguard.queries.enforcement import before_and_after
from flowguard.queries.ground import OPEN, Ground
from flowguard.queries.own_guards import rewriters
from flowguard.queries.sensors import sensor_rows
from policyhub.actions import kill_switch
from policyhub.console.changes_view import Step, expected_diff, named, section_diff
from policyhub.console.forms import ReasonForm
from policyhub.domain.identity import with_zone
from policyhub.models import Change

S = Enforcement.State
WITHDRAWABLE = (S.PROPOSED, S.APPLYING, S.ACTIVE, S.NEEDS_PERSON)


@dataclass(frozen=True, slots=True)
class Value:
    """form: text, time (ns), span (s), marks (list of DSCP), shares (DSCP and packets) or unknown."""

    label: Any
    form: str
    value: Any


@dataclass(frozen=True, slots=True)
class Fact:
    title: Any
    values: tuple[Value, ...]


def verdict(row: Verdict) -> dict[str, Any]:
    entry = verdicts.identity_entry(row.src, row.realm)
    return {
        "verdict": row,
        "own": rewriters([row]).get(row.pk) if row.standing == Verdict.Standing.OWN else None,
        "entry": entry,
        "siblings": verdicts.siblings(row),
        "is_priority": verdicts.is_priority(row.dscp),
        "evidence": [_fact(item) for item in row.evidence],
        "confidence": row.confidence,
    }


def name_rewriters(rows: Sequence[Any]) -> None:
    """Each verdict on what a guard of ours rewrote gets its enforcement as `rewriter`. At most one query."""
    ours = rewriters(row for row in rows if row.standing == Verdict.Standing.OWN)
    for row in rows:
        row.rewriter = ours.get(row.pk)


def _fact(item: Any) -> Fact:
    """Engines say more from release to release: what has no word here is shown under its own name."""
    if not isinstance(item, dict):
        return Fact(str(item), ())
    kind = str(item.get("kind", ""))
    title = labels.EVIDENCE.get(kind) or item.get("text") or kind
    order = {key: place for place, key in enumerate(labels.EVIDENCE_FIELDS)}
    keys = sorted((key for key in item if key not in ("kind", "text")), key=lambda key: order.get(key, len(order)))
    return Fact(title, tuple(_value(key, item[key]) for key in keys))


def _value(key: str, value: Any) -> Value:
    label = labels.EVIDENCE_FIELDS.get(key, key)
    if value is None:
        return Value(label, "anything" if key == "allowed_dscp" else "unknown", None)
    if key == "shift_ns" and isinstance(value, int):
        return Value(label, "span", value / SECOND_NS)
    if key.endswith("_ns") and isinstance(value, int):
        return Value(label, "time", value)
    if key.endswith("_dscp") and _all_marks(value):
        return Value(label, "marks", value if isinstance(value, list) else [value])
    if key.endswith("_dscp") and isinstance(value, dict) and all(mark.isdecimal() for mark in value):
        return Value(label, "shares", [(int(mark), packets) for mark, packets in value.items()])
    if key == "active_window":
        value = with_zone(str(value))
    words = [str(labels.EVIDENCE_WORDS.get(str(one), str(one)[:64])) for one in (value if isinstance(value, list) else [value])]
    return Value(label, "text", ", ".join(words[:32]))


def _all_marks(value: Any) -> bool:
    return all(isinstance(mark, int) and 0 <= mark <= 63 for mark in (value if isinstance(value, list) else [value]))


def guard(row: Guard) -> dict[str, Any]:
    change = row.remove_change if row.remove_change and row.state != Guard.State.PROPOSED else row.install_change
    seen = {"diff": section_diff(change), "expected": expected_diff(change)} if change else {}
    return {"guard": row, "spec": row.spec, "change": change, **seen}


def sensors(now: datetime) -> dict[str, Any]:
    """Three queries, however many sensors."""
    points: dict[int, list[ObservationPoint]] = {}
    for point in ObservationPoint.objects.select_related("device", "stands_behind", "realm").order_by("sensor", "name"):
        points.setdefault(point.sensor_id, []).append(point)
    gaps = list(StreamGap.objects.select_related("sensor").order_by("-noticed_at")[:20])
    rows = [(row, points.get(row.pk, [])) for row in sensor_rows(now=now)]
    return {"rows": rows, "gaps": gaps}


@dataclass(frozen=True, slots=True)
class Comparison:
    """One figure before and after. form: unit for the template. Shares are drawn as bars."""

    label: Any
    form: str
    before: float | None
    after: float | None

    @property
    def before_pct(self) -> str:
        return f"{min(1.0, self.before or 0.0) * 100:.1f}"

    @property
    def after_pct(self) -> str:
        return f"{min(1.0, self.after or 0.0) * 100:.1f}"


def figures(row: Enforcement) -> list[Comparison]:
    """By packets at the point behind the device; None where nothing complete was measured."""
    before, after = row.after.get("before") or {}, row.after.get("after") or {}
    if not (before or after):
        return []
    told = (
        (_("Share of the sender's bytes that carries the mark"), "percent", "marked_share"),
        (_("Marked traffic of the sender while it sent"), "rate", "marked_bps"),
        (_("All traffic of the sender while it sent"), "rate", "offender_bps"),
        (_("Sent again in the protected classes"), "percent", "retransmitted_ratio"),
        (_("Complete seconds looked at"), "number", "windows"),
        (_("Seconds used, in which it sent"), "number", "sending"),
    )
    return [Comparison(label, form, before.get(key), after.get(key)) for label, form, key in told]


def spans(row: Enforcement) -> list[tuple[int, float] | None]:
    """From when (ns) and over how many seconds the rates before and after were measured."""
    sides = (row.after.get("before") or {}, row.after.get("after") or {})
    known = [(side.get("from_ns"), side.get("to_ns")) for side in sides]
    return [(start, (end - start) / SECOND_NS) if start is not None and end is not None else None for start, end in known]


def track(row: Enforcement) -> list[Step]:
    """From the first packet to the end. Reads `events` as prefetched."""
    reached: dict[str, datetime] = {}
    for event in row.events.all():
        reached.setdefault(event.state, event.at)
    if row.state in (S.OBSERVED, S.REFUSED, S.FAILED):
        return [Step(_("verdict"), "done", row.created_at), Step(row.get_state_display(), "bad", reached.get(row.state))]
    planned = reached.get(S.PROPOSED) or (row.add_change.created_at if row.add_change else None)
    applied = row.add_change.pushed_at if row.add_change else None
    over = row.state in (S.EXPIRED, S.REVERTED)
    end = (
        Step(_("a person is needed"), "bad", reached.get(S.NEEDS_PERSON))
        if row.state == S.NEEDS_PERSON
        else Step(_("taken back"), "done" if over else "now" if row.state == S.WITHDRAWING else "todo", row.ended_at)
    )
    steps = [
        Step(_("verdict"), "done", row.created_at),
        Step(_("planned"), "done" if planned else "now", planned),
        Step(_("applied"), "done" if applied else "now" if planned and not over else "todo", applied),
        Step(_("verified by packets"), "done" if row.active_at else "now" if applied and not over else "todo", row.active_at),
        end,
    ]
    return [step for step in steps if not (over and step.status == "todo")]


def _story(row: Enforcement) -> list[Any]:
    """Its own timeline and those of its changes, in the order things happened; `place` is the change an event belongs to."""
    told = named(row.events.all(), S.choices)
    for event in told:
        event.place = None
    for change in (row.add_change, row.remove_change):
        if change is not None:
            for event in named(change.events.all(), Change.State.choices):
                event.place = change
                told.append(event)
    return sorted(told, key=lambda event: event.at)


def _last_event(events: list[Any]) -> str:
    """The id of the stream up to what the page shows (see entries)."""
    own = max((event.pk for event in events if event.place is None), default=0)
    return f"{own}.{max((event.pk for event in events if event.place is not None), default=0)}"


def _taken_back(row: Enforcement) -> TakenBack | None:
    """Whether a person's word still keeps automatic mode from adding this member again."""
    if row.guard is None:
        return None
    ground = Ground(timezone.now(), kill_switch.engaged)
    return ground.taken_back(row.guard, row.member, frozenset(row.guard.spec["marks"]))


def enforcement(request: HttpRequest, row: Enforcement) -> dict[str, Any]:
    events = _story(row)
    earlier, later = before_and_after(row)
    may = row.state in WITHDRAWABLE and request.user.has_perm("flowguard.change_enforcement")
    return {
        "row": row,
        "events": events,
        "last_event": _last_event(events),
        "track": track(row),
        "figures": figures(row),
        "spans": spans(row),
        "seconds": row.after.get("seconds_from_first_packet"),
        "earlier": earlier,
        "later": later,
        "taken_back": _taken_back(row),
        "is_open": row.state in OPEN,
        "withdraw_form": ReasonForm(request=request) if may else None,
        "failed_rails": [rail for rail in row.guardrails if not rail.get("passed")],
        "passed_rails": [rail for rail in row.guardrails if rail.get("passed")],
    }
