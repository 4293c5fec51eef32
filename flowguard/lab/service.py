"""`policyhub up` as a child process on a fresh data folder, and this process's own view of its database."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")
POLICYHUB = str(Path(sys.executable).with_name("policyhub"))
READY_WITHIN_S = 90.0


class LabTimeout(RuntimeError):
    """Something awaited did not come; the message says what."""


def wait(what: str, look: Callable[[], T | None], within_s: float, every_s: float = 0.2) -> T:
    """The first result that is neither None nor False. Raises LabTimeout."""
    until = time.monotonic() + within_s
    while True:
        found = look()
        if found is not None and found is not False:
            return found
        if time.monotonic() > until:
            raise LabTimeout(f"{what}: not within {within_s:.0f} s")
        time.sleep(every_s)


class Service:
    """A running service. Leaving the context stops it the way an operator would."""

    def __init__(self, data: Path, host: str, port: int) -> None:
        self.data, self.url = data, f"http://{host}:{port}"
        argv = [POLICYHUB, "up", "--data", str(data), "--host", host, "--port", str(port)]
        self.log = (data.parent / "up.log").open("wb")
        self._process = subprocess.Popen(
            argv, stdout=self.log, stderr=subprocess.STDOUT, env={**os.environ, "POLICYHUB_DATA": str(data)}
        )

    def __enter__(self) -> Service:
        try:
            wait("the service is ready", self._ready, READY_WITHIN_S)
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self._process.kill()
        self.log.close()

    def _ready(self) -> bool:
        if self._process.poll() is not None:
            raise LabTimeout(f"policyhub up ended: {(self.data.parent / 'up.log').read_text()[-2000:]}")
        try:
            with urllib.request.urlopen(f"{self.url}/readyz", timeout=2) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError):
            return False

    def signal_workers(self, mark: str, number: signal.Signals) -> int:
        """Send a signal to every process below the supervisor whose command line contains `mark`; how many there were."""
        hit = 0
        for pid in _descendants(self._process.pid):
            command = Path(f"/proc/{pid}/cmdline")
            if command.exists() and mark.encode() in command.read_bytes():
                os.kill(pid, number)
                hit += 1
        return hit


def _descendants(root: int) -> list[int]:
    children: dict[int, list[int]] = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        children.setdefault(int(fields[1]), []).append(int(status.parent.name))
    found, queue = [], [root]
    while queue:
        below = children.get(queue.pop(), [])
        found += below
        queue += below
    return found


def open_database(data: Path) -> None:
    """Django on the service's data folder, for rows that have no command yet and for looking at the result."""
    os.environ["POLICYHUB_DATA"] = str(data)
    os.environ["DJANGO_SETTINGS_MODULE"] = "policyhub.conf.settings.embedded"  # whatever the parent, e.g. a test run, has set
    import django

    django.setup()
