"""Periodic work as rows: exactly-once claim by compare-and-set, no beat process."""

from django.db import models
from django.utils.translation import gettext_lazy as _


class Schedule(models.Model):
    """task: a Celery task name. every_s: period in seconds. The sweeper claims a due row by moving next_due_at."""

    name = models.CharField(max_length=64, unique=True)
    task = models.CharField(max_length=128)
    every_s = models.PositiveIntegerField()
    enabled = models.BooleanField(default=True)
    next_due_at = models.DateTimeField(db_index=True)
    last_run_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("name",)
        verbose_name = _("schedule")
        verbose_name_plural = _("schedules")

    def __str__(self) -> str:
        return self.name
