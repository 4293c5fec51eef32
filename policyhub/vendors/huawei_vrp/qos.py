"""Traffic classifiers, behaviors and policies (MQC), QoS profiles, and the one-line forms `traffic-limit`, `traffic-remark`."""

from __future__ import annotations

import re
from dataclasses import replace

from policyhub.domain.qos import ClassMatch, Marker, Policer, QosAttachment, QosClass, QosPolicy, Queue, Shaper, parse_dscp
from policyhub.vendorkit.blocks import Block
from policyhub.vendorkit.lexing import NotUnderstood, Words, is_decimal, number_in
from policyhub.vendorkit.vrp_acl import PRECEDENCES
from policyhub.vendors.huawei_vrp.reading import AclKey, Reading, take_acl, take_direction

PHBS = ("be", "af1", "af2", "af3", "af4", "ef", "cs6", "cs7")
KBPS = {"kbps": 1_000, "mbps": 1_000_000, "gbps": 1_000_000_000}
BYTES = {"bytes": 1, "kbytes": 1_000, "mbytes": 1_000_000}
COLOURS = ("green", "yellow", "red")
DENY_ALL = Policer(rate_bps=0, exceed_action="drop")  # `deny` in a behavior: the class loses everything
OTHER_MATCHES = (
    "vlan", "vlan-id", "cvlan-id", "source-mac", "destination-mac", "inbound-interface", "outbound-interface", "l2-protocol",
    "mpls-exp", "tcp", "protocol", "flow-id", "qos-group", "service-class", "app-protocol", "rtp", "double-tag", "discard",
    "application",
)  # fmt: skip
NOT_QOS = (
    "redirect", "mirroring", "port-mirroring", "vlan-mapping", "add-tag", "mac-address", "traffic-id", "description",
    "ip-netstream", "ipv6-netstream", "netstream", "sample", "permit", "statistic", "statistics", "share-mode", "load-balance",
    "quit",
)  # fmt: skip


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
    matches = {name: _classifier(reading, block) for name, block in reading.classifiers.items()}
    behaviors = {name: _behavior(reading, block) for name, block in reading.behaviors.items()}
    found = [
        QosPolicy(name, _classes(reading, block, matches, behaviors), tuple(reading.attachments.get(name, ())), block.numbers)
        for name, block in reading.traffic_policies.items()
    ]
    found += [_profile(reading, name, block) for name, block in reading.profiles.items()]
    return found + _simple(reading)


def _classifier(reading: Reading, block: Block) -> ClassMatch:
    """`operator|type and|or`; without it any criterion is enough."""
    words = [word.lower() for word in block.words]
    match = ClassMatch(match_all="and" in words[3:])
    for child in (below for top in block.children for below in top.walk()):
        try:
            match = _criterion(match, Words(child.words))
            reading.ledger.understood(child.number)
        except NotUnderstood as reason:
            reading.ledger.unparsed(child.line, str(reason))
            match = replace(match, other=(*match.other, child.text[:80]))
    return match


def _criterion(match: ClassMatch, words: Words) -> ClassMatch:
    if words.accept("description"):
        return match
    if not words.accept("if-match"):
        raise NotUnderstood("if-match is expected")
    start = words.at
    if words.peek().lower() == "acl" or (words.peek().lower() == "ipv6" and words.peek(1).lower() == "acl"):
        return replace(match, acls=(*match.acls, take_acl(words)[1]))
    words.accept("ipv6")
    kind = words.next("a criterion").lower()
    if kind == "any":
        return replace(match, any=True)
    if kind in ("dscp", "ip-precedence", "precedence"):
        return replace(match, dscp=_join(match, match.dscp, _marks(kind, words)))
    if kind in ("8021p", "cvlan-8021p"):
        return replace(
            match, pcp=_join(match, match.pcp, frozenset(number_in(w, 0, 7, "a priority") for w in words.rest().split()))
        )
    if kind in OTHER_MATCHES:
        words.at = start
        return replace(match, other=(*match.other, words.rest()))
    raise NotUnderstood(f"if-match {kind[:40]!r} is not modelled")


