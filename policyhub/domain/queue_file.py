"""The queues file of a port (docs/input-files.md) from the configuration of its device. What is assumed is said."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from policyhub.domain.device_config import DeviceConfig
from policyhub.domain.errors import BadInput
from policyhub.domain.message import Message, gettext_noop
from policyhub.domain.qos import ClassMatch, QosClass, QosPolicy, Queue

MBIT = 1e6
REST, OTHERS = "rest", "other marks"
ALL_MARKS = 64
WHOLE_DEVICE = ("", "system")  # NX-OS: `system qos`
WHOLE_PORT = "port"  # the class by which every vendor's reader tells of a shaper of the whole port
LEAST_SHARE = 0.01  # of the link, for a class that nothing is left for
DEFAULT_LEVEL = 0  # of what no policy on the way in puts elsewhere
OF_LEVEL = re.compile(r"(?:traffic-class|qos-group) (\d{1,2})")
NO_BUFFER = gettext_noop("%(names)s: no buffer in the configuration, 1000 packets are assumed")
NO_RATE = gettext_noop("%(names)s: no rate in the configuration, an equal share of what the others leave is assumed")
INNER_LEFT_OUT = gettext_noop("%(names)s: what the policies inside them do is left out")
NO_REST = gettext_noop("no class takes the other marks: they share what is left, as best effort")
NO_CEILING = gettext_noop("%(names)s: strict priority without a limit, so the whole link is its rate")


@dataclass(frozen=True, slots=True)
class QueueFile:
    """content: JSON object of the file. notes: what was assumed."""

    content: dict[str, Any]
    notes: tuple[Message, ...]


def queue_file(
    config: DeviceConfig, port: str, *, arrivals: str, device: str = "", link_bps: float | None = None,
    marks: Mapping[str, frozenset[int]] = {},
) -> QueueFile:  # fmt: skip
    """Classes of what is bound to the port's way out. arrivals: the port or point where its packets come in.

    marks: of classes whose own criteria are no marks. Raises BadInput naming what is missing and the cure.
    """
    name, speed = _port(config, port)
    policy, link = _inner(config, _policy(config, name), link_bps or speed)
    whole = next((each for each in policy.classes if each.name == WHOLE_PORT), None)
    if whole is not None and whole.shaper is not None:
        link = _amount(whole.shaper.rate_bps, whole.shaper.percent, link) or link
    if link is None:
        said = gettext_noop("the speed of %(port)s is not in the configuration. Give --link, e.g. 10G")
        raise BadInput.of(said, port=name)
    notes: list[Message] = []
    classes = [each for each in policy.classes if each is not whole and (each.queue or each.match.any or each.shaper)]
    taken = _taken(classes, config, name, marks)
    if None not in taken.values() and len(frozenset().union(*(own for own in taken.values() if own))) < ALL_MARKS:
        classes.append(QosClass(OTHERS, ClassMatch(any=True)))
        taken[OTHERS] = None
        notes.append(Message(NO_REST))
    _say(notes, INNER_LEFT_OUT, [each.name for each in classes if each.child_policy])
    rows = _rows(classes, link, taken, notes)
    content = {
        **({"device": device} if device else {}), "observation_points": {"ingress": arrivals, "egress": name},
        "link_mbps": link / MBIT, "classes": rows,
        "ports": {name: {"point": "egress", "arrivals_from": "ingress", "link_mbps": link / MBIT}},
    }  # fmt: skip
    return QueueFile(content, tuple(notes))


def _rows(
    classes: Sequence[QosClass], link: float, marks: Mapping[str, frozenset[int] | None], notes: list[Message]
) -> dict[str, dict[str, Any]]:
    """By class; a mark is of the first class that takes it, as on the device. marks: None = whatever no other takes."""
    rates = _rates(classes, link, notes)
    taken: set[int] = set()
    rows: dict[str, dict[str, Any]] = {}
    for each in classes:
        own = marks[each.name]
        if own is None and not any(row["dscp"] == REST for row in rows.values()):
            rows[each.name] = {"dscp": REST, **_row(each, rates[each.name], link)}
        elif own and own - taken:
            rows[each.name] = {"dscp": sorted(own - taken), **_row(each, rates[each.name], link)}
            taken |= own
    _say(notes, NO_BUFFER, [name for name, row in rows.items() if not {"queue_bytes", "queue_pkts"} & set(row)])
    return rows


def _port(config: DeviceConfig, wanted: str) -> tuple[str, float | None]:
    """Name as the configuration has it, and speed where that says so."""
    port = config.interface(wanted)
    if port is not None:
        return port.name, port.speed_bps
    bound = _bound(config)
    found = next((name for name in bound if name.casefold() == wanted.casefold()), None)
    if found is None:
        said = gettext_noop("port %(port)s is not in the configuration. Ports with queues: %(known)s")
        raise BadInput.of(said, port=wanted, known=", ".join(bound) or "-")
    return found, None


def _bound(config: DeviceConfig) -> list[str]:
    """Ports that have queues of their own."""
    places = (place for policy in config.qos_policies for place in policy.attachments if _has_queues(policy))
    return list(dict.fromkeys(place.interface for place in places if place.interface and place.direction == "out"))


def _has_queues(policy: QosPolicy) -> bool:
    return any(each.queue or each.child_policy for each in policy.classes)


def _policy(config: DeviceConfig, port: str) -> QosPolicy:
    """What is bound to the port itself, else to the whole device."""
    for place in (port, *WHOLE_DEVICE):
        for policy in config.qos_policies:
            bound = any(each.direction == "out" and each.interface.casefold() == place.casefold() for each in policy.attachments)
            if bound and _has_queues(policy):
                return policy
    said = gettext_noop("no queues are bound to the way out of %(port)s. Ports with queues: %(known)s")
    raise BadInput.of(said, port=port, known=", ".join(_bound(config)) or "-")


def _inner(config: DeviceConfig, policy: QosPolicy, link: float | None) -> tuple[QosPolicy, float | None]:
    """A policy that only shapes the whole port hands its rate to the policy inside it."""
    for each in policy.classes:
        child = next((row for row in config.qos_policies if row.name == each.child_policy), None) if each.match.any else None
        if child is not None and len(policy.classes) == 1:
            return child, _amount(each.shaper.rate_bps, each.shaper.percent, link) if each.shaper else link
    return policy, link


def _amount(bps: int | None, percent: float | None, link: float | None) -> float | None:
    if bps is not None:
        return float(bps)
    return None if percent is None or link is None else link * percent / 100


def _taken(
    classes: Sequence[QosClass], config: DeviceConfig, port: str, given: Mapping[str, frozenset[int]]
) -> dict[str, frozenset[int] | None]:
    """Marks of each class; None: all that no other takes. Raises BadInput: classes that cannot be told, given ones unknown."""
    maps = [row for row in config.dscp_maps if port in row.interfaces] or [row for row in config.dscp_maps if not row.interfaces]
    levels = dict(maps[0].level) if maps else _set_on_entry(config)
    found: dict[str, frozenset[int] | None] = {}
    for each in classes:
        wanted = {int(level[1]) for text in each.match.other if (level := OF_LEVEL.fullmatch(text))}
        if each.match.any or (levels and not maps and DEFAULT_LEVEL in wanted):
            found[each.name] = None
        elif each.match.dscp and not each.match.acls:
            found[each.name] = each.match.dscp
        elif wanted and levels:
            found[each.name] = frozenset(mark for mark, level in levels.items() if level in wanted)
    found |= {each.name: given[each.name] for each in classes if each.name in given}
    open_ones = [each for each in classes if each.name not in found]
    if open_ones:
        names = ", ".join(f"{each.name} ({', '.join((*each.match.acls, *each.match.other)) or '-'})" for each in open_ones)
        said = gettext_noop("not said by marks what these classes take: %(names)s. Give --class '%(first)s=EF,...' for each")
        raise BadInput.of(said, names=names, first=open_ones[0].name)
    unknown = set(given) - {each.name for each in classes}
    if unknown:
        known = ", ".join(each.name for each in classes)
        raise BadInput.of(gettext_noop("no class %(name)s here. The classes: %(known)s"), name=min(unknown), known=known)
    return found


def _set_on_entry(config: DeviceConfig) -> dict[int, int]:
    """Mark -> internal class, by the policies that packets enter by; empty where two of them differ."""
    found: dict[int, int] = {}
    for policy in config.qos_policies:
        if not any(each.direction == "in" for each in policy.attachments):
            continue
        own: dict[int, int] = {}
        for each in policy.classes:
            if each.marker is not None and each.marker.queue is not None and not each.match.acls:
                own = dict.fromkeys(each.match.dscp or (), each.marker.queue) | own  # the first class that takes it
        if any(found.get(mark, level) != level for mark, level in own.items()):
            return {}
        found |= own
    return found


def _rates(classes: Sequence[QosClass], link: float, notes: list[Message]) -> dict[str, float]:
    """bit/s guaranteed to each class. Shares of what is left are shares of the link without the guarantees."""
    fixed: dict[str, float] = {}
    unlimited = []
    for each in classes:
        queue = each.queue or Queue(each.name)
        own = _amount(queue.guaranteed_bps, queue.guaranteed_percent, link)
        if queue.is_strict_priority:
            ceiling = _ceiling(each, link)
            fixed[each.name] = link if ceiling is None else ceiling
            if ceiling is None:
                unlimited.append(each.name)
        elif own is not None:
            fixed[each.name] = own
    _say(notes, NO_CEILING, unlimited)
    rest = max(link - sum(rate for name, rate in fixed.items() if name not in unlimited), link * LEAST_SHARE)
    return {**_shares([each for each in classes if each.name not in fixed], rest, link, notes), **fixed}


def _shares(classes: Sequence[QosClass], rest: float, link: float, notes: list[Message]) -> dict[str, float]:
    """By percent of the rest, then by weight; a class with neither weighs as much as the mean of those with a weight."""
    by_percent: dict[str, float] = {}
    weights: dict[str, float | None] = {}
    for each in classes:
        queue = each.queue or Queue(each.name)
        if queue.remaining_percent:
            by_percent[each.name] = rest * queue.remaining_percent / 100
        else:
            weights[each.name] = queue.remaining_weight
    known = [weight for weight in weights.values() if weight]
    mean = sum(known) / len(known) if known else 1.0
    _say(notes, NO_RATE, [name for name, weight in weights.items() if not weight])
    left = max(rest - sum(by_percent.values()), link * LEAST_SHARE)
    whole = sum(weight or mean for weight in weights.values())
    return {**by_percent, **{name: left * (weight or mean) / whole for name, weight in weights.items()}}


def _ceiling(each: QosClass, link: float) -> float | None:
    queue = each.queue or Queue(each.name)
    found = [_amount(queue.ceiling_bps, queue.ceiling_percent, link)]
    drops = each.policer if each.policer and each.policer.exceed_action == "drop" else None
    found += [_amount(part.rate_bps, part.percent, link) for part in (each.shaper, drops) if part is not None]
    return min((rate for rate in found if rate is not None), default=None)


def _row(each: QosClass, rate: float, link: float) -> dict[str, Any]:
    queue = each.queue or Queue(each.name)
    ceiling = min(_ceiling(each, link) or link, link)
    row: dict[str, Any] = {"rate_mbps": min(rate, ceiling) / MBIT, "ceil_mbps": ceiling / MBIT}
    if queue.limit_bytes:
        row["queue_bytes"] = queue.limit_bytes
    elif queue.limit_packets:
        row["queue_pkts"] = queue.limit_packets
    return row | ({"strict": True} if queue.is_strict_priority else {})


def _say(notes: list[Message], text: str, names: Sequence[str]) -> None:
    if names:
        notes.append(Message(text, {"names": ", ".join(names)}))
