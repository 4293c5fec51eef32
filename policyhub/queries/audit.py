"""Reads of the audit chain."""

from __future__ import annotations

from django.db.models import QuerySet

from policyhub.models import AuditEntry


def newest(limit: int = 100) -> QuerySet[AuditEntry]:
    """The last rows, newest first."""
    return AuditEntry.objects.order_by("-sequence")[:limit]


def about(key: str, value: object) -> QuerySet[AuditEntry]:
    """Rows whose data names `key` with this value, oldest first: `about("change", 7)`."""
    return AuditEntry.objects.filter(**{f"data__{key}": value}).order_by("sequence")
