"""Sentences that are stored once and read in any language: a translatable template and its values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


def gettext_noop(text: str) -> str:
    """Marks a template for the message catalogues; translation happens at the edge, where the language is known."""
    return text


@dataclass(frozen=True, slots=True)
class Message:
    """`template` is a msgid in %-format, `values` fills it; a value may be a message of its own, kept as one."""

    template: str
    values: Mapping[str, object] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.template % self.values if self.values else self.template

    def as_json(self) -> dict[str, object]:
        plain = {key: value.as_json() if isinstance(value, Message) else value for key, value in self.values.items()}
        return {"text": self.template, "values": plain}
