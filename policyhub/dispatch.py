"""The one way to queue work: after commit, by name, ids only.

Losing Redis loses nothing: the row that made the work necessary is the queue, and the scheduler dispatches it again.
"""

from __future__ import annotations

import logging
from functools import partial

from celery import current_app
from django.db import transaction
from kombu.exceptions import OperationalError

_log = logging.getLogger(__name__)


def on_commit(task_name: str, *ids: int, expires_s: float | None = None) -> None:
    """Queue the task when the present transaction commits (at once outside of one); nothing when it rolls back.

    expires_s: a task that no worker has begun by then is thrown away, for work that comes again by itself.
    """
    transaction.on_commit(partial(send, task_name, *ids, expires_s=expires_s))


def send(task_name: str, *ids: int, expires_s: float | None = None) -> bool:
    """Queue the task now. False when the broker cannot be reached: said in the log, never raised, the row stays due."""
    try:
        current_app.send_task(task_name, args=list(ids), expires=expires_s)
    except (OperationalError, OSError) as error:
        _log.warning("not queued, the scheduler will: %s%s: %s", task_name, ids, error)
        return False
    return True
