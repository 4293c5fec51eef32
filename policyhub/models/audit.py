"""The audit chain: append only, each row holds the hash of the one before."""

from django.db import models
from django.utils.translation import gettext_lazy as _


class AuditEntry(models.Model):
    """hash = sha256(previous hash + canonical JSON of sequence, time, actor, action, data). Rows are never changed or removed."""

    sequence = models.BigIntegerField(unique=True)
    at = models.DateTimeField()
    actor = models.CharField(max_length=150)
    action = models.CharField(max_length=64, db_index=True)
    data = models.JSONField()
    previous_hash = models.CharField(max_length=64)
    hash = models.CharField(max_length=64, unique=True)

    class Meta:
        ordering = ("-sequence",)
        verbose_name = _("audit entry")
        verbose_name_plural = _("audit entries")

    def __str__(self) -> str:
        return f"{self.sequence} {self.action}"
