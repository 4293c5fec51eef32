"""Command lines of the service's processes; the supervisor, the containers and the tests start the same ones."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

WORKERS: dict[str, tuple[str, ...]] = {
    "worker": ("ingest", "sweep"),
    "worker-decide": ("decide",),  # apart: a flood of verdicts must hold up neither the batches nor the newest evidence
    "worker-enforce": ("enforce",),
}
CHILDREN = 2
CHILDREN_OF = {"worker-decide": 1}  # decisions of one realm wait for each other anyway


def worker_argv(name: str, queues: Iterable[str], concurrency: int | None = None) -> list[str]:
    """A Celery worker; concurrency None: what its role calls for.

    Without gossip, mingle and its own heartbeat: nobody listens, and they cost Redis messages each second.
    """
    children = CHILDREN_OF.get(name, CHILDREN) if concurrency is None else concurrency
    return [
        *(sys.executable, "-m", "celery", "-A", "policyhub.conf.celery", "worker"),
        *("--hostname", f"{name}@%h", "--queues", ",".join(queues), "--concurrency", str(children)),
        *("--without-gossip", "--without-mingle", "--without-heartbeat", "--loglevel", "INFO"),
    ]


def web_argv(arguments: Sequence[str]) -> list[str]:
    return [sys.executable, "-m", "policyhub.conf.web", *arguments]


def scheduler_argv() -> list[str]:
    return [sys.executable, "-m", "policyhub.conf.scheduler"]