def _join(match: ClassMatch, known: frozenset[int] | None, more: frozenset[int]) -> frozenset[int]:
    """Values of one line are alternatives always; of two lines, only with `or`."""
    if known is None:
        return more
    return known & more if match.match_all else known | more


def _marks(kind: str, words: Words) -> frozenset[int]:
    found: set[int] = set()
    while words:
        text = words.next()
        if text.lower() == "to" and found and words:
            found.update(range(max(found), _mark(words.next()) + 1))
        elif kind == "dscp":
            found.add(_mark(text))
        else:
            level = PRECEDENCES.index(text.lower()) if text.lower() in PRECEDENCES else number_in(text, 0, 7, "a precedence")
            found.update(range(level * 8, level * 8 + 8))
    return frozenset(found)


def _mark(text: str) -> int:
    try:
        return parse_dscp(text)
    except ValueError as error:
        raise NotUnderstood(f"{text[:40]!r} is not a DSCP") from error


def _behavior(reading: Reading, block: Block) -> QosClass:
    """What the behavior does, as a class that matches nothing yet."""
    made = QosClass("", ClassMatch(), lines=block.numbers)
    for child in (below for top in block.children for below in top.walk()):
        try:
            made = _action(reading, made, Words(child.words))
            reading.ledger.understood(child.number)
        except NotUnderstood as reason:
            reading.ledger.unparsed(child.line, str(reason))
    return made


def _action(reading: Reading, made: QosClass, words: Words) -> QosClass:
    word = words.next().lower()
    if word in NOT_QOS:
        return made
    if word == "deny":
        return replace(made, policer=DENY_ALL)
    if word == "remark":
        return replace(made, marker=_remark(made.marker or Marker(), words))
    if word == "service-class":
        return replace(made, marker=replace(made.marker or Marker(), queue=_phb(words.next("a class"))))
    if word == "car":
        return replace(made, policer=_shared_car(reading, words) or read_car(words))
    if word == "gts":
        return replace(made, shaper=_shaper(words))
    if word == "queue":
        return replace(made, queue=_queue(words))
    if word == "drop-profile":
        return replace(made, queue=replace(made.queue or Queue("wfq"), early_drop=words.next("a profile")))
    if word == "traffic-policy":
        return replace(made, child_policy=words.next("a policy"))
    if word == "nat":
        raise NotUnderstood("NAT is recognised, not modelled")
    raise NotUnderstood(f"{word[:40]!r} is not an action that is modelled")


def _remark(marker: Marker, words: Words) -> Marker:
    kind = words.next("a field").lower()
    if kind == "ipv6":
        kind = words.next("a field").lower()
    value = words.next("a value")
    if kind == "dscp":
        return replace(marker, dscp=_mark(value))
    if kind == "8021p":
        return replace(marker, pcp=number_in(value, 0, 7, "a priority"))
    if kind == "local-precedence":
        return replace(marker, queue=_phb(value))
    if kind == "ip-precedence":
        return replace(marker, dscp=8 * number_in(value, 0, 7, "a precedence"))
    raise NotUnderstood(f"remark {kind[:40]!r} is not modelled")


def _phb(text: str) -> int:
    return PHBS.index(text.lower()) if text.lower() in PHBS else number_in(text, 0, 7, "a class be, af1..af4, ef, cs6, cs7")


def _shared_car(reading: Reading, words: Words) -> Policer | None:
    """`car NAME share` names a global `qos car`; None when the line states its own rate."""
    name = words.peek()
    if name.lower() == "cir" or is_decimal(name):
        return None
    block = reading.cars.get(words.next("a rate"))
    if block is None:
        raise NotUnderstood(f"qos car {name[:40]!r} is not defined here")
    return read_car(Words(block.words, 3))


