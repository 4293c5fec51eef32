"""Enforcements with their timelines."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Prefetch, QuerySet

from flowguard.models import Enforcement, EnforcementEvent
from flowguard.queries.ground import OPEN

ENDED = ("expired", "reverted", "failed")
ONLY_SEEN = ("observed", "refused")


@dataclass(frozen=True, slots=True)
class EnforcementFilter:
    """state: "" = all, "open", "ended", "seen" (observed or refused), or one state."""

    state: str = ""
    text: str = ""
    realm: str | None = None


def enforcements(wish: EnforcementFilter) -> QuerySet[Enforcement]:
    """Newest first."""
    families = {"open": OPEN, "ended": ENDED, "seen": ONLY_SEEN}
    rows = Enforcement.objects.select_related("guard__device", "verdict", "requested_by")
    if wish.state:
        rows = rows.filter(state__in=families.get(wish.state, (wish.state,)))
    if wish.text:
        rows = rows.filter(member__icontains=wish.text)
    if wish.realm is not None:
        rows = rows.filter(realm__name=wish.realm)
    return rows.order_by("-pk")


def enforcement(pk: int) -> QuerySet[Enforcement]:
    return (
        Enforcement.objects.filter(pk=pk)
        .select_related("guard__device__group", "verdict", "add_change", "remove_change", "realm", "requested_by")
        .prefetch_related(
            Prefetch("events", EnforcementEvent.objects.order_by("pk")), "add_change__events", "remove_change__events"
        )
    )


def before_and_after(row: Enforcement) -> tuple[Enforcement | None, Enforcement | None]:
    """The enforcements of the same member in the same guard before this one and after it; what was only seen is none."""
    others = Enforcement.objects.filter(guard=row.guard_id, realm=row.realm_id, member=row.member).exclude(state__in=ONLY_SEEN)
    return others.filter(pk__lt=row.pk).order_by("-pk").first(), others.filter(pk__gt=row.pk).order_by("pk").first()


def search(text: str, realm: str | None, limit: int = 8) -> list[Enforcement]:
    return list(enforcements(EnforcementFilter(text=text, realm=realm))[:limit])
