"""Transmit queues of a port or of a `qos profile` as one QosPolicy, and profiles applied to the ports that use them."""

from __future__ import annotations

import re
from dataclasses import replace

from policyhub.domain.qos import ClassMatch, QosAttachment, QosClass, QosPolicy, Queue, Shaper
from policyhub.vendorkit.blocks import Block
from policyhub.vendorkit.ios_police import SIZES
from policyhub.vendorkit.lexing import NotUnderstood, Words, number_in, percentage, rate_bps
from policyhub.vendors.arista_eos import qos
from policyhub.vendors.arista_eos.reading import Reading

QUEUE = re.compile(r"^(?:uc-|mc-)?tx-queue \d{1,2}$")
NO_FIELD = ("latency", "drop-precedence", "buffer", "queue-monitor", "delay")


def read_lines(reading: Reading, place: str, child: Block) -> bool:
    """`tx-queue N` with what stands below it, `shape rate R`; False when it is neither."""
    words = Words(child.words)
    if QUEUE.match(child.text):
        _queue(reading, place, child)
        return True
    off = bool(words.accept("no", "default"))
    if not words.accept("shape") or not words.accept("rate"):
        return False
    if not off:
        made = QosClass("port", ClassMatch(any=True), shaper=_shaper(words), lines=(child.number,))
        reading.queues.setdefault(place, []).append(made)
    return True


def _queue(reading: Reading, place: str, block: Block) -> None:
    """Defaults that `show running-config all` prints say nothing: such a queue is left out."""
    empty = QosClass(block.text, ClassMatch(other=(block.text,)), queue=Queue(block.text), lines=block.numbers)
    made = empty
    for child in block.below():
        with reading.ledger.booking(child.line):
            made = _line(made, Words(child.words))
    if made != empty:
        reading.queues.setdefault(place, []).append(made)


def _line(made: QosClass, words: Words) -> QosClass:
    queue = made.queue or Queue(made.name)
    off = bool(words.accept("no", "default"))
    word = words.next().lower()
    if off or word in NO_FIELD or word in ("exit", "comment"):
        return made
    if word == "priority":
        return replace(made, queue=replace(queue, is_strict_priority=True))
    if word == "shape" and words.accept("rate"):
        return replace(made, shaper=_shaper(words))
    if word == "bandwidth":
        return replace(made, queue=_bandwidth(queue, words))
    if word == "random-detect" and words.accept("ecn"):
        return replace(made, queue=_detect(replace(queue, ecn=True), words))
    if word == "random-detect" and words.accept("drop", "non-ect"):
        return replace(made, queue=_detect(queue, words))
    raise NotUnderstood(f"{word[:40]!r} is not understood here")


def _bandwidth(queue: Queue, words: Words) -> Queue:
    """`bandwidth percent N` is a share of what strict queues leave; `guaranteed` is a floor."""
    floor = bool(words.accept("guaranteed"))
    if words.accept("percent"):
        share = percentage(words)
        return replace(queue, guaranteed_percent=share) if floor else replace(queue, remaining_percent=share)
    if not floor:
        raise NotUnderstood("percent or guaranteed is expected")
    shaper = _shaper(words)
    return replace(queue, guaranteed_bps=shaper.rate_bps, guaranteed_percent=shaper.percent)


def _shaper(words: Words) -> Shaper:
    """`N [kbps|mbps|gbps|percent|pps]`; kbps when nothing is told. A rate in packets has no bit rate."""
    words.accept("rate")
    text = words.next("a rate")
    if words.accept("percent"):
        return Shaper(None, percent=float(number_in(text, 0, 100, "a percentage")))
    if words.accept("pps"):
        number_in(text, 0, 10**12, "a rate")
        return Shaper(None)
    rate = rate_bps(text, words.accept("bps", "kbps", "mbps", "gbps") or "kbps")
    if rate is None:
        raise NotUnderstood(f"{text[:40]!r} is not a rate")
    return Shaper(rate)


