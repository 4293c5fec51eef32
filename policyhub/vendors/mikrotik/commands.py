"""Commands of an export: menu, verb and attributes, on the lines they stand on. Total."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from policyhub.vendorkit.blocks import Line
from policyhub.vendorkit.sharing import Pool

ATTRIBUTE = re.compile(r'([\w.-]{1,80})=("(?:[^"\\]|\\.)*"|[^\s"]*)|(\S+)')
VERBS = ("add", "set", "remove", "print", "export", "disable", "enable", "move", "edit", "find", "unset")
ESCAPE = re.compile(r"\\(.)")


@dataclass(slots=True)
class Command:
    """menu: words of the path. numbers: of its lines. The attributes stand in the text from `begin` on."""

    menu: str
    verb: str
    numbers: tuple[int, ...]
    text: str
    begin: int
    known: dict[str, str] | None = None

    @property
    def attributes(self) -> dict[str, str]:
        """As written, without quotes; bare words have an empty value. Made when asked for: they take six times the text."""
        if self.known is None:
            self.known = _attributes(self.text[self.begin :])
        return self.known

    def word(self, name: str) -> str:
        return self.attributes.get(name, "")

    def is_set(self, name: str) -> bool:
        return self.word(name) in ("yes", "true")


def _joined(lines: Iterable[Line]) -> Iterator[tuple[tuple[int, ...], str]]:
    """A backslash at the end goes on in the next line, whose indentation does not count."""
    held: list[int] = []
    parts: list[str] = []
    for line in lines:
        goes_on = line.text.endswith("\\") and len(held) < 500
        held.append(line.number)
        parts.append(line.text.removesuffix("\\"))  # a blank before the backslash is part of the text, one behind it is not
        if not goes_on:
            yield tuple(held), "".join(parts)
            held, parts = [], []
    if held:
        yield tuple(held), "".join(parts)


def _attributes(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, value, bare in ATTRIBUTE.findall(text):
        if name:
            found[name] = ESCAPE.sub(r"\1", value[1:-1]) if value.startswith('"') and len(value) > 1 else value
        else:
            found.setdefault(bare, "")
    return found


def commands(lines: Iterable[Line]) -> Iterator[Command]:
    """`/menu` alone opens it for the commands below; a menu may also stand in front of its command."""
    menu, pool = "", Pool()
    for held, whole in _joined(lines):
        text = whole.strip()
        if text.startswith("/"):
            words = text[1:].replace("/", " ").split()
            at = next((n for n, word in enumerate(words) if word in VERBS or "=" in word or word == "["), len(words))
            path = " ".join(words[:at])
            if at == len(words):
                menu = path
                yield Command(path, "", held, text, len(text))
                continue
            verb, begin = words[at] if words[at] in VERBS else "set", text.find(words[at]) + len(words[at])
            yield Command(path, verb, held, text, begin)
        else:
            verb = text.partition(" ")[0]
            yield Command(menu, pool(verb), held, text, len(verb))
