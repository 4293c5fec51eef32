"""Queues, WRED and ECN, maps, trust, flow control and rate limits of ports; classes are read by the shared module."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from policyhub.domain.device_config import Losslessness
from policyhub.domain.qos import ClassMatch, DscpMap, QosAttachment, QosClass, QosMap, QosPolicy, Queue, Shaper, Trust
from policyhub.vendorkit.blocks import Block
from policyhub.vendorkit.lexing import NotUnderstood, Words, is_decimal, number_in
from policyhub.vendorkit.vrp_car import policed, rate, size
from policyhub.vendorkit.vrp_lines import take_direction
from policyhub.vendorkit.vrp_mqc import PHBS
from policyhub.vendors.h3c_comware.acls import use
from policyhub.vendors.h3c_comware.reading import Reading, take_acl

DEFAULT_LEVELS: tuple[tuple[int, int], ...] = tuple((mark, mark // 8) for mark in range(64))
DSCP_LEVEL = "dscp-lp"
MOST_TABLE_LINES = 64  # of one queue; a device has five
KINDS = {
    "dot1p-lp": "pcp-to-class", "dscp-dscp": "dscp-to-dscp", "lp-dot1p": "class-to-pcp", "lp-dscp": "class-to-dscp",
    "dscp-dot1p": "dscp-to-pcp", "dscp-dp": "dscp-to-drop-precedence", "dot1p-dscp": "pcp-to-dscp",
    "dot1p-dp": "pcp-to-drop-precedence",
}  # fmt: skip
TRUSTS = {"dscp": "dscp", "dot1p": "pcp", "none": "none", "untrust": "none", "auto": None, "ip-precedence": "ip-precedence"}
QUEUE_WORDS = ("sp", "wrr", "wfq", "bandwidth", "gts", "lr", "wred", "queue")
OTHER_PFC = (
    "deadlock", "early-warning", "dot1p", "poolid", "headroom", "buffer", "threshold", "interval", "pause-frame", "priority",
)  # fmt: skip


def read_port(reading: Reading, place: str, block: Block) -> None:
    """A `qos ..` line of a port. Raises NotUnderstood."""
    words = Words(block.words, 1)
    word = words.next("a keyword").lower()
    if word == "apply":
        read_apply(reading, place, block)
    elif word == "trust":
        mode = words.next("a mark").lower()
        if mode not in TRUSTS:
            raise NotUnderstood(f"trust {mode[:40]!r} is not modelled")
        reading.trusts.append(Trust(place, TRUSTS[mode], (block.number,)))
    elif word == "car":
        _car(reading, place, block, words)
    elif word in QUEUE_WORDS:
        reading.queue_lines.append((place, block))
    elif word not in ("priority", "flow-interval", "max-bandwidth", "fifo", "reserved-bandwidth", "pre-classify", "phb"):
        raise NotUnderstood(f"qos {word[:40]!r} is not modelled")


def read_apply(reading: Reading, place: str, block: Block) -> None:
    """`qos apply policy P inbound|outbound`, `qos apply policy P global inbound`. Raises NotUnderstood."""
    words = Words(block.words, 2)
    if not words.accept("policy"):
        raise NotUnderstood("qos apply policy is expected")
    name = words.next("a policy")
    if words.accept("global"):
        place = ""
    reading.attach(name, place, take_direction(words), block.number)


def _car(reading: Reading, place: str, block: Block, words: Words) -> None:
    """`qos car inbound any|acl X|carl N cir ..`."""
    direction = take_direction(words)
    if words.accept("any"):
        name, match = "any", ClassMatch(any=True)
    elif words.accept("acl"):
        words.at -= 1
        key = take_acl(words)
        name, match = key[1], ClassMatch(acls=(key[1],))
        use(reading, key, "selects packets for qos car")
    elif words.accept("carl"):
        name = f"carl {words.next('a list')}"
        match = ClassMatch(other=(name,))
    else:
        raise NotUnderstood("any, acl or carl is expected")
    made = policed(QosClass(name, match, lines=(block.number,)), words)
    attached = (QosAttachment(place, direction, (block.number,)),)
    reading.port_cars.append(QosPolicy(f"car {place} {direction}", (made,), attached, (block.number,)))


@dataclass(slots=True)
class _Port:
    """What the lines of one port said so far."""

    queues: dict[int, Queue] = field(default_factory=dict)
    shapers: dict[int, Shaper] = field(default_factory=dict)
    lines: dict[int, list[int]] = field(default_factory=dict)
    whole: Shaper | None = None
    whole_lines: list[int] = field(default_factory=list)

    def change(self, number: int, line: int, **changes: object) -> None:
        known = self.queues.get(number) or Queue(str(number))
        self.queues[number] = replace(known, **changes)  # type: ignore[arg-type]
        self.lines.setdefault(number, []).append(line)


def queue_policies(reading: Reading) -> list[QosPolicy]:
    """One policy per port that says something about its queues."""
    ports: dict[str, _Port] = {}
    for place, block in reading.queue_lines:
        port = ports.setdefault(place, _Port())
        with reading.ledger.booking(block.line):
            _line(reading, port, block)
    levels = dscp_map(reading).level
    return [_policy(name, port, levels) for name, port in ports.items() if port.queues or port.whole]


def _policy(name: str, port: _Port, levels: tuple[tuple[int, int], ...]) -> QosPolicy:
    classes: list[QosClass] = []
    for number in sorted(port.queues, reverse=True):
        marks = frozenset(mark for mark, level in levels if level == number)
        match = ClassMatch(dscp=marks, other=(f"queue {number}",))
        lines = tuple(dict.fromkeys(port.lines[number]))
        shaper = port.shapers.get(number)
        classes.append(QosClass(f"queue {number}", match, shaper=shaper, queue=port.queues[number], lines=lines))
    if port.whole:
        classes.append(QosClass("port", ClassMatch(any=True), shaper=port.whole, lines=tuple(port.whole_lines)))
    lines = tuple(sorted({line for made in classes for line in made.lines}))
    return QosPolicy(f"queues {name}", tuple(classes), (QosAttachment(name, "out", lines),), lines)


def _line(reading: Reading, port: _Port, block: Block) -> None:
    words = Words(block.words, 1)
    word = words.next("a keyword").lower()
    if word in ("sp", "wrr", "wfq"):
        _scheduler(port, word, words, block)
    elif word == "bandwidth":
        words.accept("queue")
        number = _queue(words)
        words.accept("min")
        port.change(number, block.number, guaranteed_bps=rate(words))
    elif word == "gts":
        _shaper(port, words, block)
    elif word == "lr":
        if take_direction(words) == "in":
            raise NotUnderstood("qos lr inbound is not modelled")
        port.whole = _rate(words)
        port.whole_lines.append(block.number)
    elif words.accept("apply"):
        _apply_table(reading, port, words.next("a table"), block)
    elif words.accept("dscp", "ip-precedence", "enable"):
        for number in range(8):
            port.change(number, block.number, early_drop="port")
    else:
        words.accept("queue")
        number, changes = _wred("port", words)
        port.change(number, block.number, **changes)


def _queue(words: Words) -> int:
    text = words.next("a queue").lower()
    return PHBS.index(text) if text in PHBS else number_in(text, 0, 7, "a queue be, af1..af4, ef, cs6, cs7")


def _scheduler(port: _Port, kind: str, words: Words, block: Block) -> None:
    """`qos sp`, `qos wfq [byte-count|weight]`, `qos wrr Q group 1 weight|byte-count N`, `qos wfq Q group sp`."""
    words.accept("byte-count", "weight", "remaining")
    if not words:
        for number in range(8):
            port.change(number, block.number, is_strict_priority=kind == "sp")
        return
    number = _queue(words)
    if words.accept("group") and words.accept("sp"):
        port.change(number, block.number, is_strict_priority=True, remaining_weight=None)
        words.end()
        return
    if words and is_decimal(words.peek()):
        words.next()
    words.accept("weight", "byte-count")
    weight = number_in(words.next("a weight"), 1, 10**6, "a weight")
    port.change(number, block.number, is_strict_priority=False, remaining_weight=weight)
    words.end()


def _shaper(port: _Port, words: Words, block: Block) -> None:
    """`qos gts any cir K`, `qos gts queue N cir K`."""
    if words.accept("any"):
        port.whole = _rate(words)
        port.whole_lines.append(block.number)
    elif words.accept("queue"):
        number = _queue(words)
        port.shapers[number] = _rate(words)
        port.change(number, block.number)
    else:
        raise NotUnderstood("any or queue is expected")


def _rate(words: Words) -> Shaper:
    if not words.accept("cir"):
        raise NotUnderstood("cir is expected")
    shaper = Shaper(rate(words))
    while words:
        word = words.next().lower()
        if word == "cbs":
            shaper = replace(shaper, burst_bytes=size(words))
        elif word in ("ebs", "pir", "queue-length"):
            size(words)
        else:
            raise NotUnderstood(f"{word[:40]!r} is not understood in a rate")
    return shaper


def _wred(name: str, words: Words) -> tuple[int, dict[str, object]]:
    """`N drop-level L low-limit A high-limit B discard-probability P`, `N ecn`, `N weighting-constant W`: limits are no bytes."""
    number = _queue(words)
    changes: dict[str, object] = {"early_drop": name}
    if words.accept("ecn"):
        changes["ecn"] = True
    elif words.accept("weighting-constant"):
        number_in(words.next("a constant"), 0, 64, "a constant")
    elif words.accept("drop-level"):
        level = number_in(words.next("a drop level"), 0, 2, "a drop level")
        while words:
            word = words.next().lower()
            if word not in ("low-limit", "high-limit", "discard-probability"):
                raise NotUnderstood(f"{word[:40]!r} is not understood in WRED")
            value = number_in(words.next("a number"), 0, 10**9, "a number")
            if word == "discard-probability" and level == 0:
                changes["drop_max_percent"] = float(value)
    else:
        raise NotUnderstood(f"{words.peek()[:40]!r} is not understood in WRED")
    return number, changes


def _apply_table(reading: Reading, port: _Port, name: str, block: Block) -> None:
    """What a table says of its queues, as if it stood at the port; `book_tables` read and booked it."""
    table = reading.read_tables.get(name)
    if table is None:
        raise NotUnderstood(f"WRED table {name[:40]!r} is not defined here")
    for number, (changes, lines) in table.items():
        port.change(number, block.number, **changes)
        port.lines[number] += lines[:MOST_TABLE_LINES]


def book_tables(reading: Reading) -> None:
    """Lines of WRED tables, applied or not: what they change per queue, and where."""
    for name, block in reading.tables.items():
        table: dict[int, tuple[dict[str, object], list[int]]] = {}
        for child in block.children:
            words = Words(child.words)
            words.accept("queue")
            with reading.ledger.booking(child.line):
                number, changes = _wred(name, words)
                known, lines = table.setdefault(number, ({}, []))
                known |= changes
                lines.append(child.number)
        reading.read_tables[name] = table


def read_global(reading: Reading, block: Block) -> None:
    """`qos policy P`, `qos apply policy P global ..`, `qos vlan-policy P vlan V ..`, `qos map-table T`, `qos wred table T`."""
    words = Words(block.words, 1)
    word = words.next("a keyword").lower()
    if word == "policy":
        reading.mqc.policies[words.next("a policy")] = block
    elif word == "apply":
        read_apply(reading, "", block)
    elif word == "vlan-policy":
        name = words.next("a policy")
        if not words.accept("vlan"):
            raise NotUnderstood("vlan is expected")
        vlans = words.next("a vlan")
        while words and words.peek().lower() not in ("inbound", "outbound"):
            vlans += f" {words.next()}"
        reading.attach(name, f"vlan {vlans}", take_direction(words), block.number)
    elif word == "map-table":
        words.accept("inbound", "outbound", "color")
        reading.map_tables[words.words[-1].lower() if words else ""] = block
    elif word == "wred":
        words.accept("queue")
        if not words.accept("table"):
            raise NotUnderstood("qos wred table is expected")
        reading.tables[words.next("a table")] = block
    elif word not in ("carl", "trust", "flow-interval"):
        raise NotUnderstood(f"qos {word[:40]!r} is not modelled")


def _entries(reading: Reading, block: Block) -> dict[int, int]:
    """`import 0 to 7 export 1`, `import 46 export 5`."""
    found: dict[int, int] = {}
    for child in block.children:
        words = Words(child.words)
        with reading.ledger.booking(child.line):
            if not words.accept("import"):
                raise NotUnderstood("import is expected")
            numbers: list[int] = []
            while words and words.peek().lower() != "export":
                low = number_in(words.next(), 0, 63, "a value")
                high = number_in(words.next("a value"), 0, 63, "a value") if words.accept("to") else low
                numbers += range(low, high + 1)
            words.next("export")
            value = number_in(words.next("a value"), 0, 63, "a value")
            words.end()
            found |= dict.fromkeys(numbers, value)
    return found


def dscp_map(reading: Reading) -> DscpMap:
    """DSCP -> local precedence: the default with the configured lines on top."""
    block = reading.map_tables.get(DSCP_LEVEL)
    if block is None:
        return DscpMap(DSCP_LEVEL, DEFAULT_LEVELS, is_default=True)
    level = dict(DEFAULT_LEVELS) | {mark: value for mark, value in _entries(reading, block).items() if value <= 7}
    return DscpMap(DSCP_LEVEL, tuple(sorted(level.items())), lines=block.numbers)


def other_maps(reading: Reading) -> list[QosMap]:
    found: list[QosMap] = []
    for name, block in reading.map_tables.items():
        if name == DSCP_LEVEL:
            continue
        if name not in KINDS:
            for below in block.walk():
                reading.ledger.unparsed(below.line, f"the map {name[:40]!r} is not modelled")
            continue
        found.append(QosMap(name, KINDS[name], tuple(sorted(_entries(reading, block).items())), lines=block.numbers))
    return found


def read_pfc(reading: Reading, place: str, block: Block) -> None:
    """`priority-flow-control enable|auto`, `no-drop dot1p LIST`, `deadlock enable`; buffers and thresholds pass."""
    words = Words(block.words, 1)
    known = reading.lossless.get(place) or Losslessness(place)
    word = words.next("a keyword").lower()
    if word in ("enable", "auto", "receive"):
        known = replace(known, enabled=None if word == "auto" else True)  # auto: negotiated with the other side
    elif word == "no-drop":
        words.accept("dot1p")
        known = replace(known, priorities=frozenset(_priorities(words)) | (known.priorities or frozenset()))
    elif word == "deadlock" and words.accept("enable"):
        known = replace(known, watchdog=True)
    elif word not in OTHER_PFC:
        raise NotUnderstood(f"priority-flow-control {word[:40]!r} is not modelled")
    reading.lossless[place] = replace(known, lines=(*known.lines, block.number))


def _priorities(words: Words) -> set[int]:
    """`3,5`, `3-5`, `3 to 5`."""
    found: set[int] = set()
    for part in words.rest().replace(" to ", "-").replace(" ", ",").split(","):
        low, _, high = part.partition("-")
        first = number_in(low, 0, 7, "a priority")
        found.update(range(first, number_in(high or low, 0, 7, "a priority") + 1))
    return found
