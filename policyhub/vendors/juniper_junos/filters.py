"""Firewall filters and policers: terms as rules, and as QoS where they mark, classify or police."""

from __future__ import annotations

from policyhub.domain.qos import ClassMatch, Marker, Policer, QosAttachment, QosClass, QosPolicy
from policyhub.domain.rules import Action, Binding, Policy, Rule
from policyhub.vendorkit.lexing import NotUnderstood
from policyhub.vendors.juniper_junos.reading import Context, Reading, amount
from policyhub.vendors.juniper_junos.terms import code_point, condition, read_match
from policyhub.vendors.juniper_junos.tree import Node

FAMILIES = {"inet": 4, "inet6": 6}
DENIES = ("discard", "reject")
GOES_ON = "next"
MOST_LISTED = 100_000  # rules of all lists of filters together: each list repeats those of its filters
NOTE = "implicit discard at the end"
# statements of a filter that decide no packet
QUIET = (
    "interface-specific", "physical-interface-filter", "accounting-profile", "enhanced-mode", "instance-shared", "apply-groups",
    "interface-shared", "promote", "scale-optimized", "fast-filter-lookup", "description", "no-filter-check",
)  # fmt: skip
# what a term does besides deciding; the model holds marks, policers, counters and logs
THEN = frozenset(
    ("accept", "discard", "reject", "next", "count", "log", "syslog", "policer", "three-color-policer",
     "hierarchical-policer", "dscp", "traffic-class", "forwarding-class", "loss-priority", "sample", "port-mirror",
     "port-mirror-instance", "routing-instance", "logical-system", "next-ip", "next-ip6", "next-interface",
     "next-hop-group", "topology", "packet-mode", "prefix-action", "service-accounting", "service-filter-hit",
     "load-balance", "analyzer", "vlan", "interface", "decapsulate", "encapsulate", "ipsec-sa", "dont-fragment",
     "clear-policy-map", "policy-map", "exclude-accounting", "port-mirror-action", "apply-groups", "gbp-tag", "gbp-src-tag",
     "no-filter-check", "tcp-mss", "force-premium", "user-vlan-id", "dscp-mark", "skip-services", "flow-tap",
     "inactivity-timeout", "service-set", "next-lookup", "decrement-ttl", "bum-rate-limit", "pre-sampling", "police")
)  # fmt: skip


def read_filters(reading: Reading, context: Context) -> None:
    firewall = context.root.children.get("firewall")
    if firewall is None:
        return
    reading.take_headers(firewall)
    found = _filters(firewall)
    families = {name: [f for f, n in found if n == name] for _, name in found}
    for family, name in found:
        several = len(families[name]) > 1 and family != "inet"
        context.filter_names[family, name] = context.named(f"{family}/{name}" if several else name)
    policers = _policers(reading, firewall)
    read: dict[tuple[str, str], Policy] = {}
    for (family, name), node in found.items():
        read[family, name] = _read_filter(reading, context, policers, (family, name), node, firewall.inactive)
    _bind(reading, context, read, found, policers)
    for kid in firewall.active():
        if kid.word not in ("family", "filter", "policer", "apply-groups", "three-color-policer", "hierarchical-policer"):
            reading.leave(kid, "not understood in firewall")


def _filters(firewall: Node) -> dict[tuple[str, str], Node]:
    """By family and name; without a family it is inet."""
    found: dict[tuple[str, str], Node] = {}
    plain = firewall.children.get("filter")
    for node in plain.children.values() if plain is not None else ():
        found["inet", node.word] = node
    families = firewall.children.get("family")
    for family in families.children.values() if families is not None else ():
        inside = family.children.get("filter")
        for node in inside.children.values() if inside is not None else ():
            node.inactive = node.inactive or family.inactive
            found[family.word, node.word] = node
    return found


