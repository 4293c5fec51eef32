"""Maps of marks and classes while their lines are read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from policyhub.domain.qos import QosMap
from policyhub.vendorkit.lexing import NotUnderstood


@dataclass(slots=True)
class _Open:
    made: QosMap
    entries: list[tuple[int, int]]
    lines: list[int]


@dataclass(slots=True)
class MarkMaps:
    """In the order in which they begin."""

    _all: list[_Open] = field(default_factory=list)
    _known: dict[tuple[str, str], _Open] = field(default_factory=dict)

    def begin(self, made: QosMap) -> None:
        """A map of its own, whatever else bears its name."""
        begun = _Open(made, list(made.entries), list(made.lines))
        self._all.append(begun)
        self._known.setdefault((made.name, made.kind), begun)

    def add(self, more: QosMap, most: int | None = None) -> None:
        """Entries and lines of one name and kind add up. Raises NotUnderstood when it has more than `most` entries already."""
        known = self._known.get((more.name, more.kind))
        if known is None:
            self.begin(more)
            return
        if most is not None and len(known.entries) > most:
            raise NotUnderstood("a map with more entries than there are marks and colours")
        known.entries += more.entries
        known.lines += more.lines

    def __iter__(self) -> Iterator[QosMap]:
        for one in self._all:
            yield replace(one.made, entries=tuple(one.entries), lines=tuple(one.lines))
