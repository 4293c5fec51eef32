"""Two errands beside the capture: batches from the spool to the service, and the bundle from the service."""

from __future__ import annotations

import contextlib
import logging
import random
import threading
from collections.abc import Callable
from pathlib import Path

from flowguard.sensor.client import NETWORK_ERRORS, Answer, Client
from flowguard.sensor.spool import Entry, Spool
from policyhub.domain.errors import PolicyHubError

FIRST_WAIT_S, LONGEST_WAIT_S = 0.2, 30.0
TAKEN = (200, 201)
# The service will say the same to the same bytes, for ever.
REFUSED = (400, 409, 413, 415, 422)

log = logging.getLogger(__name__)


class Backoff:
    """Doubles up to `longest` seconds, with jitter so that many sensors do not come back in step."""

    def __init__(self, chance: random.Random, longest: float = LONGEST_WAIT_S) -> None:
        self._chance, self._longest, self._wait = chance, longest, FIRST_WAIT_S

    def next(self) -> float:
        wait, self._wait = self._wait, min(self._wait * 2, self._longest)
        return wait * self._chance.uniform(0.5, 1.0)

    def reset(self) -> None:
        self._wait = FIRST_WAIT_S


class Sender:
    """Sends in order; a batch leaves the disk only after the service said that it has it."""

    def __init__(self, spool: Spool, client: Client, stop: threading.Event, backoff: Backoff) -> None:
        self._spool, self._client, self._stop, self._backoff = spool, client, stop, backoff
        self._trouble = ""

    def run(self) -> None:
        while not self._stop.is_set():
            entry = self._spool.oldest()
            if entry is None:
                self._spool.came.wait(0.2)
            elif not self.deliver(entry):
                self._stop.wait(self._backoff.next())

    def drain(self, until: Callable[[], bool]) -> None:
        """At the end: send what waits, without waiting for a service that is away."""
        while not until() and (entry := self._spool.oldest()) and self.deliver(entry):
            continue

    def deliver(self, entry: Entry) -> bool:
        """False when it must be tried again."""
        try:
            answer = self._client.post_batch(entry.payload)
        except (*NETWORK_ERRORS, PolicyHubError) as error:
            self._note(f"cannot deliver, {self._spool.waiting()} batches wait on disk: {error or type(error).__name__}")
            return False
        if answer.status in TAKEN:
            self._spool.done(entry)
        elif answer.status in REFUSED:
            self._spool.refuse(entry, f"refused-{answer.status}")
            log.error("batch %s/%s refused: %s %s", entry.stream, entry.sequence, answer.status, answer.reason())
        else:
            self._note(f"cannot deliver, {self._spool.waiting()} batches wait on disk: {answer.status} {answer.reason()}")
            return False
        self._backoff.reset()
        self._note("")
        return True

    def _note(self, trouble: str) -> None:
        """One line when it starts and one when it is over, not one per try."""
        if trouble and not self._trouble:
            log.warning("%s", trouble)
        elif self._trouble and not trouble:
            log.warning("delivering again")
        self._trouble = trouble


class BundleKeeper:
    """Asks for the bundle at the start and then every `every_s`; the collector picks up a new one between two polls."""

    def __init__(self, client: Client, stop: threading.Event, every_s: float, check: Callable[[bytes], str], kept: Path) -> None:
        """check: validates a bundle and returns its version, or raises. kept: file of the last one, for a start alone."""
        self._client, self._stop, self._every_s, self._check, self._kept = client, stop, every_s, check, kept
        self._etag, self._new, self._lock = "", b"", threading.Lock()
        self._trouble = ""

    def run(self) -> None:
        while not self._stop.is_set():
            self.ask()
            self._stop.wait(self._every_s)

    def start(self) -> None:
        """Before the first packet is looked at: the service's bundle, else the one of the last run, else none."""
        self.ask()
        if not self._etag and self._kept.exists():
            self._use(self._kept.read_bytes(), "the bundle of the last run")

    def ask(self) -> None:
        try:
            answer = self._client.get_bundle(self._etag)
        except (*NETWORK_ERRORS, PolicyHubError) as error:
            self._note(f"no news of the bundle: {error or type(error).__name__}")
            return
        if answer.status == 200:
            self._take(answer)
        elif answer.status != 304:
            self._note(f"no news of the bundle: {answer.status} {answer.reason()}")
        else:
            self._note("")

    def news(self) -> bytes | None:
        """A bundle that the engine does not have yet, once."""
        with self._lock:
            new, self._new = self._new, b""
            return new or None

    def _take(self, answer: Answer) -> None:
        if self._use(answer.body, "bundle"):
            self._etag = answer.etag
            with contextlib.suppress(OSError):  # a full disk: the next start asks the service
                new = self._kept.with_suffix(".new")
                new.write_bytes(answer.body)
                new.replace(self._kept)
            self._note("")

    def _use(self, body: bytes, what: str) -> bool:
        try:
            version = self._check(body)
        except Exception as error:  # whatever the engine says of it: keep the bundle that works
            self._note(f"{what} cannot be used: {error}")
            return False
        with self._lock:
            self._new = body
        log.info("%s %s", what, version)
        return True

    def _note(self, trouble: str) -> None:
        if trouble and trouble != self._trouble:
            log.warning("%s", trouble)
        self._trouble = trouble
