"""QoS of Cumulus Linux from a tree of NVUE words; qos_features.conf is brought into the same tree first (files.py)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from policyhub.domain.device_config import Losslessness
from policyhub.domain.qos import ClassMatch, DscpMap, QosAttachment, QosClass, QosMap, QosPolicy, Queue, Shaper, Trust
from policyhub.vendorkit.lexing import is_decimal
from policyhub.vendors.nvidia_cumulus.tree import Branch, numbers, ports_of

DEFAULT = "default-global"
TRUSTS = {"l2": "pcp", "l3": "dscp", "both": "dscp", "port": "none"}
KBPS = 10**3
QUEUE_FEATURES = ("egress-scheduler", "congestion-control", "egress-shaper")
OFF = ("off", "disable", "disabled")
PRIORITIES = 8
ROCE = "roce"
ROCE_ECN = (150_000, 1_500_000, 100.0)
ROCE_PRIORITY, CNP_PRIORITY = 3, 6
DEFAULT_LEVELS = tuple((dscp, dscp // 8) for dscp in range(64))


@dataclass(slots=True)
class Qos:
    policies: list[QosPolicy] = field(default_factory=list)
    dscp_maps: list[DscpMap] = field(default_factory=list)
    maps: list[QosMap] = field(default_factory=list)
    trusts: list[Trust] = field(default_factory=list)
    losslessness: list[Losslessness] = field(default_factory=list)


def read_qos(root: Branch) -> Qos:
    qos = Qos()
    index = _Index.of(root)
    _mappings(qos, root, index)
    _queue_policies(qos, root, index)
    _flow_control(qos, root, index)
    _roce(qos, root)
    return qos


@dataclass(slots=True)
class _Index:
    """Which ports use which profile; `default-global` is for those that name none."""

    root: Branch
    profiles: dict[tuple[str, str], str] = field(default_factory=dict)
    users: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    watched: dict[str, tuple[bool, tuple[int, ...]]] = field(default_factory=dict)
    queued: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, root: Branch) -> _Index:
        index = cls(root)
        for port, branches in ports_of(root).items():
            for branch in branches:
                index.read(port, branch.at("qos"))
        return index

    def read(self, port: str, qos: Branch | None) -> None:
        for feature, below in qos.children.items() if qos is not None else ():
            if feature == "pfc-watchdog":
                self.watched[port] = (below.value("state") not in OFF, below.all_lines())
            name = below.value("profile")
            if not name:
                continue
            self.profiles[feature, port] = name
            self.users.setdefault((feature, name), []).append(port)
            if feature in QUEUE_FEATURES and port not in self.queued[-1:]:
                self.queued.append(port)

    def ports(self, feature: str, profile: str) -> tuple[str, ...]:
        own = dict.fromkeys(self.users.get((feature, profile), ()))
        return (*([""] if profile == DEFAULT else []), *own)


def _number(text: str) -> int | None:
    return int(text) if is_decimal(text) and len(text) < 16 else None


def _mappings(qos: Qos, root: Branch, index: _Index) -> None:
    for name, profile in root.items("qos", "mapping"):
        users = index.ports("mapping", name)
        mode = TRUSTS.get(profile.value("trust"))
        lines = profile.all_lines()
        if profile.at("trust") is not None:
            qos.trusts += [Trust(port, mode, lines) for port in users]
        levels = dict(DEFAULT_LEVELS)
        given = False
        for text, branch in _of(profile, "dscp"):
            level = _number(branch.value("switch-priority"))
            for dscp in numbers(text, 63):
                if level is not None:
                    levels[dscp] = level
                    given = True
        if given or mode == "dscp":
            qos.dscp_maps.append(DscpMap(name, tuple(sorted(levels.items())), users, not given, lines))
        _map(qos, name, "pcp-to-class", profile, "pcp", "switch-priority", users)
    for name, profile in root.items("qos", "egress-queue-mapping"):
        _map(qos, name, "class-to-queue", profile, "switch-priority", "traffic-class", index.ports("egress-queue-mapping", name))
    for name, profile in root.items("qos", "remark"):
        users = index.ports("remark", name)
        _map(qos, name, "class-to-dscp", profile, "switch-priority", "dscp", users)
        _map(qos, name, "class-to-pcp", profile, "switch-priority", "pcp", users)


def _of(branch: Branch, word: str) -> list[tuple[str, Branch]]:
    below = branch.at(word)
    return list(below.children.items()) if below is not None else []


def _map(qos: Qos, name: str, kind: str, profile: Branch, start: str, end: str, users: tuple[str, ...]) -> None:
    entries: dict[int, int] = {}
    for text, branch in _of(profile, start):
        target = _number(branch.value(end))
        if target is not None:
            entries.update(dict.fromkeys(numbers(text, 63), target))
    if entries:
        qos.maps.append(QosMap(name, kind, tuple(sorted(entries.items())), users, profile.all_lines()))


@dataclass(slots=True)
class _Drafts:
    """Queues of one policy, by number; `port` a shaper of the whole port."""

    queues: dict[int, QosClass] = field(default_factory=dict)
    port: QosClass | None = None

    def queue(self, number: int, lines: tuple[int, ...]) -> QosClass:
        match = ClassMatch(other=(f"traffic-class {number}",))
        known = self.queues.get(number) or QosClass(f"traffic-class {number}", match, queue=Queue(str(number)))
        return replace(known, lines=tuple(sorted({*known.lines, *lines})))


def _queue_policies(qos: Qos, root: Branch, index: _Index) -> None:
    features = {
        "egress-scheduler": _schedule, "congestion-control": _congestion, "egress-shaper": _shape,
    }  # fmt: skip
    profiles = {
        (feature, name): branch for feature in features for name, branch in root.items("qos", feature)
    }  # fmt: skip
    combinations: dict[tuple[str, ...], list[str]] = {}
    has_default = any(root.at("qos", feature, DEFAULT) is not None for feature in features)
    for port in [*([""] if has_default else []), *dict.fromkeys(index.queued)]:
        chosen = tuple(index.profiles.get((feature, port), DEFAULT) for feature in features)
        combinations.setdefault(chosen, []).append(port)
    for chosen, ports in combinations.items():
        drafts = _Drafts()
        for (feature, build), name in zip(features.items(), chosen, strict=True):
            branch = profiles.get((feature, name))
            if branch is not None:
                build(drafts, name, branch)
        classes = [drafts.queues[number] for number in sorted(drafts.queues)]
        classes += [drafts.port] if drafts.port is not None else []
        if classes:
            named = next((name for (feature, name) in zip(features, chosen, strict=True) if (feature, name) in profiles), DEFAULT)
            lines = tuple(sorted({line for made in classes for line in made.lines}))
            qos.policies.append(QosPolicy(named, tuple(classes), tuple(QosAttachment(port, "out", ()) for port in ports), lines))


def _schedule(drafts: _Drafts, name: str, profile: Branch) -> None:
    for text, branch in _of(profile, "traffic-class"):
        percent = _number(branch.value("bw-percent"))
        mode = branch.value("mode")
        for number in numbers(text, PRIORITIES - 1):
            made = drafts.queue(number, branch.all_lines())
            queue = made.queue or Queue(str(number))
            if mode:
                queue = replace(queue, is_strict_priority=mode == "strict")
            if percent is not None and mode != "strict":
                queue = replace(queue, guaranteed_percent=float(percent) or None, is_strict_priority=percent == 0)
            drafts.queues[number] = replace(made, queue=queue)


def _congestion(drafts: _Drafts, name: str, profile: Branch) -> None:
    for text, branch in _of(profile, "traffic-class"):
        for number in numbers(text, PRIORITIES - 1):
            made = drafts.queue(number, branch.all_lines())
            queue = made.queue or Queue(str(number))
            probability = _number(branch.value("probability"))
            low = _bytes(branch, "min-threshold") or queue.drop_min_bytes
            high = _bytes(branch, "max-threshold") or queue.drop_max_bytes
            red = branch.value("red")
            queue = replace(
                queue,
                ecn=branch.value("ecn") not in OFF,
                early_drop=name if red and red not in OFF else queue.early_drop,
                drop_min_bytes=low,
                drop_max_bytes=high,
                drop_max_percent=float(probability) if probability is not None else queue.drop_max_percent,
            )
            drafts.queues[number] = replace(made, queue=queue)


def _bytes(branch: Branch, name: str) -> int | None:
    return _number(branch.value(name)) or _number(branch.value(f"{name}-bytes"))


def _shape(drafts: _Drafts, name: str, profile: Branch) -> None:
    for text, branch in _of(profile, "traffic-class"):
        low, high = _number(branch.value("min-rate")), _number(branch.value("max-rate"))
        for number in numbers(text, PRIORITIES - 1):
            made = drafts.queue(number, branch.all_lines())
            queue = made.queue or Queue(str(number))
            queue = replace(queue, guaranteed_bps=low * KBPS if low else queue.guaranteed_bps)
            drafts.queues[number] = replace(made, queue=queue, shaper=Shaper(high * KBPS) if high is not None else made.shaper)
    most = _number(profile.value("port-max-rate"))
    below = profile.at("port-max-rate")
    if most is not None and below is not None:
        drafts.port = QosClass("port", ClassMatch(any=True), shaper=Shaper(most * KBPS), lines=below.all_lines())


def _flow_control(qos: Qos, root: Branch, index: _Index) -> None:
    done: set[str] = set()
    for name, profile in root.items("qos", "pfc"):
        priorities = frozenset(n for text, _ in _of(profile, "switch-priority") for n in numbers(text, PRIORITIES - 1))
        both_off = profile.value("tx") in OFF and profile.value("rx") in OFF
        for port in index.ports("pfc", name):
            done.add(port)
            watchdog = index.watched[port][0] if port in index.watched else None
            qos.losslessness.append(Losslessness(port, not both_off, priorities, watchdog, profile.all_lines()))
    for port, (state, lines) in index.watched.items():
        if port not in done:
            qos.losslessness.append(Losslessness(port, watchdog=state, lines=lines))


def _roce(qos: Qos, root: Branch) -> None:
    """What NVUE makes of `qos roce`: two shared queues, a strict one for CNP, ECN, and PFC on priority 3 when lossless."""
    roce = root.at("qos", ROCE)
    if roce is None or roce.value("enable") in OFF or roce.value("state") in OFF:
        return
    lines = roce.all_lines()
    low, high, probability = ROCE_ECN
    shared = [
        Queue(str(n), guaranteed_percent=50.0, ecn=True, drop_min_bytes=low, drop_max_bytes=high, drop_max_percent=probability)
        for n in (0, ROCE_PRIORITY)
    ]
    queues = [*shared, Queue(str(CNP_PRIORITY), is_strict_priority=True)]
    classes = [
        QosClass(f"traffic-class {queue.name}", ClassMatch(other=(f"traffic-class {queue.name}",)), queue=queue, lines=lines)
        for queue in queues
    ]
    qos.policies.append(QosPolicy(ROCE, tuple(classes), (QosAttachment("", "out", ()),), lines))
    qos.trusts.append(Trust("", "dscp", lines))
    qos.dscp_maps.append(DscpMap(ROCE, DEFAULT_LEVELS, ("",), True, lines))
    entries = tuple((n, n if n in (ROCE_PRIORITY, CNP_PRIORITY) else 0) for n in range(PRIORITIES))
    qos.maps.append(QosMap(ROCE, "class-to-queue", entries, ("",), lines))
    is_lossy = roce.value("mode").startswith("lossy")
    qos.losslessness.append(Losslessness("", not is_lossy, frozenset() if is_lossy else frozenset({ROCE_PRIORITY}), None, lines))
