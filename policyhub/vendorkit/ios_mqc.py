"""Modular QoS: class-map, policy-map (nested), what each class does, and the policers in all their spellings."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from policyhub.domain.qos import ClassMatch, Marker, Policer, QosAttachment, QosClass, QosPolicy, Queue, Shaper, parse_dscp
from policyhub.vendorkit.blocks import Block, reopened
from policyhub.vendorkit.ios_acl import PRECEDENCES
from policyhub.vendorkit.ios_police import SIZES, has_no_field, read_police, read_police_line
from policyhub.vendorkit.ledger import LineLedger
from policyhub.vendorkit.lexing import NotUnderstood, Words, is_decimal, number_in, percentage, take_rate

COPIED = ("cos", "dscp", "precedence", "qos-group")
ALL_MARKS = frozenset(range(64))
MOST_LINES = 256  # of one class or of thresholds in one queue; devices stop far below
VERBATIM = (
    "protocol", "class-map", "qos-group", "input-interface", "vlan", "mpls", "source-address", "destination-address", "packet",
    "discard-class", "traffic-class", "fr-dlci", "fr-de", "atm", "flow", "field", "start", "application", "metadata",
    "device-type", "non-client-nrt", "wlan", "interface", "l2vpn", "port", "security-group",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class MqcSyntax:
    """What one platform writes beside the common grammar.

    types: what may stand behind `type`. any_by_default: a class-map without match-any or match-all takes any of its lines;
    any_types: so do those of these types. verbatim: criteria kept as words.
    actions: more lines of a class, or other readings of the common ones. kept: lines of a class without a field in the model,
    which its notes keep verbatim. predefined: what a class takes that the device knows without configuration.
    """

    types: tuple[str, ...] = ("qos", "queuing", "queueing")
    any_by_default: bool = False
    any_types: tuple[str, ...] = ()
    verbatim: tuple[str, ...] = VERBATIM
    actions: Mapping[str, Callable[[Line], QosClass]] = field(default_factory=dict)
    kept: re.Pattern[str] = re.compile(r"(?!)")
    predefined: Callable[[str], ClassMatch | None] = lambda name: None


@dataclass(slots=True)
class Mqc:
    """Class maps and policy maps of one text. selectors: access lists that classify are no filters."""

    ledger: LineLedger
    syntax: MqcSyntax = field(default_factory=MqcSyntax)
    selectors: set[str] = field(default_factory=set)
    class_maps: dict[str, Block] = field(default_factory=dict)
    policy_maps: dict[str, Block] = field(default_factory=dict)
    attachments: dict[str, list[QosAttachment]] = field(default_factory=dict)
    aggregate_policers: dict[str, Block] = field(default_factory=dict)

    def typed(self, block: Block) -> tuple[Words, str]:
        """The words behind `class-map|policy-map|service-policy [type T]`, and T, "qos" without one. Raises NotUnderstood."""
        words = Words(block.words, 1)
        kind = words.next("a type").lower() if words.accept("type") else "qos"
        if kind not in self.syntax.types:
            raise NotUnderstood(f"{block.words[0].lower()} type {kind[:40]!r} is not modelled")
        return words, kind

    def add_class_map(self, name: str, block: Block) -> None:
        self.class_maps[name] = reopened(self.class_maps.get(name), block)
        self.note_lists(block)

    def add_policy_map(self, name: str, block: Block) -> None:
        self.policy_maps[name] = reopened(self.policy_maps.get(name), block)

    def attach(self, policy: str, interface: str, direction: str, line: int) -> None:
        self.attachments.setdefault(policy, []).append(QosAttachment(interface, direction, (line,)))

    def note_lists(self, block: Block) -> None:
        for child in block.children:
            words = Words(child.words)
            picks = words.accept("match")
            words.accept("not")
            if picks and words.peek(words.peek().lower() in ("ip", "ipv6", "mac")) == "access-group":
                words.at += 1 + (words.peek() != "access-group")
                words.accept("name", "ipv4", "ipv6")
                self.selectors.add(words.peek())


def qos_policies(mqc: Mqc) -> list[QosPolicy]:
    """Every policy map with its attachments; one that is attached but not defined has no classes."""
    matches = {name: _class_match(mqc, block) for name, block in mqc.class_maps.items()}
    found = [
        QosPolicy(name, _classes(mqc, block, matches), tuple(mqc.attachments.get(name, ())), block.numbers)
        for name, block in mqc.policy_maps.items()
    ]
    for name, attachments in mqc.attachments.items():
        if name not in mqc.policy_maps:
            lines = tuple(line for attachment in attachments for line in attachment.lines)
            found.append(QosPolicy(name, (), tuple(attachments), lines))
    return found


def _class_match(mqc: Mqc, block: Block) -> ClassMatch:
    told = [word.lower() for word in block.words[1:-1]]
    takes_any = mqc.syntax.any_by_default or any(kind in told for kind in mqc.syntax.any_types)
    match = ClassMatch(match_all="match-any" not in told and (not takes_any or "match-all" in told))
    for count, child in enumerate(block.below()):
        try:
            if count >= MOST_LINES:
                raise NotUnderstood("a class has too many lines")
            match = _match_line(mqc, match, Words(child.words))
            mqc.ledger.understood(child.number)
        except NotUnderstood as reason:
            mqc.ledger.unparsed(child.line, str(reason))
            if count <= MOST_LINES:
                match = replace(match, other=(*match.other, child.text[:80]))
    return match


def _match_line(mqc: Mqc, match: ClassMatch, words: Words) -> ClassMatch:
    if words.accept("description", "exit", "end-class-map"):
        return match
    if not words.accept("match"):
        raise NotUnderstood("match is expected")
    if words.accept("not"):
        return _match_not(match, words)
    kind = _kind(words)
    if kind == "any":
        return replace(match, any=True)
    if kind in ("dscp", "precedence"):
        return replace(match, dscp=_join(match, match.dscp, marks(kind, words)))
    if kind == "cos" and words.peek().lower() == "inner" and "cos" in mqc.syntax.verbatim:
        return replace(match, other=(*match.other, f"cos {words.rest()}"))
    if kind == "cos":
        return replace(match, pcp=_join(match, match.pcp, _levels(words)))
    if kind == "access-group":
        words.accept("name", "ipv4", "ipv6")
        return replace(match, acls=(*match.acls, words.next("an access list")))
    if kind in mqc.syntax.verbatim or kind == "rtp":
        return replace(match, other=(*match.other, f"{kind} {words.rest()}".strip()))
    raise NotUnderstood(f"match {kind[:40]!r} is not modelled")


def _kind(words: Words) -> str:
    """`ip dscp` and `dscp` are one criterion here; `ip` alone means IPv4 only, which the marks' model does not tell apart."""
    kind = words.next("a criterion").lower()
    if kind in ("ip", "ipv6", "mac") and words.peek().lower() in ("dscp", "precedence", "rtp", "access-group"):
        kind = words.next().lower()
    elif kind in ("dscp", "precedence"):
        words.accept("ipv4", "ipv6")
    return kind


