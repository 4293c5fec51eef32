"""Class maps and policy maps of type quality-of-service, pbr, copp and pdp; trust, maps and priority flow control."""

from __future__ import annotations

import re
from dataclasses import replace

from policyhub.domain.qos import ClassMatch, DscpMap, Marker, Policer, QosClass, QosMap, Shaper, Trust, parse_dscp
from policyhub.vendorkit.blocks import Block
from policyhub.vendorkit.ios_mqc import VERBATIM, Line, MqcSyntax
from policyhub.vendorkit.ios_police import SIZES, read_police
from policyhub.vendorkit.ios_reading import take_direction
from policyhub.vendorkit.ios_tables import mark_by_default
from policyhub.vendorkit.lexing import NotUnderstood, Words, number_in, take_rate
from policyhub.vendors.arista_eos.reading import Reading

KEPT = re.compile(r"^(?:set (?:drop-precedence|nexthop(?:-group)?|interface)\b|(?:shape|bandwidth) pps \d|count$|exit$|sflow)")
KNOWN_CLASS = re.compile(r"^(?:copp-system-|built-in )")
MAP_KINDS = {
    ("cos", "traffic-class"): "pcp-to-class",
    ("traffic-class", "tx-queue"): "class-to-queue",
    ("traffic-class", "uc-tx-queue"): "class-to-queue",
    ("traffic-class", "mc-tx-queue"): "class-to-queue",
    ("traffic-class", "dscp"): "class-to-dscp",
    ("traffic-class", "cos"): "class-to-pcp",
    ("traffic-class", "priority-group"): "class-to-priority-group",
}
DSCP_MAP = ("dscp", "traffic-class")


def predefined(name: str) -> ClassMatch | None:
    return ClassMatch(other=(f"predefined class {name}",)) if KNOWN_CLASS.match(name) else None


def read_policy_map(reading: Reading, block: Block) -> None:
    words, kind = reading.mqc.typed(block)
    words.accept("shared")
    name = words.next("a name")
    if kind == "copp" and name not in reading.mqc.policy_maps:
        reading.attach(name, "control-plane", "in", block.number)  # always in force, no line says so
    reading.mqc.add_policy_map(name, block)


def read_service_policy(reading: Reading, place: str, block: Block) -> None:
    """`service-policy [type T] input|output NAME`."""
    words, _ = reading.mqc.typed(block)
    direction = take_direction(words)
    words.accept("shared")
    reading.attach(words.next("a policy map"), place, direction, block.number)
    words.end()


def _police(line: Line) -> QosClass:
    """`police rate R burst-size B [action set .. rate R2 burst-size B2]`, `police cir R bc B [pir R be B]`."""
    words = line.words
    if not words.accept("rate"):
        return replace(line.made, policer=read_police(words))
    rate = take_rate(words)
    burst: int | None = None
    if words.accept("burst-size"):
        size = number_in(words.next("a burst"), 0, 10**12, "a burst")
        burst = size * SIZES[words.accept(*SIZES) or "bytes"]
    policer = Policer(rate, burst)
    if words.accept("action"):
        action = []
        while words and words.peek().lower() != "rate":
            action.append(words.next())
        policer = replace(policer, exceed_action=" ".join(action))
        words.rest()
    return replace(line.made, policer=policer)


def _unit_first(line: Line) -> int:
    """`kbps 1000`: the rate of a control-plane class. A rate in packets has no field."""
    if not line.words.accept("kbps"):
        raise NotUnderstood("kbps is expected")
    return number_in(line.words.next("a rate"), 0, 10**10, "a rate") * 1000


def _shape(line: Line) -> QosClass:
    return replace(line.made, shaper=Shaper(_unit_first(line)))


def _bandwidth(line: Line) -> QosClass:
    return replace(line.made, queue=replace(line.queue, guaranteed_bps=_unit_first(line)))


SYNTAX = MqcSyntax(
    types=("qos", "quality-of-service", "pbr", "copp", "pdp", "control-plane"),
    any_by_default=True,
    verbatim=(*VERBATIM, "ip", "ipv6", "mac", "inner"),
    actions={"police": _police, "shape": _shape, "bandwidth": _bandwidth},
    kept=KEPT,
    predefined=predefined,
)


