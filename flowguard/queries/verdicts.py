"""Verdicts as people look for them, and what stands around one."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Prefetch, Q, QuerySet

from flowguard.domain.judgement import SECOND_NS
from flowguard.models import Enforcement, IdentityEntry, Verdict
from policyhub.domain.qos import PRIORITY_DSCP


@dataclass(frozen=True, slots=True)
class VerdictFilter:
    """ "" = no wish. standing "" = those that stand, "all" = all. since: with a packet at or after."""

    severity: str = ""
    name: str = ""
    standing: str = ""
    text: str = ""
    since: datetime | None = None
    realm: str | None = None


def verdicts(wish: VerdictFilter) -> QuerySet[Verdict]:
    """Newest packet first, each with its latest enforcement in `enforced`."""
    recent = Prefetch("enforcements", Enforcement.objects.order_by("-pk"), to_attr="enforced")
    rows = Verdict.objects.select_related("sensor").defer("evidence").prefetch_related(recent)
    if wish.severity:
        rows = rows.filter(severity=wish.severity)
    if wish.name:
        rows = rows.filter(name=wish.name)
    if wish.standing != "all":
        rows = rows.filter(standing=wish.standing or Verdict.Standing.STANDS)
    if wish.text:
        rows = rows.filter(_about(wish.text))
    if wish.since:
        rows = rows.filter(last_ns__gte=int(wish.since.timestamp()) * SECOND_NS)
    if wish.realm is not None:
        rows = rows.filter(realm=wish.realm)
    return rows.order_by("-last_ns", "-pk")


def _about(text: str) -> Q:
    """An address is looked up exactly; anything else in names. PostgreSQL cannot search inside an inet column."""
    try:
        address = str(ipaddress.ip_address(text))
    except ValueError:
        return Q(identity_name__icontains=text) | Q(business__icontains=text) | Q(name__icontains=text) | Q(point__icontains=text)
    return Q(src=address) | Q(dst=address)


def verdict(pk: int) -> QuerySet[Verdict]:
    enforcements = Enforcement.objects.select_related("guard__device").order_by("-pk")
    return (
        Verdict.objects.filter(pk=pk)
        .select_related("sensor__group", "batch")
        .prefetch_related(Prefetch("enforcements", enforcements, to_attr="enforced"))
    )


def names() -> list[str]:
    return list(Verdict.objects.order_by("name").values_list("name", flat=True).distinct())


def siblings(verdict: Verdict, limit: int = 8) -> list[Verdict]:
    """Other verdicts on the same sender, newest first."""
    rows = Verdict.objects.filter(realm=verdict.realm, src=verdict.src).exclude(pk=verdict.pk).defer("evidence")
    return list(rows.order_by("-last_ns")[:limit])


def identity_entry(address: str, realm: str) -> IdentityEntry | None:
    """The ledger's entry with the longest prefix around the address; None = nobody claims it."""
    parsed = ipaddress.ip_address(address)
    around = [str(ipaddress.ip_network((address, length), strict=False)) for length in range(parsed.max_prefixlen, -1, -1)]
    entries = IdentityEntry.objects.select_related("realm").filter(realm__name=realm, prefix__in=around)
    return max(entries, key=lambda entry: int(entry.prefix.rpartition("/")[2]), default=None)


def is_priority(dscp: int) -> bool:
    return dscp in PRIORITY_DSCP


def search(text: str, realm: str | None, limit: int = 8) -> list[Verdict]:
    rows = Verdict.objects.filter(_about(text)).defer("evidence")
    return list((rows if realm is None else rows.filter(realm=realm)).order_by("-last_ns")[:limit])