def _policers(reading: Reading, firewall: Node) -> dict[str, Policer]:
    """Two-colour policers; the others are taken over by their committed rate."""
    found: dict[str, Policer] = {}
    for kind in ("policer", "three-color-policer", "hierarchical-policer"):
        for node in firewall.kids(kind):
            reading.take_known(node, "policer")
            exceeding = node.at("if-exceeding") or node.at("if-exceeding-pps") or next(iter(node.kids("two-rate")), None) or node
            rate = exceeding.value("bandwidth-limit") or _deep(node, "committed-information-rate")
            burst = exceeding.value("burst-size-limit") or _deep(node, "committed-burst-size")
            percent = exceeding.value("bandwidth-percent")
            actions = node.at("then")
            words = actions.statements() if actions is not None else []
            action = "drop" if not words or words == ["discard"] else ", ".join(words)
            share = float(percent) if percent.isascii() and percent.isdigit() else None
            found[node.word] = Policer(amount(rate), amount(burst), share, action)
    return found


def _deep(node: Node, key: str) -> str:
    return next((below.value(key) for below in node.walk() if below.has(key)), "")


def _read_filter(
    reading: Reading, context: Context, policers: dict[str, Policer], key: tuple[str, str], node: Node, dead: bool
) -> Policy:
    family, name = FAMILIES.get(key[0], 0), context.filter_names[key]
    reading.take(node)
    rules: list[Rule] = []
    notes = [NOTE]
    holder = node.children.get("term")
    for term in holder.children.values() if holder is not None else ():
        rules.append(_read_term(reading, context, key, term, family, dead or node.inactive))
        if term.group:
            notes.append(f"{term.word} is inherited from group {term.group}")
    if holder is None and (node.has("then") or node.has("from")):  # a filter may hold one match without a term
        rules.append(_read_term(reading, context, key, node, family, dead or node.inactive))
    for kid in node.active():
        if kid.word not in ("term", "then", "from", *QUIET):
            reading.leave(kid, "not understood in a filter")
    return Policy(name, tuple(rules), Action.DENY, family, lines=node.all_lines(), notes=tuple(notes), context=context.name)


def _read_term(reading: Reading, context: Context, key: tuple[str, str], term: Node, family: int, dead: bool) -> Rule:
    then = term.at("then") or Node("then")
    for kid in then.active():
        if kid.word not in THEN:
            reading.leave(kid, "not understood in the actions of a term")
    for kid in term.active():
        if kid.word not in ("from", "then", "filter", "apply-groups", "description", "term", *QUIET):
            reading.leave(kid, "not understood in a term")
    match, references = read_match(reading, context, term, family)
    target = term.value("filter") if term.at("filter") is not None and term.word != key[1] else ""
    counter = then.value("count")
    return Rule(
        name=term.word,
        action=Action.CONTINUE if target else _action(then),
        match=match,
        lines=term.all_lines(),
        text=f"filter {key[1]} term {term.word}",
        enabled=not (dead or term.inactive),
        logged=then.has("log") or then.has("syslog"),
        hit_key=f"{key[1]} {counter}" if counter else "",
        references=references,
        target=context.filter_names.get((key[0], target), target) if target else "",
        comment=term.value("description"),
    )


def _action(then: Node) -> Action:
    """A term that only counts or marks, or has no action at all, accepts; only `next term` goes on."""
    kids = then.active()
    words = {kid.word for kid in kids if not kid.group} & {"accept", "next", *DENIES} or {kid.word for kid in kids}
    if words & set(DENIES):
        return Action.DENY
    if GOES_ON in words:
        return Action.CONTINUE
    return Action.PERMIT


def _bind(
    reading: Reading,
    context: Context,
    read: dict[tuple[str, str], Policy],
    found: dict[tuple[str, str], Node],
    policers: dict[str, Policer],
) -> None:
    """Bindings of interfaces; a list of filters becomes one policy with the rules of all."""
    lists: list[Policy] = []
    alone: dict[tuple[str, str], tuple[Binding, ...]] = {}
    listed: dict[tuple[str, str], list[Binding]] = {}
    left = MOST_LISTED
    for (family, names), bindings in context.filter_bindings.items():
        family = family if (family, names[0]) in read or len(names) > 1 else _family_of(read, names[0], family)
        parts = [read[family, name] for name in names if (family, name) in read]
        if len(names) == 1 and parts:
            alone[family, names[0]] = (*alone.get((family, names[0]), ()), *bindings)
            continue
        for name in names:
            if (family, name) not in read:
                reading.leave_lines((number for b in bindings for number in b.lines), f"there is no filter {name[:60]}")
        left -= sum(len(part.rules) for part in parts)
        if left < 0:
            reading.leave_lines((number for b in bindings for number in b.lines), "too many rules in lists of filters")
        elif parts:
            lists.append(_list_policy(context, names, parts, bindings))
        for name in names:
            listed.setdefault((family, name), []).extend(bindings)
    for key, policy in read.items():
        bound = alone.get(key, ())
        reading.policies.append(_rebound(policy, bound))
        attachments = [*bound, *listed.get(key, ())]
        _read_qos(reading, context, policy, key, found[key], policers, attachments)
    reading.policies.extend(lists)


