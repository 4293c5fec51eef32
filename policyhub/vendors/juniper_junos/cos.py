"""Class of service: forwarding classes, classifiers, rewrite rules and the priority flow control of ports."""

from __future__ import annotations

from policyhub.domain.device_config import Losslessness
from policyhub.domain.qos import ClassMatch, DscpMap, Marker, QosAttachment, QosClass, QosMap, QosPolicy, Trust
from policyhub.vendorkit.lexing import NotUnderstood, is_decimal
from policyhub.vendors.juniper_junos.cos_queues import levels, read_queues
from policyhub.vendors.juniper_junos.reading import INHERITS, Context, Reading
from policyhub.vendors.juniper_junos.terms import code_point
from policyhub.vendors.juniper_junos.tree import Node

DEFAULT_QUEUES = {"best-effort": 0, "expedited-forwarding": 1, "assured-forwarding": 2, "network-control": 3}
KINDS = ("dscp", "dscp-ipv6", "ieee-802.1", "ieee-802.1ad", "inet-precedence", "exp")
TRUSTS = {"dscp": "dscp", "dscp-ipv6": "dscp", "ieee-802.1": "pcp", "ieee-802.1ad": "pcp"}
# statements of a port that name one thing, and those that change no queue
NAMED = (
    "scheduler-map", "output-traffic-control-profile", "input-traffic-control-profile", "congestion-notification-profile",
    "forwarding-class", "shaping-rate", "input-scheduler-map", "input-shaping-rate", "output-traffic-control-profile-remaining",
)  # fmt: skip
PORT_OPTIONS = (
    "member-link-scheduler", "logical-interface-aggregate-statistics", "exclude-queue-overhead-bytes", "scheduler-map-chassis",
)  # fmt: skip


def read_forwarding_classes(reading: Reading, context: Context) -> None:
    """`class NAME queue-num N [no-loss] [pfc-priority P]`, `queue N NAME`."""
    node = context.root.at("class-of-service", "forwarding-classes")
    context.queues.update(DEFAULT_QUEUES)
    if node is None:
        return
    reading.take_known(node, "forwarding-classes")
    pauses: list[tuple[int, int]] = []
    for kid in node.kids("class"):
        queue = kid.value("queue-num")
        if is_decimal(queue) and len(queue) < 4:
            context.queues[kid.word] = int(queue)
            priority = next((below.value("pfc-priority") for below in kid.walk() if below.has("pfc-priority")), "")
            if is_decimal(priority) and len(priority) == 1:
                pauses.append((int(priority), int(queue)))
        elif queue:
            reading.leave(kid, "not a queue number")
        if any(below.word == "no-loss" for below in kid.walk()):
            context.lossless.add(kid.word)
    for kid in node.kids("queue"):
        for name in kid.values():
            if is_decimal(kid.word) and len(kid.word) < 4:
                context.queues[name] = int(kid.word)
    if pauses:
        reading.qos_maps.append(
            QosMap("forwarding-classes", "pfc-priority-to-queue", tuple(sorted(pauses)), (), node.all_lines())
        )


def read_cos(reading: Reading, context: Context) -> None:
    cos = context.root.at("class-of-service")
    if cos is None:
        return
    reading.take_headers(cos)
    _read_aliases(reading, cos)
    uses = _uses(reading, context, cos)
    for kind in KINDS:
        for node in cos.kids("classifiers", kind):
            _read_classifier(reading, context, cos, kind, node, uses.get((f"classifiers {kind}", node.word), []))
        for node in cos.kids("rewrite-rules", kind):
            _read_rewrite(reading, context, kind, node, uses.get((f"rewrite-rules {kind}", node.word), []))
    reading.take_headers(cos.at("classifiers"), cos.at("rewrite-rules"), *cos.kids("classifiers"), *cos.kids("rewrite-rules"))
    for node in cos.kids("congestion-notification-profile"):
        _read_pfc(reading, context, node, uses.get(("congestion-notification-profile", node.word), []))
    _read_host_traffic(reading, context, cos)
    read_queues(reading, context, cos, uses)


def _read_aliases(reading: Reading, cos: Node) -> None:
    reading.take(cos.at("code-point-aliases"))
    for kind in cos.kids("code-point-aliases"):
        for alias in kind.active():
            if kind.word not in KINDS or not set(alias.value()) <= {"0", "1"}:
                reading.leave(alias, "not an alias of a code point")


Uses = dict[tuple[str, str], list[tuple[str, tuple[int, ...]]]]


