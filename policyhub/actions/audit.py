"""The audit chain: one writer, append only, verifiable by anyone who can read the table.

h_n = sha256(h_{n-1} + canonical JSON of sequence, time, actor, action, data). Losing rows at the end cannot be seen from
inside: anchor `verify().head` outside (ticket, syslog). In production the database role of the service has no UPDATE,
DELETE or TRUNCATE on this table (docs/operations.md).
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.contrib.auth.base_user import AbstractBaseUser
from django.core.serializers.json import DjangoJSONEncoder
from django.db import connection, transaction

from policyhub.domain.message import Message, gettext_noop
from policyhub.models import AuditEntry

GENESIS = "0" * 64
_LOCK_KEY = 0x50484155  # "PHAU"; any constant that no other advisory lock of this program uses


@dataclass(frozen=True, slots=True)
class BrokenRow:
    """The first row that does not follow from the one before. sequence: as stored; expected_sequence: what should stand there."""

    sequence: int
    expected_sequence: int
    said: Message

    @property
    def reason(self) -> str:
        """In English, for commands and other programs."""
        return str(self.said)


@dataclass(frozen=True, slots=True)
class AuditReport:
    """entries: rows read up to and including the broken one. head: hash of the last good row, for an anchor outside."""

    entries: int
    head: str
    broken: BrokenRow | None


def record(action: str, *, actor: object, at: datetime, **data: object) -> AuditEntry:
    """Append one row; commits with the caller's transaction, or by itself outside of one.

    actor: a user or a name. data: JSON values; model rows are written as their primary key. Call it last in a transaction: on
    PostgreSQL the chain stays locked until that transaction ends.
    """
    with transaction.atomic(), _chain_locked():
        last = AuditEntry.objects.order_by("-sequence").values_list("sequence", "hash").first()
        sequence, previous = (last[0] + 1, last[1]) if last else (1, GENESIS)
        name, plain = _actor_name(actor), _plain(data)
        return AuditEntry.objects.create(
            sequence=sequence,
            at=at,
            actor=name,
            action=action,
            data=plain,
            previous_hash=previous,
            hash=entry_hash(previous, sequence=sequence, at=at, actor=name, action=action, data=plain),
        )


def who(user: AbstractBaseUser, via: str = "") -> str:
    """The name of a user as the chain keeps it. via: the door, where it is not the person's own log-in: `alice (cli:root)`."""
    return f"{user.get_username()} ({via})" if via else str(user.get_username())


def verify() -> AuditReport:
    """Walk the whole chain. Names the first row that was changed, removed, inserted or reordered."""
    head, count, expected = GENESIS, 0, 1
    for row in AuditEntry.objects.order_by("sequence").iterator(chunk_size=2000):
        count += 1
        reason = _fault_of(row, expected, head)
        if reason is not None:
            return AuditReport(count, head, BrokenRow(row.sequence, expected, reason))
        head, expected = row.hash, expected + 1
    return AuditReport(count, head, None)


def entry_hash(previous: str, *, sequence: int, at: datetime, actor: str, action: str, data: dict[str, Any]) -> str:
    """The hash of one row, lower-case hex. at: any zone; hashed as UTC with microseconds."""
    stamp = at.astimezone(UTC).isoformat(timespec="microseconds")
    body = {"sequence": sequence, "at": stamp, "actor": actor, "action": action, "data": data}
    canonical = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256((previous + canonical).encode()).hexdigest()


def _fault_of(row: AuditEntry, expected: int, head: str) -> Message | None:
    if row.sequence != expected:
        return Message(gettext_noop("row %(row)d is missing"), {"row": expected})
    if row.previous_hash != head:
        return Message(gettext_noop("does not follow the row before it"))
    computed = entry_hash(head, sequence=row.sequence, at=row.at, actor=row.actor, action=row.action, data=row.data)
    return None if computed == row.hash else Message(gettext_noop("its content was changed"))


@contextmanager
def _chain_locked() -> Iterator[None]:
    """Serialise writers. SQLite has one writer anyway; PostgreSQL needs a lock that ends with the transaction."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK_KEY])
    elif connection.vendor == "sqlite":
        # A no-op write takes the write lock before the last row is read, also where BEGIN was deferred.
        with connection.cursor() as cursor:
            cursor.execute(f"UPDATE {AuditEntry._meta.db_table} SET sequence = sequence WHERE 1 = 0")  # noqa: S608
    yield


def _actor_name(actor: object) -> str:
    username = getattr(actor, "get_username", None)
    return str(username() if callable(username) else actor)[:150]


def _plain(data: dict[str, object]) -> dict[str, Any]:
    """What the database gives back equals what was hashed: jsonb keeps neither NaN, NUL, nor the form of a number."""
    loaded = json.loads(json.dumps(data, cls=_Encoder, allow_nan=False))
    return {key: _stable(value) for key, value in loaded.items()}


def _stable(value: Any) -> Any:
    if isinstance(value, dict):
        return {key.replace("\0", ""): _stable(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_stable(item) for item in value]
    if isinstance(value, str):
        return value.replace("\0", "")
    if isinstance(value, float) and math.isfinite(value) and value.is_integer():
        return int(value)
    return value


class _Encoder(DjangoJSONEncoder):
    def default(self, o: object) -> Any:
        if isinstance(o, set | frozenset):
            return sorted(o)
        key = getattr(o, "pk", None)
        return key if key is not None else super().default(o)
