"""Names in an order that commands change (`move A before B`), each change in constant time: texts may hold many thousands."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

_ENDS = object()


class Order:
    """A ring of names; the mark between the last and the first is no name."""

    __slots__ = ("_after", "_before")

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._after: dict[object, object] = {_ENDS: _ENDS}
        self._before: dict[object, object] = {_ENDS: _ENDS}
        for name in names:
            self.append(name)

    def __contains__(self, name: str) -> bool:
        return name in self._after

    def __iter__(self) -> Iterator[str]:
        at = self._after[_ENDS]
        while isinstance(at, str):
            yield at
            at = self._after[at]

    def append(self, name: str) -> None:
        """A name that is there already stays where it is."""
        if name not in self._after:
            self._put(name, self._before[_ENDS])

    def move(self, name: str, place: str, other: str = "") -> bool:
        """`top`, `bottom`, `before` or `after` another name; False, and nothing happens, when a name is unknown."""
        if name not in self._after or (place in ("before", "after") and (other not in self._after or other == name)):
            return False
        if place not in ("top", "bottom", "before", "after"):
            return False
        self._join(self._before[name], self._after[name])
        behind = {"top": _ENDS, "after": other}.get(place)
        if behind is None:
            behind = self._before[_ENDS] if place == "bottom" else self._before[other]
        self._put(name, behind)
        return True

    def _put(self, name: str, behind: object) -> None:
        following = self._after[behind]
        self._join(behind, name)
        self._join(name, following)

    def _join(self, first: object, second: object) -> None:
        self._after[first] = second
        self._before[second] = first
