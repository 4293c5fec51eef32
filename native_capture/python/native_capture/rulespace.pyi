"""Exact analysis of ordered rules; see native_capture/crates/rulespace. Pure: values in, values out."""

from collections.abc import Sequence

def analyse(
    axes: Sequence[Sequence[tuple[int, Sequence[tuple[int, int]]]]],
    rules: Sequence[tuple[str, bool, bool, Sequence[Sequence[int]]]],
    *,
    default_action: str | None = None,
    below: bool = True,
    witnesses: bool = False,
    budget: int = 10_000_000,
) -> list[tuple[str, list[int], bool, list[tuple[int, int]] | None]]:
    """State, causes, whether the default is one of them, and a witness, for every rule.

    axes: per axis a table of value sets (space, intervals); rules: (action, enabled, exact, boxes), a box naming one set
    of each axis. Raises ValueError for an unknown action or a set that does not exist.
    """

def matching(
    axes: Sequence[Sequence[tuple[int, Sequence[tuple[int, int]]]]],
    rules: Sequence[tuple[str, bool, bool, Sequence[Sequence[int]]]],
    points: Sequence[Sequence[tuple[int, int] | None]],
) -> list[list[int]]:
    """Per point: the rules that may decide it, in order, up to the first that certainly does; None = unknown on that axis."""
