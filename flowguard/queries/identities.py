"""The identity ledger as the domain sees it."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

from django.db.models import QuerySet

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


def table_for(addresses: Iterable[str]) -> IdentityTable:
    """For lookups of these addresses alone: reads the prefixes that hold them, however large the ledger is."""
    holding = {str(prefix) for address in addresses for prefix in _prefixes_of(address)}
    rows = IdentityEntry.objects.filter(prefix__in=holding).order_by("realm__name", "prefix")
    return IdentityTable(_identity(row) for row in _plain(rows))


def _prefixes_of(address: str) -> Iterator[ipaddress.IPv4Network | ipaddress.IPv6Network]:
    parsed = ipaddress.ip_address(address)
    for length in range(parsed.max_prefixlen + 1):
        yield ipaddress.ip_network((address, length), strict=False)


def _rows() -> tuple[Row, ...]:
    return _plain(IdentityEntry.objects.order_by("realm__name", "prefix"))


def _plain(rows: QuerySet[IdentityEntry]) -> tuple[Row, ...]:
    """Hashable."""
    told = rows.values_list(*_FIELDS)
    return tuple((*row[:6], None if row[6] is None else tuple(row[6]), *row[7:]) for row in told)


@lru_cache(maxsize=2)
def _table(rows: tuple[Row, ...]) -> IdentityTable:
    return IdentityTable(_identity(row) for row in rows)


def _identity(row: Row) -> Identity:
    realm, prefix, name, business, owner, core, allowed, window, peak = row
    marks = None if allowed is None else frozenset(allowed)
    return Identity(prefix, name, business, owner, core, marks, window, peak, realm)
