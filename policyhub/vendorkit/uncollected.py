"""Parsed text is trees without cycles: looking for cycles among them costs a fifth of a parse and finds nothing."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock


@dataclass(slots=True)
class _Rest:
    """The collector belongs to the process: the first of several threads stops it, the last starts it again."""

    lock: Lock = field(default_factory=Lock)
    holders: int = 0
    was_on: bool = False


_REST = _Rest()


@contextmanager
def uncollected() -> Iterator[None]:
    """Python's cycle collector rests meanwhile; everything else is freed as ever. Also decorates a function."""
    with _REST.lock:
        if _REST.holders == 0:
            _REST.was_on = gc.isenabled()
            gc.disable()
        _REST.holders += 1
    try:
        yield
    finally:
        with _REST.lock:
            _REST.holders -= 1
            if _REST.holders == 0 and _REST.was_on:
                # What was made meanwhile counts as young, and the next allocation would walk all of it: made old, it is left
                # alone until the collector looks at everything (docs.python.org/3.11, gc.freeze: moves without looking).
                gc.freeze()
                gc.unfreeze()
                gc.enable()
