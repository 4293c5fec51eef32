"""How large one text may become: masks with holes and nested groups multiply, and nothing may be a thousand times its text."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

from policyhub.domain.addresses import AddressSet

P = ParamSpec("P")
R = TypeVar("R")
LEAST_SPANS = 3_000
CHARACTERS_OF_A_SPAN = 16  # an interval takes eight times the bytes of a character of them
LEAST_MEMBERS = 100_000  # members are shared: each takes one place in a tuple


class Expansion:
    """What is left for one text. spans: intervals that masks with holes may still make; members: those of resolved names.

    masks: (base, free bits) -> its addresses, made once however many rules name them.
    """

    __slots__ = ("masks", "members", "spans")

    def __init__(self, size: int) -> None:
        self.spans = max(LEAST_SPANS, size // CHARACTERS_OF_A_SPAN)
        self.members = max(LEAST_MEMBERS, size)
        self.masks: dict[tuple[int, int], AddressSet] = {}

    def take_spans(self, amount: int) -> bool:
        """Whether there are as many left; they are then taken."""
        if amount > self.spans:
            return False
        self.spans -= amount
        return True


_CURRENT: ContextVar[Expansion] = ContextVar("expansion")


def current() -> Expansion:
    """Of the text that is parsed; outside of a parse one that nothing else uses."""
    return _CURRENT.get(None) or Expansion(0)


def expanding(read: Callable[Concatenate[str, P], R]) -> Callable[Concatenate[str, P], R]:
    """A reader whose text has an expansion of its own."""

    @wraps(read)
    def bounded(text: str, /, *others: P.args, **named: P.kwargs) -> R:
        token = _CURRENT.set(Expansion(len(text)))
        try:
            return read(text, *others, **named)
        finally:
            _CURRENT.reset(token)

    return bounded
