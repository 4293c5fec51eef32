"""Shapers, shaping policies and profiles, and marks that policies set.

A shaper of FortiOS drops what exceeds its rate (administration guide, Traffic shaping: "Traffic policing") and serves a priority.
"""

from __future__ import annotations

from collections.abc import Iterator

from policyhub.domain.qos import ClassMatch, Marker, Policer, QosAttachment, QosClass, QosPolicy, Queue, Shaper
from policyhub.domain.rules import Rule
from policyhub.vendorkit.lexing import is_decimal
from policyhub.vendors.fortinet_fortios.policies import binary_dscp
from policyhub.vendors.fortinet_fortios.reading import Reading, Scope
from policyhub.vendors.fortinet_fortios.tree import Node

SHAPERS = "firewall shaper traffic-shaper"
PER_IP = "firewall shaper per-ip-shaper"
PROFILES = "firewall shaping-profile"
CLASSES = "firewall traffic-class"
UNITS = {"": 10**3, "kbps": 10**3, "mbps": 10**6, "gbps": 10**9}
CARRIERS = (
    "firewall shaping-policy",
    "firewall policy",
    "firewall policy6",
    "firewall consolidated policy",
    "firewall security-policy",
)
WORK = ("traffic-shaper", "per-ip-shaper", "class-id")


def rate(node: Node, name: str) -> int | None:
    """bit/s; None for no limit."""
    text = node.value(name)
    if not is_decimal(text) or len(text) > 12 or int(text) == 0:
        return None
    return int(text) * UNITS.get(node.value("bandwidth-unit"), 10**3)


def read_qos(reading: Reading, scope: Scope) -> None:
    for table in (SHAPERS, PER_IP, CLASSES, PROFILES):
        reading.book_headers(scope, table)
        for node in scope.entries(table):
            reading.book(node)
            for below in node.tables:
                reading.book_rows(node, below)
    for path in CARRIERS:
        _carried(reading, scope, path)
    for node in scope.entries(PROFILES):
        reading.qos_policies.append(_profile(reading, scope, node))


def _carried(reading: Reading, scope: Scope, path: str) -> None:
    """Rules of a table that shape or mark, as classes."""
    policy = next((p for p in reading.policies if p.name == scope.prefix + path and p.context == scope.name), None)
    if policy is None:
        return
    shapers = {node.name: node for node in scope.entries(SHAPERS)}
    per_ip = {node.name: node for node in scope.entries(PER_IP)}
    classes: list[QosClass] = []
    attached: dict[str, None] = {}
    for node, rule in zip(scope.entries(path), policy.rules, strict=True):
        if not rule.enabled or not (path.endswith("shaping-policy") or _works(node)):
            continue
        classes.append(_class(node, rule, path, shapers, per_ip))
        attached.update(dict.fromkeys(rule.match.destination_zones))
    if classes:
        attachments = tuple(QosAttachment(name, "out") for name in attached)
        reading.qos_policies.append(QosPolicy(policy.name, tuple(classes), attachments, policy.lines))


def _works(node: Node) -> bool:
    marks = node.is_on("diffserv-forward") or node.value("vlan-cos-fwd") not in ("", "255")
    return marks or any(node.value(name) for name in WORK)


def _class(node: Node, rule: Rule, path: str, shapers: dict[str, Node], per_ip: dict[str, Node]) -> QosClass:
    shaper = shapers.get(node.value("traffic-shaper"))
    each = per_ip.get(node.value("per-ip-shaper"))
    other = [f"{path} {rule.name}"]
    policer: Policer | None = None
    queue: Queue | None = None
    if each is not None:
        limit = rate(each, "max-bandwidth")
        policer = Policer(limit) if limit is not None else None
        other.append("per-ip")
    if shaper is not None:
        limit = rate(shaper, "maximum-bandwidth")
        exceeding = "mark" if shaper.value("dscp-marking-method") == "multi-stage" else "drop"
        policer = Policer(limit, exceed_action=exceeding) if limit is not None else policer
        queue = Queue(shaper.value("priority") or "high", guaranteed_bps=rate(shaper, "guaranteed-bandwidth"))
    match = ClassMatch(dscp=rule.match.dscp, other=tuple(other))
    return QosClass(rule.name, match, _marker(node, shaper, each), policer, queue=queue, lines=rule.lines)


def _marker(node: Node, shaper: Node | None, each: Node | None) -> Marker | None:
    """The rule's own mark goes before the shaper's."""
    dscp = _mark(node, "diffserv-forward", "diffservcode-forward")
    if dscp is None and shaper is not None:
        dscp = _mark(shaper, "diffserv", "diffservcode")
    if dscp is None and each is not None:
        dscp = _mark(each, "diffserv-forward", "diffservcode-forward")
    pcp = node.value("vlan-cos-fwd")
    class_id = node.value("class-id")
    marker = Marker(
        dscp,
        int(pcp) if len(pcp) == 1 and pcp in "01234567" else None,
        int(class_id) if is_decimal(class_id) and int(class_id[:9]) > 0 else None,
    )
    return None if marker == Marker() else marker


def _mark(node: Node, switch: str, name: str) -> int | None:
    """The code point of a switch that is on; nothing set means 000000."""
    if not node.is_on(switch):
        return None
    try:
        return binary_dscp(node.value(name) or "000000")
    except ValueError:
        return None


def _profile(reading: Reading, scope: Scope, node: Node) -> QosPolicy:
    rest = node.value("default-class-id")
    classes: list[QosClass] = []
    for row in node.rows("shaping-entries"):
        number = row.value("class-id")
        queue = Queue(
            row.value("priority") or "high",
            guaranteed_percent=_percent(row, "guaranteed-bandwidth-percentage"),
            ceiling_percent=_percent(row, "maximum-bandwidth-percentage"),
            early_drop="red" if _percent(row, "red-probability") else "",
            drop_max_percent=_percent(row, "red-probability") or None,
        )
        match = ClassMatch(any=True) if number == rest else ClassMatch(other=(f"class-id {number}",))
        classes.append(QosClass(number, match, queue=queue, lines=row.all_numbers()))
    attachments = tuple(_attachments(reading, scope, node.name))
    return QosPolicy(node.name, tuple(classes), attachments, node.all_numbers())


def _percent(node: Node, name: str) -> float | None:
    text = node.value(name)
    return float(text) if is_decimal(text) and len(text) < 4 else None


def _attachments(reading: Reading, scope: Scope, profile: str) -> Iterator[QosAttachment]:
    for owner in reading.scopes:
        for node in owner.entries("system interface"):
            for name, direction in (("egress-shaping-profile", "out"), ("ingress-shaping-profile", "in")):
                if node.value(name) == profile and (node.value("vdom") in ("", scope.name) or not scope.name):
                    yield QosAttachment(node.name, direction, node.numbers_of(name))


def read_interface_rates(reading: Reading, scope: Scope) -> None:
    """`outbandwidth` delays, `inbandwidth` drops; kbit/s."""
    for node in scope.entries("system interface"):
        for name, direction in (("outbandwidth", "out"), ("inbandwidth", "in")):
            limit = rate(node, name)
            if limit is None:
                continue
            lines = node.numbers_of(name)
            shaper, policer = (Shaper(limit), None) if direction == "out" else (None, Policer(limit))
            only = QosClass("all", ClassMatch(any=True), policer=policer, shaper=shaper, lines=lines)
            attachment = QosAttachment(node.name, direction, lines)
            reading.qos_policies.append(QosPolicy(f"{node.name} {name}", (only,), (attachment,), lines))
