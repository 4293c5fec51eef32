"""Syslog of devices that say their configuration changed: they are read soon, and no more often than they can bear."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from functools import cache

from django.db.models import Max, Q

from policyhub.models import Device
from policyhub.vendorkit.collecting import profiles

SETTLE = timedelta(seconds=10)  # a person types more than one line, a commit of several devices takes a moment
AT_MOST_EACH = timedelta(seconds=60)
MOST_CHARACTERS = 8192
_WORD = re.compile(r"[A-Za-z0-9_.-]{1,128}")


def config_changed(*, text: str, source: str, now: datetime) -> Device | None:
    """The device that is going to be read because of this message, None when it says nothing of that kind.

    source: address of the sender; behind a relay the message's own words name the device. Messages can be forged: all that
    anybody gains is a reading of a known device, at most one a minute. More messages until then are the same reading.
    """
    text = text[:MOST_CHARACTERS]
    platforms = [platform for platform, pattern in _signs() if pattern.search(text)]
    if not platforms:
        return None
    device = _sender(text, source, platforms)
    if device is None or (device.collect_due_at is not None and device.collect_due_at <= now + AT_MOST_EACH):
        return device
    last = device.snapshots.aggregate(at=Max("taken_at"))["at"]
    due = max(now + SETTLE, last + AT_MOST_EACH) if last else now + SETTLE
    # Later than that: it is being read now, and what it says may have come too late for that.
    rows = Device.objects.filter(Q(collect_due_at=None) | Q(collect_due_at__gt=due), pk=device.pk)
    if rows.update(collect_due_at=due):
        device.collect_due_at = due
    return device


def _sender(text: str, source: str, platforms: list[str]) -> Device | None:
    rows = Device.objects.filter(enabled=True, quarantine_reason="", platform__in=platforms).exclude(host="")
    found = rows.filter(host=source).first()
    if found is None:
        # RFC 3164 and 5424 name the host among the first words, with or without its domain
        words = {word.lower() for word in _WORD.findall(text)[:20]}
        names = words | {word.split(".")[0] for word in words if not word.replace(".", "").isdecimal()}
        hosts = [row for row in rows.only("name", "host") if row.name.lower() in names or row.host.lower() in words]
        found = rows.get(pk=hosts[0].pk) if len(hosts) == 1 else None
    return found


@cache
def _signs() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple((row.platform, re.compile(row.changed)) for row in profiles() if row.changed)
