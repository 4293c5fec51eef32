"""QoS of both engines: profiles of classes, and pipes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from policyhub.domain.qos import ClassMatch, Marker, Policer, QosAttachment, QosClass, QosPolicy, Queue, Shaper, parse_dscp
from policyhub.vendorkit.lexing import NotUnderstood, Words, is_decimal
from policyhub.vendors.hillstone_stoneos.objects import lines_of, merged
from policyhub.vendors.hillstone_stoneos.reading import Reading
from policyhub.vendors.hillstone_stoneos.tree import Node

UNITS = {"kbps": 10**3, "mbps": 10**6, "gbps": 10**9}
CLASS_READ_OVER = ("match-priority", "exceed-action", "random-detect", "fair-queue", "queue-limit")
PIPE_READ_OVER = ("priority", "mode", "schedule", "enable", "disable", "description", "pipe-action", "traffic-mark")
DIRECTIONS = {"input": "in", "output": "out"}


@dataclass(slots=True)
class _Class:
    policer: Policer | None = None
    shaper: Shaper | None = None
    queue: Queue | None = None
    marker: Marker | None = None
    lines: list[int] = field(default_factory=list)


def kbps(words: Words) -> int:
    """A number of kbit/s in bit/s. Raises NotUnderstood."""
    text = words.next("a rate")
    if not is_decimal(text) or len(text) > 12:
        raise NotUnderstood(f"{text[:40]!r} is not a rate")
    return int(text) * 1000


def read_profiles(reading: Reading, profiles: list[Node], maps: list[Node], owners: list[Node]) -> None:
    """`qos-profile` with the class maps that it names; owners: zones and interfaces that it is attached to."""
    matches = {key: _map_match(reading, places) for key, places in merged(maps).items()}
    attached = _attachments(reading, owners)
    for (context, name), places in merged(profiles).items():
        classes: list[QosClass] = []
        for node in places:
            reading.book(node)
            for child in node.children:
                words = child.words
                if words[0] != "class" or len(words) < 2:
                    reading.ledger.unparsed(child.line, "class is expected")
                    continue
                found = _read_class(reading, child, words[1])
                match = matches.get((context, words[1]), ClassMatch(other=(f"class {words[1]}",)))
                classes.append(
                    QosClass(words[1], match, found.marker, found.policer, found.shaper, found.queue, lines=child.all_numbers())
                )
        bound = tuple(attached.get((context, name), ()))
        reading.qos_policies.append(QosPolicy(name, tuple(classes), bound, lines_of(places)))


def _map_match(reading: Reading, places: list[Node]) -> ClassMatch:
    dscp: set[int] = set()
    other: list[str] = []
    is_any = False
    for node in places:
        reading.book(node)
        for child in node.children:
            words = child.words
            if words[0] != "match" or len(words) < 2:
                reading.ledger.unparsed(child.line, "match is expected")
                continue
            reading.book(child)
            if words[1] == "any":
                is_any = True
            elif words[1] == "dscp" and len(words) > 2:
                try:
                    dscp.update(parse_dscp(word) for word in words[2:])
                except ValueError:
                    other.append(" ".join(words[1:]))
            else:
                other.append(" ".join(words[1:]))
    return ClassMatch(dscp=frozenset(dscp) or None, any=is_any, match_all=False, other=tuple(other))


def _read_class(reading: Reading, node: Node, name: str) -> _Class:
    found = _Class()
    reading.book(node)
    for child in node.children:
        words = Words(child.words)
        try:
            _class_line(found, name, words)
            reading.book(child)
        except (NotUnderstood, ValueError) as reason:
            reading.ledger.unparsed(child.line, str(reason))
    return found


def _class_line(found: _Class, name: str, words: Words) -> None:
    word = words.next()
    if word == "police":
        limit = kbps(words)
        rest = words.rest().split()
        action = rest[rest.index("exceed-action") + 1] if "exceed-action" in rest[:-1] else "drop"
        found.policer = Policer(limit, exceed_action=action)
    elif word == "bandwidth":
        found.queue = Queue(name, guaranteed_bps=kbps(words))
    elif word == "priority":
        found.queue = Queue(name, is_strict_priority=True)
    elif word == "shape":
        found.shaper = Shaper(kbps(words))
    elif word == "set" and words.accept("dscp"):
        found.marker = Marker(dscp=parse_dscp(words.next("a code point")))
    elif word not in CLASS_READ_OVER:
        raise NotUnderstood(f"{word[:40]!r} is not understood in a class")


def _attachments(reading: Reading, owners: list[Node]) -> dict[tuple[str, str], list[QosAttachment]]:
    """`qos-profile [1st-level|2nd-level] input|output P`."""
    found: dict[tuple[str, str], list[QosAttachment]] = {}
    for owner in owners:
        for child in owner.children:
            words = [word for word in child.words if word not in ("1st-level", "2nd-level")]
            if words[0] == "qos-profile" and len(words) == 3 and words[1] in DIRECTIONS:
                attachment = QosAttachment(owner.words[1], DIRECTIONS[words[1]], tuple(child.numbers))
                found.setdefault((owner.context, words[2]), []).append(attachment)
                reading.book(child)
    return found


def read_engines(reading: Reading, engines: list[Node]) -> None:
    for node in engines:
        reading.book(node)
        classes: list[QosClass] = []
        for root in node.children:
            if root.words[0] == "root-pipe" and len(root.words) > 1:
                classes += _pipes(reading, root)
        reading.qos_policies.append(QosPolicy(node.text, tuple(classes), (), node.all_numbers()))


def _pipes(reading: Reading, root: Node) -> Iterator[QosClass]:
    """A root pipe and the pipes in it, without recursion."""
    stack = [(root, root.words[1])]
    while stack:
        node, name = stack.pop(0)
        reading.book(node)
        rules: list[Node] = []
        other: list[str] = []
        for child in node.children:
            words = child.words
            if words[0] == "pipe" and len(words) > 1:
                stack.append((child, f"{name}/{words[1]}"))
            elif words[0] == "pipe-map":
                reading.ledger.understood(*child.all_numbers())
                other += [" ".join(below.words) for below in child.children]
            elif words[0] == "pipe-rule":
                rules.append(child)
            elif words[0] in PIPE_READ_OVER:
                reading.ledger.understood(*child.all_numbers())
        match = ClassMatch(other=tuple(other)) if other else ClassMatch(any=True)
        for rule in rules:
            try:
                yield _pipe_rule(Words(rule.words, 1), name, match, rule.all_numbers())
                reading.book(rule)
            except NotUnderstood as reason:
                reading.ledger.unparsed(rule.line, str(reason))


def _pipe_rule(words: Words, name: str, match: ClassMatch, lines: tuple[int, ...]) -> QosClass:
    """`forward|backward bandwidth U N`, `.. reserve-bandwidth U A max U B`. Raises NotUnderstood."""
    direction = words.next("a direction")
    guaranteed: int | None = None
    limit: int | None = None
    while words:
        word = words.next()
        if word in ("bandwidth", "max"):
            limit = _rate(words)
        elif word in ("reserve-bandwidth", "min"):
            guaranteed = _rate(words)
        elif word in ("per-ip", "per-user", "per-ip-min", "per-ip-max"):
            raise NotUnderstood("limits per address are not modelled")
    if guaranteed is None and limit is None:
        raise NotUnderstood("a bandwidth is expected")
    queue = Queue(name.rpartition("/")[2], guaranteed_bps=guaranteed) if guaranteed is not None else None
    shaper = Shaper(limit) if limit is not None else None
    return QosClass(f"{name} {direction}", match, shaper=shaper, queue=queue, lines=lines)


def _rate(words: Words) -> int:
    unit = words.next("a unit").lower()
    text = words.next("a rate")
    if unit not in UNITS or not is_decimal(text) or len(text) > 12:
        raise NotUnderstood(f"{unit[:20]} {text[:20]} is not a rate")
    return int(text) * UNITS[unit]
