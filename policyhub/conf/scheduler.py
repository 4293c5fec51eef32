"""The scheduler process: each second, queue what is due. Harmless when doubled, needless to elect one.

Run as `python -m policyhub.conf.scheduler`.
"""

from __future__ import annotations

import logging
import signal
import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime

from policyhub.conf.settings.broker import ROUTES
from policyhub.conf.setup import django_setup

log = logging.getLogger(__name__)

TICK_S = 1.0
BEAT_EVERY_S = 5.0
REPEAT_AFTER_S = 10.0
REPEAT_AT_MOST_S = 300.0
# A queue this long is being worked on: sending its rows again would only make it longer.
FULL = 1_000
FULL_OF = {"decide": 1}  # its messages are all alike, and each takes the newest rows when its turn has come
REMEMBERED = 50_000


class Recently:
    """Which rows were sent lately, so that a row that waits in a queue is not sent each second.

    The same (task, id, stamp) is repeated after 10 s, then 20, 40 ... 300. A row that moved on has another stamp: at once.
    """

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._sent: dict[tuple[str, int], tuple[object, float, float]] = {}

    def first_or_again(self, task: str, pk: int, stamp: object) -> bool:
        """True when the row is to be sent now; it counts as sent then."""
        now = self._monotonic()
        known = self._sent.get((task, pk))
        pause = REPEAT_AFTER_S
        if known is not None and known[0] == stamp:
            _, at, pause = known
            if now - at < pause:
                return False
            pause = min(2 * pause, REPEAT_AT_MOST_S)
        if len(self._sent) >= REMEMBERED:
            self._sent.clear()
        self._sent[task, pk] = (stamp, now, pause)
        return True

    def forget(self, task: str, pk: int) -> None:
        """It could not be sent after all."""
        self._sent.pop((task, pk), None)


def queue_length(queue: str) -> int:
    """Messages waiting; raises when the broker is away."""
    from celery import current_app

    with current_app.connection_for_write() as connection:
        channel = connection.default_channel
        return int(channel.client.llen(queue))


def send_due(due: Iterable[Callable[[datetime], Iterable[tuple[str, int, object]]]], recently: Recently, now: datetime) -> int:
    """Queue the due rows that were not sent lately; how many were. Stops at once when the broker is away."""
    from policyhub import dispatch

    sent = 0
    full: dict[str, bool] = {}
    for read in due:
        for task, pk, stamp in read(now):
            queue = ROUTES[task]["queue"]
            if queue not in full:
                full[queue] = queue_length(queue) >= FULL_OF.get(queue, FULL)
            if full[queue] or not recently.first_or_again(task, pk, stamp):
                continue
            if not dispatch.send(task, pk):
                recently.forget(task, pk)
                return sent
            sent += 1
    return sent


class Scheduler:
    """One turn per call; an outage of database or broker is said once and outlived."""

    def __init__(self) -> None:
        self._recently = Recently()
        self._beat_due = 0.0
        self._ailing = ""

    def turn(self, now: datetime) -> None:
        try:
            self._turn(now)
        except Exception as error:  # whatever is down comes back; the loop must be there then
            self._say(f"{type(error).__name__}: {error}")
        else:
            self._say("")

    def _turn(self, now: datetime) -> None:
        from django.db import close_old_connections

        from policyhub import dispatch
        from policyhub.actions import schedules
        from policyhub.conf.schedules import DUE

        close_old_connections()
        if time.monotonic() >= self._beat_due:
            schedules.beat(now=now)
            self._beat_due = time.monotonic() + BEAT_EVERY_S
        schedules.run_due(now=now, send=dispatch.send)
        send_due(DUE, self._recently, now)

    def _say(self, ailing: str) -> None:
        if ailing and ailing != self._ailing:
            log.error("scheduler waits: %s", ailing)
        elif self._ailing and not ailing:
            log.info("scheduler works again")
        self._ailing = ailing


def main() -> int:
    """Until SIGTERM or SIGINT."""
    django_setup()
    from policyhub.actions import schedules
    from policyhub.conf.schedules import DEFAULTS

    # Waited for, not handled: a handler that sets an event can interrupt this thread where it holds the event's lock, for ever.
    ends = {signal.SIGTERM, signal.SIGINT}
    signal.pthread_sigmask(signal.SIG_BLOCK, ends)
    schedules.ensure(DEFAULTS, now=datetime.now(UTC))
    scheduler = Scheduler()
    while signal.sigtimedwait(ends, TICK_S) is None:
        scheduler.turn(datetime.now(UTC))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
