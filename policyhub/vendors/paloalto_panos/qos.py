"""QoS profiles and interfaces, the rules that pick a class, and the marks that security rules set."""

from __future__ import annotations

import re
from collections.abc import Iterator

from policyhub.domain.qos import ClassMatch, Marker, QosAttachment, QosClass, QosPolicy, Queue, Shaper, parse_dscp
from policyhub.vendors.paloalto_panos.reading import Reading, Scope
from policyhub.vendors.paloalto_panos.tree import Node

MBPS = 1_000_000
NUMBER = re.compile(r"^\d{1,9}(?:\.\d{1,9})?$")
CODEPOINT = re.compile(r"^(?:0b)?([01]{6})$")
DEFAULT_CLASS = "class4"
PROFILE_FIELDS = frozenset(("class", "aggregate-bandwidth", "class-bandwidth-type"))
CLASS_FIELDS = frozenset(("priority", "class-bandwidth"))
INTERFACE_FIELDS = frozenset(("enabled", "interface-bandwidth", "regular-traffic", "tunnel-traffic"))
MARKING = "security marking"


def read(reading: Reading, node: Node) -> None:
    """`network qos`."""
    reading.pass_by(node)
    for child in node:
        if child.name not in ("profile", "interface"):
            reading.leave(child, f"network qos {child.name}")
            continue
        reading.pass_by(child)
        for entry in child:
            reading.understand(entry)
            reading.qos_policies.append(_profile(reading, entry) if child.name == "profile" else _interface(reading, entry))


def _rate(reading: Reading, node: Node | None) -> float | None:
    """Mbit/s or percent as written; None for 0 (no limit) or nothing."""
    if node is None or not node.children:
        return None
    if NUMBER.match(node.value) is None:
        reading.complain(node, f"{node.value[:40]!r} is not a rate")
        return None
    return float(node.value) or None


def _bps(megabits: float | None) -> int | None:
    return None if megabits is None else round(megabits * MBPS)


def _profile(reading: Reading, entry: Node) -> QosPolicy:
    """Classes directly below, or below `class-bandwidth-type mbps|percentage`."""
    _unknown(reading, entry, PROFILE_FIELDS)
    classes: list[QosClass] = []
    top = _rate(reading, entry.at("aggregate-bandwidth", "egress-max"))
    if top is not None:
        found = entry.get("aggregate-bandwidth")
        shaper = Shaper(_bps(top))
        classes.append(QosClass("aggregate", ClassMatch(any=True), shaper=shaper, lines=found.lines if found else ()))
    lists = [(entry, False)]
    for kind in entry.get("class-bandwidth-type") or ():
        if kind.name in ("mbps", "percentage"):
            lists.append((kind, kind.name == "percentage"))
        else:
            reading.complain(kind, f"class bandwidth in {kind.name[:40]!r} is not understood")
    for holder, is_percent in lists:
        for node in holder.get("class") or ():
            classes.append(_class(reading, node, is_percent))
    return QosPolicy(entry.name, tuple(classes), lines=entry.lines)


def _class(reading: Reading, node: Node, is_percent: bool) -> QosClass:
    _unknown(reading, node, CLASS_FIELDS)
    top = _rate(reading, node.at("class-bandwidth", "egress-max"))
    least = _rate(reading, node.at("class-bandwidth", "egress-guaranteed"))
    queue = Queue(
        node.name,
        is_strict_priority=node.text("priority") == "real-time",
        guaranteed_bps=None if is_percent else _bps(least),
        guaranteed_percent=least if is_percent else None,
        ceiling_bps=None if is_percent else _bps(top),
        ceiling_percent=top if is_percent else None,
    )
    return QosClass(node.name, ClassMatch(), queue=queue, lines=node.lines)


def _unknown(reading: Reading, node: Node, known: frozenset[str]) -> None:
    for child in node:
        if child.name not in known:
            reading.complain(child, f"{child.name[:40]!r} of QoS is not understood")


def _interface(reading: Reading, entry: Node) -> QosPolicy:
    """What leaves by an interface; one that is not enabled has no attachment."""
    _unknown(reading, entry, INTERFACE_FIELDS)
    classes: list[QosClass] = []
    top = _rate(reading, entry.at("interface-bandwidth", "egress-max"))
    if top is not None:
        bandwidth = entry.get("interface-bandwidth")
        lines = bandwidth.lines if bandwidth is not None else ()
        classes.append(QosClass("all", ClassMatch(any=True), shaper=Shaper(_bps(top)), lines=lines))
    for traffic, name, key in (
        ("regular-traffic", "clear-text", "qos-profile"),
        ("tunnel-traffic", "tunnel", "per-tunnel-qos-profile"),
    ):
        node = entry.get(traffic)
        if node is not None:
            classes.extend(_traffic(reading, node, name, key))
    is_on = entry.text("enabled") != "no"
    attachments = (QosAttachment(entry.name, "out", entry.lines),) if is_on else ()
    return QosPolicy(f"interface {entry.name}", tuple(classes), attachments, entry.lines)


