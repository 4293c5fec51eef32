"""The identity ledger as people look through it."""

from __future__ import annotations

import ipaddress

from django.db.models import Q, QuerySet

from flowguard.models import IdentityEntry


def entries(text: str = "", core: str = "", realm: str | None = None) -> QuerySet[IdentityEntry]:
    """By realm and prefix. text: words, or an address (then every prefix around it). core: "", "core" or "non-core"."""
    rows = IdentityEntry.objects.select_related("realm")
    if text:
        rows = rows.filter(_about(text))
    if core:
        rows = rows.filter(core=core == "core")
    if realm is not None:
        rows = rows.filter(realm__name=realm)
    return rows.order_by("realm__name", "prefix")


def _about(text: str) -> Q:
    words = Q(name__icontains=text) | Q(business__icontains=text) | Q(owner__icontains=text) | Q(prefix__istartswith=text)
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return words
    lengths = range(address.max_prefixlen + 1)
    return words | Q(prefix__in=[str(ipaddress.ip_network((address, length), strict=False)) for length in lengths])


def search(text: str, realm: str | None, limit: int = 8) -> list[IdentityEntry]:
    return list(entries(text, realm=realm)[:limit])
