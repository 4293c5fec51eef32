"""One object for equal texts of a configuration: the same few words stand in every rule."""

from __future__ import annotations

MOST = 512  # texts known at a time; most texts, addresses above all, never come again, and holding them would cost more


class Pool:
    """`pool(text)` is the text, as the object that came first. For one parse: nothing of it outlives the text."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[str, str] = {}

    def __call__(self, text: str) -> str:
        known = self._known.get(text)
        if known is None:
            if len(self._known) >= MOST:
                self._known.clear()
            known = self._known[text] = text
        return known
