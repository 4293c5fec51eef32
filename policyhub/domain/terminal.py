"""Text on a terminal, where a Chinese character takes two columns."""

from __future__ import annotations

import unicodedata


def columns(text: str) -> int:
    """How many it takes."""
    return len(text) + sum(unicodedata.east_asian_width(letter) in "WF" for letter in text)


def padded(text: str, width: int, *, right: bool = False) -> str:
    """Filled with blanks to so many columns, at its end, or before it."""
    blanks = " " * max(0, width - columns(text))
    return blanks + text if right else text + blanks
