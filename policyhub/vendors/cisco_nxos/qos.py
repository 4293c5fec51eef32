"""Class maps and policy maps of type qos, queuing, network-qos and control-plane; priority flow control."""

from __future__ import annotations

import re
from dataclasses import replace

from policyhub.domain.device_config import Losslessness
from policyhub.domain.qos import ClassMatch, Policer, QosClass, QosPolicy, Shaper
from policyhub.vendorkit.blocks import Block
from policyhub.vendorkit.ios_mqc import VERBATIM, Line, MqcSyntax
from policyhub.vendorkit.ios_police import SIZES, read_police
from policyhub.vendorkit.ios_reading import take_direction
from policyhub.vendorkit.lexing import NotUnderstood, Words, is_decimal, number_in, percentage, take_rate
from policyhub.vendors.cisco_nxos.reading import Reading

PREDEFINED = re.compile(r"^c-(?:(?:out|in)-)?(?:\dq-)?n?q(?:(?P<group>\d)|-default)$")
OTHER_PREDEFINED = re.compile(r"^(?:\de-)?\d[pq][\dpqt]*-(?:in|out)-[\w-]+$")
KEPT = re.compile(
    r"^(?:no )?(?:pause|mtu|congestion-control|multicast-optimize|queue-limit|logging drop|afd|burst-detect|fcoe|random-detect)\b"
)
SYSTEM, DEVICE = "system", ""


def predefined(name: str) -> ClassMatch | None:
    """Classes that the switch defines itself: the queue of one QoS group."""
    found = PREDEFINED.match(name)
    if found is not None:
        return ClassMatch(other=(f"qos-group {found['group'] or 0}",))
    return ClassMatch(other=(f"predefined class {name}",)) if OTHER_PREDEFINED.match(name) else None


def read_service_policy(reading: Reading, place: str, block: Block) -> None:
    """`service-policy [type T] [input|output] NAME [no-stats]`; a network-qos policy has no direction."""
    words, kind = reading.mqc.typed(block)
    direction = "" if kind == "network-qos" else take_direction(words)
    reading.attach(words.next("a policy map"), place, direction, block.number)
    words.accept("no-stats")
    while words.accept("scale-factor", "module"):
        words.next("a number")
    words.end()


def read_place(reading: Reading, block: Block) -> None:
    """`system qos` and `control-plane`."""
    place = SYSTEM if block.words[0].lower() == "system" else "control-plane"
    for child in block.children:
        if child.words[0].lower() != "service-policy":
            continue
        with reading.ledger.booking(child.line):
            read_service_policy(reading, place, child)


def _police(line: Line) -> QosClass:
    """Two colours are `conform` and `violate` here; a rate in packets has no bit rate."""
    given = [word.lower() for word in line.words.words[line.words.at :]]
    line.words.rest()
    rest = given if "exceed" in given else ["exceed" if word == "violate" else word for word in given]
    if "pps" in rest:
        return replace(line.made, policer=Policer(None, exceed_action=_exceeding(rest)))
    head = next((at for at, word in enumerate(rest) if word in ("conform", "exceed")), len(rest))
    policer = read_police(Words(rest[:head]))
    return replace(line.made, policer=replace(policer, exceed_action=_exceeding(rest)))


def _exceeding(rest: list[str]) -> str:
    """All words of the action for what exceeds; dropping is the default."""
    if "exceed" not in rest:
        return "drop"
    tail = rest[rest.index("exceed") + 1 :]
    end = tail.index("violate") if "violate" in tail else len(tail)
    return " ".join(tail[:end]) or "drop"


def _shape(line: Line) -> QosClass:
    """`shape [average] RATE [unit] [burst]`, `shape min RATE unit max RATE unit`, `shape percent N`."""
    words, made = line.words, line.made
    words.accept("average")
    if words.accept("percent"):
        return replace(made, shaper=Shaper(None, percent=percentage(words)))
    if words.accept("min"):
        least = take_rate(words)
        made = replace(made, queue=replace(line.queue, guaranteed_bps=least or None))
        if not words.accept("max"):
            raise NotUnderstood("max is expected")
    else:
        words.accept("max")
    made = replace(made, shaper=Shaper(take_rate(words)))
    if words:
        words.rest()
    return made


