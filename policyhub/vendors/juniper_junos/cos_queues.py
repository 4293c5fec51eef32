"""Class of service: schedulers and their maps, drop profiles, traffic control profiles, shaping of ports, fixed classes."""

from __future__ import annotations

from policyhub.domain.qos import ClassMatch, Marker, QosAttachment, QosClass, QosPolicy, Queue, Shaper, Trust
from policyhub.vendorkit.lexing import is_decimal
from policyhub.vendors.juniper_junos.reading import Context, Reading, amount
from policyhub.vendors.juniper_junos.tree import Node

PRIORITIES = {"low": 0, "medium-low": 1, "medium-high": 2, "high": 3, "strict-high": 4}
LOWEST = "low"  # what a scheduler without a priority has
Used = list[tuple[str, tuple[int, ...]]]
Uses = dict[tuple[str, str], Used]
OTHERS = (
    "classifiers", "rewrite-rules", "code-point-aliases", "forwarding-classes", "interfaces", "congestion-notification-profile",
    "host-outbound-traffic", "schedulers", "scheduler-maps", "drop-profiles", "traffic-control-profiles", "apply-groups",
    "forwarding-class-sets", "tri-color", "shared-buffer", "system-defaults", "routing-instances", "traceoptions",
    "forwarding-policy",
)  # fmt: skip


def levels(cos: Node, entries: dict[int, str]) -> tuple[tuple[int, int], ...]:
    """DSCP -> priority of its class's scheduler; classes whose maps differ or hold none are left out."""
    found: dict[str, set[int]] = {}
    for scheduler_map in cos.kids("scheduler-maps"):
        for group in scheduler_map.kids("forwarding-class"):
            scheduler = cos.at("schedulers", group.value("scheduler"))
            if scheduler is not None:
                found.setdefault(group.word, set()).add(PRIORITIES.get(scheduler.value("priority") or LOWEST, 0))
    known = {name: next(iter(ranks)) for name, ranks in found.items() if len(ranks) == 1}
    return tuple(sorted((mark, known[name]) for mark, name in entries.items() if name in known))


def read_queues(reading: Reading, context: Context, cos: Node, uses: Uses) -> None:
    for key in ("schedulers", "scheduler-maps", "drop-profiles", "traffic-control-profiles", "forwarding-class-sets"):
        reading.take_known(cos.at(key), key)
    for node in cos.kids("scheduler-maps"):
        used = [*uses.get(("scheduler-map", node.word), []), *uses.get(("input-scheduler-map", node.word), [])]
        _read_map(reading, context, cos, node, used)
    for node in cos.kids("traffic-control-profiles"):
        _read_profile(reading, context, node, uses)
    for (kind, text), used in uses.items():
        if kind in ("shaping-rate", "input-shaping-rate"):
            _read_shaping(reading, context, kind, text, used)
        elif kind == "forwarding-class":
            _read_fixed(reading, context, text, used)
    for kid in cos.active():
        if kid.word not in OTHERS:
            reading.leave(kid, "not understood in class of service")


def _read_map(reading: Reading, context: Context, cos: Node, node: Node, used: Used) -> None:
    classes: list[QosClass] = []
    for group in node.kids("forwarding-class"):
        name = group.value("scheduler")
        scheduler = cos.at("schedulers", name)
        others = [f"forwarding-class {group.word}", *(["no-loss"] if group.word in context.lossless else [])]
        queue, shaper = (None, None) if scheduler is None else (_queue(cos, group.word, scheduler), _shaper(scheduler))
        lines = sorted({*group.all_lines(), *(scheduler.all_lines() if scheduler is not None else ())})
        if scheduler is None:
            reading.leave(group, f"there is no scheduler {name[:60]}")
        classes.append(QosClass(group.word, ClassMatch(other=tuple(others)), None, None, shaper, queue, lines=tuple(lines)))
    attachments = tuple(QosAttachment(name, "out", lines) for name, lines in used)
    reading.qos_policies.append(QosPolicy(context.named(node.word), tuple(classes), attachments, node.all_lines()))


