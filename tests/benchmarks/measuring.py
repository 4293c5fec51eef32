"""CPU seconds of programs, the way the contract defines figures: user + system of all threads, median of alternated runs."""

from __future__ import annotations

import os
import platform
import resource
import statistics
import subprocess
from collections.abc import Mapping, Sequence

RUNS = 5


def cpu_seconds(argv: Sequence[str]) -> float:
    """User + system seconds of the program and its children; it must succeed (or report findings)."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=600)
    assert done.returncode in (0, 1), done.stderr.decode()[-500:]
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime - before.ru_utime) + (after.ru_stime - before.ru_stime)


def medians(programs: Mapping[str, Sequence[str]]) -> dict[str, float]:
    """Median CPU seconds of each program over RUNS alternated runs, after one that warms the caches."""
    seen: dict[str, list[float]] = {name: [] for name in programs}
    for round_ in range(RUNS + 1):
        for name, argv in programs.items():
            spent = cpu_seconds(argv)
            if round_:
                seen[name].append(spent)
    return {name: statistics.median(values) for name, values in seen.items()}


def report(title: str, **figures: object) -> None:
    """One line with the machine and its load beside the figures."""
    load = "/".join(f"{value:.1f}" for value in os.getloadavg())
    shown = " ".join(f"{name}={value:.3f}" if isinstance(value, float) else f"{name}={value}" for name, value in figures.items())
    print(f"\nbench {title}: {shown} | {platform.machine()} {os.cpu_count()} CPUs, load {load}")