def _uses(reading: Reading, context: Context, cos: Node) -> Uses:
    """What `class-of-service interfaces` attaches: (statement, name) -> [(interface, lines)]."""
    uses: Uses = {}
    for port in cos.kids("interfaces"):
        places = context.interfaces_like(port.word)
        reading.take_headers(port)
        units = [(f".{unit.word}", unit) for unit in port.kids("unit")]
        reading.take_headers(*(unit for _, unit in units))
        for suffix, place in [("", port), *units]:
            for kid in place.active():
                _note_use(reading, uses, [f"{name}{suffix}" if suffix != ".*" else name for name in places], kid)
    reading.take_headers(cos.at("interfaces"))
    return uses


def _note_use(reading: Reading, uses: Uses, names: list[str], kid: Node) -> None:
    if kid.word == "unit" or kid.word == "apply-groups":
        return
    if kid.word in ("classifiers", "rewrite-rules"):
        reading.take(kid)
        for kind in kid.active():
            if kind.word not in (*KINDS, *INHERITS):
                reading.leave(kind, "not a kind of code points")
        for kind in kid.active():
            for name in kind.active():
                if name.word not in ("protocol", "vlan-tag"):
                    _add(uses, (f"{kid.word} {kind.word}", name.word), names, name)
    elif kid.word in NAMED:
        reading.take(kid)
        for name in kid.active():
            _add(uses, (kid.word, name.word), names, kid)
    elif kid.word == "forwarding-class-set":
        reading.take(kid)
        for group in kid.active():
            for profile in group.kids("output-traffic-control-profile"):
                _add(uses, ("output-traffic-control-profile", profile.word), names, group)
    elif kid.word in PORT_OPTIONS:
        reading.take(kid)
    else:
        reading.leave(kid, "not understood in class-of-service interfaces")


def _add(uses: Uses, key: tuple[str, str], names: list[str], node: Node) -> None:
    uses.setdefault(key, []).extend((name, node.all_lines()) for name in names)


def _read_classifier(
    reading: Reading, context: Context, cos: Node, kind: str, node: Node, used: list[tuple[str, tuple[int, ...]]]
) -> None:
    reading.take_known(node, "classifier")
    classes: list[QosClass] = []
    entries: dict[int, str] = {}
    for base in node.values("import"):
        known = cos.at("classifiers", kind, base)
        if known is not None and base != node.word:
            entries.update(_code_points(reading, context, kind, known))
        else:
            classes.append(QosClass(f"import {base}", ClassMatch(other=(f"import {base}",)), lines=node.all_lines()))
    for group in node.kids("forwarding-class"):
        for loss in group.kids("loss-priority"):
            points = _points(reading, context, kind, loss)
            entries.update(dict.fromkeys(points, group.word))
            marker = Marker(queue=context.queues[group.word]) if group.word in context.queues else None
            classes.append(QosClass(f"{group.word} {loss.word}", _taken(kind, points), marker, lines=_lines(group, loss)))
    ports = tuple(name for name, _ in used)
    attachments = tuple(QosAttachment(name, "in", lines) for name, lines in used)
    lines = node.all_lines()
    reading.qos_policies.append(QosPolicy(context.named(f"classifier {kind} {node.word}"), tuple(classes), attachments, lines))
    if kind in TRUSTS:
        reading.trusts.extend(Trust(name, TRUSTS[kind], own) for name, own in used)
    if kind in ("dscp", "dscp-ipv6"):
        level = levels(cos, entries)
        if level:
            reading.dscp_maps.append(DscpMap(context.named(node.word), level, ports, lines=lines))
    elif kind in TRUSTS:
        pairs = tuple(sorted((point, context.queues[name]) for point, name in entries.items() if name in context.queues))
        if pairs:
            reading.qos_maps.append(QosMap(context.named(node.word), "pcp-to-class", pairs, ports, lines))


def _lines(group: Node, loss: Node) -> tuple[int, ...]:
    return tuple(sorted({*group.lines, *loss.all_lines()}))


def _code_points(reading: Reading, context: Context, kind: str, node: Node) -> dict[int, str]:
    found: dict[int, str] = {}
    for group in node.kids("forwarding-class"):
        for loss in group.kids("loss-priority"):
            found.update(dict.fromkeys(_points(reading, context, kind, loss), group.word))
    return found


def _points(reading: Reading, context: Context, kind: str, loss: Node) -> list[int]:
    found: list[int] = []
    for word in (*loss.kids("code-points"), *loss.kids("code-point")):
        try:
            found.append(code_point(context, kind, word.word))
        except NotUnderstood as reason:
            reading.leave(word, str(reason))
    return found


