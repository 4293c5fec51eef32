"""Sensors, their points, and the batches they sent. A stored batch is the queue."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from policyhub.models import Device, DeviceGroup, Realm


class Sensor(models.Model):
    """group: whose profile its bundle carries. health: as last reported.

    spooled, spooled_s: batches that were left on its disk at the last contact and the age of the oldest; null = not reported.
    """

    name = models.SlugField(_("name"), max_length=64, unique=True)
    group = models.ForeignKey(DeviceGroup, models.PROTECT, null=True, blank=True, related_name="sensors")
    last_seen_at = models.DateTimeField(null=True, blank=True)
    judging = models.BooleanField(default=False)
    bundle_version = models.CharField(max_length=64, blank=True)
    health = models.JSONField(default=dict)
    spooled = models.PositiveIntegerField(null=True, blank=True)
    spooled_s = models.FloatField(null=True, blank=True)

    class Meta:
        ordering = ("name",)
        verbose_name = _("sensor")
        verbose_name_plural = _("sensors")

    def __str__(self) -> str:
        return self.name


class ObservationPoint(models.Model):
    """Where traffic is copied.

    stands_behind: the device whose change shows here (packets leave it before they pass this point).
    """

    sensor = models.ForeignKey(Sensor, models.CASCADE, related_name="points")
    name = models.CharField(max_length=64)
    realm = models.ForeignKey(Realm, models.PROTECT, related_name="+")
    device = models.ForeignKey(Device, models.SET_NULL, null=True, blank=True, related_name="points")
    interface = models.CharField(max_length=64, blank=True)
    stands_behind = models.ForeignKey(Device, models.SET_NULL, null=True, blank=True, related_name="downstream_points")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["sensor", "name"], name="point_once_per_sensor")]
        verbose_name = _("observation point")
        verbose_name_plural = _("observation points")

    def __str__(self) -> str:
        return f"{self.sensor}/{self.name}"


class SensorStream(models.Model):
    """How far one stream has come. contiguous_to: every sequence up to it has arrived or stands in a StreamGap."""

    sensor = models.ForeignKey(Sensor, models.CASCADE, related_name="streams")
    stream = models.UUIDField()
    contiguous_to = models.BigIntegerField(default=0)
    highest = models.BigIntegerField(default=0)
    last_received_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["sensor", "stream"], name="stream_once_per_sensor")]
        verbose_name = _("sensor stream")
        verbose_name_plural = _("sensor streams")


class SensorShape(models.Model):
    """What a sensor told last of neighbours, tunnels and bulk: `shape` of its batches, docs/traffic-shape.md.

    The last is of the stream that began last, there of the highest sequence.
    A row of its own: who asks how the sensor is does not read it.
    """

    sensor = models.OneToOneField(Sensor, models.CASCADE, primary_key=True, related_name="shape")
    stream = models.ForeignKey(SensorStream, models.CASCADE, related_name="+")
    received_at = models.DateTimeField()
    sequence = models.BigIntegerField()
    told = models.JSONField(_("what it told"))

    class Meta:
        verbose_name = _("shape of traffic")
        verbose_name_plural = _("shapes of traffic")


class VerdictBatch(models.Model):
    """One POST of a sensor, stored before it is answered. body: zlib of the canonical JSON.

    attempts: deliveries to a worker. refusals: how often our own code could not take it; at the third it is POISONED.
    """

    class State(models.TextChoices):
        STORED = "stored", _("stored")
        INGESTED = "ingested", _("ingested")
        POISONED = "poisoned", _("cannot be read")

    sensor = models.ForeignKey(Sensor, models.CASCADE, related_name="batches")
    stream = models.UUIDField()
    sequence = models.BigIntegerField()
    sha256 = models.CharField(max_length=64)
    body = models.BinaryField()
    received_at = models.DateTimeField()
    state = models.CharField(max_length=10, choices=State.choices, default=State.STORED)
    attempts = models.PositiveSmallIntegerField(default=0)
    refusals = models.PositiveSmallIntegerField(default=0)
    error = models.TextField(blank=True)
    ingested_at = models.DateTimeField(null=True, blank=True)
    dispatched_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["sensor", "stream", "sequence"], name="batch_once")]
        indexes = [models.Index(fields=["state", "dispatched_at"])]
        verbose_name = _("verdict batch")
        verbose_name_plural = _("verdict batches")


class StreamGap(models.Model):
    """What a sensor had to leave out, said by itself, or missing sequences that never came."""

    sensor = models.ForeignKey(Sensor, models.CASCADE, related_name="gaps")
    stream = models.UUIDField()
    from_sequence = models.BigIntegerField()
    to_sequence = models.BigIntegerField()
    verdicts = models.PositiveIntegerField(null=True, blank=True)
    reason = models.CharField(max_length=64)
    noticed_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["sensor", "stream", "from_sequence", "reason"], name="gap_once")]
        verbose_name = _("stream gap")
        verbose_name_plural = _("stream gaps")
