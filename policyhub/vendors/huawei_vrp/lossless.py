"""Priority flow control, drop profiles (WRED and ECN thresholds), ETS, and protection of the control plane."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from policyhub.domain.device_config import Losslessness
from policyhub.domain.qos import ClassMatch, Policer, QosAttachment, QosClass, QosMap, QosPolicy, Queue, parse_dscp
from policyhub.vendorkit.blocks import Block
from policyhub.vendorkit.lexing import NotUnderstood, Words, number_in
from policyhub.vendorkit.vrp_car import BYTES
from policyhub.vendors.huawei_vrp.nat import spoken
from policyhub.vendors.huawei_vrp.reading import Reading

DEFAULT = "default"
DEFENCES = (
    "car", "deny", "auto-defend", "whitelist", "blacklist", "filter", "packet-type", "linkup-car", "user-defined-flow",
    "port-type", "application-apperceive", "auto-port-defend", "whitelist-l2", "host-car", "process-sub-event",
)  # fmt: skip
THRESHOLD = re.compile(
    r"^(color (green|yellow|red|non-tcp)|ecn|dscp \S+|ip-precedence \S+|queue-depth \d+|wred (dscp|ip-precedence))\b", re.I
)
LIMITS = re.compile(
    r"\blow-limit (?P<low>\d{1,12})(?: (?P<low_unit>[kmg]?bytes))?(?: percent(?:age)?)?"
    r" high-limit (?P<high>\d{1,12})(?: (?P<high_unit>[kmg]?bytes))?(?: percent(?:age)?)?"
    r"(?: discard-percentage (?P<most>\d{1,3}))?",
    re.IGNORECASE,
)


def read_dcb(reading: Reading, block: Block) -> None:
    """`dcb pfc [PROFILE]`, `dcb ets-profile E`, `dcb pfc uplink group G`, `dcb pfc deadlock-detect ..`. Raises NotUnderstood."""
    words = spoken(block)
    words.next()
    kind = words.next("a keyword").lower()
    if kind == "ets-profile":
        reading.ets_profiles[words.next("a profile")] = block
        for child in block.children:
            if child.words[0].lower() == "priority-group":
                reading.ledger.understood(child.number)
    elif kind == "pfc" and words.accept("uplink"):
        words.accept("group")
        _uplink(reading, words.next("a group"), block)
    elif kind == "pfc" and words.peek().lower() in ("deadlock-detect", "deadlock-recovery"):
        reading.pfc_watchdog.append(block.number)
    elif kind == "pfc" and words.peek().lower() in ("dscp-mapping", "buffer", "xoff"):
        reading.device_notes.append((" ".join(spoken(block).words), block.number))
    elif kind == "pfc":
        _profile(reading, words.next() if words else DEFAULT, block)
    else:
        raise NotUnderstood("not understood")


def _profile(reading: Reading, name: str, block: Block) -> None:
    """` priority 3 4`: the priorities that pause."""
    priorities, lines = reading.pfc_profiles.setdefault(name, (set(), [block.number]))
    for child in block.children:
        words = spoken(child)
        if words.accept("priority"):
            while words:
                first = number_in(words.next(), 0, 7, "a priority")
                last = number_in(words.next("a priority"), first, 7, "a priority") if words.accept("to") else first
                priorities.update(range(first, last + 1))
            lines.append(child.number)
            reading.ledger.understood(child.number)


def _uplink(reading: Reading, name: str, block: Block) -> None:
    """` adjust original-dscp A to priority P dscp B`: traffic from an uplink is moved to another queue and mark."""
    entries: list[tuple[int, int]] = []
    lines = [block.number]
    for child in block.children:
        words = spoken(child)
        if not words.accept("adjust"):
            continue
        try:
            entries.append(_moved(words))
            lines.append(child.number)
            reading.ledger.understood(child.number)
        except (NotUnderstood, ValueError) as reason:
            reading.ledger.unparsed(child.line, str(reason))
    reading.qos_maps.begin(QosMap(f"uplink group {name}", "dscp-to-dscp", tuple(entries), (), tuple(lines)))


def _moved(words: Words) -> tuple[int, int]:
    if not words.accept("original-dscp"):
        raise NotUnderstood("original-dscp is expected")
    old = parse_dscp(words.next("a DSCP"))
    if words.accept("to") and words.accept("priority"):
        number_in(words.next("a priority"), 0, 7, "a priority")
    new = parse_dscp(words.next("a DSCP")) if words.accept("dscp") else old
    words.end()
    return old, new


def read_at_interface(reading: Reading, interface: str, block: Block) -> str:
    """`dcb pfc enable [PROFILE] [mode auto|manual]`; "queue" for lines that belong to the queues of the port."""
    words = spoken(block)
    is_on = not words.accept("undo")
    words.next()
    kind = words.next("a keyword").lower()
    if not is_on and (kind, words.peek().lower()) == ("pfc", "enable"):
        reading.pfc_off.append((interface, block.number))
        return ""
    if not is_on:
        raise NotUnderstood("a command, not configuration")
    if kind == "ets" and words.accept("enable"):
        return "queue"
    if kind == "pfc" and words.peek().lower() in ("buffer", "xoff", "hdrm", "uplink"):
        return "queue"
    if kind != "pfc" or not words.accept("enable"):
        raise NotUnderstood("not understood")
    name = words.next() if words and words.peek().lower() != "mode" else DEFAULT
    negotiated = words.accept("mode") and words.peek().lower() == "auto"
    reading.pfc_ports.append((interface, name, None if negotiated else True, block.number))
    return ""


def losslessness(reading: Reading) -> Iterator[Losslessness]:
    watchdog = True if reading.pfc_watchdog else None
    for interface, name, enabled, line in reading.pfc_ports:
        priorities, lines = reading.pfc_profiles.get(name, (set(), []))
        known = frozenset(priorities) if priorities else None
        yield Losslessness(interface, enabled, known, watchdog, (line, *lines, *reading.pfc_watchdog))
    for interface, line in reading.pfc_off:
        yield Losslessness(interface, False, lines=(line,))


def read_drop_profile(reading: Reading, block: Block) -> None:
    """`drop-profile P` (CloudEngine, S, AR), `port-wred P`, `flow-wred P` (NE): thresholds per colour, and for ECN."""
    name = Words(block.words, 1).next("a name")
    reading.drop_profiles[name] = block
    for child in _thresholds(block):
        reading.ledger.understood(child.number)


def _thresholds(block: Block) -> list[Block]:
    """At any depth: S and AR series write the marks below `wred dscp`."""
    return [below for child in block.children for below in child.walk() if THRESHOLD.match(below.text)]


def with_thresholds(reading: Reading, queue: Queue) -> tuple[Queue, tuple[str, ...], tuple[int, ...]]:
    """The queue with the numbers of its profile, the profile's lines as notes (most are shares of the queue, not bytes)."""
    block = reading.drop_profiles.get(queue.early_drop)
    if block is None:
        return queue, (), ()
    rows = _thresholds(block)
    notes = tuple(f"{queue.early_drop}: {' '.join(spoken(row).words)}" for row in rows)
    decisive = [row for row in rows if row.words[0].lower() == "ecn"] if queue.ecn else []
    decisive += [row for row in rows if row.text.lower().startswith("color green")]
    found = LIMITS.search(decisive[0].text) if decisive else None
    if found is not None:
        queue = replace(
            queue,
            drop_min_bytes=_bytes(found["low"], found["low_unit"] or found["high_unit"]),
            drop_max_bytes=_bytes(found["high"], found["high_unit"]),
            drop_max_percent=float(found["most"]) if found["most"] else None,
        )
    return queue, notes, tuple(row.number for row in rows)


