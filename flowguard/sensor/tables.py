"""Plain tables and figures for people at a terminal."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence

from policyhub.domain.terminal import columns, padded

# msgid -> text in the reader's language
Read = Callable[[str], str]


def table(title: str, head: Sequence[str], rows: Iterable[Sequence[str]], right: Container[int]) -> str:
    """Columns under their heads, those of `right` at the right; nothing without rows."""
    lines = [list(head), *map(list, rows)]
    if len(lines) == 1:
        return ""
    widths = [max(columns(line[column]) for line in lines) for column in range(len(head))]
    texts = []
    for line in lines:
        cells = [padded(cell, width, right=at in right) for at, (cell, width) in enumerate(zip(line, widths, strict=True))]
        texts.append("  ".join(cells).rstrip())
    return "\n".join([title, *(f"  {text}" for text in texts)])


def count(value: int) -> str:
    return f"{value:,}"


def share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.2f} %" if whole else "-"


def ns(value: int | None) -> str:
    if value is None:
        return "-"
    if value >= 10**9:
        return f"{value / 1e9:.2f} s"
    return f"{value / 1e6:.2f} ms" if value >= 10**6 else f"{value / 1e3:.1f} us"


def byte_count(value: int) -> str:
    for unit, size in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if value >= size:
            return f"{value / size:.1f} {unit}"
    return f"{value} B"