def _detect(queue: Queue, words: Words) -> Queue:
    """`minimum-threshold N U maximum-threshold N U [max-mark-probability P] [weight W]`; segments are not bytes."""
    text = words.words[words.at :]
    if words.accept("count") or not words:
        return queue
    early = "wred"
    while words:
        word = words.next().lower()
        if word in ("minimum-threshold", "maximum-threshold"):
            size = number_in(words.next("a threshold"), 0, 10**12, "a threshold")
            unit = words.accept(*SIZES, "segments", "milliseconds", "microseconds") or "bytes"
            if unit not in SIZES:
                early = " ".join(text)
            elif word == "minimum-threshold":
                queue = replace(queue, drop_min_bytes=size * SIZES[unit])
            else:
                queue = replace(queue, drop_max_bytes=size * SIZES[unit])
        elif word in ("max-mark-probability", "drop-probability", "max-drop-probability"):
            queue = replace(queue, drop_max_percent=percentage(words))
        elif word in ("weight", "drop-precedence"):
            words.next("a value")
        elif word != "count":
            raise NotUnderstood(f"{word[:40]!r} is not understood here")
    return replace(queue, early_drop=early)


def apply_profiles(reading: Reading) -> None:
    """What a profile says of trust, pauses and policies counts for each port that uses it; its queues are read once.

    What the port says itself wins (EOS user manual, QoS profiles).
    """
    own, pauses = _said_by_ports(reading), dict(reading.losslessness)
    for name, block in reading.profiles.items():
        ports = [port for profile, port, _ in reading.profile_users if profile == name]
        for child in block.children:
            with reading.ledger.booking(child.line):
                bound = [port for port in ports if port not in own.get(_subject(child), ())]
                if not _profile_line(reading, name, bound, child):
                    raise NotUnderstood("not understood")
    for port, known in pauses.items():
        if known.enabled is not None:
            reading.losslessness[port] = replace(reading.losslessness[port], enabled=known.enabled)


def _subject(child: Block) -> str:
    return child.words[0] if child.words[0] == "service-policy" else "trust" if "trust" in child.words else ""


def _said_by_ports(reading: Reading) -> dict[str, set[str]]:
    """Ports with a trust or a QoS policy of their own."""
    maps = reading.mqc.policy_maps
    others = {name for name, block in maps.items() if not {"pbr", "pdp"}.isdisjoint(block.words[1:3])}
    attached = (a for name, found in reading.mqc.attachments.items() if name not in others for a in found)
    return {
        "trust": {trust.interface for trust in reading.trusts},
        "service-policy": {a.interface for a in attached if a.direction == "in"},
    }


def _profile_line(reading: Reading, name: str, ports: list[str], child: Block) -> bool:
    if child.words[0] == "service-policy":
        for port in ports:
            qos.read_service_policy(reading, port, child)
        return True
    if child.words[0] in ("exit", "description") or read_lines(reading, f"profile {name}", child):
        return True
    taken = [qos.read_port_line(reading, port, child) for port in ports]
    return all(taken)


def read_platform(reading: Reading, block: Block) -> None:
    """`platform CHIP mmu queue profile NAME`: shares of the buffer, in words of the chip: notes of one class per line."""
    words = Words(block.words, 2)
    if not words.accept("mmu") or not words.accept("queue") or not words.accept("profile"):
        raise NotUnderstood("not understood")
    name = words.next("a name")
    attached = (QosAttachment("system", "", (block.number,)),) if words.accept("apply") else ()
    words.end()
    classes = []
    for child in block.below():
        reading.ledger.understood(child.number)
        at = next((at for at, word in enumerate(child.words) if word in ("headroom", "threshold", "reserved", "resume")), 0)
        title = " ".join(child.words[:at]) or "profile"
        match = ClassMatch(other=(title,))
        classes.append(QosClass(title, match, lines=(child.number,), notes=(" ".join(child.words[at:]),)))
    reading.buffers.append(QosPolicy(f"mmu-profile {name}", tuple(classes), attached, block.numbers))


def policies(reading: Reading) -> list[QosPolicy]:
    found: list[QosPolicy] = list(reading.buffers)
    for place, classes in reading.queues.items():
        ordered = tuple(sorted(classes, key=lambda made: made.name == "port"))
        lines = tuple(sorted({line for made in ordered for line in made.lines}))
        if not place.startswith("profile "):
            found.append(QosPolicy(f"queues {place}", ordered, (QosAttachment(place, "out", lines),), lines))
            continue
        name = place.removeprefix("profile ")
        attached = tuple(QosAttachment(port, "out", (line,)) for own, port, line in reading.profile_users if own == name)
        found.append(QosPolicy(f"qos-profile {name}", ordered, attached, reading.profiles[name].numbers))
    return found
