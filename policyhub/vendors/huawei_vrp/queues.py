"""Queues of a port: schedulers, shapers, WRED and ECN per queue, as one QosPolicy per port; DiffServ domains as maps.

The queue of a packet is its local precedence (0 be .. 7 cs7). A class therefore names the marks that the device-wide default map
sends there, unless a DiffServ domain changes that map: then the marks of a queue depend on the port of entry and stay unknown.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from importlib.resources import files

from policyhub.domain.qos import ClassMatch, DscpMap, QosAttachment, QosClass, QosMap, QosPolicy, Queue, Shaper, parse_dscp
from policyhub.vendorkit.blocks import Block
from policyhub.vendorkit.lexing import NotUnderstood, Words, number_in
from policyhub.vendorkit.vrp_car import rate, size
from policyhub.vendorkit.vrp_mqc import PHBS, read_shaper
from policyhub.vendors.huawei_vrp.lossless import with_thresholds
from policyhub.vendors.huawei_vrp.reading import PACKAGE, Reading

_DATA = json.loads(files(PACKAGE).joinpath("default_maps.json").read_text(encoding="utf-8"))
DEFAULT_LEVELS: tuple[tuple[int, int], ...] = tuple(
    (mark, PHBS.index(_DATA["dscp_to_phb"].get(str(mark), _DATA["others"]))) for mark in range(64)
)
STRICT_GROUP = "15"
COLOURS = ("green", "yellow", "red")


@dataclass(slots=True)
class _Port:
    """What the lines of one port said so far. order: queue numbers as mentioned."""

    queues: dict[int, Queue] = field(default_factory=dict)
    shapers: dict[int, Shaper] = field(default_factory=dict)
    lines: dict[int, list[int]] = field(default_factory=dict)
    notes: dict[int, list[str]] = field(default_factory=dict)
    whole: Shaper | None = None
    whole_lines: list[int] = field(default_factory=list)

    def change(self, number: int, line: int, **changes: object) -> None:
        known = self.queues.get(number) or Queue(str(number))
        self.queues[number] = replace(known, **changes)  # type: ignore[arg-type]
        self.lines.setdefault(number, []).append(line)


def policies(reading: Reading) -> list[QosPolicy]:
    """One policy per port that says something about its queues."""
    ports: dict[str, _Port] = {}
    for entry in reading.queue_lines:
        port = ports.setdefault(entry.interface, _Port())
        try:
            _line(reading, port, entry.block)
            reading.ledger.understood(entry.block.number)
        except NotUnderstood as reason:
            reading.ledger.unparsed(entry.block.line, str(reason))
    sure = not any("dscp-inbound" in child.text for block in reading.domains.values() for child in block.children)
    found = [_policy(reading, name, port, sure) for name, port in ports.items() if port.queues or port.whole]
    return found + [_flow_queue(reading, name, block, sure) for name, block in reading.flow_queues.items()]


def read_flow_queue(reading: Reading, block: Block) -> None:
    """NE: `flow-queue F` with `queue af1 wfq weight 10 shaping 1000 flow-wred W`, kbit/s: the queues of one user."""
    reading.flow_queues[Words(block.words, 1).next("a name")] = block


def _flow_queue(reading: Reading, name: str, block: Block, sure: bool) -> QosPolicy:
    port = _Port()
    for child in block.children:
        words = Words(child.words)
        with reading.ledger.booking(child.line):
            words.next("queue")
            _port_queue(port, words, child, 1_000)
    made = _policy(reading, name, port, sure)
    return replace(made, name=f"flow-queue {name}", attachments=(), lines=tuple(sorted({block.number, *made.lines})))


def _policy(reading: Reading, name: str, port: _Port, sure: bool) -> QosPolicy:
    """sure: the device-wide default map says which marks a queue gets."""
    classes: list[QosClass] = []
    for number in sorted(port.queues, reverse=True):
        marks = frozenset(mark for mark, level in DEFAULT_LEVELS if level == number)
        match = ClassMatch(dscp=marks if sure else None, other=(f"queue {number}",))
        queue, thresholds, more = with_thresholds(reading, port.queues[number])
        lines = tuple(dict.fromkeys([*port.lines[number], *more]))
        notes = (*port.notes.get(number, ()), *thresholds)
        name_of = f"queue {number}"
        classes.append(QosClass(name_of, match, shaper=port.shapers.get(number), queue=queue, lines=lines, notes=notes))
    if port.whole:
        classes.append(QosClass("port", ClassMatch(any=True), shaper=port.whole, lines=tuple(port.whole_lines)))
    lines = tuple(sorted({line for made in classes for line in made.lines}))
    return QosPolicy(f"queues {name}", tuple(classes), (QosAttachment(name, "out", lines),), lines)


def _line(reading: Reading, port: _Port, block: Block) -> None:
    words = Words(block.words)
    if words.accept("port-queue"):
        _port_queue(port, words, block, 1_000_000)
        return
    if words.accept("dcb"):
        _dcb(reading, port, words, block)
        return
    words.accept("qos")
    word = words.next("a keyword").lower()
    if word == "gts":
        port.whole = read_shaper(words)
        port.whole_lines.append(block.number)
    elif word == "lr":
        _line_rate(port, words, block)
    elif word == "queue":
        _queue(port, words, block)
    elif word in ("pq", "drr", "wrr", "wfq"):
        words.at -= 1
        _scheduler(port, words, block)
    elif word in ("schedule-profile", "queue-profile"):
        _profile(reading, port, words, block)
    else:
        raise NotUnderstood(f"qos {word[:40]!r} is not modelled")


def _dcb(reading: Reading, port: _Port, words: Words, block: Block) -> None:
    """`dcb ets enable P`: groups of queues share by weight, group 15 is strict; `dcb pfc buffer N ..`: thresholds, verbatim."""
    if words.accept("pfc"):
        words.accept("buffer", "xoff", "hdrm")
        number = number_in(words.next("a priority"), 0, 7, "a priority")
        port.change(number, block.number)
        port.notes.setdefault(number, []).append(block.text)
        return
    words.next("ets")
    words.accept("enable")
    profile = reading.ets_profiles.get(words.next("a profile"))
    members: dict[str, list[int]] = {}
    for child in profile.children if profile is not None else ():
        below = Words(child.words)
        group = below.next() if below.accept("priority-group") and below.peek() else ""
        if below.accept("queue"):
            members[group] = _numbers(below)
            for number in members[group]:
                port.change(number, block.number, is_strict_priority=group == STRICT_GROUP)
                port.lines[number].append(child.number)
    for child in profile.children if profile is not None else ():
        below = Words(child.words, 1)
        group = below.next() if below else ""
        if below.accept("drr"):
            for number in members.get(group, ()):
                port.notes.setdefault(number, []).append(f"priority-group {group} drr {below.words[-1]}")
                port.lines[number].append(child.number)


def _line_rate(port: _Port, words: Words, block: Block) -> None:
    """`qos lr [outbound] cir N [unit] [cbs N] [outbound]`; inbound is a policer of the port and not modelled."""
    if "inbound" in (word.lower() for word in words.words):
        raise NotUnderstood("qos lr inbound is not modelled")
    words.accept("outbound")
    if words.accept("pct"):
        port.whole = Shaper(None, percent=float(number_in(words.next("a percentage"), 0, 100, "a percentage")))
    else:
        words.accept("cir")
        port.whole = Shaper(rate(words))
    if words.accept("cbs"):
        port.whole = replace(port.whole, burst_bytes=size(words))
    words.accept("outbound")
    words.end()
    port.whole_lines.append(block.number)


def _numbers(words: Words) -> list[int]:
    """`0 to 4`, `6 7`, `5`."""
    found: list[int] = []
    while words and words.peek()[0].isascii() and words.peek()[0].isdigit():
        number = number_in(words.next(), 0, 7, "a queue")
        if words.accept("to"):
            found += range(number, number_in(words.next("a queue"), 0, 7, "a queue") + 1)
        else:
            found.append(number)
    return found


def _scheduler(port: _Port, words: Words, block: Block) -> None:
    """`qos pq 6 to 7 drr 0 to 5`, `qos drr`: without numbers it is every queue."""
    while words:
        kind = words.accept("pq", "drr", "wrr", "wfq")
        if not kind:
            words.end()
        for number in _numbers(words) or list(range(8)):
            port.change(number, block.number, is_strict_priority=kind == "pq")


def _queue(port: _Port, words: Words, block: Block) -> None:
    """`qos queue N drr|wrr|wfq weight W`, `shaping cir ..`, `wred P`, `ecn`, `length N`; several numbers at a time."""
    numbers = _numbers(words)
    if not numbers:
        raise NotUnderstood("qos queue needs a number")
    kind = words.next("a keyword").lower()
    for number in numbers:
        at = words.at
        if kind in ("drr", "wrr", "wfq"):
            words.accept("weight")
            weight = number_in(words.next("a weight"), 0, 10**6, "a weight")
            # weight 0 of wrr and drr puts the queue under strict priority
            strict = weight == 0 and kind != "wfq"
            port.change(number, block.number, remaining_weight=weight or None, is_strict_priority=strict)
        elif kind == "shaping":
            port.shapers[number], floor = _shaping(words)
            port.change(number, block.number, guaranteed_bps=floor)
        elif kind == "wred":
            port.change(number, block.number, early_drop=words.next("a profile"))
        elif kind == "ecn":
            port.change(number, block.number, ecn=True)
        elif kind == "length":
            port.change(number, block.number, limit_bytes=size(words))
        else:
            raise NotUnderstood(f"qos queue {kind[:40]!r} is not modelled")
        words.end()
        words.at = at if number != numbers[-1] else words.at


def _shaping(words: Words) -> tuple[Shaper, int | None]:
    """`cir N [unit] pir N [unit] [cbs ..]`: the peak rate is the ceiling, the committed one then a floor."""
    words.accept("cir")
    shaper = Shaper(rate(words))
    committed, floor = shaper.rate_bps, None
    while words:
        word = words.next().lower()
        if word == "pir":
            shaper, floor = replace(shaper, rate_bps=rate(words)), committed or None
        elif word == "cbs":
            shaper = replace(shaper, burst_bytes=size(words))
        elif word == "pbs":
            size(words)
        else:
            raise NotUnderstood(f"{word[:40]!r} is not understood in a shaper")
    return shaper, floor


def _port_queue(port: _Port, words: Words, block: Block, unit_bps: int) -> None:
    """NE: `port-queue af3 wfq weight 30 [shaping 100 | shaping-percentage 10] [port-wred W] outbound`; shaping in Mbit/s."""
    number = (
        PHBS.index(words.next("a class").lower()) if words.peek().lower() in PHBS else number_in(words.next(), 0, 7, "a class")
    )
    kind = words.next("a scheduler").lower()
    if kind not in ("pq", "wfq", "lpq"):
        raise NotUnderstood(f"port-queue {kind[:40]!r} is not modelled")
    port.change(number, block.number, is_strict_priority=kind == "pq")
    if kind == "lpq":
        port.notes.setdefault(number, []).append("lpq: served when no other queue has packets")
    while words:
        word = words.next().lower()
        if word == "weight":
            port.change(number, block.number, remaining_weight=number_in(words.next("a weight"), 1, 10**6, "a weight"))
        elif word == "shaping":
            port.shapers[number] = Shaper(rate(words, unit_bps))
        elif word == "shaping-percentage":
            port.shapers[number] = Shaper(None, percent=float(number_in(words.next("a percentage"), 0, 100, "a percentage")))
        elif word in ("port-wred", "flow-wred"):
            port.change(number, block.number, early_drop=words.next("a profile"))
        elif word not in ("outbound", "low-latency"):
            raise NotUnderstood(f"{word[:40]!r} is not understood in a port-queue")


def _profile(reading: Reading, port: _Port, words: Words, block: Block) -> None:
    """The lines of a named scheduler profile, as if they stood at the port."""
    name = words.next("a profile")
    known = reading.schedulers.get(name)
    if known is None:
        raise NotUnderstood(f"profile {name[:40]!r} is not defined here")
    for child in known.children:
        with reading.ledger.booking(child.line):
            below = Words(child.words)
            below.accept("qos")
            if below.peek().lower() in ("pq", "drr", "wrr", "wfq"):
                _scheduler(port, below, child)
            elif below.accept("queue"):
                _queue(port, below, child)
            else:
                below.end()
    for number in port.queues:
        port.lines[number].append(block.number)


def maps(reading: Reading) -> tuple[DscpMap, ...]:
    """The documented default map and each DiffServ domain (the default one with its lines on top)."""
    found: list[DscpMap] = []
    for name, block in reading.domains.items():
        level = dict(DEFAULT_LEVELS)
        lines = [block.number]
        for child in block.children:
            with reading.ledger.booking(child.line):
                if _domain_line(level, Words(child.words)):
                    lines.append(child.number)
                else:
                    _other_map(reading, name, Words(child.words), child.number)
        found.append(DscpMap(name, tuple(sorted(level.items())), tuple(reading.domain_ports.get(name, ())), False, tuple(lines)))
    if "default" not in reading.domains:
        found.insert(0, DscpMap("default", DEFAULT_LEVELS, (), True))
    return tuple(found)


# Kinds of other maps by the words of a domain, and by the name of an AR's table.
OTHER_MAPS = {"8021p-inbound": "pcp-to-class", "8021p-outbound": "class-to-pcp", "ip-dscp-outbound": "class-to-dscp"}
MOST_ENTRIES = 64 * len(COLOURS)
TABLES = {"dscp-dot1p": "dscp-to-pcp", "dot1p-dscp": "pcp-to-dscp", "dscp-dscp": "dscp-to-dscp"}


def _other_map(reading: Reading, name: str, words: Words, line: int) -> None:
    """`8021p-inbound 5 phb ef green`, `ip-dscp-outbound ef green map 46`: a class leaves with one mark per colour."""
    kind = OTHER_MAPS.get(words.next().lower())
    if kind is None:
        return
    first = words.next("a value").lower()
    words.accept("phb", *COLOURS)
    words.accept("map")
    second = words.next("a value").lower()
    pair = (number_in(first, 0, 7, "a priority"), _class(second)) if kind == "pcp-to-class" else (_class(first), _mark(second))
    reading.qos_maps.add(QosMap(name, kind, (pair,), tuple(reading.domain_ports.get(name, ())), (line,)), MOST_ENTRIES)


def read_map_table(reading: Reading, name: str, block: Block) -> None:
    """AR: `qos map-table dscp-dot1p` with `input 24 to 26 output 3`."""
    kind = TABLES.get(name.lower())
    if kind is None:
        raise NotUnderstood(f"qos map-table {name[:40]} is not modelled")
    reading.qos_maps.add(QosMap(name, kind, (), (), (block.number,)), MOST_ENTRIES)
    for child in block.children:
        words = Words(child.words)
        with reading.ledger.booking(child.line):
            words.next("input")
            low = high = number_in(words.next("a mark"), 0, 63, "a mark")
            if words.accept("to"):
                high = number_in(words.next("a mark"), low, 63, "a mark")
            words.next("output")
            to = number_in(words.next("a mark"), 0, 63, "a mark")
            words.end()
            entries = tuple((mark, to) for mark in range(low, high + 1))
            reading.qos_maps.add(QosMap(name, kind, entries, (), (child.number,)), MOST_ENTRIES)


def _class(text: str) -> int:
    if text not in PHBS:
        raise NotUnderstood(f"{text[:40]!r} is not a class")
    return PHBS.index(text)


def _mark(text: str) -> int:
    try:
        return parse_dscp(text)
    except ValueError as error:
        raise NotUnderstood(str(error)) from error


def _domain_line(level: dict[int, int], words: Words) -> bool:
    """`ip-dscp-inbound 24 phb af3 green`; 802.1p and outbound lines say nothing about DSCP levels: False."""
    word = words.next().lower()
    if word in ("8021p-inbound", "8021p-outbound", "ip-dscp-outbound", "mpls-exp-inbound", "mpls-exp-outbound", "description"):
        return False
    if word not in ("ip-dscp-inbound", "ip-dscp"):
        raise NotUnderstood(f"{word[:40]!r} is not understood in a DiffServ domain")
    mark = _mark(words.next("a DSCP"))
    words.accept("phb")
    phb = _class(words.next("a class").lower())
    words.accept(*COLOURS)
    words.end()
    level[mark] = phb
    return True