def read_car(words: Words) -> Policer:
    """`cir N [unit] [pir N [unit]] [cbs N [unit]] [pbs N] [mode ..] [green pass] [red discard]`; kbit/s without unit."""
    words.accept("cir")
    if words.accept("pct", "percent", "percentage"):
        policer = Policer(None, percent=float(number_in(words.next("a percentage"), 0, 100, "a percentage")))
    else:
        policer = Policer(rate(words))
    while words:
        word = words.next().lower()
        if word == "cbs":
            policer = replace(policer, burst_bytes=size(words))
        elif word == "pbs":
            size(words)
        elif word == "pir":
            words.accept("pct", "percentage")
            rate(words)
        elif word in COLOURS:
            policer = _colour(policer, word, words)
        elif word in ("mode", "share", "color-blind", "color-aware", "identifier", "inbound", "outbound", "adjust"):
            words.accept("color-blind", "color-aware", "rfc2697", "rfc2698")
        else:
            raise NotUnderstood(f"{word[:40]!r} is not understood in a car")
    return policer


def _colour(policer: Policer, colour: str, words: Words) -> Policer:
    """What happens to red packets is the exceed action; green and yellow may be re-marked."""
    action = words.next("pass or discard").lower()
    for _ in range(8):
        word = words.accept("service-class", "remark-dscp", "remark-8021p", "color")
        if not word:
            break
        action += f" {word} {words.next('a value')}"
    if action.split()[0] not in ("pass", "discard"):
        raise NotUnderstood(f"{action[:40]!r} is not pass or discard")
    if colour == "red":
        return replace(policer, exceed_action="drop" if action == "discard" else "transmit" if action == "pass" else action)
    return policer


def rate(words: Words, unit_bps: int = 1_000) -> int:
    """A number and its unit, bit/s; kbit/s when the unit is left out."""
    value = number_in(words.next("a rate"), 0, 10**12, "a rate")
    unit = words.accept(*KBPS)
    return value * (KBPS[unit] if unit else unit_bps)


def size(words: Words) -> int:
    value = number_in(words.next("a size"), 0, 10**12, "a size")
    unit = words.accept(*BYTES)
    return value * (BYTES[unit] if unit else 1)


def _shaper(words: Words) -> Shaper:
    """`[cir] N [unit] [cbs N] [pir ..]`, also `pct N`."""
    words.accept("cir")
    if words.accept("pct", "percent", "percentage"):
        return Shaper(None, percent=float(number_in(words.next("a percentage"), 0, 100, "a percentage")))
    shaper = Shaper(rate(words))
    while words:
        word = words.next().lower()
        if word == "cbs":
            shaper = replace(shaper, burst_bytes=size(words))
        elif word in ("pbs", "queue-length"):
            size(words)
        elif word == "pir":
            rate(words)
        else:
            raise NotUnderstood(f"{word[:40]!r} is not understood in a shaper")
    return shaper


def _queue(words: Words) -> Queue:
    """AR: `queue ef|llq|af [bandwidth [pct] N [cbs N]]`, `queue wfq [queue-number N]`."""
    kind = words.next("a kind").lower()
    if kind not in ("ef", "llq", "af", "wfq"):
        raise NotUnderstood(f"queue {kind[:40]!r} is not modelled")
    strict = kind in ("ef", "llq")
    made = Queue(kind, is_strict_priority=strict)
    if words.accept("bandwidth"):
        if words.accept("pct", "percentage"):
            share = float(number_in(words.next("a percentage"), 0, 100, "a percentage"))
            made = replace(made, ceiling_percent=share) if strict else replace(made, guaranteed_percent=share)
        else:
            bps = rate(words)
            made = replace(made, ceiling_bps=bps) if strict else replace(made, guaranteed_bps=bps)
    words.rest()
    return made


