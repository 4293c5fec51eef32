"""Command lines of the service's processes; the supervisor, the containers and the tests start the same ones."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

WORKERS: dict[str, tuple[str, ...]] = {"worker": ("ingest", "sweep"), "worker-enforce": ("enforce",)}


def worker_argv(name: str, queues: Iterable[str], concurrency: int = 2) -> list[str]:
    """A Celery worker. Without gossip, mingle and its own heartbeat: nobody listens, and they cost Redis messages each second."""
    return [
        *(sys.executable, "-m", "celery", "-A", "policyhub.conf.celery", "worker"),
        *("--hostname", f"{name}@%h", "--queues", ",".join(queues), "--concurrency", str(concurrency)),
        *("--without-gossip", "--without-mingle", "--without-heartbeat", "--loglevel", "INFO"),
    ]


def web_argv(arguments: Sequence[str]) -> list[str]:
    return [sys.executable, "-m", "policyhub.conf.web", *arguments]


def scheduler_argv() -> list[str]:
    return [sys.executable, "-m", "policyhub.conf.scheduler"]
