"""`police` in all its spellings: positional, cir/pir, rate, percent, with actions on the line or below it."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise, takewhile

from policyhub.domain.qos import Policer
from policyhub.vendorkit.lexing import NotUnderstood, Words, is_decimal, number_in, percentage, rate_bps

UNITS = ("bps", "kbps", "mbps", "gbps", "pps")
TIMES = ("ms", "us")
SIZES = {"bytes": 1, "kbytes": 1000, "mbytes": 10**6}
ACTIONS = ("conform-action", "exceed-action", "violate-action", "conform", "exceed", "violate")
SECOND = frozenset(("pps", "pir", "peak-rate", "be", "peak-burst"))
TAKES_VALUE = (
    "set-dscp-transmit", "set-prec-transmit", "set-cos-transmit", "set-qos-transmit", "set-mpls-exp-transmit",
    "set-mpls-exp-imposition-transmit", "set-mpls-exp-topmost-transmit", "set-discard-class-transmit", "set-dscp-tunnel-transmit",
)  # fmt: skip


def read_police(words: Words) -> Policer:
    """What follows `police`. A rate in packets has rate_bps None: it limits, but no bit rate is known."""
    if words.accept("flow") and words.accept("mask"):
        words.next("a mask")
    words.accept("cir", "rate")
    policer = Policer(None)
    if words.accept("percent"):
        policer = replace(policer, percent=percentage(words))
    elif words.peek().lower() not in (*ACTIONS, ""):
        policer = _rate(words, policer)
    while words:
        policer = _option(words, policer)
    return policer


def _rate(words: Words, policer: Policer) -> Policer:
    text = words.next("a rate")
    unit = words.accept(*UNITS)
    if unit == "pps":
        number_in(text, 1, 10**12, "a rate in packets per second")
        return policer
    rate = rate_bps(text, unit)
    if rate is None:
        raise NotUnderstood(f"{text[:40]!r} is not a rate")
    return replace(policer, rate_bps=rate)


def _option(words: Words, policer: Policer) -> Policer:
    word = words.peek().lower()
    if word in ACTIONS:
        return read_police_line(policer, words, whole=False)
    words.next()
    if word in ("bc", "burst"):
        return replace(policer, burst_bytes=_burst(words, policer))
    if word in ("pir", "peak-rate"):
        if words.accept("percent"):
            percentage(words)
        else:
            words.next("a rate")
            words.accept(*UNITS)
        return policer
    if word in ("be", "peak-burst"):
        _burst(words, policer)
        return policer
    if is_decimal(word):  # positional: normal burst, then maximum burst
        words.at -= 1
        burst = _burst(words, policer)
        return policer if policer.burst_bytes is not None else replace(policer, burst_bytes=burst)
    if word == "account":
        words.rest()
        return policer
    raise NotUnderstood(f"{word[:40]!r} is not understood here")


def _burst(words: Words, policer: Policer) -> int | None:
    """Bytes; a burst in time is converted with the rate, and unknown with a percentage."""
    size = number_in(words.next("a burst"), 0, 10**12, "a burst")
    unit = words.accept(*TIMES, *SIZES, "packets")
    if unit in TIMES:
        scale = 1000 if unit == "ms" else 10**6
        return policer.rate_bps * size // scale // 8 if policer.rate_bps is not None else None
    return None if unit == "packets" else size * SIZES.get(unit, 1)


def read_police_line(policer: Policer, words: Words, whole: bool = True) -> Policer:
    """One action, on the line of `police` or below it. With two rates `exceed` is what lies between them."""
    kind = words.next("an action").lower()
    if kind not in ACTIONS:
        raise NotUnderstood(f"{kind[:40]!r} is not a police action")
    action = words.next("what to do")
    if action.lower() in TAKES_VALUE:
        action = f"{action} {words.next('a value')}"
        if words.accept("table"):
            action = f"{action} table {words.next('a table')}"
    if whole and action.lower() == "set":  # IOS-XR: `exceed-action set dscp af12`
        action = f"set {words.rest()}"
    if whole:
        words.end()
    return replace(policer, exceed_action=action) if kind.startswith("exceed") else policer


def _has_second_burst(told: list[str]) -> bool:
    """`police 8000000 16000 24000 ..`: rate, normal and maximum burst; two alike are one bucket."""
    numbers = [word for word in takewhile(lambda word: word not in ACTIONS, told) if is_decimal(word)]
    return len(numbers) > 2 and numbers[2] != numbers[1]


def has_no_field(words: list[str], policer: Policer) -> bool:
    """Whether a line of a policer says more than a Policer holds.

    A rate in packets, a second rate or bucket, a mark for what conforms, another end for what violates than for what exceeds.
    """
    told = [word.lower() for word in words]
    if told[0] not in ("police", *ACTIONS):
        return False
    if not SECOND.isdisjoint(told) or told.count("rate") > 1 or _has_second_burst(told):
        return True
    exceeding = policer.exceed_action.lower().split()[:1]
    for word, then in pairwise(told):
        if word in ("conform", "conform-action") and then != "transmit":
            return True
        if word in ("violate", "violate-action") and [then] != exceeding:
            return True
    return False
