"""Readings of the counters of a device's ports and queues."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable

from django.db import models
from django.utils.translation import gettext_lazy as _

from policyhub.domain.counter_series import CounterSeries
from policyhub.models.inventory import Device


class CounterReading(models.Model):
    """What the counters of one device said at one moment.

    packed: zlib of the compact JSON list [interface, queue, name, unit, source, value or null]; a switch prints some thousand
    of them, hardly different from the last time. count: how many. unread: lines with figures that nobody understood.
    """

    class Origin(models.TextChoices):
        COLLECT = "collect", _("with the configuration")
        POLL = "poll", _("polled")
        UPLOAD = "upload", _("uploaded")

    device = models.ForeignKey(Device, models.CASCADE, related_name="counter_readings")
    read_at = models.DateTimeField()
    origin = models.CharField(max_length=8, choices=Origin.choices)
    packed = models.BinaryField(editable=False)
    count = models.PositiveIntegerField()
    unread = models.PositiveIntegerField(default=0)

    class Meta:
        ordering = ("-read_at", "-pk")
        indexes = [models.Index(fields=["device", "-read_at"]), models.Index(fields=["read_at"])]
        verbose_name = _("reading of counters")
        verbose_name_plural = _("readings of counters")

    def __str__(self) -> str:
        return f"{self.device} {self.read_at:%Y-%m-%d %H:%M}"

    def rows(self) -> list[CounterSeries]:
        """The numbers, as they were read."""
        return [
            CounterSeries(port, queue, name, value, unit, self.read_at, source)
            for port, queue, name, unit, source, value in json.loads(zlib.decompress(self.packed))
        ]


def pack(rows: Iterable[CounterSeries]) -> bytes:
    """As `CounterReading.packed` wants them. A whole number stays whole, so that 2**60 loses no bit in print."""
    table = [[row.interface, row.queue, row.name, row.unit, row.source, _plain(row.value)] for row in rows]
    return zlib.compress(json.dumps(table, separators=(",", ":"), ensure_ascii=False).encode(), 6)


def _plain(value: float | None) -> float | int | None:
    return int(value) if value is not None and value.is_integer() else value
