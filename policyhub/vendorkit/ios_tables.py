"""`table-map` of IOS and NX-OS, and marks that a port gives to what carries none it believes."""

from __future__ import annotations

import re
from dataclasses import replace

from policyhub.domain.qos import ClassMatch, Marker, QosAttachment, QosClass, QosMap, QosPolicy
from policyhub.vendorkit.blocks import Block
from policyhub.vendorkit.ios_reading import IosReading
from policyhub.vendorkit.lexing import NotUnderstood, Words, number_in

FIELDS = {"cos": "pcp", "dscp": "dscp", "qos-group": "class", "traffic-class": "class", "precedence": "precedence"}
VALUES = {"pcp": 8, "precedence": 8, "dscp": 64, "class": 100}  # how many the field has
COPY = -1
USE = re.compile(
    r"\b(?P<to>cos|dscp|precedence|qos-group|traffic-class) (?P<from>cos|dscp|precedence|qos-group) table (?P<name>\S+)"
)


def read_table_map(reading: IosReading, block: Block) -> None:
    """`table-map NAME / [map] from N to M / default copy|ignore|N`. Raises NotUnderstood."""
    name = Words(block.words, 1).next("a name")
    for child in block.children:
        words = Words(child.words)
        with reading.ledger.booking(child.line):
            if words.accept("exit", "description"):
                continue
            if words.accept("default"):
                reading.table_defaults[name] = _default(words)
                continue
            words.accept("map")
            if not words.accept("from"):
                raise NotUnderstood("from N to M is expected")
            sources = [number_in(part, 0, 99, "a number") for part in words.next("a number").split(",")]
            if not words.accept("to"):
                raise NotUnderstood("to is expected")
            target = number_in(words.next("a number"), 0, 99, "a number")
            reading.tables.setdefault(name, {}).update(dict.fromkeys(sources, target))
            words.end()
    reading.tables.setdefault(name, {})
    reading.table_lines[name] = block.numbers


def _default(words: Words) -> int | None:
    """What becomes of values that no line names: COPY, a value, None when they are left alone."""
    if word := words.accept("copy", "ignore"):
        return COPY if word == "copy" else None
    return number_in(words.next("copy, ignore or a number"), 0, 99, "a number")


def _entries(table: dict[int, int], default: int | None, kind: str) -> tuple[tuple[int, int], ...]:
    """With those of the default, as far as the fields that the table stands between have such values."""
    source, _, target = kind.partition("-to-")
    if default is None or not target:
        return tuple(sorted(table.items()))
    rest = {value: value if default == COPY else default for value in range(VALUES[source])}
    return tuple(sorted(({value: to for value, to in rest.items() if to < VALUES[target]} | table).items()))


def table_maps(reading: IosReading, policies: list[QosPolicy]) -> tuple[QosMap, ...]:
    """Each table as a map between the fields that the classes use it for, "unused" when none does."""
    kinds: dict[str, str] = {}
    for made in (made for policy in policies for made in policy.classes):
        for text in (*made.notes, made.policer.exceed_action if made.policer else ""):
            for found in USE.finditer(text):
                kinds[found["name"]] = f"{FIELDS[found['from']]}-to-{FIELDS[found['to']]}"
    return tuple(
        QosMap(name, kind, _entries(table, reading.table_defaults.get(name), kind), (), reading.table_lines[name])
        for name, table in reading.tables.items()
        for kind in [kinds.get(name, "unused")]
    )


def mark_by_default(reading: IosReading, place: str, line: int, mark: Marker) -> None:
    """The mark that a port gives to packets whose own it does not believe or that carry none."""
    match = ClassMatch(other=("no mark that is believed",))
    known = reading.default_marks.get(place) or QosClass("unmarked", match, Marker())
    marker = known.marker or Marker()
    marker = replace(
        marker, dscp=marker.dscp if mark.dscp is None else mark.dscp, pcp=marker.pcp if mark.pcp is None else mark.pcp
    )
    reading.default_marks[place] = replace(known, marker=marker, lines=(*known.lines, line))


def default_marks(reading: IosReading) -> list[QosPolicy]:
    return [
        QosPolicy(f"default marks {place}", (made,), (QosAttachment(place, "in", made.lines),), made.lines)
        for place, made in reading.default_marks.items()
    ]
