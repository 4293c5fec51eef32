"""Findings as people look for them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import Case, Count, IntegerField, Q, QuerySet, Value, When

from policyhub.domain.finding import Severity
from policyhub.models import Device, Finding
from policyhub.queries.translated import said_as

# where messages stand in `Finding.said`; those inside another one are the ones that are sentences
SAID = (
    "said__message__text", "said__message__values__reason__text", "said__message__values__width__text",
    "said__message__values__unused__text", "said__fix__text",
)  # fmt: skip
OPEN = (Finding.Status.NEW, Finding.Status.ACKNOWLEDGED, Finding.Status.REGRESSED)
WORST_FIRST = Case(
    *(When(severity=severity.value, then=Value(4 - severity.rank)) for severity in Severity),
    output_field=IntegerField(),
    default=Value(9),
)


@dataclass(frozen=True, slots=True)
class FindingFilter:
    """ "" = no wish. status "" means all that are open; "all" means all. realm None = every realm.

    called: names of checks that the text stands for in the reader's language.
    """

    severity: str = ""
    name: str = ""
    device: int | None = None
    status: str = ""
    text: str = ""
    realm: str | None = None
    called: tuple[str, ...] = ()


def findings(wish: FindingFilter) -> QuerySet[Finding]:
    """Worst first, then newest."""
    rows = Finding.objects.select_related("device").annotate(order=WORST_FIRST)
    if wish.severity:
        rows = rows.filter(severity=wish.severity)
    if wish.name:
        rows = rows.filter(name=wish.name)
    if wish.device:
        rows = rows.filter(device_id=wish.device)
    if wish.status != "all":
        rows = rows.filter(status=wish.status) if wish.status else rows.filter(status__in=OPEN)
    if wish.text:
        rows = rows.filter(holds(wish.text, wish.called))
    if wish.realm is not None:
        rows = rows.filter(device__realm__name=wish.realm)
    return rows.order_by("order", "-last_seen_at", "pk")


def holds(text: str, called: Iterable[str] = ()) -> Q:
    """Findings with a text in their policy, rule or words: in the stored English, or in the reader's language."""
    stored = Q(policy__icontains=text) | Q(rule__icontains=text) | Q(message__icontains=text)
    return stored | Q(name__in=list(called)) | said_as(Finding, SAID, text)


def one(pk: int) -> QuerySet[Finding]:
    """The finding with its device and exemptions, for a detail page."""
    return Finding.objects.filter(pk=pk).select_related("device__realm", "device__group").prefetch_related("exemptions")


def open_by_severity() -> dict[str, int]:
    """Open findings per severity, worst first; every severity has an entry."""
    counted = dict(Finding.objects.filter(status__in=OPEN).order_by().values_list("severity").annotate(n=Count("pk")))
    return {severity.value: counted.get(severity.value, 0) for severity in Severity}


def unchecked(device: int | None = None, realm: str | None = None) -> int:
    """Devices whose rules no sweep has looked at: without findings, and not without faults."""
    rows = Device.objects.filter(enabled=True, checked_at__isnull=True)
    if device:
        rows = rows.filter(pk=device)
    return (rows if realm is None else rows.filter(realm__name=realm)).count()


def names() -> list[str]:
    """Check names that occur, for the filter."""
    return list(Finding.objects.order_by("name").values_list("name", flat=True).distinct())
