"""The audit chain: append only, each row holds the hash of the one before."""

from __future__ import annotations

from typing import Any, NoReturn

from django.db import models
from django.utils.translation import gettext_lazy as _


class AppendOnly(TypeError):
    """A program tried to change or remove an audit row."""


class AppendOnlyQuerySet(models.QuerySet["AuditEntry"]):
    """Refuses every way of changing rows that Django offers; only single inserts pass."""

    def _refuse(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise AppendOnly("audit rows are never changed or removed")

    update = delete = bulk_update = bulk_create = update_or_create = _refuse
    adelete = aupdate = abulk_update = abulk_create = aupdate_or_create = _refuse


class AuditEntry(models.Model):
    """hash = sha256(previous hash + canonical JSON of sequence, time, actor, action, data). Rows are never changed or removed."""

    sequence = models.BigIntegerField(unique=True)
    at = models.DateTimeField()
    actor = models.CharField(max_length=150)
    action = models.CharField(max_length=64, db_index=True)
    data = models.JSONField()
    previous_hash = models.CharField(max_length=64)
    hash = models.CharField(max_length=64, unique=True)

    objects = AppendOnlyQuerySet.as_manager()

    class Meta:
        ordering = ("-sequence",)
        verbose_name = _("audit entry")
        verbose_name_plural = _("audit entries")

    def __str__(self) -> str:
        return f"{self.sequence} {self.action}"

    def save(self, *args: Any, **kwargs: Any) -> None:
        if self.pk is not None:
            raise AppendOnly("audit rows are never changed")
        super().save(*args, **{**kwargs, "force_insert": True})

    def delete(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise AppendOnly("audit rows are never removed")
