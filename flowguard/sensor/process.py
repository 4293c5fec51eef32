"""The sensor: engine to disk to service. Capturing never waits for the network."""

from __future__ import annotations

import json
import logging
import random
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from itertools import zip_longest
from typing import Any
from uuid import UUID

from flowguard.domain.sensor_clock import SensorClock
from flowguard.sensor.client import Client
from flowguard.sensor.clock import system_clock
from flowguard.sensor.config import SensorConfig
from flowguard.sensor.contract import Engine
from flowguard.sensor.sending import Backoff, BundleKeeper, Sender
from flowguard.sensor.spool import Spool

DRAIN_S = 3.0
# A batch stays far below the service's limit, however much one poll brings: room for four observations as large as they come.
MAX_VERDICTS, MAX_ROWS = 500, 4 * 4097
# More that wait than this: the service does not keep up, and fewer batches that hold more cost it less than many small ones.
BACKLOG, LONGEST_PAUSE_S = 4, 5.0

log = logging.getLogger(__name__)


class Collector:
    """Moves what the engine finished into the spool."""

    def __init__(
        self, engine: Engine, spool: Spool, news: Callable[[], bytes | None], config: SensorConfig, clock: Callable[[], float],
        system_clock: Callable[[], SensorClock | None] = system_clock,
    ) -> None:  # fmt: skip
        """news: a bundle that the engine does not have yet. clock: monotonic seconds. system_clock: what stamps frames."""
        self._engine, self._spool, self._news, self._config, self._clock = engine, spool, news, config, clock
        self._system_clock = system_clock
        self._spoke_at = -config.heartbeat_s
        self._judging: bool | None = None
        self._lost = 0

    def run(self, stop: threading.Event) -> None:
        pause = usual = self._config.batch_s
        while not stop.is_set():
            began = self._clock()
            self.once(int(usual * 1000))
            pause = next_pause(pause, usual, self._spool.waiting())
            stop.wait(max(0.0, pause - (self._clock() - began)))
        self.once(0)

    def once(self, timeout_ms: int) -> None:
        """One poll: a new bundle first, then one batch or several, or none while there is nothing to tell."""
        bundle = self._news()
        if bundle:
            self._engine.set_bundle(bundle)
        told: dict[str, Any] = json.loads(self._engine.poll(timeout_ms))
        self._say_judging(told["judging"])
        told["health"]["dropped"]["spool"] = self._lost
        found = self._system_clock()
        told["health"]["clock"] = found and asdict(found)
        is_due = self._clock() - self._spoke_at >= self._config.heartbeat_s
        if not (told["verdicts"] or told["observations"] or told.get("shape") or self._spool.has_gaps() or is_due or bundle):
            return
        for part in _parts(told):
            if not self._spool.append(part):
                if not self._lost:
                    log.error("the spool is full: leaving batches out and recording the gap")
                self._lost += 1
        self._spoke_at = self._clock()

    def _say_judging(self, judging: bool) -> None:
        if judging != self._judging:
            log.warning("judging" if judging else "no bundle yet: counting, but judging nothing")
        self._judging = judging


def next_pause(pause: float, usual: float, waiting: int) -> float:
    """Seconds from one batch to the next: doubled while batches wait, halved down to the usual when they are delivered."""
    if waiting > BACKLOG:
        return min(pause * 2, max(usual, LONGEST_PAUSE_S))
    return pause if waiting > 1 else max(pause / 2, usual)


def _parts(told: dict[str, Any]) -> Iterator[dict[str, Any]]:
    verdicts = [told["verdicts"][at : at + MAX_VERDICTS] for at in range(0, len(told["verdicts"]), MAX_VERDICTS)]
    nothing: list[dict[str, Any]] = []
    for some, seen in zip_longest(verdicts or [nothing], _packed(told["observations"]), fillvalue=nothing):
        yield {**told, "verdicts": some, "observations": seen}
        told["shape"] = None  # told once


def _packed(observations: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """In groups of at most MAX_ROWS, an observation and each of its sources being one; a larger one stands alone."""
    groups: list[list[dict[str, Any]]] = []
    room = 0
    for observation in observations:
        size = 1 + len(observation["sources"])
        if size > room:
            groups.append([])
            room = MAX_ROWS
        groups[-1].append(observation)
        room -= size
    return groups


def run(
    config: SensorConfig, *, open_engine: Callable[[SensorConfig, bytes | None], Engine], check_bundle: Callable[[bytes], str],
    stream: UUID, stop: threading.Event, chance: random.Random,
) -> None:  # fmt: skip
    """Until `stop` is set. Raises BadInput for a token or spool that cannot be used, and what the engine raises."""
    config.token()
    spool = Spool(config.spool_dir, sensor=config.name, stream=str(stream), max_bytes=config.spool_bytes)
    fetching, sending = (Client(config, config.token, lambda: spool.backlog(time.time())) for _ in range(2))
    keeper = BundleKeeper(fetching, stop, config.bundle_s, check_bundle, config.spool_dir / "bundle.json")
    sender = Sender(spool, sending, stop, Backoff(chance))
    if config.is_replay:  # a capture waits for its judge; live packets do not
        keeper.start()
    engine = open_engine(config, keeper.news())
    log.warning("sensor %s, stream %s, %s batches wait from before", config.name, stream, spool.waiting())
    if not config.is_replay:
        keeper.start()
    threads = [threading.Thread(target=work.run, name=type(work).__name__, daemon=True) for work in (keeper, sender)]
    for thread in threads:
        thread.start()
    try:
        Collector(engine, spool, keeper.news, config, time.monotonic).run(stop)
    finally:
        stop.set()
        engine.close()
        for thread in threads:
            thread.join(DRAIN_S)
        end = time.monotonic() + DRAIN_S
        if not threads[1].is_alive():
            sender.drain(lambda: time.monotonic() > end)
        for client in (fetching, sending):
            client.close()
        spool.close()