def _match_not(match: ClassMatch, words: Words) -> ClassMatch:
    start = words.at
    kind = _kind(words)
    if kind in ("dscp", "precedence"):
        return replace(match, dscp=_join(match, match.dscp, ALL_MARKS - marks(kind, words)))
    words.at = start
    return replace(match, other=(*match.other, f"not {words.rest()}"))


def _join(match: ClassMatch, known: frozenset[int] | None, more: frozenset[int]) -> frozenset[int]:
    """Two lines on one field: both must hold with match-all, either with match-any."""
    if known is None:
        return more
    return known & more if match.match_all else known | more


def marks(kind: str, words: Words) -> frozenset[int]:
    """The rest of the line as code points: `ef`, `24 26`, `24,26`, `0-7`; `precedence 5` stands for its eight code points."""
    found: set[int] = set()
    for text in words.rest().replace(",", " ").split():
        low, _, high = text.partition("-") if text[:1].isdigit() else (text, "", "")
        try:
            if kind == "dscp":
                found.update(range(parse_dscp(low), parse_dscp(high or low) + 1))
                continue
            first, last = (_precedence(part) for part in (low, high or low))
        except ValueError as error:
            raise NotUnderstood(f"{text[:40]!r} is not a {kind}") from error
        found.update(range(first * 8, last * 8 + 8))
    if not found:
        raise NotUnderstood(f"the line ends where a {kind} is expected")
    return frozenset(found)