def _family_of(read: dict[tuple[str, str], Policy], name: str, family: str) -> str:
    """A filter of family `any` may be bound under another one."""
    return next((known for known, other in read if other == name and known in ("any", family)), family)


def _rebound(policy: Policy, bindings: tuple[Binding, ...]) -> Policy:
    return Policy(
        policy.name,
        policy.rules,
        policy.default,
        policy.family,
        bindings,
        policy.lines,
        notes=policy.notes,
        context=policy.context,
    )


def _list_policy(context: Context, names: tuple[str, ...], parts: list[Policy], bindings: list[Binding]) -> Policy:
    rules = tuple(_renamed(rule, name) for name, part in zip(names, parts, strict=False) for rule in part.rules)
    lines = tuple(sorted({number for part in parts for number in part.lines}))
    name = context.named(" + ".join(names))
    return Policy(name, rules, Action.DENY, parts[0].family, tuple(bindings), lines, notes=(NOTE,), context=context.name)


def _renamed(rule: Rule, filter_name: str) -> Rule:
    return Rule(
        f"{filter_name} {rule.name}", rule.action, rule.match, rule.lines, rule.text, rule.enabled, rule.logged, rule.comment,
        rule.schedule, rule.hit_key, rule.references, rule.target, rule.returns,
    )  # fmt: skip


def _read_qos(
    reading: Reading,
    context: Context,
    policy: Policy,
    key: tuple[str, str],
    node: Node,
    policers: dict[str, Policer],
    bindings: list[Binding],
) -> None:
    classes: list[QosClass] = []
    holder = node.children.get("term")
    terms = list(holder.children.values()) if holder is not None else [node]
    for term in terms:
        then = term.at("then")
        if then is None or term.inactive:
            continue
        marker = _marker(reading, context, then)
        policer = next((policers.get(then.value(kind)) for kind in ("policer", "hierarchical-policer") if then.has(kind)), None)
        if policer is None and then.has("three-color-policer"):
            policer = policers.get(next((w for w in then.at("three-color-policer").walk() if not w.children), then).word)  # type: ignore[union-attr]
        if marker is None and policer is None:
            continue
        rule = next(rule for rule in policy.rules if rule.name == term.word)
        classes.append(QosClass(term.word, _class_match(term, rule), marker, policer, lines=term.all_lines()))
    if classes:
        attachments = tuple(
            QosAttachment(b.interface, "in" if b.direction == "local" else b.direction, b.lines) for b in bindings
        )
        reading.qos_policies.append(QosPolicy(policy.name, tuple(classes), attachments, policy.lines))


def _class_match(term: Node, rule: Rule) -> ClassMatch:
    origin = term.at("from")
    others = (
        [condition(kid) for kid in origin.active() if kid.word not in ("dscp", "traffic-class", "apply-groups")] if origin else []
    )
    return ClassMatch(dscp=rule.match.dscp, any=rule.match.dscp is None and not others, other=tuple(others))


def _marker(reading: Reading, context: Context, then: Node) -> Marker | None:
    mark = then.value("dscp") or then.value("traffic-class")
    queue_class = then.value("forwarding-class")
    dscp = None
    if mark:
        try:
            dscp = code_point(context, "dscp", mark)
        except NotUnderstood as reason:
            reading.leave(then, str(reason))
    if not queue_class and dscp is None:
        return None
    return Marker(dscp=dscp, queue=context.queues.get(queue_class))
