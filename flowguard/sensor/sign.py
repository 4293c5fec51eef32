"""One line of an examination."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sign:
    """is_doubt: it works, and should be mended all the same."""

    ok: bool
    text: str
    is_doubt: bool = False

    def __str__(self) -> str:
        return f"{'WARNING' if self.is_doubt else 'ok     ' if self.ok else 'MISSING'}  {self.text}"
