"""What both command lines share: a device with a running configuration, sessions on it, commands by mode, and faults."""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, TypeVar

Handler = TypeVar("Handler", bound=Callable[..., Any])


class Refused(Exception):
    """The device says no; the text is what it prints."""


@dataclass
class Faults:
    """Misbehaviour on request; expressions are searched in each typed line, None = never.

    drop: cut the TCP connection when such a line is typed, before (drop_applied=False) or after it took effect.
    slow/slow_s: such a line takes so long, and takes effect even when nobody waits any more.
    reject: such a line is refused. log: such a line's answer is followed by `log_text` after the prompt.
    mute: such a line takes effect and is never answered. ignore: such a line is answered like any other and has no effect.
    spent: faults that happen once only remove themselves; `again` keeps them.
    """

    drop: str | None = None
    drop_applied: bool = False
    slow: str | None = None
    slow_s: float = 22.0
    reject: str | None = None
    log: str | None = None
    log_text: str = ""
    mute: str | None = None
    ignore: str | None = None
    again: bool = False

    def take(self, name: str, line: str) -> bool:
        """Whether the fault strikes at this line."""
        pattern = getattr(self, name)
        if pattern is None or not re.search(pattern, line):
            return False
        if not self.again:
            setattr(self, name, None)
        return True


@dataclass
class Device(ABC):
    """State that outlives sessions. `running()` prints it, `load(text)` reads such a print, `changed()` runs after every edit.

    enable_secret "": a login lands in the privileged mode. typed: every line of every session. hits: class -> [packets, bytes].
    hits_file: the same as JSON, from a data plane that is another process.
    """

    hostname: str = "sim"
    enable_secret: str = ""
    faults: Faults = field(default_factory=Faults)
    state_file: Path | None = None
    saved: str = ""
    typed: list[str] = field(default_factory=list)
    hits: dict[str, list[int]] = field(default_factory=dict)
    hits_file: Path | None = None

    @abstractmethod
    def running(self) -> str: ...

    @abstractmethod
    def load(self, text: str) -> None: ...

    @abstractmethod
    def session(self) -> Session: ...

    @abstractmethod
    def refusal(self) -> str:
        """What the command line prints for a line that it does not know."""

    def count(self, name: str, packets: int, size: int) -> None:
        """Traffic hook: packets of a class passed."""
        total = self.hits.setdefault(name, [0, 0])
        total[0] += packets
        total[1] += size

    def hit(self, name: str) -> tuple[int, int]:
        """(packets, bytes) of a class since the start."""
        counted = json.loads(self.hits_file.read_text(encoding="utf-8")) if self.hits_file and self.hits_file.exists() else {}
        packets, size = (sum(pair) for pair in zip(self.hits.get(name, (0, 0)), counted.get(name, (0, 0)), strict=True))
        return packets, size

    def changed(self) -> None:
        if self.state_file is not None:
            fresh = self.state_file.with_suffix(".new")
            fresh.write_text(self.running(), encoding="utf-8")
            fresh.replace(self.state_file)


def command(modes: str, pattern: str) -> Callable[[Handler], Handler]:
    """Marks a method as the handler of lines in these modes (blank separated); groups become its arguments."""

    def mark(method: Handler) -> Handler:
        method.__dict__.setdefault("commands", []).append((modes.split(), re.compile(pattern)))
        return method

    return mark


class Session(ABC):
    """One login: a mode, what it stands in, and commands."""

    TABLE: ClassVar[dict[str, list[tuple[re.Pattern[str], str]]]] = {}
    FALLBACK: ClassVar[dict[str, str]] = {}  # mode -> mode whose commands are understood here too

    def __init_subclass__(cls) -> None:
        cls.TABLE = {}
        for name in dir(cls):
            for modes, pattern in getattr(getattr(cls, name, None), "commands", ()):
                for mode in modes:
                    cls.TABLE.setdefault(mode, []).append((pattern, name))

    def __init__(self, device: Any, mode: str) -> None:
        self.device, self.mode, self.inside = device, mode, ""
        self.closed = False
        self.answer_to: Callable[[str], str] | None = None  # the device has asked; the next line is the answer
        self.hidden = False  # that answer is not echoed

    @property
    @abstractmethod
    def prompt(self) -> str: ...

    def type(self, line: str) -> str:
        """Carry out one line and return what the device prints; the prompt comes on top."""
        if self.answer_to is not None:
            answer, self.answer_to, self.hidden = self.answer_to, None, False
            return answer(line)
        line = line.strip()
        if not line:
            return ""
        self.device.typed.append(line)
        if self.device.faults.take("reject", line):
            return str(self.device.refusal())
        if self.device.faults.take("ignore", line):
            return ""
        return self.carry_out(line)

    def carry_out(self, line: str) -> str:
        mode: str | None = self.mode
        try:
            while mode is not None:
                for pattern, name in self.TABLE.get(mode, ()):
                    found = pattern.fullmatch(line)
                    if found:
                        if mode != self.mode:
                            self.mode, self.inside = mode, ""
                        return getattr(self, name)(*found.groups()) or ""
                mode = self.FALLBACK.get(mode)
        except Refused as refused:
            return str(refused)
        return str(self.device.refusal())
