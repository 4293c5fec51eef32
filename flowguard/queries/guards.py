"""Guards, with what is in them."""

from __future__ import annotations

from django.db.models import Count, Prefetch, Q, QuerySet

from flowguard.models import Enforcement, Guard
from flowguard.queries.ground import OPEN


def guards(realm: str | None = None) -> QuerySet[Guard]:
    """By device, with the number of members that are in it or on their way (`members`)."""
    rows = Guard.objects.select_related("device__group", "device__realm", "install_change", "remove_change").annotate(
        members=Count("enforcements", filter=Q(enforcements__state__in=OPEN))
    )
    return (rows if realm is None else rows.filter(device__realm__name=realm)).order_by("device__name", "name")


def guard(pk: int) -> QuerySet[Guard]:
    recent = Enforcement.objects.select_related("verdict").order_by("-pk")[:20]
    return guards().filter(pk=pk).prefetch_related(Prefetch("enforcements", recent, to_attr="recent_enforcements"))