def _bytes(number: str, unit: str | None) -> int | None:
    """None without a unit: then the limit is a percentage of the queue's length."""
    scale = BYTES.get((unit or "").lower())
    return None if scale is None else int(number) * scale


def read_cpu_defend(reading: Reading, block: Block) -> None:
    """`cpu-defend policy P`: what may reach the control plane, packet by packet type. Raises NotUnderstood."""
    words = Words(block.words, 1)
    if not words.accept("policy"):
        raise NotUnderstood("not understood")
    name = words.next("a name")
    classes: list[QosClass] = []
    for child in block.children:
        if child.words[0].lower() in DEFENCES:
            classes.append(_defence(reading, child))
            reading.ledger.understood(child.number)
    reading.cpu_policies[name] = QosPolicy(f"cpu-defend {name}", tuple(classes), (), block.numbers)


def _defence(reading: Reading, child: Block) -> QosClass:
    """`car packet-type T cir N|pps N`, `deny packet-type T`, black and white lists by ACL; the rest verbatim."""
    words = spoken(child)
    text = " ".join(words.words)
    kind = words.next().lower()
    lower = [word.lower() for word in words.words]
    packets = words.words[lower.index("packet-type") + 1] if "packet-type" in lower[:-1] else ""
    acls = (words.words[lower.index("acl") + 1],) if "acl" in lower[:-1] else ()
    for acl in acls:
        reading.selectors.setdefault((4, acl), "selects packets for cpu-defend")
    policer = Policer(0) if kind == "deny" else None
    if kind == "car":
        rate = lower.index("cir") + 1 if "cir" in lower[:-1] else 0
        kbps = words.words[rate] if rate else ""
        policer = Policer(int(kbps[:12]) * 1000 if kbps.isascii() and kbps.isdigit() else None)
    match = ClassMatch(acls=acls, other=(f"packet-type {packets}",) if packets else ())
    return QosClass(packets or kind, match, policer=policer, lines=(child.number,), notes=(text,))


def read_cpu_attachment(reading: Reading, block: Block) -> None:
    """`cpu-defend-policy P [global|slot N|..]`: towards the control plane."""
    words = Words(block.words, 1)
    name = words.next("a policy")
    place = "control plane"
    if words.accept("global"):
        place += " global"
    elif words.accept("slot"):
        place += f" slot {words.next('a slot')}"
    words.end()
    reading.cpu_attachments.setdefault(name, []).append(QosAttachment(place, "in", (block.number,)))


def policies(reading: Reading) -> Iterator[QosPolicy]:
    """Protection of the control plane, and buffers of the whole device."""
    for name, policy in reading.cpu_policies.items():
        yield replace(policy, attachments=tuple(reading.cpu_attachments.get(name, ())))
    for name, found in reading.cpu_attachments.items():
        if name not in reading.cpu_policies:
            yield QosPolicy(f"cpu-defend {name}", (), tuple(found), tuple(line for at in found for line in at.lines))
    if reading.device_notes:
        lines = tuple(line for _, line in reading.device_notes)
        notes = tuple(text for text, _ in reading.device_notes)
        made = QosClass("device", ClassMatch(any=True), lines=lines, notes=notes)
        yield QosPolicy("qos of the device", (made,), (), lines)
