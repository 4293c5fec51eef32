"""Two snapshots of a device side by side. Secrets are masked before anything is compared."""

from __future__ import annotations

import difflib

from django.db.models import F, Q, QuerySet, Window
from django.db.models.functions import Lag

from policyhub.domain.errors import BadInput
from policyhub.domain.message import gettext_noop
from policyhub.models import ConfigSnapshot, Device

CONTEXT = 3
SEALED = ("text_envelope", "counters_envelope")


def versions(rows: QuerySet[ConfigSnapshot] | None = None) -> QuerySet[ConfigSnapshot]:
    """Newest first, without the sealed texts: the first reading of each configuration.

    A later reading of an equal one is kept for its counters and is no version of its own.
    """
    before = Window(Lag("sha256"), partition_by=F("device"), order_by=(F("taken_at"), F("pk")))
    known = (ConfigSnapshot.objects.all() if rows is None else rows).annotate(before=before)
    return known.filter(~Q(before=F("sha256")) | Q(before=None)).defer(*SEALED).order_by("-taken_at", "-pk")


def pair(device: Device, older: int | None = None, newer: int | None = None) -> tuple[ConfigSnapshot, ConfigSnapshot]:
    """The two snapshots, the older first; without numbers the last two of different content. Raises BadInput."""
    rows = device.snapshots.order_by("-taken_at", "-pk")
    if older is None:
        newest = [row.pk for row in versions(device.snapshots.all())[:2]]
        if len(newest) < 2:
            raise BadInput.of(gettext_noop("%(device)s: there are no two different configurations yet"), device=device.name)
        return rows.get(pk=newest[1]), rows.get(pk=newest[0])
    first = rows.filter(pk=older).first()
    second = rows.filter(pk=newer).first() if newer is not None else rows.first()
    if first is None or second is None:
        missing = older if first is None else newer
        said = gettext_noop("%(device)s has no snapshot #%(number)s. Its page and `policyhub device show` list them")
        raise BadInput.of(said, device=device.name, number=missing)
    return (first, second) if (first.taken_at, first.pk) <= (second.taken_at, second.pk) else (second, first)


def unified(before: list[str], after: list[str]) -> list[str]:
    """Changed lines with three lines around them, as `diff -u` prints them; [] when nothing differs."""
    return list(difflib.unified_diff(before, after, lineterm="", n=CONTEXT))[2:]