def _precedence(text: str) -> int:
    return PRECEDENCES.index(text.lower()) if text.lower() in PRECEDENCES else number_in(text, 0, 7, "a precedence")


def _levels(words: Words) -> frozenset[int]:
    """`0 1 2`, `0,5-7`; an `inner` in front is dropped by nobody, so it is not understood."""
    found: set[int] = set()
    while words:
        for part in words.next().split(","):
            low, _, high = part.partition("-")
            found.update(
                range(number_in(low, 0, 7, "a class of service"), number_in(high or low, 0, 7, "a class of service") + 1)
            )
    return frozenset(found)


def _classes(mqc: Mqc, block: Block, matches: dict[str, ClassMatch]) -> tuple[QosClass, ...]:
    classes: list[QosClass] = []
    for child in block.children:
        words = Words(child.words)
        if words.accept("description", "exit", "end-policy-map"):
            mqc.ledger.understood(child.number)
            continue
        if is_decimal(words.peek()):
            words.next()
        if not words.accept("class"):
            mqc.ledger.unparsed(child.line, "class is expected")
            continue
        if words.accept("type") and words:
            words.next()
        name = f"built-in {words.peek() or '?'}" if words.accept("built-in") else words.peek() or "?"
        mqc.ledger.understood(child.number)
        default = ClassMatch(any=True) if name == "class-default" else ClassMatch(other=(f"class-map {name} is not defined",))
        made = QosClass(name, matches.get(name) or mqc.syntax.predefined(name) or default, lines=child.numbers)
        for action in child.children:
            made = _book(mqc, made, action)
        classes.append(_ceiling(made))
    return tuple(classes)


def _book(mqc: Mqc, made: QosClass, action: Block) -> QosClass:
    """One line of a class; what is not understood is booked and the class goes on without it."""
    try:
        made = _noted(_action(mqc, made, action), action)
        mqc.ledger.understood(action.number)
    except NotUnderstood as reason:
        made = _kept(mqc, made, action, str(reason))
    for below in (deeper for top in action.children for deeper in top.walk()):
        try:
            if made.policer is None or action.words[0].lower() != "police":
                made = _action(mqc, made, below)
            else:
                made = _noted(replace(made, policer=read_police_line(made.policer, Words(below.words))), below)
            mqc.ledger.understood(below.number)
        except NotUnderstood as reason:
            made = _kept(mqc, made, below, str(reason))
    return made


def _noted(made: QosClass, line: Block) -> QosClass:
    """Keeps a line of a policer whose second rate, rate in packets or further actions have no field."""
    if made.policer is None or len(made.notes) >= MOST_LINES or not has_no_field(line.words, made.policer):
        return made
    return replace(made, notes=(*made.notes, line.text))


def _kept(mqc: Mqc, made: QosClass, block: Block, reason: str) -> QosClass:
    """A line that the platform lists as one without a field becomes a note of the class, any other is unparsed."""
    if mqc.syntax.kept.match(block.text) is None or len(made.notes) >= MOST_LINES:
        mqc.ledger.unparsed(block.line, reason)
        return made
    mqc.ledger.understood(block.number)
    return replace(made, notes=(*made.notes, block.text))


