"""Class maps and policy maps of IOS-XR, and the policers of LPTS."""

from __future__ import annotations

import re
from dataclasses import replace

from policyhub.domain.qos import ClassMatch, Policer, QosAttachment, QosClass, QosPolicy, Shaper
from policyhub.vendorkit.blocks import Block
from policyhub.vendorkit.ios_mqc import VERBATIM, Line, MqcSyntax
from policyhub.vendorkit.ios_police import SIZES
from policyhub.vendorkit.ios_reading import take_direction
from policyhub.vendorkit.lexing import NotUnderstood, Words, is_decimal, number_in, percentage, rate_bps
from policyhub.vendors.cisco_iosxr.reading import Reading

TYPES = ("qos", "traffic", "pbr", "accounting", "redirect", "performance-traffic", "queuing")
KEPT = re.compile(
    r"^(?:set (?:mpls|discard-class|forward-class|source-address|destination-address|ip(?:v4|v6)? |srp|vrf|df|fr-de|atm)"
    r"|redirect|transmit|http-redirect|decapsulate|queue-limit|compress|encap-sequence|child-conform-aware|monitor|flow|react"
    r"|default-queue|service-fragment|fragment|pause|police rate \d+ pps)\b"
)


def read_class_map(reading: Reading, block: Block) -> None:
    words = Words(block.words, 1)
    kind = words.next("a type").lower() if words.accept("type") else "qos"
    if kind not in TYPES:
        raise NotUnderstood(f"class-map type {kind[:40]!r} is not modelled")
    words.accept("match-any", "match-all")
    reading.mqc.add_class_map(words.next("a name"), block)


def read_policy_map(reading: Reading, block: Block) -> None:
    words = Words(block.words, 1)
    kind = words.next("a type").lower() if words.accept("type") else "qos"
    if kind not in TYPES:
        raise NotUnderstood(f"policy-map type {kind[:40]!r} is not modelled")
    reading.mqc.add_policy_map(words.next("a name"), block)


def read_service_policy(reading: Reading, place: str, block: Block) -> None:
    """`service-policy [type T] input|output NAME [account ..]`; flowspec attaches without a direction."""
    words = Words(block.words, 1)
    kind = words.next("a type").lower() if words.accept("type") else "qos"
    if kind not in TYPES:
        raise NotUnderstood(f"service-policy type {kind[:40]!r} is not modelled")
    direction = take_direction(words) if words.peek(1) else "in"
    reading.attach(words.next("a policy map"), place, direction, block.number)


def _shape(line: Line) -> QosClass:
    """`shape average RATE unit [BURST unit]`, `shape average percent N [BURST unit]`."""
    words = line.words
    if not words.accept("average"):
        raise NotUnderstood("average is expected")
    if words.accept("percent"):
        shaper = Shaper(None, percent=percentage(words))
    else:
        text = words.next("a rate")
        rate = rate_bps(text, words.accept("bps", "kbps", "mbps", "gbps"))
        if rate is None:
            raise NotUnderstood(f"{text[:40]!r} is not a rate")
        shaper = Shaper(rate)
    if is_decimal(words.peek()):
        size = number_in(words.next(), 0, 10**12, "a burst")
        unit = words.accept(*SIZES, "ms", "us", "packets", "cells") or "bytes"
        shaper = replace(shaper, burst_bytes=size * SIZES[unit]) if unit in SIZES else shaper
    return replace(line.made, shaper=shaper)


SYNTAX = MqcSyntax(
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
    actions={"shape": _shape},
    kept=KEPT,
)


def read_lpts(reading: Reading, block: Block, found: list[QosPolicy]) -> None:
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
    found.append(QosPolicy(name, tuple(classes), attached, block.numbers))