def _classes(
    reading: Reading, block: Block, matches: dict[str, ClassMatch], behaviors: dict[str, QosClass]
) -> tuple[QosClass, ...]:
    """In order of precedence when the device states one, else in file order."""
    found: list[tuple[int, QosClass]] = []
    for child in block.children:
        words = Words(child.words)
        try:
            if words.accept("share-mode", "description", "statistics", "statistic", "step"):
                reading.ledger.understood(child.number)
                continue
            if not words.accept("classifier"):
                raise NotUnderstood("classifier is expected")
            name = words.next("a classifier")
            if not words.accept("behavior"):
                raise NotUnderstood("behavior is expected")
            behavior = words.next("a behavior")
            rank = number_in(words.next(), 0, 10**6, "a precedence") if words.accept("precedence") else len(found)
            found.append((rank, _joined(name, behavior, child, matches, behaviors)))
            reading.ledger.understood(child.number)
        except NotUnderstood as reason:
            reading.ledger.unparsed(child.line, str(reason))
    return tuple(made for _, made in sorted(found, key=lambda pair: pair[0]))


def _joined(name: str, behavior: str, child: Block, matches: dict[str, ClassMatch], behaviors: dict[str, QosClass]) -> QosClass:
    match = matches.get(name) or ClassMatch(other=(f"traffic classifier {name} is not defined",))
    does = behaviors.get(behavior) or QosClass("", ClassMatch())
    if behavior not in behaviors:
        match = replace(match, other=(*match.other, f"traffic behavior {behavior} is not defined"))
    return replace(does, name=name, match=match, lines=(child.number, *does.lines))


def read_profile(reading: Reading, block: Block) -> None:
    """`qos-profile NAME`: a rate limit for a whole port or user."""
    reading.profiles[Words(block.words, 1).next("a name")] = block


def _profile(reading: Reading, name: str, block: Block) -> QosPolicy:
    made = QosClass("any", ClassMatch(any=True), lines=block.numbers)
    for child in block.children:
        words = Words(child.words)
        try:
            if words.accept("car"):
                made = replace(made, policer=read_car(words))
            elif words.accept("user-queue"):
                words.accept("cir")
                shaper = Shaper(rate(words))
                if words.accept("pir"):
                    shaper = Shaper(rate(words))
                words.rest()
                made = replace(made, shaper=shaper)
            elif not words.accept("description"):
                raise NotUnderstood("not modelled in a QoS profile")
            reading.ledger.understood(child.number)
        except NotUnderstood as reason:
            reading.ledger.unparsed(child.line, str(reason))
    return QosPolicy(f"qos-profile {name}", (made,), tuple(reading.profile_attachments.get(name, ())), block.numbers)


SIMPLE = re.compile(r"^traffic-(limit|remark|statistic|redirect|mirror)$", re.IGNORECASE)


def read_simple(reading: Reading, place: str, block: Block) -> bool:
    """`traffic-limit|traffic-remark [vlan N] inbound acl X ..`; False when the line is neither."""
    if not SIMPLE.match(block.words[0]):
        return False
    if block.words[0].lower() in ("traffic-limit", "traffic-remark"):
        reading.simple.append((place, block))
    key = _acl_of(Words(block.words, 1))
    if key:
        reading.selectors.setdefault(key, f"selects packets for {block.words[0]}")
    return True


def _acl_of(words: Words) -> AclKey | None:
    while words:
        if words.peek().lower() in ("acl", "ipv6"):
            return take_acl(words)
        words.next()
    return None


def _simple(reading: Reading) -> list[QosPolicy]:
    found: list[QosPolicy] = []
    for place, block in reading.simple:
        try:
            found.append(_one_line(place, block))
            reading.ledger.understood(block.number)
        except NotUnderstood as reason:
            reading.ledger.unparsed(block.line, str(reason))
    return found


def _one_line(place: str, block: Block) -> QosPolicy:
    words = Words(block.words, 1)
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
    if block.words[0].lower() == "traffic-limit":
        made = replace(made, policer=read_car(words))
    else:
        made = replace(made, marker=_remark(Marker(), words))
    attached = (QosAttachment(place, direction, (block.number,)),)
    return QosPolicy(f"{block.words[0]} {place} {direction}", (made,), attached, (block.number,))