@dataclass(frozen=True, slots=True)
class Line:
    """An action line: the class so far, and the words behind the first."""

    made: QosClass
    words: Words
    mqc: Mqc
    block: Block

    @property
    def queue(self) -> Queue:
        return self.made.queue or Queue(self.made.name)


def _action(mqc: Mqc, made: QosClass, action: Block) -> QosClass:
    words = Words(action.words)
    word = words.next().lower()
    reader = mqc.syntax.actions.get(word) or ACTIONS.get(word)
    if reader is None:
        if word == "no" or word in NOT_MODELLED:
            raise NotUnderstood(NOT_MODELLED.get(word, f"'no {words.peek()[:40]}' is not modelled"))
        raise NotUnderstood(f"{word[:40]!r} is not understood here")
    made = reader(Line(made, words, mqc, action))
    words.end()
    return made


NOT_MODELLED = {
    "trust": "trust inside a class is not modelled",
    "compress": "header compression is not modelled",
    "queue-buffers": "buffer ratios of a queue are not modelled",
    "dbl": "dynamic buffer limiting is not modelled",
    "netflow-sampler": "samplers are not modelled",
    "estimate": "bandwidth estimation is not modelled",
}


def _set(line: Line) -> QosClass:
    words = line.words
    marker = line.made.marker or Marker()
    words.accept("ip", "ipv6")
    kind = words.next("what to set").lower()
    if kind in COPIED and words.peek().lower() in COPIED:  # `set dscp cos [table T]`: another field decides
        words.rest()
        return replace(line.made, notes=(*line.made.notes, line.block.text))
    if kind == "dscp":
        words.accept("tunnel")
        found = marks("dscp", Words([words.next("a mark")]))
        marker = replace(marker, dscp=next(iter(found)))
    elif kind == "precedence":
        found = marks("precedence", Words([words.next("a precedence")]))
        marker = replace(marker, dscp=min(found))
    elif kind == "cos":
        marker = replace(marker, pcp=number_in(words.next("a level"), 0, 7, "a class of service"))
    elif kind in ("qos-group", "traffic-class"):
        marker = replace(marker, queue=number_in(words.next("a number"), 0, 99, f"a {kind}"))
    else:
        raise NotUnderstood(f"set {kind[:40]!r} is not modelled")
    return replace(line.made, marker=marker)


def _police(line: Line) -> QosClass:
    if line.words.accept("aggregate"):
        block = line.mqc.aggregate_policers.get(line.words.next("a name"))
        if block is None:
            raise NotUnderstood("the aggregate policer is not defined")
        return replace(line.made, policer=read_police(Words(block.words, 4)))
    return replace(line.made, policer=read_police(line.words))


def _priority(line: Line) -> QosClass:
    """`priority`, `priority KBPS [BURST]`, `priority percent N [BURST]`, `priority level N [..]`."""
    words = line.words
    if words.accept("level"):
        number_in(words.next("a level"), 1, 7, "a priority level")
    queue = replace(line.queue, is_strict_priority=True)
    if words.accept("percent"):
        queue = replace(queue, ceiling_percent=percentage(words))
    elif words:
        queue = replace(queue, ceiling_bps=take_rate(words, 1000))
    if words:
        number_in(words.next(), 1, 10**12, "a burst in bytes")
    return replace(line.made, queue=queue)


def _bandwidth(line: Line) -> QosClass:
    """`bandwidth KBPS`, `bandwidth percent N`, `bandwidth remaining percent|ratio N`."""
    words = line.words
    queue = line.queue
    if words.accept("remaining"):
        if words.accept("ratio"):
            queue = replace(queue, remaining_weight=number_in(words.next("a ratio"), 1, 65535, "a ratio"))
        elif words.accept("percent"):
            queue = replace(queue, remaining_percent=percentage(words))
        else:
            raise NotUnderstood("percent or ratio is expected")
    elif words.accept("percent"):
        queue = replace(queue, guaranteed_percent=percentage(words))
    else:
        queue = replace(queue, guaranteed_bps=take_rate(words, 1000))
    words.accept("account")
    return replace(line.made, queue=queue)