def _taken(kind: str, points: list[int]) -> ClassMatch:
    if kind in ("dscp", "dscp-ipv6"):
        return ClassMatch(dscp=frozenset(points))
    if kind in TRUSTS:
        return ClassMatch(pcp=frozenset(points))
    if kind == "inet-precedence":
        return ClassMatch(dscp=frozenset(mark for point in points for mark in range(point * 8, point * 8 + 8)))
    return ClassMatch(other=tuple(f"{kind} {point}" for point in points), match_all=False)


def _read_rewrite(reading: Reading, context: Context, kind: str, node: Node, used: list[tuple[str, tuple[int, ...]]]) -> None:
    reading.take_known(node, "classifier")
    classes = [
        QosClass(f"import {base}", ClassMatch(other=(f"import {base}",)), lines=node.all_lines())
        for base in node.values("import")
    ]
    first: dict[int, int] = {}
    for group in node.kids("forwarding-class"):
        for loss in group.kids("loss-priority"):
            points = _points(reading, context, kind, loss)
            if not points:
                continue
            if group.word in context.queues:
                first.setdefault(context.queues[group.word], points[-1])
            marker = Marker(dscp=points[-1]) if kind.startswith("dscp") else Marker(pcp=points[-1]) if kind in TRUSTS else None
            match = ClassMatch(other=(f"forwarding-class {group.word}", f"loss-priority {loss.word}"))
            classes.append(QosClass(f"{group.word} {loss.word}", match, marker, lines=_lines(group, loss)))
    attachments = tuple(QosAttachment(name, "out", lines) for name, lines in used)
    lines = node.all_lines()
    reading.qos_policies.append(QosPolicy(context.named(f"rewrite {kind} {node.word}"), tuple(classes), attachments, lines))
    if first and kind in TRUSTS:
        shape = "class-to-dscp" if kind.startswith("dscp") else "class-to-pcp"
        ports = tuple(name for name, _ in used)
        reading.qos_maps.append(QosMap(context.named(node.word), shape, tuple(sorted(first.items())), ports, lines))


def _read_pfc(reading: Reading, context: Context, node: Node, used: list[tuple[str, tuple[int, ...]]]) -> None:
    """`input ieee-802.1 code-point 011 pfc`, `input dscp code-point 011010 pfc`, `output .. flow-control-queue [ 3 ]`."""
    reading.take_known(node, "pfc")
    priorities: set[int] = set()
    by_dscp = False
    for kind in node.kids("input"):
        for word in kind.kids("code-point"):
            try:
                point = code_point(context, kind.word, word.word)
            except NotUnderstood as reason:
                reading.leave(word, str(reason))
                continue
            if word.has("pfc"):
                by_dscp = by_dscp or kind.word.startswith("dscp")
                priorities.add(point >> 3 if kind.word.startswith("dscp") else point)
    queues: list[tuple[int, int]] = []
    for kind in node.kids("output"):
        for word in kind.kids("code-point"):
            queues.extend(_flow_control(context, kind.word, word))
    lines = node.all_lines()
    if queues:
        ports = tuple(name for name, _ in used)
        reading.qos_maps.append(QosMap(context.named(node.word), "pfc-priority-to-queue", tuple(sorted(queues)), ports, lines))
    known = None if by_dscp and not priorities else frozenset(priorities)
    watchdog = True if node.has("pfc-watchdog") else None
    for name, own in used:
        reading.losslessness.append(Losslessness(name, bool(priorities), known, watchdog, tuple(sorted({*lines, *own}))))


def _flow_control(context: Context, kind: str, word: Node) -> list[tuple[int, int]]:
    try:
        point = code_point(context, kind, word.word)
    except NotUnderstood:
        return []
    return [(point, int(queue)) for queue in word.values("flow-control-queue") if is_decimal(queue) and len(queue) < 3]


def _read_host_traffic(reading: Reading, context: Context, cos: Node) -> None:
    """Marks and queue of what the device itself sends."""
    node = cos.at("host-outbound-traffic")
    if node is None:
        return
    reading.take_known(node, "host-outbound-traffic")
    dscp = pcp = None
    try:
        dscp = code_point(context, "dscp", node.value("dscp-code-point")) if node.has("dscp-code-point") else None
        pcp = (
            code_point(context, "ieee-802.1", node.value("ieee-802.1", "default")) if node.has("ieee-802.1", "default") else None
        )
    except NotUnderstood as reason:
        reading.leave(node, str(reason))
    marker = Marker(dscp, pcp, context.queues.get(node.value("forwarding-class")))
    lines = node.all_lines()
    host = QosClass("host-outbound-traffic", ClassMatch(any=True), marker, lines=lines)
    reading.qos_policies.append(
        QosPolicy(context.named("host-outbound-traffic"), (host,), (QosAttachment("", "out", lines),), lines)
    )
