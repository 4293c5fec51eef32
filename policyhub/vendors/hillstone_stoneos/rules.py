"""`rule id N` blocks and one-line rules into the one policy of a vsys."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from policyhub.domain.objects import Schedule
from policyhub.domain.rules import Action, Binding, Match, Policy, Rule
from policyhub.domain.services import ANY_SERVICE
from policyhub.vendorkit.lexing import NotUnderstood, Words, is_decimal
from policyhub.vendorkit.operands import Services, compact
from policyhub.vendorkit.ordering import Order
from policyhub.vendors.hillstone_stoneos.objects import device_moment
from policyhub.vendors.hillstone_stoneos.reading import Operand, Reading, Scope, read_address, read_range, read_service, union
from policyhub.vendors.hillstone_stoneos.tree import Node

NAME = "policy-global"
ACTIONS = {"permit": Action.PERMIT, "deny": Action.DENY}
WITH_WORD = ("tunnel", "fromtunnel", "portal-server")
CONDITIONS = {
    "application": 1, "role": 1, "user": 2, "user-group": 2, "domain": 1, "domain-book": 1, "vlan-id": 1, "src-device-group": 1,
    "dst-device-group": 1, "endpoint-tag": 1, "start-time": 2, "expire-time": 2,
}  # fmt: skip
READ_OVER = frozenset(
    {
        "av", "ips", "url", "behavior", "contentfilter", "mail", "im", "webpost", "gtp-profile", "acl", "sandbox", "tag",
        "enable", "policy-qos-tag", "send-deny-packet", "session-timeout", "hardware-fast-forward", "dlp", "antispam",
        "botnet", "data-security", "file-filter", "threat-protection", "redundancy-ignore", "ssl-proxy", "profile-group", "no",
    }
)  # fmt: skip
GLOBAL_READ_OVER = frozenset(
    {
        "log", "modification-log", "hit-info-ha-sync", "delay-address-update-time", "session-rematch", "policy-traffic-statistic",
        "policy-update-cpu-control", "redundancy-check-type", "multi-zone-enable", "accelerate", "no", "import",
    }
)  # fmt: skip
HEADER = re.compile(r"^rule\b")


@dataclass(slots=True)
class Draft:
    """A rule while its lines are read."""

    identifier: str
    nodes: list[Node] = field(default_factory=list)
    action: Action = Action.CONTINUE
    name: str = ""
    description: str = ""
    enabled: bool = True
    logs: bool = False
    zones: dict[str, list[str]] = field(default_factory=lambda: {"src": [], "dst": []})
    sides: dict[str, list[Operand]] = field(default_factory=lambda: {"src": [], "dst": []})
    services: list[Services] = field(default_factory=list)
    service_names: list[str] = field(default_factory=list)
    unknown_services: list[str] = field(default_factory=list)
    conditions: dict[str, list[str]] = field(default_factory=dict)
    schedules: list[str] = field(default_factory=list)


@dataclass(slots=True)
class PolicySettings:
    """What `policy-global` and `policy-group` say about all rules."""

    lines: list[int] = field(default_factory=list)
    default: Action = Action.DENY
    is_translated: bool = False
    logs: dict[str, bool] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    disabled: set[str] = field(default_factory=set)


def read_rules(reading: Reading, nodes: list[Node]) -> None:
    """nodes: top-level `rule`, `policy-global` and `policy-group` in the order of the text."""
    for context in dict.fromkeys(node.context for node in nodes):
        own = [node for node in nodes if node.context == context]
        _read_policy(reading, reading.scope(context), own)


def _read_policy(reading: Reading, scope: Scope, nodes: list[Node]) -> None:
    settings = PolicySettings()
    places: dict[str, list[Node]] = {}
    order = Order()
    for node in nodes:
        if node.text.startswith("policy-group"):
            _group(reading, settings, node)
        elif HEADER.match(node.text):
            _place(places, order, node)
        else:
            reading.book(node)
            settings.lines.append(node.number)
            for child in node.children:
                if HEADER.match(child.text):
                    _place(places, order, child)
                else:
                    _setting(reading, settings, order, child)
    if settings.is_translated:
        reading.translated.add(scope.name)
    if not places and not settings.lines:
        return
    rules = tuple(_finish(reading, scope, settings, _draft(reading, scope, name, places[name])) for name in order)
    lines = tuple(settings.lines) or (places[next(iter(order))][0].number,)
    binding = Binding("", "forward")
    notes = tuple(settings.notes)
    reading.policies.append(
        Policy(scope.prefix + NAME, rules, settings.default, 0, (binding,), lines, notes=notes, context=scope.name)
    )


def _group(reading: Reading, settings: PolicySettings, node: Node) -> None:
    reading.book(node)
    members: list[str] = []
    disabled = False
    for child in node.children:
        words = child.words
        if words[0] == "rule" and len(words) > 1:
            members.append(words[-1])
        elif words[0] == "disable":
            disabled = True
        elif words[0] not in ("description", "enable"):
            reading.ledger.unparsed(child.line, "not understood in a policy group")
            continue
        reading.book(child)
    if disabled:
        settings.disabled.update(members)
    name = node.words[1] if len(node.words) > 1 else ""
    settings.notes.append(f"policy-group {name}{' (disabled)' if disabled else ''}: {', '.join(members)}")


def _setting(reading: Reading, settings: PolicySettings, order: Order, node: Node) -> None:
    """A line of `policy-global` that is no rule."""
    words = node.words
    if words[0] == "default-action" and len(words) > 1:
        settings.default = ACTIONS.get(words[1], Action.DENY)
    elif words[0] == "match-after-dnat":
        settings.is_translated = True
    elif words[0] == "global-policy-log" and len(words) == 3 and words[2] in ("on", "off"):
        settings.logs[words[1]] = words[2] == "on"
    elif words[0] == "move" and len(words) > 2:
        order.move(words[1], words[2], words[-1])
    elif words[0] not in GLOBAL_READ_OVER:
        reading.ledger.unparsed(node.line, "not understood in policy-global")
        return
    reading.book(node)


def _identifier(node: Node) -> str:
    words = node.words
    return words[2] if words[1:2] == ["id"] and len(words) > 2 else f"line {node.number}"


def _place(places: dict[str, list[Node]], order: Order, node: Node) -> None:
    """Where the header of a rule puts it; a rule may be opened again."""
    name = _identifier(node)
    places.setdefault(name, []).append(node)
    order.append(name)
    words = node.words
    for at, word in enumerate(words[1:], 1):
        if word == "top":
            order.move(name, word)
        elif word in ("before", "after"):
            other = words[at + 1 : at + 3]
            order.move(name, word, other[-1] if other[:1] == ["name"] else "".join(other[:1]))


def _draft(reading: Reading, scope: Scope, name: str, nodes: list[Node]) -> Draft:
    """All lines of a rule, those behind its header included."""
    draft = Draft(name, nodes)
    for node in nodes:
        reading.book(node)
        words = Words(node.words, 1)
        try:
            while words:
                if not words.accept("top", "bottom"):
                    command(scope, draft, words)
        except NotUnderstood as reason:
            reading.ledger.unparsed(node.line, str(reason))
            draft.conditions.setdefault(node.text, [node.text])
        for child in node.children:
            _line(reading, scope, draft, child)
    return draft


def _line(reading: Reading, scope: Scope, draft: Draft, node: Node) -> None:
    words = Words(node.words)
    try:
        if words.peek() in READ_OVER:
            words.rest()
        command(scope, draft, words) if words else None
        words.end()
        reading.book(node)
    except NotUnderstood as reason:
        reading.ledger.unparsed(node.line, str(reason))
        draft.conditions.setdefault(node.text, [node.text])  # it may narrow the match


def command(scope: Scope, draft: Draft, words: Words) -> None:
    """One command of a rule, in a block or behind `rule id N`. Raises NotUnderstood."""
    word = words.next()
    handler = COMMANDS.get(word)
    if handler is not None:
        handler(scope, draft, words)
    elif word in CONDITIONS:
        text = " ".join([word, *(words.next("a value") for _ in range(CONDITIONS[word]))])
        if text.lower() != "application any":
            draft.conditions.setdefault(word, []).append(text)
    elif word in ("permit", "deny", "webauth", *WITH_WORD):
        _action(scope, draft, Words([word, *words.words[words.at :]]))
        words.at += 1 if word in WITH_WORD else 0
    elif word == "config-mode":
        words.next("create")
    else:
        raise NotUnderstood(f"{word[:40]!r} is not understood in a rule")


def _action(scope: Scope, draft: Draft, words: Words) -> None:
    word = words.next("an action")
    draft.action = ACTIONS.get(word, Action.PERMIT)
    if word not in ACTIONS:
        text = f"action {word} {words.next()}" if words else f"action {word}"
        draft.conditions["action"] = [text]


def _zone(side: str) -> Callable[[Scope, Draft, Words], None]:
    def read(scope: Scope, draft: Draft, words: Words) -> None:
        name = words.next("a zone")
        if name.lower() != "any":
            draft.zones[side].append(name)

    return read


def _address(side: str, kind: str) -> Callable[[Scope, Draft, Words], None]:
    def read(scope: Scope, draft: Draft, words: Words) -> None:
        if kind == "addr":
            operand = scope.address(words.next("an address"))
        elif kind == "ip":
            operand = Operand(read_address(words))
        elif kind == "range":
            operand = Operand(read_range(words))
        elif kind == "host":
            operand = Operand(scope.address("any").value, (words.next("a name"),))
        else:
            operand = scope.operand(words)
        draft.sides[side].append(operand)

    return read


def _service(scope: Scope, draft: Draft, words: Words) -> None:
    value, unknown, name = scope.service(words.next("a service"))
    draft.services.append(value)
    draft.unknown_services += unknown
    if name:
        draft.service_names.append(name)


def _service_rule(scope: Scope, draft: Draft, words: Words) -> None:
    draft.services.append((read_service(words),))


def _text(attribute: str) -> Callable[[Scope, Draft, Words], None]:
    def read(scope: Scope, draft: Draft, words: Words) -> None:
        setattr(draft, attribute, words.next("a text"))

    return read


def _schedule(scope: Scope, draft: Draft, words: Words) -> None:
    draft.schedules.append(words.next("a schedule"))


def _disable(scope: Scope, draft: Draft, words: Words) -> None:
    draft.enabled = False


def _log(scope: Scope, draft: Draft, words: Words) -> None:
    words.next("what to log")
    draft.logs = True


def _skip(scope: Scope, draft: Draft, words: Words) -> None:
    words.next("a value")
    if words.words[words.at - 1] == "name":
        words.next("a name")


COMMANDS: dict[str, Callable[[Scope, Draft, Words], None]] = {
    "action": _action,
    "id": _skip,
    "before": _skip,
    "after": _skip,
    "name": _text("name"),
    "description": _text("description"),
    "disable": _disable,
    "log": _log,
    "schedule": _schedule,
    "service": _service,
    "service-rule": _service_rule,
    "from": _address("src", "any"),
    "to": _address("dst", "any"),
    "from-zone": _zone("src"),
    "to-zone": _zone("dst"),
    "src-zone": _zone("src"),
    "dst-zone": _zone("dst"),
    **{f"{side}-{kind}": _address(side, kind) for side in ("src", "dst") for kind in ("addr", "ip", "range", "host")},
}


def _finish(reading: Reading, scope: Scope, settings: PolicySettings, draft: Draft) -> Rule:
    lines = tuple(sorted(number for node in draft.nodes for number in node.all_numbers()))
    services = compact(service for value in draft.services for service in value)
    if not services or draft.unknown_services or ANY_SERVICE in services:
        services = (ANY_SERVICE,)
    unresolved = [name for side in ("src", "dst") for operand in draft.sides[side] for name in operand.unresolved]
    conditions = [" or ".join(texts) for texts in draft.conditions.values()]
    if draft.schedules:
        conditions.append(" or ".join(f"schedule {name}" for name in draft.schedules))
    names = [operand.name for side in ("src", "dst") for operand in draft.sides[side] if operand.name]
    match = Match(
        union(draft.sides["src"]),
        union(draft.sides["dst"]),
        services,
        tuple(dict.fromkeys(draft.zones["src"])),
        tuple(dict.fromkeys(draft.zones["dst"])),
        conditions=tuple(conditions),
        unresolved=tuple(dict.fromkeys((*unresolved, *draft.unknown_services))),
    )
    rule = Rule(
        name=draft.identifier,
        action=draft.action,
        match=match,
        lines=lines,
        text="; ".join(node.text for head in draft.nodes for node in (head, *head.children)),
        enabled=draft.enabled and draft.identifier not in settings.disabled,
        logged=_logged(settings, draft),
        comment=": ".join(text for text in (draft.name, draft.description) if text),
        schedule=_schedule_of(reading, scope, draft, lines),
        hit_key=draft.identifier,
        references=tuple(dict.fromkeys((*names, *draft.service_names, *draft.schedules))),
    )
    return rule if is_decimal(draft.identifier) else replace(rule, hit_key="")


def _logged(settings: PolicySettings, draft: Draft) -> bool:
    """The global switch goes before the rule's own lines (manual, global-policy-log)."""
    kinds = ("policy-deny",) if draft.action is Action.DENY else ("session-start", "session-end")
    told = [settings.logs[kind] for kind in kinds if kind in settings.logs]
    return any(told) if told else draft.logs


def _schedule_of(reading: Reading, scope: Scope, draft: Draft, lines: tuple[int, ...]) -> str:
    """The schedule when there is one; the end of a rule is one as well."""
    if draft.schedules or "expire-time" not in draft.conditions:
        return draft.schedules[0] if len(draft.schedules) == 1 else ""
    text = draft.conditions["expire-time"][-1]
    schedule = Schedule(f"rule {draft.identifier}", text, device_moment(text.removeprefix("expire-time ")), lines, scope.name)
    reading.schedules.append(schedule)
    return schedule.name
