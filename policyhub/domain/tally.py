"""What happens too often for a line of the log each: counted by whom, told at most once a minute, however many they are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

EACH_S = 60.0


class Tally:
    """told_at: by the clock, in seconds, when somebody was told last."""

    def __init__(self, clock: Callable[[], float], told_at: float) -> None:
        self._clock, self._told_at = clock, told_at
        self._counts: Counter[str] = Counter()

    def add(self, what: str) -> None:
        self._counts[what] += 1

    def due(self) -> Counter[str]:
        """All since it was told last, which now begins anew; nothing before a minute is over."""
        if not self._counts or self._clock() - self._told_at < EACH_S:
            return Counter()
        counts, self._counts, self._told_at = self._counts, Counter(), self._clock()
        return counts
