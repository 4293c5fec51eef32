"""Class maps and policy maps of IOS-XR, and the policers of LPTS."""

from __future__ import annotations

import re
from dataclasses import replace

from policyhub.domain.device_config import Losslessness
from policyhub.domain.qos import ClassMatch, Policer, QosAttachment, QosClass, QosPolicy, Shaper
from policyhub.vendorkit.blocks import Block
from policyhub.vendorkit.ios_mqc import ACTIONS, VERBATIM, Line, MqcSyntax
from policyhub.vendorkit.ios_police import SIZES
from policyhub.vendorkit.ios_reading import take_direction
from policyhub.vendorkit.ledger import NOT_UNDERSTOOD
from policyhub.vendorkit.lexing import NotUnderstood, Words, is_decimal, number_in, percentage, take_rate
from policyhub.vendors.cisco_iosxr.reading import Reading

PER_SECOND = {"ms": 1000, "us": 10**6}
THRESHOLDS = re.compile(rf"^(\d+) ({'|'.join(SIZES)}) (\d+) ({'|'.join(SIZES)})$", re.IGNORECASE)
KEPT = re.compile(
    r"^(?:set (?:mpls|discard-class|forward-class|source-address|destination-address|ip(?:v4|v6)? |srp|vrf|df|fr-de|atm)"
    r"|redirect|transmit|http-redirect|decapsulate|queue-limit|compress|encap-sequence|child-conform-aware|monitor|flow|react"
    r"|default-queue|service-fragment|fragment|pause|police rate \d+ pps)\b"
)


def read_service_policy(reading: Reading, place: str, block: Block) -> None:
    """`service-policy [type T] input|output NAME [account ..]`; flowspec attaches without a direction."""
    words, _ = reading.mqc.typed(block)
    direction = take_direction(words) if words.peek(1) else "in"
    reading.attach(words.next("a policy map"), place, direction, block.number)


def _shape(line: Line) -> QosClass:
    """`shape average RATE unit [BURST unit]`, `shape average percent N [BURST unit]`."""
    words = line.words
    if not words.accept("average"):
        raise NotUnderstood("average is expected")
    shaper = Shaper(None, percent=percentage(words)) if words.accept("percent") else Shaper(take_rate(words))
    if is_decimal(words.peek()):
        size = number_in(words.next(), 0, 10**12, "a burst")
        unit = words.accept(*SIZES, "ms", "us", "packets", "cells") or "bytes"
        if unit in SIZES:
            shaper = replace(shaper, burst_bytes=size * SIZES[unit])
        elif unit in PER_SECOND and shaper.rate_bps is not None:
            shaper = replace(shaper, burst_bytes=shaper.rate_bps * size // PER_SECOND[unit] // 8)
    return replace(line.made, shaper=shaper)


def _random_detect(line: Line) -> QosClass:
    """`random-detect MIN unit MAX unit` in bytes has fields; thresholds in time and per mark are words."""
    found = THRESHOLDS.match(" ".join(line.words.words[line.words.at :]))
    if found is None:
        return ACTIONS["random-detect"](line)
    line.words.rest()
    low, high = (int(found[size][:12]) * SIZES[found[unit].lower()] for size, unit in ((1, 2), (3, 4)))
    early = line.queue.early_drop or "wred"
    return replace(line.made, queue=replace(line.queue, early_drop=early, drop_min_bytes=low, drop_max_bytes=high))


SYNTAX = MqcSyntax(
    types=("qos", "traffic", "pbr", "accounting", "redirect", "performance-traffic", "queuing"),
    any_by_default=True,
    verbatim=(
        *VERBATIM,
        "ipv4",
        "ipv6",
        "cos",
        "vpls",
        "fragment-type",
        "ethertype",
        "end-class",
        "tcp-flag",
        "frame-relay",
        "app-id",
    ),
    actions={"shape": _shape, "random-detect": _random_detect},
    kept=KEPT,
)


def read_pauses(reading: Reading, block: Block) -> None:
    """`hw-module profile priority-flow-control location L / [buffer-internal|buffer-extended] traffic-class N ..`.

    The classes that ports of that line card pause (NCS 5500 and 8000 QoS guides, priority flow control).
    """
    words = Words(block.words, 1)
    if not words.accept("profile") or not words.accept("priority-flow-control") or not words.accept("location"):
        raise NotUnderstood(NOT_UNDERSTOOD)
    card = words.next("a location").upper().removesuffix("CPU0")
    for child in block.children:
        below = Words(child.words)
        below.accept("buffer-internal", "buffer-extended", "buffer-extended-hybrid")
        if not below.accept("traffic-class"):
            continue
        with reading.ledger.booking(child.line):
            priority = number_in(below.next("a traffic class"), 0, 7, "a traffic class")
            reading.paused.setdefault(card, {})[priority] = child.number


def losslessness(reading: Reading) -> tuple[Losslessness, ...]:
    """Ports that are on pause what the profile of their line card names; without one it is unknown."""
    found = []
    for place, known in reading.losslessness.items():
        port = re.sub(r"^[A-Za-z-]+", "", place)
        cards = [classes for card, classes in reading.paused.items() if known.enabled and card and port.startswith(card)]
        for classes in cards:
            known = replace(known, priorities=frozenset(classes), lines=(*known.lines, *classes.values()))
        found.append(known)
    return tuple(found)


def read_lpts(reading: Reading, block: Block) -> None:
    """`lpts pifib hardware police [location L]`: what may reach the route processor, per flow, in packets."""
    words = Words(block.words, 1)
    if words.next("pifib").lower() != "pifib" or not words.accept("hardware") or not words.accept("police"):
        raise NotUnderstood("only lpts pifib hardware police is modelled")
    name = f"lpts {words.rest()}".strip()
    classes: list[QosClass] = []
    for child in block.below():
        below = child.words
        if below[0].lower() != "flow" or "rate" not in below[2:]:
            reading.ledger.unparsed(child.line, "flow .. rate N is expected")
            continue
        at = below.index("rate", 2)
        match = ClassMatch(other=(" ".join(below[:at]),))
        notes = (" ".join(below[at:]),)
        classes.append(QosClass(" ".join(below[1:at]), match, policer=Policer(None), lines=(child.number,), notes=notes))
        reading.ledger.understood(child.number)
    attached = (QosAttachment("control-plane", "in", (block.number,)),)
    reading.lpts.append(QosPolicy(name, tuple(classes), attached, block.numbers))
