"""Fields of PAN-OS XML, taken out of the text before expat reads it.

Nine tenths of the elements are fields with a text or with members, and expat calls twice for each of them. A stand-in stays in
the place of each; where they stand decides whose fields they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from policyhub.vendors.paloalto_panos.tree import OneValue

STAND_IN = "\x7f"  # XML 1.0, section 2.2, allows it, and no configuration uses it
OPENS, CLOSES = "<member>", "</member>"
FIELD = re.compile(
    r"<(?!(?:entry|member|config)>)([A-Za-z][\w.:-]*+)>((?>\s*+(?:<member>[^<>&\x7f]*+</member>\s*+)++|[^<>&\x7f]*+))</\1>"
)
END = "</entry>"  # no field goes beyond one
CHUNK = 200_000  # characters looked at together: their pieces take four times the memory


class Members(NamedTuple):
    """Each with the line on which it ends."""

    members: list[tuple[str, int]]
    begun: int
    end: int


Field = tuple[str, OneValue | Members]  # tag and content


def take_fields(text: str) -> tuple[str, list[Field]]:
    """The text with stand-ins, and the fields in its order. Lines stay where they are."""
    kept: list[str] = []
    fields: list[Field] = []
    line = 1
    for chunk in _chunks(text):
        *pieces, rest = FIELD.split(chunk)
        for before, tag, inner in zip(*[iter(pieces)] * 3, strict=True):
            kept.append(before)
            if "\n" in before:
                line += before.count("\n")
            value = inner[len(OPENS) : -len(CLOSES)] if inner[: len(OPENS)] == OPENS else inner
            if "<" in value or "\n" in inner or not value or value.isspace():
                kept.append(_take(fields, tag, inner, line))
                line += inner.count("\n")
            else:  # most often
                fields.append((tag, (value.strip(), line, line, line)))
                kept.append(STAND_IN)
        kept.append(rest)
        line += rest.count("\n")
    return "".join(kept), fields


def _take(fields: list[Field], tag: str, inner: str, begun: int) -> str:
    """What stays of a field of several members, of several lines, or of none."""
    lines = inner.count("\n")
    end = begun + lines
    if "<" in inner:
        members = _members(inner, begun)
        (value, at), *more = members
        fields.append((tag, Members(members, begun, end) if more else (value, begun, end, at)))
    elif value := inner.strip():
        fields.append((tag, (value, begun, end, begun)))
    else:  # an empty field has no value
        return f"<{tag}>{inner}</{tag}>"
    return STAND_IN + "\n" * lines


def _chunks(text: str) -> Iterator[str]:
    begin = 0
    while begin < len(text):
        found = text.find(END, begin + CHUNK)
        end = len(text) if found < 0 else found + len(END)
        yield text[begin:end]
        begin = end


def _members(inner: str, line: int) -> list[tuple[str, int]]:
    found = []
    blank, *members = inner.split(OPENS)
    line += blank.count("\n")
    for member in members:
        value, _, behind = member.partition(CLOSES)
        line += value.count("\n")
        found.append((value.strip(), line))
        line += behind.count("\n")
    return found
