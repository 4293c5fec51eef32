"""Preflights: whether devices can be read, step by step, one row per device of a run."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from policyhub.models.inventory import Device


class Preflight(models.Model):
    """One run over some devices. collect: what is read on the way is kept as their snapshot. Its rows say what is done.

    queued: workers take its rows; else the command that started it does.
    """

    class State(models.TextChoices):
        RUNNING = "running", _("running")
        DONE = "done", _("done")
        CANCELLED = "cancelled", _("cancelled")

    state = models.CharField(max_length=9, choices=State.choices, default=State.RUNNING)
    collect = models.BooleanField(default=False)
    queued = models.BooleanField(default=False)
    started_at = models.DateTimeField()
    started_by = models.CharField(max_length=150)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("-pk",)
        verbose_name = _("device preflight")
        verbose_name_plural = _("device preflights")

    def __str__(self) -> str:
        return f"preflight #{self.pk}"


class PreflightResult(models.Model):
    """One device of a run. steps: [{name, state: ok | failed | not-tried, said, cure}], said and cure as stored messages.

    FAILED: it cannot be read; PARTIAL: it can, some command that not every model has was refused.
    """

    class State(models.TextChoices):
        WAITING = "waiting", _("waiting")
        RUNNING = "running", _("running")
        OK = "ok", _("ready")
        PARTIAL = "partial", _("partly")
        FAILED = "failed", _("failed")
        CANCELLED = "cancelled", _("cancelled")

    preflight = models.ForeignKey(Preflight, models.CASCADE, related_name="results", verbose_name=_("device preflight"))
    device = models.ForeignKey(Device, models.CASCADE, related_name="preflights")
    state = models.CharField(max_length=9, choices=State.choices, default=State.WAITING)
    steps = models.JSONField(default=list)
    platform = models.CharField(max_length=32, blank=True)
    version = models.CharField(max_length=64, blank=True)
    collected = models.BooleanField(default=False)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("pk",)
        constraints = [models.UniqueConstraint(fields=["preflight", "device"], name="preflight_once_per_device")]
        indexes = [models.Index(fields=["state", "started_at"])]
        verbose_name = _("preflight result")
        verbose_name_plural = _("preflight results")

    def __str__(self) -> str:
        return f"{self.device}: {self.state}"
