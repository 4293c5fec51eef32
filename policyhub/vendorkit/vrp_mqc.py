"""Modular QoS as VRP and Comware write it: classifiers, behaviors and the policies that join them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from policyhub.domain.qos import ClassMatch, Marker, Policer, QosAttachment, QosClass, QosPolicy, Queue, Shaper
from policyhub.vendorkit.blocks import Block
from policyhub.vendorkit.ledger import LineLedger
from policyhub.vendorkit.lexing import NotUnderstood, Words, dscp_in, is_decimal, number_in
from policyhub.vendorkit.vrp_acl import PRECEDENCES
from policyhub.vendorkit.vrp_car import noted, policed, rate, size

PHBS = ("be", "af1", "af2", "af3", "af4", "ef", "cs6", "cs7")
DENY_ALL = Policer(rate_bps=0, exceed_action="drop")  # `deny` in a behavior: the class loses everything
OTHER_MATCHES = (
    "vlan", "vlan-id", "cvlan-id", "source-mac", "destination-mac", "inbound-interface", "outbound-interface", "l2-protocol",
    "mpls-exp", "tcp", "protocol", "flow-id", "qos-group", "service-class", "app-protocol", "rtp", "double-tag", "discard",
    "application", "not", "local-precedence", "qos-local-id", "control-plane", "second-mpls-exp", "packet-length", "class",
)  # fmt: skip
NOT_QOS = (
    "redirect", "mirroring", "port-mirroring", "vlan-mapping", "add-tag", "mac-address", "traffic-id", "description",
    "ip-netstream", "ipv6-netstream", "netstream", "sample", "permit", "statistic", "statistics", "share-mode", "load-balance",
    "quit", "filter", "accounting", "nest", "mirror-to", "primap", "traffic-policy-statistics", "nat-log",
)  # fmt: skip


OTHER_MARKS = (
    "drop-precedence",
    "qos-local-id",
    "service-vlan-id",
    "customer-vlan-id",
    "flow-id",
    "mpls-exp",
    "qos-group",
    "tunnel-ttl",
)


@dataclass(slots=True)
class Mqc:
    """Blocks by name. match_all: a classifier without operator needs every criterion (Comware), else any is enough (VRP)."""

    ledger: LineLedger
    match_all: bool = False
    classifiers: dict[str, Block] = field(default_factory=dict)
    behaviors: dict[str, Block] = field(default_factory=dict)
    policies: dict[str, Block] = field(default_factory=dict)
    cars: dict[str, Block] = field(default_factory=dict)
    attachments: dict[str, list[QosAttachment]] = field(default_factory=dict)

    def read(self) -> list[QosPolicy]:
        """Every policy with its places; one that is applied but not defined has no classes."""
        matches = {name: _classifier(self, block) for name, block in self.classifiers.items()}
        behaviors = {name: _behavior(self, block) for name, block in self.behaviors.items()}
        found = [
            QosPolicy(name, _classes(self, block, matches, behaviors), tuple(self.attachments.get(name, ())), block.numbers)
            for name, block in self.policies.items()
        ]
        loose = ((name, tuple(places)) for name, places in self.attachments.items() if name not in self.policies)
        return [*found, *(QosPolicy(name, (), at, tuple(n for one in at for n in one.lines)) for name, at in loose)]


def _classifier(mqc: Mqc, block: Block) -> ClassMatch:
    """`operator|type and|or`; what holds without it depends on the platform."""
    words = [word.lower() for word in block.words[3:]]
    match = ClassMatch(match_all="and" in words or (mqc.match_all and "or" not in words))
    for child in block.below():
        try:
            match = _criterion(match, Words(child.words))
            mqc.ledger.understood(child.number)
        except NotUnderstood as reason:
            mqc.ledger.unparsed(child.line, str(reason))
            match = replace(match, other=(*match.other, child.text[:80]))
    return match


def _criterion(match: ClassMatch, words: Words) -> ClassMatch:
    if words.accept("description"):
        return match
    if not words.accept("if-match"):
        raise NotUnderstood("if-match is expected")
    start = words.at
    if words.peek().lower() == "acl" or (words.peek().lower() == "ipv6" and words.peek(1).lower() == "acl"):
        while words.accept("acl", "ipv6", "acl6", "mac", "user-defined", "number", "name"):
            pass
        return replace(match, acls=(*match.acls, words.next("an ACL")))
    words.accept("ipv6")
    kind = words.next("a criterion").lower()
    if kind == "any":
        return replace(match, any=True)
    if kind in ("dscp", "ip-precedence", "precedence"):
        return replace(match, dscp=_join(match, match.dscp, _marks(kind, words)))
    if kind in ("8021p", "cvlan-8021p", "dot1p", "service-dot1p", "customer-dot1p"):
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
            found.update(range(max(found), dscp_in(words.next()) + 1))
        elif kind == "dscp":
            found.add(dscp_in(text))
        else:
            level = PRECEDENCES.index(text.lower()) if text.lower() in PRECEDENCES else number_in(text, 0, 7, "a precedence")
            found.update(range(level * 8, level * 8 + 8))
    return frozenset(found)


def _behavior(mqc: Mqc, block: Block) -> QosClass:
    """What the behavior does, as a class that matches nothing yet."""
    made = QosClass("", ClassMatch(), lines=block.numbers)
    for child in block.below():
        with mqc.ledger.booking(child.line):
            made = _action(mqc, made, Words(child.words))
    return made


def _action(mqc: Mqc, made: QosClass, words: Words) -> QosClass:
    word = words.next().lower()
    if word == "deny" or (word == "filter" and words.peek().lower() == "deny"):
        return replace(made, policer=DENY_ALL)
    if word in NOT_QOS:
        return made
    if word == "remark":
        marker = remark(made.marker or Marker(), words)
        made = noted(made, words.words) if words.words[1].lower() in OTHER_MARKS else made
        return replace(made, marker=marker if marker != Marker() else None)
    if word == "service-class":
        return replace(made, marker=replace(made.marker or Marker(), queue=_phb(words.next("a class"))))
    if word == "car":
        return _car(mqc, made, words)
    if word == "gts":
        made = noted(made, words.words) if {"pir", "queue-length"} & {other.lower() for other in words.words} else made
        return replace(made, shaper=read_shaper(words))
    if word == "queue":
        queue = _queue(words)
        return replace(noted(made, words.words) if words.rest() else made, queue=queue)
    if word == "wred":
        return replace(made, queue=replace(made.queue or Queue("wfq"), early_drop=words.rest() or "wred"))
    if word == "drop-profile":
        return replace(made, queue=replace(made.queue or Queue("wfq"), early_drop=words.next("a profile")))
    if word == "traffic-policy":
        return replace(made, child_policy=words.next("a policy"))
    if word in ("nat", "nat64", "traffic-analysis"):
        return replace(made, notes=(*made.notes, " ".join([word, *words.rest().split()])))
    raise NotUnderstood(f"{word[:40]!r} is not an action that is modelled")


def remark(marker: Marker, words: Words) -> Marker:
    kind = words.next("a field").lower()
    if kind == "ipv6":
        kind = words.next("a field").lower()
    value = words.next("a value")
    if kind == "dscp":
        return replace(marker, dscp=dscp_in(value))
    if kind in ("8021p", "dot1p"):
        return replace(marker, pcp=number_in(value, 0, 7, "a priority"))
    if kind == "local-precedence":
        return replace(marker, queue=_phb(value))
    if kind == "ip-precedence":
        return replace(marker, dscp=8 * number_in(value, 0, 7, "a precedence"))
    if kind in OTHER_MARKS:
        return marker
    raise NotUnderstood(f"remark {kind[:40]!r} is not modelled")


def _phb(text: str) -> int:
    return PHBS.index(text.lower()) if text.lower() in PHBS else number_in(text, 0, 7, "a class be, af1..af4, ef, cs6, cs7")


def _car(mqc: Mqc, made: QosClass, words: Words) -> QosClass:
    """`car NAME share` names a global `qos car`; any other line states its own rate."""
    name = words.peek()
    if name.lower() == "cir" or is_decimal(name):
        return policed(made, words)
    block = mqc.cars.get(words.next("a rate"))
    if block is None:
        raise NotUnderstood(f"qos car {name[:40]!r} is not defined here")
    return policed(made, Words(block.words, 3))


def read_shaper(words: Words) -> Shaper:
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
    if kind not in ("ef", "llq", "af", "wfq", "sp"):
        raise NotUnderstood(f"queue {kind[:40]!r} is not modelled")
    strict = kind in ("ef", "llq", "sp")
    made = Queue(kind, is_strict_priority=strict)
    if words.accept("bandwidth"):
        if words.accept("pct", "percentage"):
            share = float(number_in(words.next("a percentage"), 0, 100, "a percentage"))
            made = replace(made, ceiling_percent=share) if strict else replace(made, guaranteed_percent=share)
        else:
            bps = rate(words)
            made = replace(made, ceiling_bps=bps) if strict else replace(made, guaranteed_bps=bps)
    return made


def _classes(mqc: Mqc, block: Block, matches: dict[str, ClassMatch], behaviors: dict[str, QosClass]) -> tuple[QosClass, ...]:
    """In order of precedence when the device states one, else in file order."""
    found: list[tuple[int, QosClass]] = []
    for child in block.children:
        words = Words(child.words)
        try:
            if words.accept("share-mode", "description", "statistics", "statistic", "step"):
                mqc.ledger.understood(child.number)
                continue
            if not words.accept("classifier"):
                raise NotUnderstood("classifier is expected")
            name = words.next("a classifier")
            if not words.accept("behavior"):
                raise NotUnderstood("behavior is expected")
            behavior = words.next("a behavior")
            rank = number_in(words.next(), 0, 10**6, "a precedence") if words.accept("precedence") else len(found)
            found.append((rank, _joined(name, behavior, child, matches, behaviors)))
            mqc.ledger.understood(child.number)
        except NotUnderstood as reason:
            mqc.ledger.unparsed(child.line, str(reason))
    return tuple(made for _, made in sorted(found, key=lambda pair: pair[0]))


def _joined(name: str, behavior: str, child: Block, matches: dict[str, ClassMatch], behaviors: dict[str, QosClass]) -> QosClass:
    known = ClassMatch(any=True) if name == "default-class" else None  # what no classifier takes
    match = matches.get(name) or known or ClassMatch(other=(f"traffic classifier {name} is not defined",))
    does = behaviors.get(behavior) or QosClass("", ClassMatch())
    if behavior not in behaviors:
        match = replace(match, other=(*match.other, f"traffic behavior {behavior} is not defined"))
    return replace(does, name=name, match=match, lines=(child.number, *does.lines))
