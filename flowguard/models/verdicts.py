"""The engine's judgements and per-second observations."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from flowguard.models.sensors import ObservationPoint, Sensor, VerdictBatch
from policyhub.models.findings import SEVERITIES


class Verdict(models.Model):
    """Latest revision of one verdict. standing: what reconciliation across sensors made of it.

    next_step_at: when the scheduler dispatches its consideration again; null when the present revision was considered.
    """

    class Standing(models.TextChoices):
        STANDS = "stands", _("stands")
        NETWORK = "network", _("the network rewrote it")
        DUPLICATE = "duplicate", _("told by another sensor as well")
        OWN = "own", _("our own guard rewrote it")

    uid = models.CharField(max_length=32)
    sensor = models.ForeignKey(Sensor, models.CASCADE, related_name="verdicts")
    batch = models.ForeignKey(VerdictBatch, models.SET_NULL, null=True, related_name="verdicts")
    point = models.CharField(max_length=64)
    realm = models.CharField(max_length=64, blank=True)
    name = models.CharField(max_length=40)
    src = models.GenericIPAddressField()
    dst = models.GenericIPAddressField()
    proto = models.CharField(max_length=16)
    server_port = models.CharField(max_length=10)
    dscp = models.PositiveSmallIntegerField()
    packets = models.BigIntegerField()
    bytes = models.BigIntegerField()
    first_ns = models.BigIntegerField()
    last_ns = models.BigIntegerField()
    revision = models.PositiveIntegerField()
    severity = models.CharField(max_length=8, choices=SEVERITIES)
    confidence = models.FloatField()
    signals = models.JSONField(default=list)
    evidence = models.JSONField(default=list)
    standing = models.CharField(max_length=10, choices=Standing.choices, default=Standing.STANDS)
    identity_name = models.CharField(max_length=128, blank=True)
    business = models.CharField(max_length=255, blank=True)
    received_at = models.DateTimeField()
    planned_at = models.DateTimeField(null=True, blank=True)
    next_step_at = models.DateTimeField(null=True, blank=True, db_index=True)

    class Meta:
        ordering = ("-last_ns", "-pk")
        constraints = [models.UniqueConstraint(fields=["sensor", "uid"], name="verdict_once_per_sensor")]
        indexes = [
            models.Index(fields=["realm", "src", "dscp"]),
            models.Index(fields=["-last_ns"]),
            models.Index(fields=["realm", "-last_ns"], name="verdict_waiting", condition=models.Q(next_step_at__isnull=False)),
        ]
        verbose_name = _("verdict")
        verbose_name_plural = _("verdicts")

    def __str__(self) -> str:
        return f"{self.name} {self.src} > {self.dst} DSCP {self.dscp}"


class Observation(models.Model):
    """One point and one second of packet time; sources: [{src, dscp, packets, bytes}], tcp: per DSCP."""

    point = models.ForeignKey(ObservationPoint, models.CASCADE, related_name="observations")
    start_ns = models.BigIntegerField()
    end_ns = models.BigIntegerField()
    complete = models.BooleanField()
    sources = models.JSONField()
    tcp = models.JSONField(default=list)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["point", "start_ns"], name="observation_once")]
        verbose_name = _("observation")
        verbose_name_plural = _("observations")
