"""Stops new pushes at once: a row per scope, or a file `KILL` in the data folder where the database cannot be reached.

Pushes only: what is on a device may still be taken back, by its own watchdog or by us.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from django.conf import settings
from django.db import transaction

from policyhub.actions import audit
from policyhub.domain.errors import Stopped
from policyhub.domain.message import Message, gettext_noop
from policyhub.models import KillSwitch

FILE = "KILL"


def engaged(scope: str = "") -> bool:
    """Whether pushes to devices of this group are stopped, by its own switch or by the one for everything."""
    return _file_exists() or KillSwitch.objects.filter(scope__in={"", scope}, engaged=True).exists()


def check(scope: str = "") -> None:
    """Raises Stopped when engaged."""
    if engaged(scope):
        said = gettext_noop("the kill switch is engaged: no line leaves. Release it when the cause is understood")
        raise Stopped(Message(said), scope=scope)


def engage(*, scope: str = "", actor: object, reason: str, now: datetime) -> KillSwitch:
    return _set(True, scope, actor, reason, now)


def release(*, scope: str = "", actor: object, reason: str, now: datetime) -> KillSwitch:
    """Releases the row; a KILL file keeps stopping until somebody removes it."""
    return _set(False, scope, actor, reason, now)


def _set(engaged: bool, scope: str, actor: object, reason: str, now: datetime) -> KillSwitch:
    with transaction.atomic():
        row, _ = KillSwitch.objects.select_for_update().get_or_create(scope=scope)
        row.engaged, row.changed_by, row.changed_at, row.reason = engaged, str(actor)[:150], now, reason
        row.save()
        verb = "kill-switch.engaged" if engaged else "kill-switch.released"
        audit.record(verb, actor=actor, at=now, scope=scope, reason=reason)
    return row


def _file_exists() -> bool:
    folder = getattr(settings, "POLICYHUB_DATA_DIR", None)
    return folder is not None and Path(folder, FILE).exists()
