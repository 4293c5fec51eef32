"""Modular policy framework: class-map, policy-map, service-policy. Application inspection is understood and left out."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from policyhub.domain.qos import ClassMatch, Policer, QosAttachment, QosClass, QosPolicy, Queue, Shaper, parse_dscp
from policyhub.vendorkit.blocks import Block, reopened
from policyhub.vendorkit.lexing import NotUnderstood, Words, number_in
from policyhub.vendors.cisco_asa.reading import Reading

MOST_NOTES = 1
NOT_QOS = (
    "inspect", "set", "ips", "csc", "cxsc", "sfr", "flow-export", "user-statistics", "scansafe", "exit", "description",
    "no",
)  # fmt: skip
MOST_CRITERIA = 256
VERBATIM = ("port", "rtp", "tunnel-group", "flow", "default-inspection-traffic", "regex")


def read_class_map(reading: Reading, block: Block) -> None:
    """Kept for the policy that uses it; `class-map type inspect|regex|management` is application inspection."""
    words = Words(block.words, 1)
    if words.accept("type"):
        _leave_out(reading, block)
        return
    words.accept("match-any", "match-all")
    name = words.next("a name")
    reading.class_maps[name] = reopened(reading.class_maps.get(name), block)
    for child in block.children:
        listed = Words(child.words)
        if listed.accept("match") and listed.accept("access-list"):
            reading.selectors.add(listed.peek())


def read_policy_map(reading: Reading, block: Block) -> None:
    words = Words(block.words, 1)
    if words.accept("type"):
        _leave_out(reading, block)
        return
    name = words.next("a name")
    reading.policy_maps[name] = reopened(reading.policy_maps.get(name), block)


def _leave_out(reading: Reading, block: Block) -> None:
    for child in block.below():
        reading.ledger.ignore(child.line, "application inspection is not modelled")


def read_service_policy(reading: Reading, block: Block) -> None:
    words = Words(block.words, 1)
    name = words.next("a policy map")
    if not words.accept("global"):
        if not words.accept("interface"):
            raise NotUnderstood("service-policy needs global or interface NAME")
        words.next("an interface")
    words.accept("fail-close")
    words.end()
    reading.service_policies.setdefault(name, []).append(block)


def read_priority_queue(reading: Reading, block: Block) -> None:
    """`priority-queue IF` with `queue-limit PACKETS`, `tx-ring-limit N`: the strict queue that classes with `priority` fill."""
    words = Words(block.words, 1)
    interface = words.next("an interface")
    words.end()
    queue, notes, lines = Queue("priority", is_strict_priority=True), list[str](), [block.number]
    for child in block.children:
        below = Words(child.words)
        if below.accept("queue-limit"):
            queue = replace(queue, limit_packets=number_in(below.next("packets"), 0, 10**6, "a number of packets"))
        elif below.accept("tx-ring-limit"):
            notes.append(child.text)
        else:
            continue
        lines.append(child.number)
        reading.ledger.understood(child.number)
    made = QosClass("priority", ClassMatch(other=("classes with priority",)), queue=queue, lines=tuple(lines), notes=tuple(notes))
    at = QosAttachment(interface, "out", (block.number,))
    reading.priority_queues.append(QosPolicy(f"priority-queue {interface}", (made,), (at,), tuple(lines)))


def qos_policies(reading: Reading) -> list[QosPolicy]:
    """Policy maps with at least one policer, shaper or priority queue (maps that only inspect are no QoS), or not defined."""
    matches = {name: _class_match(reading, block) for name, block in reading.class_maps.items()}
    found: list[QosPolicy] = [*reading.priority_queues]
    for name, block in reading.policy_maps.items():
        classes, directions = _classes(reading, block, matches)
        if any(c.policer or c.shaper or c.queue or c.child_policy for c in classes):
            attachments = _attachments(reading, name, directions or {"out"})
            found.append(QosPolicy(name, tuple(classes), attachments, block.numbers))
    for name, blocks in reading.service_policies.items():
        if name not in reading.policy_maps:
            found.append(QosPolicy(name, (), _attachments(reading, name, {"out"}), tuple(block.number for block in blocks)))
    return found


def _class_match(reading: Reading, block: Block) -> ClassMatch:
    match = ClassMatch(match_all=block.words[1].lower() != "match-any")
    for count, child in enumerate(block.children):
        try:
            if count >= MOST_CRITERIA:
                raise NotUnderstood("a class has too many lines")
            match = _match_line(match, child)
            reading.ledger.understood(child.number)
        except NotUnderstood as reason:
            reading.ledger.unparsed(child.line, str(reason))
            if count <= MOST_CRITERIA:
                match = replace(match, other=(*match.other, child.text[:80]))
    return match


def _match_line(match: ClassMatch, child: Block) -> ClassMatch:
    words = Words(child.words)
    if words.accept("description", "exit"):
        return match
    if not words.accept("match"):
        raise NotUnderstood("match is expected")
    kind = words.next("a criterion").lower()
    if kind == "any":
        return replace(match, any=True)
    if kind == "access-list":
        return replace(match, acls=(*match.acls, words.next("an access list")))
    if kind in ("dscp", "precedence"):
        return replace(match, dscp=(match.dscp or frozenset()) | marks(kind, words.rest().split()))
    if kind in VERBATIM:
        return replace(match, other=(*match.other, f"{kind} {words.rest()}".strip()))
    raise NotUnderstood(f"match {kind[:40]!r} is not modelled")


def marks(kind: str, words: list[str]) -> frozenset[int]:
    """Code points of a `dscp` or `precedence` list (a precedence stands for its eight code points)."""
    try:
        if kind == "dscp":
            return frozenset(parse_dscp(word) for word in words)
        values = [number_in(word, 0, 7, "a precedence") for word in words]
        return frozenset(value * 8 + low for value in values for low in range(8))
    except ValueError as error:
        raise NotUnderstood(str(error)) from error


@dataclass(slots=True)
class _Class:
    qos: QosClass
    directions: set[str] = field(default_factory=set)


def _classes(reading: Reading, block: Block, matches: dict[str, ClassMatch]) -> tuple[list[QosClass], set[str]]:
    classes: list[QosClass] = []
    directions: set[str] = set()
    for child in block.children:
        words = Words(child.words)
        if words.accept("description", "exit"):
            reading.ledger.understood(child.number)
            continue
        if not words.accept("class") or not words:
            reading.ledger.unparsed(child.line, "class is expected")
            continue
        reading.ledger.understood(child.number)
        name = words.next()
        default = ClassMatch(any=True) if name == "class-default" else ClassMatch(other=(f"class-map {name} is not defined",))
        made = _Class(QosClass(name, matches.get(name, default), lines=child.numbers))
        for action in child.children:
            _book_action(reading, made, action)
        classes.append(_ceiling(made.qos))
        directions |= made.directions
    return classes, directions


def _book_action(reading: Reading, made: _Class, action: Block) -> None:
    with reading.ledger.booking(action.line):
        _action(made, action)
    for below in action.children:
        reading.ledger.ignore(below.line, "not understood")


def _action(made: _Class, action: Block) -> None:
    words = Words(action.words)
    word = words.next().lower()
    if word in NOT_QOS:
        return
    if word == "priority":
        made.qos = replace(made.qos, queue=Queue(made.qos.name, is_strict_priority=True))
        made.directions.add("out")
    elif word == "police":
        made.directions.add("in" if words.accept("input", "output") == "input" else "out")
        policer = _policer(words)
        if made.qos.policer is None:
            made.qos = replace(made.qos, policer=policer)
        elif len(made.qos.notes) < MOST_NOTES:  # the other direction has a rate of its own
            made.qos = replace(made.qos, notes=(*made.qos.notes, " ".join(words.words)))
        else:
            raise NotUnderstood("a class has one rate in each direction")
    elif word == "shape":
        if not words.accept("average"):
            raise NotUnderstood("shape average RATE is expected")
        made.directions.add("out")
        rate = number_in(words.next("a rate"), 64000, 10**12, "a rate in bit/s")
        made.qos = replace(
            made.qos, shaper=Shaper(rate, number_in(words.next(), 1, 10**12, "a burst in bit") // 8 if words else None)
        )
    elif word == "service-policy":
        made.qos = replace(made.qos, child_policy=words.next("a policy map"))
    else:
        raise NotUnderstood(f"{word[:40]!r} is not understood here")
    words.end()


def _policer(words: Words) -> Policer:
    """`police [input|output] RATE [BURST] [conform-action A] [exceed-action A]`: bit/s and bytes."""
    rate = number_in(words.next("a rate"), 8000, 10**12, "a rate in bit/s")
    burst, exceed = None, "drop"
    while words:
        word = words.next().lower()
        if word in ("conform-action", "exceed-action"):
            action = words.next("drop or transmit").lower()
            if action not in ("drop", "transmit"):
                raise NotUnderstood(f"{action[:40]!r} is not drop or transmit")
            if word == "exceed-action":
                exceed = action
            elif action == "drop":
                rate = 0
        else:
            burst = number_in(word, 1, 10**12, "a burst in bytes")
    return Policer(rate, burst, exceed_action=exceed)


def _ceiling(qos: QosClass) -> QosClass:
    """A policer in the class bounds its strict queue."""
    if qos.queue is None or qos.policer is None:
        return qos
    return replace(qos, queue=replace(qos.queue, ceiling_bps=qos.policer.rate_bps))


def _attachments(reading: Reading, name: str, directions: set[str]) -> tuple[QosAttachment, ...]:
    found: list[QosAttachment] = []
    for block in reading.service_policies.get(name, ()):
        words = block.words
        interface = words[3] if words[2].lower() == "interface" else ""
        found += [QosAttachment(interface, direction, (block.number,)) for direction in sorted(directions)]
    return tuple(found)
