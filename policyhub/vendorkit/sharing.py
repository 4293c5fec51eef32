"""Large texts in little memory: one object for equal words, small children in trees, lists that shrink while they are read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Generic, TypeVar

T = TypeVar("T")

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


NOTHING: Mapping[str, Any] = MappingProxyType({})


class One(Mapping[str, T], Generic[T]):
    """A mapping of one name, as most words of a tree have one word below: a quarter of the size of a dict."""

    __slots__ = ("_name", "_value")

    def __init__(self, name: str, value: T) -> None:
        self._name = name
        self._value = value

    def __getitem__(self, name: str) -> T:
        if name != self._name:
            raise KeyError(name)
        return self._value

    def __iter__(self) -> Iterator[str]:
        return iter((self._name,))

    def __len__(self) -> int:
        return 1


def drained(items: list[T]) -> Iterator[T]:
    """The items of a list in their order, each taken out of it when it is asked for: what is large is forgotten one by one."""
    items.reverse()
    while items:
        yield items.pop()


def with_child(children: Mapping[str, T], name: str, child: T) -> Mapping[str, T]:
    """The children with one more: nothing becomes `One`, and that a dict, which is changed in place from then on."""
    if isinstance(children, dict):
        children[name] = child
        return children
    return {**children, name: child} if children else One(name, child)
