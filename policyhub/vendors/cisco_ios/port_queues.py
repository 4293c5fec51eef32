"""Queues of Catalyst ports: `srr-queue`, `wrr-queue`, `priority-queue out`, `queue-set`, and the maps that fill them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from policyhub.domain.qos import ClassMatch, QosAttachment, QosClass, QosMap, QosPolicy, Shaper
from policyhub.vendorkit.blocks import Block
from policyhub.vendorkit.lexing import NotUnderstood, Words, dscp_in, number_in
from policyhub.vendors.cisco_ios.reading import PortQueues, Reading

WORDS = ("srr-queue", "wrr-queue", "rcv-queue", "priority-queue", "queue-set", "tx-queue", "hold-queue", "max-reserved-bandwidth")
NOTED = re.compile(r"(?:mls qos cos|(?:mls qos |qos )?trust device|auto qos) ", re.IGNORECASE)
STRICT = 1  # `priority-queue out` makes queue 1 of four strict (Catalyst 3750 configuration guide)


def read_line(reading: Reading, interface: str, block: Block) -> None:
    """A line below an interface: queues, the class of service of what arrives without one, whose marks are trusted, AutoQoS."""
    port = reading.port_queues.setdefault(interface, PortQueues())
    words = Words(block.words)
    kind = words.next().lower()
    if kind == "srr-queue" and words.accept("bandwidth"):
        _srr(port, words, block.number)
    elif kind == "priority-queue" and words.peek().lower() == "out":
        port.change(STRICT, block.number, is_strict_priority=True)
        words.next()
    elif kind == "wrr-queue" and words.accept("bandwidth"):
        for number, weight in enumerate(_weights(words, 255), 1):
            port.change(number, block.number, remaining_weight=weight)
    elif kind == "wrr-queue" and words.accept("cos-map"):
        _cos_map(port, words, block.number)
    else:
        port.notes.append(" ".join(block.words))
        port.whole_lines.append(block.number)
        words.rest()
    words.end()


def _srr(port: PortQueues, words: Words, line: int) -> None:
    """`share W W W W`, `shape W W W W` (1/W of the port, 0 shapes not), `limit PERCENT`."""
    kind = words.accept("share", "shape", "limit")
    if kind == "limit":
        port.whole = Shaper(None, percent=float(number_in(words.next("a percentage"), 10, 100, "a percentage")))
        port.whole_lines.append(line)
        return
    if not kind:
        raise NotUnderstood("share, shape or limit is expected")
    for number, weight in enumerate(_weights(words, 65535), 1):
        if kind == "share":
            port.change(number, line, remaining_weight=weight)
        elif weight:
            port.change(number, line)
            port.shapers[number] = Shaper(None, percent=round(100 / weight, 3))


def _weights(words: Words, most: int) -> list[int]:
    found: list[int] = []
    while words and len(found) < 8:
        found.append(number_in(words.next(), 0, most, "a weight"))
    return found


def _cos_map(port: PortQueues, words: Words, line: int) -> None:
    """`wrr-queue cos-map QUEUE [THRESHOLD] COS ..`: with four queues a threshold stands between."""
    numbers = [number_in(word, 0, 8, "a number") for word in words.rest().split()]
    if len(numbers) < 2:
        raise NotUnderstood("a queue and classes of service are expected")
    port.marks.setdefault(numbers[0], set()).update(numbers[2:] or numbers[1:])
    port.change(numbers[0], line)


def read_global(reading: Reading, words: Words, block: Block) -> None:
    """`mls qos srr-queue output dscp-map|cos-map queue Q [threshold T] M ..`; all else about queues is kept as a note."""
    if words.accept("srr-queue") and words.accept("output") and words.peek().lower() in ("dscp-map", "cos-map"):
        kind = words.next().lower()
        if not words.accept("queue"):
            raise NotUnderstood("queue is expected")
        number = number_in(words.next("a queue"), 1, 4, "a queue")
        if words.accept("threshold"):
            words.next("a threshold")
        limit = 63 if kind == "dscp-map" else 7
        marks = {number_in(word, 0, limit, "a mark") for word in words.rest().split()}
        known, lines = reading.queue_marks.setdefault((kind, number), (set(), []))
        known |= marks
        lines.append(block.number)
        return
    reading.queue_notes.append((" ".join(block.words), block.number))
    words.rest()


def read_map(reading: Reading, kind: str, words: Words, block: Block) -> None:
    """`mls qos map cos-dscp|ip-prec-dscp D*8`, `policed-dscp A .. to B`, `dscp-mutation NAME A .. to B`."""
    if kind in ("cos-dscp", "ip-prec-dscp"):
        marks = [dscp_in(word) for word in words.rest().split()]
        if len(marks) != 8:
            raise NotUnderstood("eight marks are expected")
        reading.qos_maps.begin(QosMap(kind, "class-to-dscp", tuple(enumerate(marks)), (), (block.number,)))
        return
    if kind not in ("policed-dscp", "dscp-mutation"):
        raise NotUnderstood(f"map {kind[:40]!r} is not modelled")
    name = words.next("a name") if kind == "dscp-mutation" else kind
    old: list[int] = []
    while words and words.peek().lower() != "to":
        old.append(dscp_in(words.next()))
    words.next("to")
    new = dscp_in(words.next("a mark"))
    words.end()
    entries = tuple((mark, new) for mark in old)
    reading.qos_maps.add(QosMap(name, "dscp-to-dscp", entries, (), (block.number,)))


def maps(reading: Reading) -> tuple[QosMap, ...]:
    return tuple(replace(known, interfaces=tuple(reading.mutations.get(known.name, ()))) for known in reading.qos_maps)


def policies(reading: Reading) -> Iterator[QosPolicy]:
    """One per port that says something about its queues, and what is said for all ports."""
    for name, port in reading.port_queues.items():
        yield _policy(reading, name, port)
    notes = list(reading.queue_notes)
    if not reading.port_queues:  # then nobody shows the maps of queues
        notes += [(f"{kind} queue {number}: {sorted(marks)}", lines[0]) for (kind, number), (marks, lines) in _maps(reading)]
    if notes:
        lines = tuple(line for _, line in notes)
        made = QosClass("device", ClassMatch(any=True), lines=lines, notes=tuple(text for text, _ in notes))
        yield QosPolicy("queues of the device", (made,), (), lines)


def _maps(reading: Reading) -> list[tuple[tuple[str, int], tuple[set[int], list[int]]]]:
    return sorted(reading.queue_marks.items())


def _policy(reading: Reading, name: str, port: PortQueues) -> QosPolicy:
    classes: list[QosClass] = []
    for number in sorted(port.queues):
        dscp, dscp_lines = reading.queue_marks.get(("dscp-map", number), (set(), []))
        cos, cos_lines = reading.queue_marks.get(("cos-map", number), (set(), []))
        cos = cos | port.marks.get(number, set())
        match = ClassMatch(
            frozenset(dscp) or None,
            frozenset(cos) or None,
            match_all=not (dscp and cos),
            other=() if dscp or cos else (f"queue {number}",),
        )
        lines = tuple(dict.fromkeys([*dscp_lines, *cos_lines, *port.lines[number]]))
        classes.append(
            QosClass(f"queue {number}", match, shaper=port.shapers.get(number), queue=port.queues[number], lines=lines)
        )
    if port.whole or port.notes:
        lines = tuple(port.whole_lines)
        classes.append(QosClass("port", ClassMatch(any=True), shaper=port.whole, lines=lines, notes=tuple(port.notes)))
    lines = tuple(sorted({line for made in classes for line in made.lines}))
    return QosPolicy(f"queues {name}", tuple(classes), (QosAttachment(name, "out", lines),), lines)