def _shape(line: Line) -> QosClass:
    """`shape average|peak RATE [BC [BE]]` in bit/s and bits, `shape average percent N`, `shape kbps N`."""
    words = line.words
    if words.accept("kbps"):
        return replace(line.made, shaper=Shaper(take_rate(words, 1000)))
    kind = words.accept("average", "peak")
    if not kind:
        raise NotUnderstood("average or peak is expected")
    if words.accept("percent"):
        shaper = Shaper(None, percent=percentage(words))
    else:
        shaper = Shaper(take_rate(words))
        if is_decimal(words.peek()):
            shaper = replace(shaper, burst_bytes=number_in(words.next(), 0, 10**12, "a burst in bits") // 8)
    while is_decimal(words.peek()) or words.peek().lower() == "ms":
        words.next()
    if words.accept("account"):
        words.rest()
    notes = (
        (line.block.text,) if kind == "peak" and len(line.made.notes) < MOST_LINES else ()
    )  # it lets excess bursts pass: RATE * (1 + BE / BC) at most
    return replace(line.made, shaper=shaper, notes=(*line.made.notes, *notes))


def _queue_limit(line: Line) -> QosClass:
    words = line.words
    if not is_decimal(words.peek()):
        raise NotUnderstood("queue limits per mark are not modelled")
    size = number_in(words.next(), 1, 10**12, "a queue limit")
    unit = words.accept("packets", "ms", "us", *SIZES) or "packets"
    if unit in ("ms", "us"):
        raise NotUnderstood("a queue limit in time is not modelled")
    if unit in SIZES:
        return replace(line.made, queue=replace(line.queue, limit_bytes=size * SIZES[unit]))
    return replace(line.made, queue=replace(line.queue, limit_packets=size))


def _random_detect(line: Line) -> QosClass:
    """`random-detect [dscp-based|prec-based|ecn|..]`; thresholds per mark are kept verbatim."""
    words = line.words
    profile = words.rest() or "wred"
    queue = line.queue
    if profile.lower() == "ecn":
        return replace(line.made, queue=replace(queue, ecn=True, early_drop=queue.early_drop or "wred"))
    if len(queue.early_drop) > 100 * MOST_LINES:
        raise NotUnderstood("a queue has too many thresholds")
    text = f"{queue.early_drop}; {profile}" if queue.early_drop else profile
    return replace(line.made, queue=replace(queue, early_drop=text))


def _service_policy(line: Line) -> QosClass:
    line.words.accept("input", "output")
    return replace(line.made, child_policy=line.words.next("a policy map"))


def _fair_queue(line: Line) -> QosClass:
    line.words.rest()
    return replace(line.made, queue=line.queue)


def _drop(line: Line) -> QosClass:
    """`drop`: nothing of the class passes, a policer of rate 0."""
    return replace(line.made, policer=Policer(0))


def _nothing(line: Line) -> QosClass:
    line.words.rest()
    return line.made


ACTIONS: dict[str, Callable[[Line], QosClass]] = {
    "set": _set,
    "police": _police,
    "priority": _priority,
    "bandwidth": _bandwidth,
    "shape": _shape,
    "queue-limit": _queue_limit,
    "random-detect": _random_detect,
    "service-policy": _service_policy,
    "fair-queue": _fair_queue,
    "drop": _drop,
    "description": _nothing,
    "exit": _nothing,
}


def _ceiling(made: QosClass) -> QosClass:
    """A policer in the class bounds its strict queue when `priority` itself names no rate."""
    queue, policer = made.queue, made.policer
    if queue is None or policer is None or not queue.is_strict_priority:
        return made
    if queue.ceiling_bps is not None or queue.ceiling_percent is not None:
        return made
    return replace(made, queue=replace(queue, ceiling_bps=policer.rate_bps, ceiling_percent=policer.percent))