def _random_detect(line: Line) -> QosClass:
    """`random-detect [minimum-threshold N U maximum-threshold N U] [drop-probability P] [weight W] [cap-average] [ecn]`."""
    words, queue = line.words, line.queue
    text = " ".join(words.words[words.at :])
    early = "wred"
    while words:
        word = words.next().lower()
        if word in ("minimum-threshold", "maximum-threshold"):
            size = number_in(words.next("a size"), 0, 10**12, "a threshold")
            unit = words.accept(*SIZES, "packets") or "packets"
            if unit == "packets":
                early = text
            elif word == "minimum-threshold":
                queue = replace(queue, drop_min_bytes=size * SIZES[unit])
            else:
                queue = replace(queue, drop_max_bytes=size * SIZES[unit])
        elif word == "drop-probability":
            queue = replace(queue, drop_max_percent=percentage(words))
        elif word == "ecn":
            queue = replace(queue, ecn=True)
        elif word == "weight":
            words.next("a weight")
        elif word == "threshold":
            early = f"wred threshold {words.next('a threshold')}"
        elif word not in ("cap-average", "non-ecn"):
            raise NotUnderstood(f"{word[:40]!r} is not understood here")
    return replace(line.made, queue=replace(queue, early_drop=early))


def _service_policy(line: Line) -> QosClass:
    if line.words.accept("type"):
        line.words.next("a type")
    line.words.accept("input", "output")
    return replace(line.made, child_policy=line.words.next("a policy map"))


SYNTAX = MqcSyntax(
    types=("qos", "queuing", "network-qos", "control-plane"),
    any_types=("control-plane", "queuing"),
    verbatim=(*VERBATIM, "exception", "redirect", "ip", "ipv6", "mac-list", "packet-length", "wlan-qos"),
    actions={
        "police": _police,
        "shape": _shape,
        "random-detect": _random_detect,
        "service-policy": _service_policy,
    },
    kept=KEPT,
    predefined=predefined,
)


def losslessness(reading: Reading, found: list[QosPolicy]) -> tuple[Losslessness, ...]:
    """Priorities that the device pauses come from the network-qos policy of `system qos`; ports that are on pause them."""
    priorities, lines = _paused(reading, found)
    ports = [known for place, known in reading.losslessness.items() if place != DEVICE]
    if priorities is not None:
        ports = [replace(known, priorities=priorities) if known.enabled else known for known in ports]
    device = reading.losslessness.get(DEVICE)
    if priorities is None:
        return (*ports, *([device] if device else []))
    device = device or Losslessness(DEVICE)
    return (*ports, replace(device, enabled=bool(priorities), priorities=priorities, lines=(*device.lines, *lines)))


def _paused(reading: Reading, found: list[QosPolicy]) -> tuple[frozenset[int] | None, tuple[int, ...]]:
    """None without an attached policy that pauses; `pause no-drop` pauses the classes of service that the class takes."""
    attached = [policy for policy in found if any(a.interface == SYSTEM and not a.direction for a in policy.attachments)]
    priorities: set[int] = set()
    lines: list[int] = []
    for policy in attached:
        block = reading.mqc.policy_maps.get(policy.name)
        by_header = {child.number: child for child in block.children} if block else {}
        for made in policy.classes:
            child = by_header.get(made.lines[0])
            for action in child.children if child else ():
                words = action.words
                if words[0] == "pause" and "pfc-cos" in words[:-1]:  # in front of it: buffer-size N pause-threshold N ..
                    priorities |= _values(words[words.index("pfc-cos") + 1])
                elif words[:2] == ["pause", "no-drop"] and made.match.pcp is not None:
                    priorities |= made.match.pcp
                else:
                    continue
                lines.append(action.number)
    return (frozenset(priorities), tuple(lines)) if lines else (None, ())


def _values(text: str) -> set[int]:
    """`3`, `3,4`, `3-4`; what is none of them gives nothing."""
    found: set[int] = set()
    for part in text.split(","):
        low, _, high = part.partition("-")
        if is_decimal(low) and is_decimal(high or low) and len(low) == 1 and len(high) <= 1:
            found.update(range(int(low), min(7, int(high or low)) + 1))
    return found