def _queue(cos: Node, name: str, scheduler: Node) -> Queue:
    bps, percent = _rate(scheduler, "transmit-rate")
    bounded = (
        scheduler.has("transmit-rate", "exact")
        or scheduler.has("transmit-rate", "rate-limit")
        or any(kid.has("exact") or kid.has("rate-limit") for kid in _deep(scheduler.at("transmit-rate")))
    )
    shaping = _rate(scheduler, "shaping-rate")
    drops = [profile for level in scheduler.kids("drop-profile-map") for profile in _drop_profiles(level)]
    names = list(dict.fromkeys(drops))
    rest = scheduler.at("transmit-rate", "remainder")
    remaining = _percent(scheduler.value("excess-rate", "percent") or (rest.value() if rest is not None else ""))
    return Queue(
        name,
        is_strict_priority=scheduler.value("priority") == "strict-high",
        guaranteed_bps=bps,
        guaranteed_percent=percent,
        ceiling_bps=bps if bounded else shaping[0],
        ceiling_percent=percent if bounded else shaping[1],
        ecn=scheduler.has("explicit-congestion-notification") or scheduler.has("ecn"),
        remaining_percent=100.0 if remaining is None and rest is not None else remaining,
        early_drop=",".join(names),
        drop_max_percent=_greatest(cos, names),
    )


def _deep(node: Node | None) -> list[Node]:
    return list(node.walk()) if node is not None else []


def _drop_profiles(level: Node) -> list[str]:
    """`loss-priority low protocol any drop-profile P`."""
    return [word for node in level.walk() for word in node.values("drop-profile")]


def _greatest(cos: Node, names: list[str]) -> float | None:
    found: list[float] = []
    for name in names:
        profile = cos.at("drop-profiles", name)
        for node in _deep(profile):
            values = [float(word) for word in node.values("drop-probability") if is_decimal(word) and len(word) < 4]
            found.extend(value for value in values if value <= 100)
    return max(found, default=None)


def _rate(node: Node, key: str) -> tuple[int | None, float | None]:
    """(bit/s, percent) of `key 20m`, `key percent 10`, `key { 20m; exact; }`."""
    percent = _percent(node.value(key, "percent"))
    for word in node.values(key):
        bps = amount(word)
        if bps is not None:
            return bps, percent
    return None, percent


def _percent(text: str) -> float | None:
    return float(text) if is_decimal(text) and len(text) < 4 else None


def _shaper(node: Node) -> Shaper | None:
    bps, percent = _rate(node, "shaping-rate")
    if bps is None and percent is None:
        return None
    return Shaper(bps, amount(node.value("shaping-rate", "burst-size")), percent)


def _read_profile(reading: Reading, context: Context, node: Node, uses: Uses) -> None:
    bps, percent = _rate(node, "guaranteed-rate")
    queue = Queue(node.word, guaranteed_bps=bps, guaranteed_percent=percent) if bps is not None or percent is not None else None
    child = node.value("scheduler-map")
    lines = node.all_lines()
    only = QosClass(
        node.word,
        ClassMatch(any=True),
        shaper=_shaper(node),
        queue=queue,
        child_policy=context.named(child) if child else "",
        lines=lines,
    )
    used = [
        *((name, "out", own) for name, own in uses.get(("output-traffic-control-profile", node.word), [])),
        *((name, "out", own) for name, own in uses.get(("output-traffic-control-profile-remaining", node.word), [])),
        *((name, "in", own) for name, own in uses.get(("input-traffic-control-profile", node.word), [])),
    ]
    attachments = tuple(QosAttachment(*use) for use in used)
    reading.qos_policies.append(QosPolicy(context.named(node.word), (only,), attachments, lines))


def _read_shaping(reading: Reading, context: Context, kind: str, text: str, used: Used) -> None:
    """`shaping-rate` of a port or unit."""
    bps = amount(text)
    for name, lines in used:
        if bps is None:
            reading.leave_lines(lines, "not a rate")
            continue
        only = QosClass(kind, ClassMatch(any=True), shaper=Shaper(bps), lines=lines)
        direction = "in" if kind.startswith("input") else "out"
        policy = context.named(f"{kind} {name}")
        reading.qos_policies.append(QosPolicy(policy, (only,), (QosAttachment(name, direction, lines),), lines))


def _read_fixed(reading: Reading, context: Context, group: str, used: Used) -> None:
    """A port whose packets all go to one class, whatever their marks say."""
    marker = Marker(queue=context.queues.get(group))
    lines = tuple(sorted({number for _, own in used for number in own}))
    only = QosClass(group, ClassMatch(any=True), marker, lines=lines)
    attachments = tuple(QosAttachment(name, "in", own) for name, own in used)
    reading.qos_policies.append(QosPolicy(context.named(f"forwarding-class {group}"), (only,), attachments, lines))
    reading.trusts.extend(Trust(name, "none", own) for name, own in used)
