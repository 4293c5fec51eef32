"""What the console is made of: navigation, home panels, headlines, search, live streams, acts. Filled when it is first asked.

flowguard registers its own here; policyhub never asks who did. A key registered twice is a programming error and raises.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import IntEnum
from typing import Any, Generic, Protocol, TypeVar

from django.utils.functional import Promise

Text = str | Promise


class Alarm(IntEnum):
    """How loud a headline is. BLIND: nobody looks, so nobody can say that all is well."""

    CALM = 0
    HANDLED = 1
    BLIND = 2
    WATCH = 3
    FIRE = 4

    @property
    def css(self) -> str:
        return self.name.lower()


@dataclass(frozen=True, slots=True)
class NavEntry:
    """section: "work" or "system". shortcut: letter after `g`. permission: "" = every user who is logged in."""

    key: str
    label: Text
    url_name: str
    icon: str
    order: int
    section: str = "work"
    shortcut: str = ""
    permission: str = ""


@dataclass(frozen=True, slots=True)
class Figure:
    """One number under the headline. value "" = unknown, then `hint` says why."""

    label: Text
    value: str
    hint: Text = ""
    basis: str = ""


@dataclass(frozen=True, slots=True)
class Headline:
    """One sentence for the top of Home: what, whose, how bad; `url`/`action`: the next step. weight breaks ties, higher first."""

    alarm: Alarm
    text: str
    url: str = ""
    action: Text = ""
    figures: tuple[Figure, ...] = ()
    note: str = ""
    weight: float = 0.0


@dataclass(frozen=True, slots=True)
class Panel:
    """load(user, now) -> context of `template`."""

    key: str
    title: Text
    template: str
    load: Callable[[Any, datetime], dict[str, Any]]
    order: int
    permission: str = ""


@dataclass(frozen=True, slots=True)
class Hit:
    title: str
    url: str
    detail: str = ""
    icon: str = "search"


@dataclass(frozen=True, slots=True)
class SearchGroup:
    """find(text, realm) -> at most `limit` hits; one SQL query."""

    key: str
    title: Text
    find: Callable[[str, str | None], Sequence[Hit]]
    order: int
    permission: str = ""


@dataclass(frozen=True, slots=True)
class Event:
    """id: resumes the stream (Last-Event-ID); never holds a line break."""

    id: str
    name: str
    data: dict[str, Any] = field(default_factory=dict)


class Poll(Protocol):
    def __call__(self, key: str, after: str) -> Sequence[Event]: ...


@dataclass(frozen=True, slots=True)
class Stream:
    """poll(key, after) -> events later than the id `after` ("" = all there are)."""

    key: str
    poll: Poll
    permission: str = ""


@dataclass(frozen=True, slots=True)
class Source:
    """A provider of headlines: load(now) -> headlines."""

    key: str
    load: Callable[[datetime], Iterable[Headline]]


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a feed. state gives its colour, label its word."""

    at: datetime | None
    text: str
    url: str
    state: str
    label: Text


@dataclass(frozen=True, slots=True)
class Feed:
    """Adds lines to a panel that several rooms fill. topic: "today" (what was done) or "waiting" (what needs a person)."""

    key: str
    topic: str
    load: Callable[[datetime], Iterable[Line]]


@dataclass(frozen=True, slots=True)
class Pulse:
    """read() -> text that differs whenever Home would look different."""

    key: str
    read: Callable[[], str]


@dataclass(frozen=True, slots=True)
class DeviceAct:
    """A button on a device's page. url_name: takes the device's key. fits(device): whether its platform can do that."""

    key: str
    label: Text
    url_name: str
    icon: str
    permission: str
    fits: Callable[[Any], bool]
    order: int = 0


class _Keyed(Protocol):
    @property
    def key(self) -> str: ...


Item = TypeVar("Item", bound=_Keyed)


_unfilled: list[Callable[[], None]] = []
_filling = threading.RLock()


def fill(register: Callable[[], None]) -> None:
    """`register` is called when something is first looked up: a worker, and most commands, have no console and load none."""
    _unfilled.append(register)


def _filled() -> None:
    with _filling:
        while _unfilled:
            _unfilled.pop(0)()


class Store(Generic[Item]):
    """Named items; registering a name twice raises ValueError."""

    def __init__(self) -> None:
        self._items: dict[str, Item] = {}

    def register(self, *items: Item) -> None:
        for item in items:
            if item.key in self._items:
                raise ValueError(f"{type(item).__name__} {item.key!r} is registered already")
            self._items[item.key] = item

    def get(self, key: str) -> Item | None:
        _filled()
        return self._items.get(key)

    def all(self) -> list[Item]:
        _filled()
        return sorted(self._items.values(), key=lambda item: (getattr(item, "order", 0), item.key))


navigation: Store[NavEntry] = Store()
panels: Store[Panel] = Store()
headlines: Store[Source] = Store()
searches: Store[SearchGroup] = Store()
streams: Store[Stream] = Store()
feeds: Store[Feed] = Store()
pulses: Store[Pulse] = Store()
device_acts: Store[DeviceAct] = Store()
