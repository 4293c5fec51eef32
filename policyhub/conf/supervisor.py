"""Keeps a set of processes running, restarts what ends, stops them in order. One thread, no Django.

Every child leads a session of its own, so that Ctrl-C reaches only us and a whole family can be killed, and asks the kernel for
SIGTERM should we die ourselves. All children hold our lock file open: while one of them lives, no second service starts.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from policyhub.conf.rotating import RotatingLog

FIRST_PAUSE_S = 0.5
MAX_PAUSE_S = 30.0
STABLE_S = 60.0
QUICK_FAILURES = 3
_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True, slots=True)
class Program:
    """stage: programs of a higher stage start later and stop earlier. ready: must say yes before the next stage starts.

    grace_s: time between SIGTERM and SIGKILL. mend: called after three quick failures, before the next try.
    """

    name: str
    argv: list[str]
    stage: int = 1
    grace_s: float = 10.0
    ready: Callable[[], bool] | None = None
    pass_fds: tuple[int, ...] = ()
    mend: Callable[[], str] | None = None


@dataclass(slots=True)
class Child:
    program: Program
    log: RotatingLog
    process: subprocess.Popen[bytes] | None = None
    started: float = 0.0
    due: float = 0.0
    pause_s: float = FIRST_PAUSE_S
    failures: int = 0
    restarts: int = field(default=0)


def _die_with_parent() -> None:
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


class Supervisor:
    """`add` programs, then `run` until SIGTERM, SIGINT or SIGHUP. `every` callbacks run about each 0.2 s and must be quick."""

    def __init__(self, *, logs: Path, environment: Mapping[str, str], say: Callable[[str], None], hold_fd: int) -> None:
        self._logs, self._environment, self._say, self._hold_fd = logs, dict(environment), say, hold_fd
        self._children: dict[str, Child] = {}
        self._selector = selectors.DefaultSelector()
        self._stop_asked = 0
        self.every: list[Callable[[], None]] = []

    def add(self, programs: Iterable[Program]) -> None:
        for program in programs:
            self._children[program.name] = Child(program, RotatingLog(self._logs / f"{program.name}.log"))

    @property
    def pids(self) -> dict[str, int]:
        return {name: child.process.pid for name, child in self._children.items() if child.process is not None}

    @property
    def stopping(self) -> bool:
        return self._stop_asked > 0

    def ask_to_stop(self, *_: object) -> None:
        self._stop_asked += 1

    def run(self) -> None:
        """Blocks. Every process is gone when it returns or raises."""
        for name in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(name, self.ask_to_stop)
        read_end, write_end = os.pipe()
        os.set_blocking(read_end, False)
        os.set_blocking(write_end, False)
        signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)
        self._selector.register(read_end, selectors.EVENT_READ, None)
        try:
            while not self._stop_asked:
                self._start_due()
                self._pump(0.2)
                self._reap()
                for callback in self.every:
                    callback()
        finally:
            self._stop_all()
            signal.set_wakeup_fd(-1)
            self._selector.close()
            os.close(read_end)
            os.close(write_end)

    def run_once(self, program: Program) -> int:
        """Start a program beside the others and wait for its end, keeping them served; its exit code (negative: signal)."""
        child = Child(program, RotatingLog(self._logs / f"{program.name}.log"))
        self._start(child)
        assert child.process is not None
        while child.process.poll() is None:
            self._pump(0.2)
            self._reap()
            self._start_due()
            if self._stop_asked:
                child.process.terminate()
        self._pump(0)
        code = int(child.process.returncode)
        self._end_family(child)
        child.log.close()
        return code

    def tail(self, name: str) -> list[str]:
        return RotatingLog(self._logs / f"{name}.log").tail()

    # -- one turn

    def _start_due(self) -> None:
        now = time.monotonic()
        for child in sorted(self._children.values(), key=lambda child: child.program.stage):
            if child.process is None and child.due <= now and self._lower_stages_ready(child.program.stage):
                self._start(child)

    def _lower_stages_ready(self, stage: int) -> bool:
        lower = [child for child in self._children.values() if child.program.stage < stage]
        return all(child.process is not None and (child.program.ready is None or child.program.ready()) for child in lower)

    def _start(self, child: Child) -> None:
        program = child.program
        try:
            child.process = subprocess.Popen(
                program.argv,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env=self._environment,
                pass_fds=(self._hold_fd, *program.pass_fds),
                start_new_session=True,
                preexec_fn=_die_with_parent,  # safe: one thread, so nothing can hold a lock over the fork
            )
        except OSError as error:
            self._failed(child, f"cannot start: {error.strerror}")
            return
        child.started = time.monotonic()
        assert child.process.stdout is not None
        os.set_blocking(child.process.stdout.fileno(), False)
        self._selector.register(child.process.stdout, selectors.EVENT_READ, child)

    def _pump(self, timeout_s: float) -> None:
        """Move what the children wrote into their logs."""
        for key, _ in self._selector.select(timeout_s):
            with contextlib.suppress(BlockingIOError):
                data = os.read(key.fd, 65_536)
                if key.data is None:
                    continue
                if data:
                    key.data.log.write(data)
                else:
                    self._selector.unregister(key.fileobj)

    def _reap(self) -> None:
        for child in self._children.values():
            if child.process is not None and child.process.poll() is not None:
                code = child.process.returncode
                how = f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
                self._end_family(child)
                self._failed(child, how)

    def _failed(self, child: Child, how: str) -> None:
        now = time.monotonic()
        quick = now - child.started < STABLE_S
        child.failures = child.failures + 1 if quick else 1
        child.pause_s = min(2 * child.pause_s, MAX_PAUSE_S) if quick and child.failures > 1 else FIRST_PAUSE_S
        child.due, child.restarts = now + child.pause_s, child.restarts + 1
        self._say(f"{child.program.name}: {how}; starts again in {child.pause_s:g} s")
        if child.failures >= QUICK_FAILURES:
            for line in child.log.tail(3):
                self._say(f"  {line}")
            if child.program.mend is not None and child.failures == QUICK_FAILURES:
                self._say(f"{child.program.name}: {child.program.mend()}")

    # -- the end

    def _end_family(self, child: Child) -> None:
        """Nobody of a dead leader's session stays: orphans of a worker would go on without anybody to count them."""
        assert child.process is not None
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.process.pid, signal.SIGKILL)
        child.process.wait()
        if child.process.stdout is not None:
            with contextlib.suppress(KeyError, ValueError):
                self._selector.unregister(child.process.stdout)
            with contextlib.suppress(BlockingIOError, OSError, ValueError):
                while data := os.read(child.process.stdout.fileno(), 65_536):
                    child.log.write(data)
            child.process.stdout.close()
        child.process = None

    def _stop_all(self) -> None:
        for stage in sorted({child.program.stage for child in self._children.values()}, reverse=True):
            group = [child for child in self._children.values() if child.program.stage == stage and child.process is not None]
            self._stop_stage(group)
        for child in self._children.values():
            child.log.close()

    def _stop_stage(self, group: list[Child]) -> None:
        asked = time.monotonic()
        said = False
        for child in group:
            assert child.process is not None
            child.process.terminate()
        while waiting := [child for child in group if child.process is not None and child.process.poll() is None]:
            self._pump(0.1)
            waited = time.monotonic() - asked
            if waited > 5 and not said:
                said = True
                self._say(f"waiting for {', '.join(child.program.name for child in waiting)} (again Ctrl-C: at once)")
            for child in waiting:
                if waited > child.program.grace_s or self._stop_asked > 1:
                    self._end_family(child)
        for child in group:
            if child.process is not None:
                self._end_family(child)