def read_port_line(reading: Reading, place: str, child: Block) -> bool:
    """Trust, default marks and priority flow control of a port, also from its profile; False when it is none of them."""
    words = Words(child.words)
    off = bool(words.accept("no", "default"))
    if words.accept("priority-flow-control"):
        _pfc(reading, place, child, words, off)
    elif not words.accept("qos"):
        return False
    elif words.accept("trust"):
        word = words.accept("dscp", "cos")
        if not off and not word:
            raise NotUnderstood("dscp or cos is expected")
        mode = "none" if off else "pcp" if word == "cos" else "dscp"
        reading.trusts.append(Trust(place, mode, (child.number,)))
    elif not off and words.peek().lower() in ("cos", "dscp"):
        kind = words.next().lower()
        value = _value(kind, words.next("a mark"))
        mark_by_default(reading, place, child.number, Marker(**{"pcp" if kind == "cos" else "dscp": value}))
    elif not words.accept("cos", "dscp", "rewrite", "random-detect"):
        raise NotUnderstood(f"qos {words.peek()[:40]!r} is not understood here")
    return True


def _pfc(reading: Reading, place: str, child: Block, words: Words, off: bool) -> None:
    known = reading.lossless(place)
    words.accept("mode")
    word = words.next().lower() if words else ""
    if word in ("on", "off", ""):
        known = replace(known, enabled=word == "on" and not off)
    elif word == "priority":
        number = number_in(words.next("a priority"), 0, 7, "a priority")
        if not off and words.accept("no-drop"):
            known = replace(known, priorities=(known.priorities or frozenset()) | {number})
        elif not off and not words.accept("drop"):
            raise NotUnderstood("no-drop or drop is expected")
    elif word == "pause" and words.accept("watchdog"):
        if not words:
            known = replace(known, watchdog=not off)
    elif word == "all":
        known = replace(known, enabled=False)
    else:
        raise NotUnderstood(f"{word[:40]!r} is not understood here")
    reading.losslessness[place] = replace(known, lines=(*known.lines, child.number))


def read_global(reading: Reading, block: Block) -> None:
    """`qos map A N.. to B M`; `qos rewrite ..` and device-wide ECN switches have no field. Raises NotUnderstood."""
    words = Words(block.words, 1)
    if words.accept("profile"):
        reading.profiles[words.next("a name")] = block
        return
    if not words.accept("map"):
        if not words.accept("rewrite", "random-detect", "ecn"):
            raise NotUnderstood(f"qos {words.peek()[:40]!r} is not modelled")
        return
    source = words.next("a field").lower()
    values: list[str] = []
    while words and words.peek().lower() != "to":
        values.append(words.next())
    words.next("to")
    target = words.next("a field").lower()
    if (source, target) != DSCP_MAP and (source, target) not in MAP_KINDS:
        if source in ("exp", "traffic-class") or target in ("drop-precedence", "exp"):
            return  # MPLS and drop precedences have no field
        raise NotUnderstood(f"a map from {source[:20]!r} to {target[:20]!r} is not modelled")
    level = _value(target, words.next("a value"))
    marks = {mark: level for value in values for mark in _range(source, value)}
    reading.maps.setdefault((source, target), {}).update(marks)
    reading.map_lines.setdefault((source, target), []).append(block.number)


def _range(kind: str, text: str) -> range:
    """`3`, `0-7`, `0,5`; names of marks."""
    low, _, high = text.strip(",").partition("-") if text[:1].isdigit() else (text.strip(","), "", "")
    return range(_value(kind, low), _value(kind, high or low) + 1)


def _value(kind: str, text: str) -> int:
    if kind == "dscp":
        try:
            return parse_dscp(text)
        except ValueError as error:
            raise NotUnderstood(f"{text[:40]!r} is not a dscp") from error
    return number_in(text, 0, 15, f"a {kind}")


def dscp_maps(reading: Reading) -> tuple[DscpMap, ...]:
    """Only what is written: the defaults of the others differ between platforms."""
    table = reading.maps.get(DSCP_MAP)
    if not table:
        return ()
    return (DscpMap("dscp-to-traffic-class", tuple(sorted(table.items())), (), False, tuple(reading.map_lines[DSCP_MAP])),)


def qos_maps(reading: Reading) -> tuple[QosMap, ...]:
    return tuple(
        QosMap("-to-".join(key), MAP_KINDS[key], tuple(sorted(table.items())), (), tuple(reading.map_lines[key]))
        for key, table in reading.maps.items()
        if key in MAP_KINDS
    )
