"""Rulebases as policies: security rules decide, the others pick traffic for something else."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from policyhub.domain.addresses import ANY
from policyhub.domain.rules import Action, Match, Policy, Rule
from policyhub.domain.services import ANY_SERVICE, Service
from policyhub.vendorkit.lexing import NotUnderstood
from policyhub.vendors.paloalto_panos.fields import TOLD, Matched, flag, read_match
from policyhub.vendors.paloalto_panos.objects import PROTOCOLS, ports_of
from policyhub.vendors.paloalto_panos.operands import Operands
from policyhub.vendors.paloalto_panos.qos import rule_dscp
from policyhub.vendors.paloalto_panos.reading import LOCAL, POST, PRE, SHARED, Reading, Rulebase, Scope
from policyhub.vendors.paloalto_panos.tree import Node, unknown, words

SECURITY, DEFAULTS, DEFAULT_POLICY = "security", "default-security-rules", "default-security"
ACTIONS = {
    "allow": Action.PERMIT,
    "deny": Action.DENY,
    "drop": Action.DENY,
    "reset-client": Action.DENY,
    "reset-server": Action.DENY,
    "reset-both": Action.DENY,
}
DENYING = {("pbf", "discard"), ("dos", "deny")}
ORDER = (PRE, LOCAL, POST)
IMPLIED = {
    "intrazone-default": ("rule-type intrazone", "intrazone-default: traffic inside a zone is allowed"),
    "interzone-default": ("rule-type interzone", "interzone-default: other traffic is denied"),
}
RULE_FIELDS = words("security-rule")
OTHER_FIELDS = RULE_FIELDS | words("other-rule")


def place(reading: Reading, scope: Scope, position: str) -> tuple[int, int]:
    """Sorts what Panorama holds as firewalls ask it: pre from `shared` down, post upwards; within a firewall nothing moves."""
    if not on_panorama(reading, scope):
        return 1, 0
    depth = len(scope.chain())
    return (0, depth) if position == PRE else (2, -depth) if position == POST else (3, -depth)


def read_policies(operands: Operands) -> list[Policy]:
    """One policy per rulebase: on a firewall pushed and local rules together, on Panorama one for each position."""
    placed: list[tuple[tuple[int, int], Policy]] = []
    for scope in operands.reading.scopes():
        placed += _of_scope(operands, scope)
    return [policy for _, policy in sorted(placed, key=lambda pair: pair[0])]


def _of_scope(operands: Operands, scope: Scope) -> Iterable[tuple[tuple[int, int], Policy]]:
    reading = operands.reading
    for kind in dict.fromkeys(base.kind for base in scope.rulebases if base.kind not in (DEFAULTS, "nat")):
        bases = [base for base in scope.rulebases if base.kind == kind]
        if on_panorama(reading, scope):
            for position in dict.fromkeys(base.position for base in bases):
                here = [base for base in bases if base.position == position]
                yield place(reading, scope, position), _policy(operands, scope, kind, here, position)
        else:
            bases.sort(key=lambda base: ORDER.index(base.position))
            yield place(reading, scope, LOCAL), _policy(operands, scope, kind, bases, LOCAL)
    for policy in _defaults(operands, scope):
        yield place(reading, scope, LOCAL), policy


def on_panorama(reading: Reading, scope: Scope) -> bool:
    return scope.is_group or scope is reading.shared


def policy_name(scope: Scope, position: str, kind: str) -> str:
    return f"{scope.prefix}{position}{kind}"


def _policy(operands: Operands, scope: Scope, kind: str, bases: list[Rulebase], position: str) -> Policy:
    rules: list[Rule] = []
    lines: set[int] = set()
    notes: list[str] = []
    pushed: list[str] = []
    for base in bases:
        lines.update(base.node.own_lines)
        for node in base.node:
            rule = read_rule(operands, scope, node, kind)
            rules.append(rule)
            if base.pushed:
                pushed.append(rule.name)
            if kind == SECURITY and not node.has("action"):
                notes.append(f"{rule.name} has no action")
    if pushed:
        notes.insert(0, f"pushed by Panorama: {', '.join(pushed)}")
    return Policy(
        policy_name(scope, position, kind),
        tuple(rules),
        default=None,
        lines=tuple(sorted(lines)),
        purpose="filter" if kind == SECURITY else kind,
        notes=tuple(notes),
        context=operands.reading.context_of(scope),
    )


def read_rule(operands: Operands, scope: Scope, node: Node, kind: str) -> Rule:
    """One rule of any rulebase but NAT; a field that is not understood is unparsed and narrows the rule by a condition."""
    reading = operands.reading
    reading.understand(node)
    known = RULE_FIELDS if kind == SECURITY else OTHER_FIELDS
    odd = unknown(node, known)
    matched = read_match(operands, scope, node, kind)
    if odd:
        matched = _with_odd(reading, matched, odd)
    if kind == "application-override":
        matched = _override(reading, node, matched)
    elif kind == "qos":
        matched = replace(matched, match=replace(matched.match, dscp=rule_dscp(reading, node)))
    return Rule(
        node.name,
        _action(reading, node, kind, matched.values["action"]),
        matched.match,
        node.lines,
        text=_text(node, matched.values),
        enabled=not flag(reading, node, "disabled"),
        logged=_logged(reading, node) if kind == SECURITY else None,
        comment=node.text("description"),
        schedule=node.text("schedule"),
        hit_key=node.name,
        references=matched.names,
    )


def _with_odd(reading: Reading, matched: Matched, odd: list[Node]) -> Matched:
    for child in odd:
        reading.complain(child, f"{child.name[:40]!r} of a rule is not understood")
    words = tuple(" ".join((child.name, *child.values))[:200] for child in odd)
    return replace(matched, match=replace(matched.match, conditions=(*matched.match.conditions, *words)))


def _action(reading: Reading, node: Node, kind: str, values: tuple[str, ...]) -> Action:
    if not node.has("action"):
        return Action.CONTINUE
    value = values[-1] if values else ""
    if kind != SECURITY:
        return Action.DENY if (kind, value) in DENYING else Action.CONTINUE
    action = node.get("action") if value not in ACTIONS else None
    if action is not None:
        reading.complain(action, f"action {value[:40]!r} is not understood")
    return ACTIONS.get(value, Action.CONTINUE)


def _logged(reading: Reading, node: Node) -> bool:
    start = flag(reading, node, "log-start")
    return flag(reading, node, "log-end", True) or start


def _text(node: Node, fields: dict[str, tuple[str, ...]]) -> str:
    """The rule in the words of a `set` line, without what only labels it."""
    return " ".join([node.name, *[f"{name} {' '.join(values)}" for name, values in fields.items() if values]])


def _override(reading: Reading, node: Node, matched: Matched) -> Matched:
    """`protocol tcp` and `port 80,443` stand for a service."""
    number = PROTOCOLS.get(node.text("protocol"))
    port = node.text("port")
    if number is None or not port:
        return replace(matched, match=replace(matched.match, unresolved=(*matched.match.unresolved, "port is missing")))
    try:
        services = (Service.of(number, ports_of(port)),)
    except NotUnderstood as reason:
        found = node.get("port")
        if found is not None:
            reading.complain(found, str(reason))
        services = (ANY_SERVICE,)
        return replace(matched, match=replace(matched.match, services=services, unresolved=(port,)))
    return replace(matched, match=replace(matched.match, services=services))


def _defaults(operands: Operands, scope: Scope) -> Iterable[Policy]:
    """The two default rules: always there on a firewall and in `shared` of Panorama, elsewhere when overridden."""
    reading = operands.reading
    bases = [base for base in scope.rulebases if base.kind == DEFAULTS]
    has_rules = any(base.kind == SECURITY for base in scope.rulebases)
    is_last = not scope.is_group and (scope is not reading.shared or bool(reading.groups) or has_rules)
    if not bases and not (is_last and (has_rules or scope is reading.shared)):
        return
    rules = [_default_rule(reading, node) for base in bases for node in base.node]
    told = {rule.name for rule in rules}
    yield Policy(
        policy_name(scope, LOCAL, DEFAULT_POLICY),
        tuple(rules),
        default=Action.DENY if is_last else None,
        lines=tuple(sorted({line for base in bases for line in base.node.own_lines})),
        notes=tuple(note for name, (_, note) in IMPLIED.items() if name not in told) if is_last else (),
        context=SHARED if scope is reading.shared else reading.context_of(scope),
    )


def _default_rule(reading: Reading, node: Node) -> Rule:
    reading.understand(node)
    for child in unknown(node, RULE_FIELDS):
        reading.complain(child, f"{child.name[:40]!r} of a default rule is not understood")
    condition = IMPLIED.get(node.name, (f"default rule {node.name}", ""))[0]
    action = _action(reading, node, SECURITY, node.members("action"))
    if node.get("action") is None and node.name in IMPLIED:
        action = Action.PERMIT if node.name == "intrazone-default" else Action.DENY
    logged = flag(reading, node, "log-start") or flag(reading, node, "log-end")
    match = Match(ANY, ANY, conditions=(condition,))
    return Rule(
        node.name,
        action,
        match,
        node.lines,
        _text(node, {name: node.members(name) for name in TOLD}),
        logged=logged,
        comment=node.text("description"),
        hit_key=node.name,
    )
