"""The identity ledger as the domain sees it."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from flowguard.models import IdentityEntry
from policyhub.domain.identity import Identity, IdentityTable

_FIELDS = (
    "realm__name", "prefix", "name", "business", "owner", "core", "allowed_dscp", "active_window", "peak_mbps",
)  # fmt: skip
Row = tuple[Any, ...]


def identities() -> tuple[Identity, ...]:
    """Every entry, ordered by realm and prefix."""
    return tuple(_identity(row) for row in _rows())


def identity_table() -> IdentityTable:
    """For lookups by address. Built again only when the ledger's rows changed."""
    return _table(_rows())


def _rows() -> tuple[Row, ...]:
    rows = IdentityEntry.objects.order_by("realm__name", "prefix").values_list(*_FIELDS)
    return tuple((*row[:6], None if row[6] is None else tuple(row[6]), *row[7:]) for row in rows)


@lru_cache(maxsize=2)
def _table(rows: tuple[Row, ...]) -> IdentityTable:
    return IdentityTable(_identity(row) for row in rows)


def _identity(row: Row) -> Identity:
    realm, prefix, name, business, owner, core, allowed, window, peak = row
    marks = None if allowed is None else frozenset(allowed)
    return Identity(prefix, name, business, owner, core, marks, window, peak, realm)
