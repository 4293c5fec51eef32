"""One ingest at a time, so that reconciliation across sensors sees every row that was committed before."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection

_LOCK_KEY = 0x46474947  # "FGIG"; no other advisory lock of this program uses it


@contextmanager
def one_ingest_at_a_time() -> Iterator[None]:
    """Until the surrounding transaction ends.

    SQLite has one writer anyway (BEGIN IMMEDIATE). On PostgreSQL two sensors' verdicts with one key could otherwise both stand.
    The price is one lane: a batch takes some 10 ms, so some 100 sensors at one batch a second; shard the key by realm beyond.
    """
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK_KEY])
    yield
