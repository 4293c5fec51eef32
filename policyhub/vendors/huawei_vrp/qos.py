"""Traffic classifiers, behaviors and policies (MQC), QoS profiles, and the one-line forms `traffic-limit`, `traffic-remark`."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from policyhub.domain.qos import ClassMatch, Marker, QosAttachment, QosClass, QosPolicy, Queue, Shaper
from policyhub.vendorkit.blocks import Block
from policyhub.vendorkit.lexing import NotUnderstood, Words
from policyhub.vendorkit.vrp_car import policed, rate
from policyhub.vendorkit.vrp_lines import take_direction
from policyhub.vendorkit.vrp_mqc import Mqc, remark
from policyhub.vendors.huawei_vrp.lossless import with_thresholds
from policyhub.vendors.huawei_vrp.reading import AclKey, Reading, take_acl


def read_traffic(reading: Reading, block: Block) -> None:
    """`traffic classifier|behavior|policy NAME ..`."""
    words = Words(block.words, 1)
    kind = words.accept("classifier", "behavior", "policy")
    if not kind:
        raise NotUnderstood("not a traffic classifier, behavior or policy")
    name = words.next("a name")
    if name.endswith(":"):
        raise NotUnderstood("a line of an output, not of a configuration")
    {"classifier": reading.classifiers, "behavior": reading.behaviors, "policy": reading.traffic_policies}[kind][name] = block
    if kind != "classifier":
        return
    for child in block.children:
        below = Words(child.words)
        if below.accept("if-match") and below.peek().lower() in ("acl", "ipv6") and "acl" in child.text.lower().split()[:3]:
            reading.selectors[take_acl(below)] = f"classifies for {name}: a packet that one of its deny rules matches is dropped"


def policies(reading: Reading) -> list[QosPolicy]:
    """Traffic policies, QoS profiles and one-line forms, each with the places it is attached to."""
    mqc = Mqc(
        reading.ledger,
        classifiers=reading.classifiers,
        behaviors=reading.behaviors,
        policies=reading.traffic_policies,
        cars=reading.cars,
        attachments=reading.attachments,
    )
    found = [_with_thresholds(reading, policy) for policy in mqc.read()]
    found += [_profile(reading, name, block) for name, block in reading.profiles.items()]
    found += [_user_group(reading, name, block) for name, block in reading.user_groups.items()]
    return found + _simple(reading)


def _with_thresholds(reading: Reading, policy: QosPolicy) -> QosPolicy:
    """Classes with a drop profile tell its lines."""
    classes: list[QosClass] = []
    for made in policy.classes:
        if made.queue is not None and made.queue.early_drop:
            queue, notes, lines = with_thresholds(reading, made.queue)
            made = replace(made, queue=queue, notes=(*made.notes, *notes), lines=(*made.lines, *lines))
        classes.append(made)
    return replace(policy, classes=tuple(classes))


def read_profile(reading: Reading, block: Block) -> None:
    """`qos-profile NAME`: a rate limit for a whole port or user."""
    reading.profiles[Words(block.words, 1).next("a name")] = block


def _profile(reading: Reading, name: str, block: Block) -> QosPolicy:
    made = _of_all(reading, block, _profile_line)
    return QosPolicy(f"qos-profile {name}", (made,), tuple(reading.profile_attachments.get(name, ())), block.numbers)


def _of_all(reading: Reading, block: Block, with_line: Callable[[QosClass, Words], QosClass]) -> QosClass:
    """The class of all packets that the lines of a block make."""
    made = QosClass("any", ClassMatch(any=True), lines=block.numbers)
    for child in block.children:
        with reading.ledger.booking(child.line):
            made = with_line(made, Words(child.words))
    return made


def _profile_line(made: QosClass, words: Words) -> QosClass:
    if words.accept("car"):
        return policed(made, words)
    if words.accept("user-queue"):
        return _user_queue(made, words)
    if words.accept("description"):
        return made
    raise NotUnderstood("not modelled in a QoS profile")


def _user_queue(made: QosClass, words: Words) -> QosClass:
    """NE: `cir N [pir N] [flow-queue F] [user-group-queue G] [outbound]`, kbit/s: a floor, a ceiling, queues below."""
    words.accept("cir")
    floor = rate(words)
    made = replace(made, shaper=Shaper(floor))
    if words.accept("pir"):
        made = replace(made, shaper=Shaper(rate(words)), queue=Queue("user", guaranteed_bps=floor or None))
    if words.accept("flow-queue"):
        made = replace(made, child_policy=f"flow-queue {words.next('a flow queue')}")
    kept = " ".join(word for word in words.rest().split() if word.lower() not in ("inbound", "outbound"))
    return replace(made, notes=(*made.notes, kept)) if kept else made


def read_user_group(reading: Reading, block: Block) -> None:
    """`user-group-queue G` with `shaping N [outbound]`: a ceiling of several users."""
    reading.user_groups[Words(block.words, 1).next("a name")] = block


def _user_group(reading: Reading, name: str, block: Block) -> QosPolicy:
    return QosPolicy(f"user-group-queue {name}", (_of_all(reading, block, _group_line),), (), block.numbers)


def _group_line(made: QosClass, words: Words) -> QosClass:
    if not words.accept("shaping"):
        raise NotUnderstood("not modelled in a queue of user groups")
    return replace(made, shaper=Shaper(rate(words)))


SIMPLE = re.compile(r"^traffic-(limit|remark|statistic|redirect|mirror)$", re.IGNORECASE)
CAR = re.compile(r"^(qos (car|lr) inbound|qos car outbound|user-queue) ", re.IGNORECASE)


def read_simple(reading: Reading, place: str, block: Block) -> bool:
    """`traffic-limit|traffic-remark [vlan N] inbound acl X ..`; False when the line is neither."""
    if CAR.match(block.text):
        reading.simple.append((place, block))
        words = Words(block.words, 2)
    elif SIMPLE.match(block.words[0]):
        words = Words(block.words, 1)
    else:
        return False
    if block.words[0].lower() in ("traffic-limit", "traffic-remark"):
        reading.simple.append((place, block))
    key = _acl_of(words)
    if key:
        reading.selectors.setdefault(key, f"selects packets for {_kind(block)}")
    return True


def _kind(block: Block) -> str:
    """`qos car`, `qos lr`, `user-queue`, `traffic-limit`, .."""
    return " ".join(block.words[: 2 if block.words[0].lower() == "qos" else 1])


def _acl_of(words: Words) -> AclKey | None:
    while words:
        if words.peek().lower() in ("acl", "ipv6"):
            return take_acl(words)
        words.next()
    return None


def _simple(reading: Reading) -> list[QosPolicy]:
    found: list[QosPolicy] = []
    for place, block in reading.simple:
        with reading.ledger.booking(block.line):
            found.append(_one_line(place, block))
    return found


def _one_line(place: str, block: Block) -> QosPolicy:
    if block.words[0].lower() == "user-queue":
        return _user(place, block)
    words = Words(block.words, 2 if block.words[0].lower() == "qos" else 1)
    if words.accept("vlan"):
        place = f"vlan {words.next('a vlan')}"
    direction = take_direction(words)
    acls: list[str] = []
    while words.peek().lower() in ("acl", "ipv6", "rule"):
        if words.accept("rule"):
            acls[-1:] = [f"{acls[-1] if acls else '?'} rule {words.next('a rule')}"]
        else:
            acls.append(take_acl(words)[1])
    made = QosClass(acls[0] if acls else "any", ClassMatch(acls=tuple(acls), any=not acls), lines=(block.number,))
    if block.words[0].lower() in ("traffic-limit", "qos"):
        made = policed(made, words)
    else:
        made = replace(made, marker=remark(Marker(), words))
    attached = (QosAttachment(place, direction, (block.number,)),)
    return QosPolicy(f"{_kind(block)} {place} {direction}", (made,), attached, (block.number,))


def _user(place: str, block: Block) -> QosPolicy:
    direction = "in" if "inbound" in block.text.lower().split() else "out"
    made = _user_queue(QosClass("any", ClassMatch(any=True), lines=(block.number,)), Words(block.words, 1))
    attached = (QosAttachment(place, direction, (block.number,)),)
    return QosPolicy(f"user-queue {place} {direction}", (made,), attached, (block.number,))
