"""Sentences that are stored once and read in any language: a translatable template and its values."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any


def gettext_noop(text: str) -> str:
    """Marks a template for the message catalogues; translation happens at the edge, where the language is known."""
    return text


_BEFORE_THE_CURE = re.compile(r"\. |。")


_SEAM = re.compile(r"(?<=[\u4e00-\u9fff])\x02(?=[0-9A-Za-z])|(?<=[0-9A-Za-z])\x03(?=[\u4e00-\u9fff])")


def seamed(text: str) -> str:
    """A sentence to be put into another one, with its ends marked for `joined`."""
    return f"\x02{text}\x03"


def joined(text: str) -> str:
    """Chinese has a space beside figures and Latin words, which a template cannot know of the sentences put into it."""
    return _SEAM.sub(" ", text).replace("\x02", "").replace("\x03", "")


@dataclass(frozen=True, slots=True)
class Message:
    """`template` is a msgid in %-format, `values` fills it; a value may be a message of its own, kept as one."""

    template: str
    values: Mapping[str, object] = field(default_factory=dict)

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> Message:
        """Inverse of `as_json`. Raises KeyError on anything else."""
        values = stored.get("values") or {}
        return cls(
            str(stored["text"]),
            {key: cls.of(value) if isinstance(value, Mapping) and "text" in value else value for key, value in values.items()},
        )

    def __str__(self) -> str:
        return self.read(gettext_noop)

    def read(self, translate: Callable[[str], str]) -> str:
        """In the language of `translate` (msgid -> text), messages inside it too. A template without values is no format."""
        template = translate(self.template) if self.template else ""  # a catalogue answers "" with its header
        if not self.values:
            return template
        read = {key: seamed(value.read(translate)) if isinstance(value, Message) else value for key, value in self.values.items()}
        return joined(template % read)

    def without_cure(self, translate: Callable[[str], str] = gettext_noop) -> str:
        """What happened alone, for those who print a cure of their own beside it: an error's cure follows its full stop."""
        return self.read(lambda text: _BEFORE_THE_CURE.split(translate(text), maxsplit=1)[0])

    @property
    def has_cure(self) -> bool:
        return _BEFORE_THE_CURE.search(self.template) is not None

    def as_json(self) -> dict[str, object]:
        plain = {key: value.as_json() if isinstance(value, Message) else value for key, value in self.values.items()}
        return {"text": self.template, "values": plain}


def spoken(text: str | Message) -> Message:
    """Words of a person or a device as a message that no catalogue knows; a message is what it is."""
    return text if isinstance(text, Message) else Message("%(words)s", {"words": text})
