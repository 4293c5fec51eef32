"""A batch at the door: stored once, then answered. The stored row is the queue."""

from __future__ import annotations

import zlib
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

from django.conf import settings
from django.db import IntegrityError, transaction

from flowguard.actions import streams
from flowguard.actions.sensors import heard
from flowguard.domain.batch import canonical, digest
from flowguard.domain.errors import BatchConflict
from flowguard.models import Sensor, VerdictBatch
from policyhub import dispatch


def store(*, sensor: Sensor, batch: dict[str, Any], backlog: tuple[int, float] | None = None, now: datetime) -> bool:
    """Store a checked batch; the row is committed on return. True when it is new, False when it was stored before.

    backlog: see `sensors.heard`.
    Raises BatchConflict when the same (sensor, stream, sequence) holds other content.
    """
    stream, sequence, sha256 = UUID(batch["stream"]), batch["sequence"], digest(batch)
    if not deduplicates():
        stream = uuid4()
    with transaction.atomic():
        heard(sensor, backlog=backlog, now=now, judging=batch["judging"], bundle_version=batch["bundle"] or "")
        if _known(sensor, stream, sequence, sha256) or streams.already_had(sensor=sensor, stream=stream, sequence=sequence):
            return False
        try:
            with transaction.atomic():
                row = VerdictBatch.objects.create(
                    sensor=sensor, stream=stream, sequence=sequence, sha256=sha256, body=zlib.compress(canonical(batch), 1),
                    received_at=now, dispatched_at=now,
                )  # fmt: skip
        except IntegrityError:  # the same batch came twice at once and the other one was first
            if _known(sensor, stream, sequence, sha256):
                return False
            raise
        dispatch.on_commit("flowguard.ingest_batch", row.pk)
    return True


def deduplicates() -> bool:
    """Always, but for the self-test that proves that its check would notice."""
    return bool(getattr(settings, "FLOWGUARD_DEDUPLICATION", True))


def _known(sensor: Sensor, stream: UUID, sequence: int, sha256: str) -> bool:
    rows = VerdictBatch.objects.filter(sensor=sensor, stream=stream, sequence=sequence)
    known = rows.values_list("sha256", flat=True).first()
    if known is not None and known != sha256:
        raise BatchConflict(f"batch {sequence} of stream {stream} is stored with other content. Send it under a new sequence")
    return known is not None
