"""Rates as VRP and Comware write them, and `car`: committed access rates with their buckets and colours."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from policyhub.domain.qos import Policer, QosClass
from policyhub.vendorkit.lexing import NotUnderstood, Words, number_in

KBPS = {"kbps": 1_000, "mbps": 1_000_000, "gbps": 1_000_000_000}
BYTES = {"bytes": 1, "kbytes": 1_000, "mbytes": 1_000_000}
SHARES = ("pct", "percent", "percentage")
MOST_NOTES = 64
MARKS = ("service-class", "remark-dscp", "remark-8021p", "remark-mpls-exp", "color")
OPTIONS = ("mode", "share", "color-blind", "color-aware", "identifier", "inbound", "outbound", "summary")


def policed(made: QosClass, words: Words) -> QosClass:
    """The class with the policer that the rest of a line states; the line is a note when it says more than a Policer holds."""
    car = _read_car(words)
    made = replace(made, policer=car.policer())
    return noted(made, words.words) if car.says_more else made


def noted(made: QosClass, words: list[str]) -> QosClass:
    """A line that says more than a class has fields for."""
    if len(made.notes) >= MOST_NOTES:
        raise NotUnderstood("a behavior with too many lines of this kind")
    return replace(made, notes=(*made.notes, " ".join(words)))


@dataclass(slots=True)
class _Car:
    """What a `car` says.

    in_time: sizes are milliseconds, as Comware writes them beside a percentage.
    """

    rate_bps: int | None = None
    percent: float | None = None
    peak: float = 0
    burst: int | None = None
    peak_burst: int = 0
    excess_burst: int = 0
    in_time: bool = False
    in_packets: bool = False
    ends: dict[str, str] = field(default_factory=lambda: {"green": "transmit", "yellow": "transmit", "red": "drop"})

    @property
    def has_peak(self) -> bool:
        return self.peak > ((self.percent if self.rate_bps is None else self.rate_bps) or 0)

    @property
    def says_more(self) -> bool:
        """A second rate or bucket, a rate in packets, marks of what conforms or of yellow packets."""
        has_second = self.excess_burst > 0 or (self.burst is not None and self.peak_burst > self.burst)
        is_coloured = self.ends["green"] != "transmit" or self.ends["yellow"] not in ("transmit", self.ends["red"])
        return self.has_peak or has_second or is_coloured or self.in_packets

    def policer(self) -> Policer:
        """exceed_action: what becomes of red packets; with a peak rate above the committed one, of yellow ones."""
        end = self.ends["yellow" if self.has_peak else "red"]
        if self.in_packets:
            return Policer(None, exceed_action=end)
        return Policer(self.rate_bps, None if self.in_time else self.burst, self.percent, end)


def _read_car(words: Words) -> _Car:
    """`[cir] N|pct N [pir ..] [cbs N] [pbs N|ebs N] [mode ..] [green|yellow|red ..] [limit-type pps]`; kbit/s without unit.

    Yellow packets pass by default, red ones are dropped. Source: `car` in the command references of S, AR, NE and Comware.
    """
    car = _Car()
    words.accept("cir")
    share = words.accept(*SHARES)
    car.in_time = share == "percent"
    if share:
        car.percent = _percentage(words)
    else:
        car.rate_bps = rate(words)
    while words:
        _option(car, words.next().lower(), words)
    return car


def _option(car: _Car, word: str, words: Words) -> None:
    if word == "cbs":
        car.burst = size(words)
    elif word == "pbs":
        car.peak_burst = size(words)
    elif word == "ebs":
        car.excess_burst = size(words)
    elif word == "pir":
        car.peak = _percentage(words) if words.accept(*SHARES) else float(rate(words))
    elif word in car.ends:
        car.ends[word] = _end_of(words)
    elif word == "adjust":
        number_in(words.next("a number of bytes"), 0, 10**6, "a number of bytes")
    elif word == "limit-type" and words.accept("pps"):
        car.in_packets = True
    elif word in OPTIONS:
        words.accept("color-blind", "color-aware", "rfc2697", "rfc2698")
    else:
        raise NotUnderstood(f"{word[:40]!r} is not understood in a car")


def _percentage(words: Words) -> float:
    return float(number_in(words.next("a percentage"), 0, 100, "a percentage"))


def _end_of(words: Words) -> str:
    """What becomes of packets of one colour: drop, transmit, or pass (Comware's `qos car`: continue) with other marks."""
    action = words.next("pass or discard").lower()
    for _ in range(8):
        word = words.accept(*MARKS)
        if not word and words.accept("remark"):  # NE: `pass remark dscp 12`
            word = f"remark-{words.next('a mark').lower()}"
        if not word:
            break
        action += f" {word} {words.next('a value')}"
    for end in ("pass", "continue"):  # Comware: the packet passes with another mark, or the next car is asked
        if action.startswith("remark-") and action.endswith(f"-{end}"):
            action = f"{end} {action.removesuffix(f'-{end}')} {words.next('a value')}"
    if action.split()[0] not in ("pass", "discard", "continue"):
        raise NotUnderstood(f"{action[:40]!r} is not pass or discard")
    return "drop" if action == "discard" else "transmit" if action == "pass" else action


def rate(words: Words, unit_bps: int = 1_000) -> int:
    """A number and its unit, bit/s; kbit/s when the unit is left out."""
    value = number_in(words.next("a rate"), 0, 10**12, "a rate")
    unit = words.accept(*KBPS)
    return value * (KBPS[unit] if unit else unit_bps)


def size(words: Words) -> int:
    """A number of bytes, with or without its unit."""
    value = number_in(words.next("a size"), 0, 10**12, "a size")
    unit = words.accept(*BYTES)
    return value * (BYTES[unit] if unit else 1)
