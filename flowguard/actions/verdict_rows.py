"""Verdict rows: the highest revision stays, in whatever order the revisions arrive."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any
from uuid import uuid4

from flowguard.actions.receive import deduplicates
from flowguard.domain.guardrails import LIMITS
from flowguard.models import Verdict, VerdictBatch
from flowguard.queries.identities import identity_table

SHORTEST_NS = min(limits.persistence_ms for limits in LIMITS.values()) * 1_000_000
_GROWING = (
    "revision", "packets", "bytes", "first_ns", "last_ns", "severity", "confidence", "signals", "evidence", "point", "batch",
    "next_step_at",
)  # fmt: skip


def keep(batch: VerdictBatch, told: Iterable[dict[str, Any]], *, due_at: datetime) -> list[Verdict]:
    """The rows that are new or rose in revision, saved. due_at: from when on they are to be decided on."""
    newest: dict[str, dict[str, Any]] = {}
    for verdict in told:
        known = newest.get(verdict["id"])
        if known is None or verdict["revision"] > known["revision"]:
            newest[verdict["id"]] = verdict
    rows = {row.uid: row for row in Verdict.objects.filter(sensor_id=batch.sensor_id, uid__in=newest)}
    created, risen = [], []
    for uid, verdict in newest.items():
        row = rows.get(uid)
        if row is not None and verdict["revision"] < row.revision:
            continue
        if row is not None and verdict["revision"] == row.revision:
            if deduplicates():
                continue
            row, verdict = None, {**verdict, "id": uuid4().hex}
        if row is None:
            row = Verdict(sensor_id=batch.sensor_id, uid=verdict["id"], received_at=batch.received_at)
            _name(row, verdict)
            created.append(row)
        else:
            risen.append(row)
        _grow(row, verdict, batch, due_at)
    _identify(created)
    Verdict.objects.bulk_create(created, batch_size=200)
    Verdict.objects.bulk_update(risen, _GROWING, batch_size=100)
    return created + risen


def due(rows: Iterable[Verdict]) -> list[int]:
    """Those to decide on now: standing, not waiting already, and not held back for what another sensor saw."""
    ready = (row for row in rows if row.standing == Verdict.Standing.STANDS and row.next_step_at is not None)
    return [row.pk for row in ready if not getattr(row, "was_waiting", False)]


def _name(row: Verdict, verdict: dict[str, Any]) -> None:
    for field in ("realm", "name", "src", "dst", "proto", "dscp"):
        setattr(row, field, verdict[field])
    row.server_port = str(verdict["server_port"])


def _grow(row: Verdict, verdict: dict[str, Any], batch: VerdictBatch, due_at: datetime) -> None:
    row.was_waiting = row.next_step_at is not None  # type: ignore[attr-defined]
    # A flood of spoofed sources sends a packet each: nothing that no profile could decide on may queue before a real offender.
    if verdict["last_ns"] - verdict["first_ns"] >= SHORTEST_NS:
        row.next_step_at = row.next_step_at or due_at
    row.batch = batch
    for field in (
        "revision",
        "packets",
        "bytes",
        "first_ns",
        "last_ns",
        "severity",
        "confidence",
        "signals",
        "evidence",
        "point",
    ):
        setattr(row, field, verdict[field])


def _identify(rows: list[Verdict]) -> None:
    if not rows:
        return
    table = identity_table()
    for row in rows:
        identity = table.find(row.src, row.realm)
        if identity:
            row.identity_name, row.business = identity.name[:128], identity.business[:255]
