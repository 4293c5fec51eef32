"""A network namespace of its own for one test; nothing outside it is touched."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True)
class Namespace:
    name: str

    def run(self, command: str, timeout: float = 120) -> subprocess.CompletedProcess[str]:
        """A shell command line inside the namespace."""
        argv = ["ip", "netns", "exec", self.name, "sh", "-c", command]
        return subprocess.run(argv, capture_output=True, text=True, timeout=timeout, check=False)

    def must(self, command: str) -> str:
        done = self.run(command)
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        return done.stdout


@contextmanager
def namespace(tag: str) -> Iterator[Namespace]:
    name = f"pht-{tag}-{os.getpid()}"
    done = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"cannot make a network namespace (root and iproute2 are needed): {done.stderr}"
    try:
        space = Namespace(name)
        space.must("ip link set lo up")
        yield space
    finally:
        subprocess.run(["ip", "netns", "del", name], check=False)
