"""CPU seconds of programs, the way the contract defines figures: user + system of all threads, median of alternated runs."""

from __future__ import annotations

import os
import platform
import statistics
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

RUNS = 5
LIMIT_S = 600
#: A program that takes longer than this runs once, and the table says so.
SLOW_S = 20.0


@dataclass(frozen=True, slots=True)
class Spent:
    """cpu_s: user + system of all threads and children; wall_s: beside it, to see what the machine was like."""

    cpu_s: float
    wall_s: float


def run(argv: Sequence[str]) -> Spent:
    """What the program used; it must succeed (or report findings)."""
    with tempfile.TemporaryFile() as told:
        began = time.monotonic()
        process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=told)
        guard = threading.Timer(LIMIT_S, process.kill)
        guard.start()
        _, status, used = os.wait4(process.pid, 0)
        guard.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        told.seek(0)
        assert process.returncode in (0, 1), f"{argv[0]}: {process.returncode} {told.read().decode(errors='replace')[-500:]}"
    return Spent(used.ru_utime + used.ru_stime, time.monotonic() - began)


def cpu_seconds(argv: Sequence[str]) -> float:
    """User + system seconds of the program and its children; it must succeed (or report findings)."""
    return run(argv).cpu_s


def alternated(programs: Mapping[str, Sequence[str]]) -> dict[str, list[Spent]]:
    """RUNS alternated runs of each, after one that warms the caches; of a slow program that one only."""
    seen: dict[str, list[Spent]] = {}
    for _ in range(RUNS + 1):
        for name, argv in programs.items():
            known = seen.setdefault(name, [])
            if not known or known[0].cpu_s <= SLOW_S:
                known.append(run(argv))
    return {name: spent[1:] or spent for name, spent in seen.items()}


def medians(programs: Mapping[str, Sequence[str]]) -> dict[str, float]:
    """Median CPU seconds of each program over alternated runs."""
    return {name: statistics.median(each.cpu_s for each in spent) for name, spent in alternated(programs).items()}


def machine() -> str:
    """Processor, count of CPUs and the load of now."""
    load = "/".join(f"{value:.1f}" for value in os.getloadavg())
    return f"{processor()}, {os.cpu_count()} CPUs, load {load}"


def processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return next(line.split(":", 1)[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.machine()


def report(title: str, **figures: object) -> None:
    """One line with the machine and its load beside the figures."""
    shown = " ".join(f"{name}={value:.3f}" if isinstance(value, float) else f"{name}={value}" for name, value in figures.items())
    print(f"\nbench {title}: {shown} | {machine()}")
