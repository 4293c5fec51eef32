"""A real `policyhub up` on a folder of its own, and what its processes are."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

from tests.support.services import ROOT, wait_until

UP = [sys.executable, "-m", "policyhub.conf.cli", "up"]
URL = re.compile(r"open\s+(http://\S+)")
PROGRAMS = ("redis", "web", "worker", "worker-decide", "worker-enforce", "scheduler")
SIGNS = {
    "redis": "redis-server unixsocket",
    "web": "policyhub.conf.web",
    "worker-decide": "--queues decide",
    "worker-enforce": "--queues enforce",
    "worker": "--queues ingest,sweep",
    "scheduler": "policyhub.conf.scheduler",
}


def clean_environment(**extra: str) -> dict[str, str]:
    """Ours without what the test session set for its own services."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("POLICYHUB_", "DJANGO_", "COV_"))}
    return {**kept, "PYTHONPATH": str(ROOT), **extra}


def refused(data: Path, *arguments: str, **environment: str) -> tuple[int, str]:
    """Exit code and standard error of an `up` that is expected not to start."""
    done = subprocess.run(
        [*UP, "--data", str(data), *arguments],
        capture_output=True,
        text=True,
        timeout=180,
        env=clean_environment(**environment),
        cwd="/",
    )
    return done.returncode, done.stderr


class Running:
    """`with Running(folder) as hub:`; started and ready inside the block, gone after it."""

    def __init__(self, data: Path, *arguments: str, **environment: str) -> None:
        self.data, self.arguments, self._environment = data, arguments, environment
        self.said = data.parent / f"{data.name}.said"
        self.url = ""

    def __enter__(self) -> Running:
        with self.said.open("ab") as said:
            seen = self.said.stat().st_size
            self.process = subprocess.Popen(
                [*UP, "--data", str(self.data), "--port", "0", *self.arguments],
                stdout=said, stderr=said, env=clean_environment(**self._environment), cwd="/", start_new_session=True,
            )  # fmt: skip
        try:
            wait_until(lambda: self._stands(seen), lambda: f"policyhub up: {self.text()}\n{self.logs()[-3000:]}", 150)
            self.url = URL.findall(self.text())[-1]
        except BaseException:
            self._end()
            raise
        return self

    def _stands(self, seen: int) -> bool:
        """The last line of the greeting is there. Raises AssertionError when `up` has ended instead."""
        assert self.process.poll() is None, self.text()[seen:]
        return "stop   Ctrl-C" in self.text()[seen:]

    def __exit__(self, *_: object) -> None:
        self._end()

    def _end(self) -> None:
        if self.process.poll() is None:
            self.process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(240)
        for pid in self.family():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()

    def text(self) -> str:
        return self.said.read_text(errors="replace")

    def logs(self) -> str:
        return "\n".join(
            f"== {log.name}\n{log.read_text(errors='replace')[-700:]}" for log in sorted(self.data.glob("logs/*.log"))
        )

    def stop(self, sign: int = signal.SIGTERM) -> int:
        self.process.send_signal(sign)
        return self.process.wait(240)

    def family(self) -> list[int]:
        """Every process that holds the lock of our folder or names the folder in its environment, but not `up` itself."""
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and int(entry.name) not in (self.process.pid, os.getpid()) and self._is_ours(entry):
                found.append(int(entry.name))
        return found

    def _is_ours(self, entry: Path) -> bool:
        with contextlib.suppress(OSError):
            if f"POLICYHUB_DATA={self.data}".encode() in (entry / "environ").read_bytes().split(b"\0"):
                return True
            lock = str(self.data / "lock")
            return any(os.readlink(link) == lock for link in (entry / "fd").iterdir())
        return False

    def leaders(self, program: str) -> list[int]:
        """Of a program: one process when it runs, none while it starts, two while a dead one is not yet gone."""
        found = []
        for pid in self.family():
            with contextlib.suppress(OSError):
                line = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                if SIGNS[program] in line and os.getsid(pid) == pid:
                    found.append(pid)
        return found

    def pid(self, program: str, but: int = 0) -> int:
        """The leader of a program, another than `but`; waits for it. Raises ServiceFailed when there is none in time."""
        found: list[int] = []

        def one() -> bool:
            found[:] = self.leaders(program)
            return len(found) == 1 and found[0] != but

        wait_until(one, lambda: f"{program}: leaders {found}\n{self.text()[-800:]}")
        return found[0]

    def ready(self) -> dict[str, str]:
        """The checks of /readyz."""
        try:
            with urllib.request.urlopen(f"{self.url}/readyz", timeout=5) as answer:
                return dict(json.load(answer)["checks"])
        except urllib.error.HTTPError as error:
            with error:
                return dict(json.load(error)["checks"])
        except OSError:
            return {"web": "no answer"}

    def is_ready(self) -> bool:
        return all(result == "ok" for result in self.ready().values())

    def gone(self, seconds: float = 60.0) -> list[int]:
        """What is left of the family after at most `seconds`."""
        deadline = time.monotonic() + seconds
        while (left := self.family()) and time.monotonic() < deadline:
            time.sleep(0.1)
        return left