def _traffic(reading: Reading, node: Node, name: str, key: str) -> Iterator[QosClass]:
    """Members of groups with a profile of their own first, then the default profile."""
    for group in node.get("groups") or ():
        for member in group.get("members") or ():
            words = tuple(" ".join((at, *below.values)) for below, at in _matches(member))
            profile = member.text("qos-profile")
            yield QosClass(f"{name} {member.name}", ClassMatch(other=words), child_policy=profile, lines=member.lines)
    bandwidth = node.get("bandwidth")
    top = _rate(reading, bandwidth.get("egress-max")) if bandwidth is not None else None
    default = node.at("default-group")
    profile = default.text(key) if default is not None else ""
    if profile or top is not None:
        shaper = None if top is None else Shaper(_bps(top))
        yield QosClass(name, ClassMatch(other=(f"{name} traffic",)), shaper=shaper, child_policy=profile, lines=node.lines)


def _matches(member: Node) -> Iterator[tuple[Node, str]]:
    """Leaves of `match`: `local-address address any`, `local-address interface ethernet1/3`."""
    match = member.get("match")
    for side in match or ():
        for part in side:
            yield part, f"{side.name} {part.name}"


def rule_dscp(reading: Reading, rule: Node) -> frozenset[int] | None:
    """`dscp-tos codepoints` of a QoS rule; None for any."""
    points = rule.at("dscp-tos", "codepoints")
    if points is None:
        return None
    found: set[int] = set()
    for entry in points:
        for kind in entry:
            text = kind.text("codepoint", "value") or kind.text("codepoint") or kind.name
            mark = _codepoint(text)
            if mark is None:
                reading.complain(kind, f"{text[:40]!r} is not a code point")
                return None
            found |= mark
    return frozenset(found) or None


def _codepoint(text: str) -> frozenset[int] | None:
    """A name, six bits, or `tos` precedence names; None when it is none of them."""
    bits = CODEPOINT.match(text)
    if bits is not None:
        return frozenset((int(bits[1], 2),))
    try:
        return frozenset((parse_dscp(text),))
    except ValueError:
        return None


def finished(reading: Reading) -> tuple[QosPolicy, ...]:
    """With the rules that fill each class, and the marks of security rules."""
    users: dict[str, list[str]] = {}
    for scope in reading.scopes():
        for base in scope.rulebases:
            if base.kind != "qos":
                continue
            for node in base.node:
                if node.text("disabled") != "yes":
                    users.setdefault(f"class{node.text('action', 'class')}", []).append(f"qos rule {node.name}")
    found = [
        QosPolicy(
            policy.name,
            tuple(known if known.queue is None else _filled(known, users.get(known.name, [])) for known in policy.classes),
            policy.attachments,
            policy.lines,
        )
        for policy in reading.qos_policies
    ]
    for scope in reading.scopes():
        found.extend(_marks(reading, scope))
    return tuple(found)


def _filled(known: QosClass, users: list[str]) -> QosClass:
    words = [*users, *(("traffic that no rule classifies",) if known.name == DEFAULT_CLASS else ())]
    return QosClass(known.name, ClassMatch(other=tuple(words)), queue=known.queue, lines=known.lines)


def _marks(reading: Reading, scope: Scope) -> Iterator[QosPolicy]:
    """`qos marking ip-dscp af11` of security rules: the mark the session's packets leave with."""
    classes: list[QosClass] = []
    on_panorama = scope.is_group or scope is reading.shared
    for base in scope.rulebases:
        if base.kind != "security":
            continue
        name = f"{scope.prefix}{base.position if on_panorama else ''}security"
        for node in base.node:
            marking = node.at("qos", "marking")
            if marking is None or not marking.children or marking.value == "follow-c2s-flow":
                continue
            text = marking.text(marking.value)
            mark = _precedence(text) if marking.value == "ip-precedence" else _codepoint(text)
            if mark is None:
                reading.complain(marking, f"{text[:40]!r} is not a code point")
                continue
            match = ClassMatch(acls=(name,), other=(f"rule {node.name}",))
            classes.append(QosClass(node.name, match, Marker(dscp=min(mark)), lines=marking.lines))
    if classes:
        lines = tuple(sorted({line for known in classes for line in known.lines}))
        yield QosPolicy(f"{scope.prefix}{MARKING}", tuple(classes), lines=lines)


def _precedence(text: str) -> frozenset[int] | None:
    """`cs0` .. `cs7`, a number 0..7, or three bits."""
    bits = re.match(r"^(?:cs)?([0-7])$|^([01]{3})$", text)
    if bits is None:
        return None
    return frozenset((8 * int(bits[1]),)) if bits[1] is not None else frozenset((8 * int(bits[2], 2),))
