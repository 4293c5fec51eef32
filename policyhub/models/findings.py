"""What the checks found, and what owners decided about it."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from policyhub.models.inventory import Device

SEVERITIES = [
    ("critical", _("critical")),
    ("high", _("high")),
    ("medium", _("medium")),
    ("low", _("low")),
    ("info", _("info")),
]


class Sweep(models.Model):
    """One run of the checks over devices. moved_at: when a worker last began a device; None = nobody took it yet.

    tries: how often the device `now_doing` was begun; more than once when a worker was lost over it.
    problems: {"device", "reason", "said"} of each device that could not be checked: why in English, and as a stored Message.
    """

    class State(models.TextChoices):
        RUNNING = "running", _("running")
        DONE = "done", _("done")
        PARTIAL = "partial", _("partial")
        CANCELLED = "cancelled", _("cancelled")

    started_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True, blank=True)
    started_by = models.CharField(max_length=150)
    state = models.CharField(max_length=10, choices=State.choices, default=State.RUNNING)
    devices_total = models.PositiveIntegerField(default=0)
    devices_done = models.PositiveIntegerField(default=0)
    now_doing = models.CharField(max_length=255, blank=True)
    problems = models.JSONField(default=list)
    moved_at = models.DateTimeField(null=True, blank=True, editable=False)
    tries = models.PositiveSmallIntegerField(default=0, editable=False)

    class Meta:
        ordering = ("-started_at",)
        verbose_name = _("sweep")
        verbose_name_plural = _("sweeps")

    def __str__(self) -> str:
        return f"#{self.pk} {self.state}"


class Finding(models.Model):
    """A finding lives over sweeps: same fingerprint, same row. It is resolved when a sweep no longer sees it.

    message, fix: in English, for search and commands. said: {"message", "fix"} as policyhub.domain.message.Message stores them.
    """

    class Status(models.TextChoices):
        NEW = "new", _("new")
        ACKNOWLEDGED = "acknowledged", _("acknowledged")
        RESOLVED = "resolved", _("resolved")
        REGRESSED = "regressed", _("regressed")

    device = models.ForeignKey(Device, models.CASCADE, related_name="findings")
    fingerprint = models.CharField(max_length=64, unique=True)
    code = models.CharField(max_length=8)
    name = models.CharField(max_length=40)
    severity = models.CharField(max_length=8, choices=SEVERITIES)
    policy = models.CharField(max_length=255)
    rule = models.CharField(max_length=255)
    lines = models.JSONField(default=list)
    by = models.JSONField(default=list)
    message = models.TextField()
    evidence = models.JSONField(default=dict)
    fix = models.TextField(blank=True)
    said = models.JSONField(default=dict, blank=True)
    status = models.CharField(max_length=12, choices=Status.choices, default=Status.NEW)
    first_seen_at = models.DateTimeField()
    last_seen_at = models.DateTimeField()
    snapshot_sha256 = models.CharField(max_length=64, blank=True)

    class Meta:
        ordering = ("-last_seen_at", "pk")
        indexes = [models.Index(fields=["status", "severity"]), models.Index(fields=["device", "status"])]
        verbose_name = _("finding")
        verbose_name_plural = _("findings")

    def __str__(self) -> str:
        return f"{self.code} {self.name} {self.policy} {self.rule}"


class Exemption(models.Model):
    """An owner accepts a finding until a date."""

    finding = models.ForeignKey(Finding, models.CASCADE, related_name="exemptions")
    owner = models.CharField(max_length=150)
    reason = models.TextField()
    granted_at = models.DateTimeField()
    expires_at = models.DateTimeField()

    class Meta:
        verbose_name = _("exemption")
        verbose_name_plural = _("exemptions")

    def __str__(self) -> str:
        return f"{self.finding_id} until {self.expires_at:%Y-%m-%d}"
