"""Global search of the policy side: devices, rules with findings, changes. One query each, a few rows each."""

from __future__ import annotations

from collections.abc import Iterable

from django.db.models import Q

from policyhub.models import Change, Device, Finding
from policyhub.queries.findings import holds
from policyhub.queries.translated import said_as

MOST = 8


def devices(text: str, realm: str | None) -> list[Device]:
    rows = Device.objects.filter(Q(name__icontains=text) | Q(host__icontains=text))
    return list((rows if realm is None else rows.filter(realm__name=realm)).order_by("name")[:MOST])


def findings(text: str, realm: str | None, called: Iterable[str] = ()) -> list[Finding]:
    """called: names of checks that the text stands for in the reader's language."""
    rows = Finding.objects.select_related("device").filter(Q(name__icontains=text) | holds(text, called))
    return list((rows if realm is None else rows.filter(device__realm__name=realm)).order_by("-last_seen_at")[:MOST])


def changes(text: str, realm: str | None) -> list[Change]:
    """By number (`#12` or `12`) or by words of the reason or the member's address."""
    number = text.lstrip("#")
    wish = Q(reason__icontains=text) | Q(spec__member__icontains=text) | said_as(Change, ("reason_said__text",), text)
    if number.isdecimal() and len(number) < 18:
        wish |= Q(pk=int(number))
    rows = Change.objects.select_related("device").filter(wish)
    return list((rows if realm is None else rows.filter(device__realm__name=realm)).order_by("-pk")[:MOST])
