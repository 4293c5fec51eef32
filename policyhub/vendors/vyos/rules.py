"""Rule sets of the firewall as policies, and the match that NAT shares."""

from __future__ import annotations

from dataclasses import dataclass, field

from policyhub.domain.addresses import ANY, ANY4, ANY6, AddressSet, Interval, intersect
from policyhub.domain.rules import Action, Binding, Match, Policy, Rule
from policyhub.domain.services import ALL_PORTS, ICMP, ICMPV6, MAX_PORT, Service, ports_except
from policyhub.vendorkit.json_books import address
from policyhub.vendorkit.lexing import NotUnderstood, is_decimal, number_in
from policyhub.vendorkit.operands import alone
from policyhub.vendorkit.port_lists import NAMES, port_list, protocol_list, service_of
from policyhub.vendorkit.service_names import icmp_service
from policyhub.vendors.vyos.groups import Groups
from policyhub.vendors.vyos.reading import Reading
from policyhub.vendors.vyos.tree import Node

Bindings = dict[tuple[str, str], list[Binding]]
ACTIONS = {"accept": Action.PERMIT, "drop": Action.DENY, "reject": Action.DENY}
HOOKS = {"forward": "forward", "input": "local", "output": "out", "prerouting": "in"}
WHOLE = {"ipv4": ANY4, "ipv6": ANY6}
NUMBERS = {"ipv4": 4, "ipv6": 6}
RETURN = "return"
NO_MATCH = {
    "action", "jump-target", "description", "disable", "log", "translation", "exclude", "log-options", "queue", "queue-options",
    "offload-target", "load-balance",
}  # fmt: skip
MARKS = frozenset(range(64))


@dataclass(slots=True)
class Draft:
    """The match of one rule while it is read."""

    family: str
    source: AddressSet = ANY
    destination: AddressSet = ANY
    source_ports: tuple[Interval, ...] = ALL_PORTS
    destination_ports: tuple[Interval, ...] = ALL_PORTS
    protocols: tuple[Interval, ...] | None = None
    icmp: Service | None = None
    dscp: frozenset[int] | None = None
    zones: dict[str, tuple[str, ...]] = field(default_factory=dict)
    states: list[str] = field(default_factory=list)
    conditions: list[str] = field(default_factory=list)
    unresolved: list[str] = field(default_factory=list)

    def match(self) -> Match:
        """Raises NotUnderstood."""
        service = self.icmp or service_of(self.protocols, self.source_ports, self.destination_ports)
        if self.states:
            self.conditions.insert(0, f"state {', '.join(self.states)}")
        whole, unresolved = WHOLE[self.family], tuple(dict.fromkeys(self.unresolved))
        return Match(
            self.source.intersection(whole), self.destination.intersection(whole), alone(service), self.zones.get("inbound", ()),
            self.zones.get("outbound", ()), self.dscp, tuple(dict.fromkeys(self.conditions)), unresolved,
        )  # fmt: skip


def policies(reading: Reading, groups: Groups, bindings: Bindings) -> tuple[Policy, ...]:
    found: list[Policy] = []
    for key, family in (("name", "ipv4"), ("ipv6-name", "ipv6")):
        found += [_policy(reading, groups, bindings, family, name, node) for name, node in reading.root.pairs("firewall", key)]
    for family in WHOLE:
        for key, listed in reading.root.pairs("firewall", family):
            reading.ledger.understood(*listed.own)
            if key == "name" or key in HOOKS:
                for name, node in listed.children.items():
                    title = name if key == "name" else f"{key} {name}"
                    made = _policy(reading, groups, bindings, family, title, node, hook="" if key == "name" else key)
                    found.append(made)
    if any(rule.target == RETURN for policy in found for rule in policy.rules):
        found.append(Policy(RETURN, (), None))
    return tuple(found)


def _policy(reading: Reading, groups: Groups, bindings: Bindings, family: str, name: str, node: Node, hook: str = "") -> Policy:
    reading.ledger.understood(*node.own)
    for key in ("description", "default-action", "default-log", "enable-default-log", "default-jump-target"):
        below = node.get(key)
        reading.ledger.understood(*(below.lines if below else ()))
    rules: list[tuple[int, Rule]] = []
    for number, entry in node.pairs("rule"):
        if not is_decimal(number) or len(number) > 9:
            continue
        try:
            rules.append((int(number), rule_of(reading, groups, family, number, entry)))
            reading.ledger.understood(*entry.lines)
        except NotUnderstood as error:
            reading.refuse(entry.lines, str(error), again=True)
    rules.sort(key=lambda pair: pair[0])
    ordered = [rule for _, rule in rules]
    word = node.word("default-action")
    default = ACTIONS.get(word, Action.PERMIT if hook and not word else Action.DENY if not word else None)
    if word == "jump" and node.word("default-jump-target"):
        target = f"{family} {node.word('default-jump-target')}"
        whole = WHOLE[family]
        ordered.append(Rule("default", Action.CONTINUE, Match(whole, whole), node.lines[:1], target=target))
    if not word and not hook:
        default = Action.DENY
    logs = node.has("default-log") or node.has("enable-default-log")
    bound = [Binding("", HOOKS[hook])] if hook else bindings.get((family, name), [])
    return Policy(
        f"{family} {name}", tuple(ordered), default, NUMBERS[family], tuple(bound), node.lines,
        notes=("the default is logged",) if logs else (),
    )  # fmt: skip


def rule_of(reading: Reading, groups: Groups, family: str, number: str, entry: Node) -> Rule:
    """Raises NotUnderstood."""
    word = entry.word("action")
    match, references = read_match(groups, family, entry)
    action, target, returns = ACTIONS.get(word, Action.CONTINUE), "", True
    if word == "jump":
        target = f"{family} {entry.word('jump-target')}"
    elif word == RETURN:
        target, returns = RETURN, False
    elif not word:
        raise NotUnderstood("a rule has no action")
    elif word not in ACTIONS and word != "continue":
        match = _with_condition(match, f"action {word}")
    lines = entry.lines
    text = "; ".join(" ".join(path) for path, _ in entry.leaves())[:400]
    logged = entry.has("log") and entry.word("log") != "disable"
    return Rule(
        number, action, match, lines, text, not entry.has("disable"), logged, entry.word("description"), references=references,
        target=target, returns=returns,
    )  # fmt: skip


def _with_condition(match: Match, condition: str) -> Match:
    return Match(
        match.source, match.destination, match.services, match.source_zones, match.destination_zones, match.dscp,
        (*match.conditions, condition), match.unresolved,
    )  # fmt: skip


def read_match(groups: Groups, family: str, entry: Node) -> tuple[Match, tuple[str, ...]]:
    """What a rule matches, and the groups it names. Raises NotUnderstood."""
    draft = Draft(family)
    references: list[str] = []
    if entry.word("protocol"):
        draft.protocols = protocol_list(entry.word("protocol"))
    for key, node in entry.children.items():
        if key in ("source", "destination"):
            _side(draft, groups, key, node, references)
        elif key in ("icmp", "icmpv6"):
            _icmp(draft, key, node)
        elif key == "state":
            draft.states += [word for word, below in node.children.items() if next(iter(below.children), "enable") == "enable"]
        elif key == "dscp":
            _dscp(draft, node)
        elif key in ("inbound-interface", "outbound-interface"):
            _interface(draft, key, node)
        elif key not in NO_MATCH and key != "protocol":
            draft.conditions += [" ".join(path) for path, _ in node.leaves((key,))]
    return draft.match(), tuple(dict.fromkeys(references))


def _interface(draft: Draft, key: str, node: Node) -> None:
    words = node.words("name") or [word for word in node.children if word not in ("name", "group", "interface-name")]
    words += node.words("interface-name")
    if words and not node.has("group") and not any(word.startswith("!") or "*" in word for word in words):
        draft.zones[key.partition("-")[0]] = tuple(words)
    else:
        draft.conditions += [" ".join(path) for path, _ in node.leaves((key,))]


def _dscp(draft: Draft, node: Node) -> None:
    found: set[int] = set()
    for word in node.children:
        low, _, high = word.partition("-")
        found.update(range(number_in(low, 0, 63, "a DSCP"), number_in(high or low, 0, 63, "a DSCP") + 1))
    draft.dscp = frozenset(found)


def _icmp(draft: Draft, key: str, node: Node) -> None:
    protocol = ICMP if key == "icmp" else ICMPV6
    kind = node.word("type-name") or node.word("type")
    if not kind or kind == "any":
        return
    word, _, code = kind.partition("/")
    found = NAMES.icmp_type(word, protocol)
    if found is None:
        raise NotUnderstood(f"{kind[:40]!r} is not an ICMP type")
    code = node.word("code") or code
    draft.icmp = icmp_service(found[0], number_in(code, 0, 255, "an ICMP code") if code else found[1], protocol)


def _side(draft: Draft, groups: Groups, side: str, node: Node, references: list[str]) -> None:
    value = ANY
    for word in node.words("address"):
        found = address(word.removeprefix("!"))
        if found is None:
            raise NotUnderstood(f"{word[:40]!r} is not an address")
        value = value.intersection(ANY.minus(found) if word.startswith("!") else found)
    for kind, name in ((kind, name) for kind, below in node.pairs("group") for name in below.children):
        references.append(name.removeprefix("!"))
        if kind == "port-group":
            _ports(draft, side, _group_ports(draft, groups, name))
        elif kind in ("mac-group", "interface-group"):
            draft.conditions.append(f"{side} group {kind} {name}")
        else:
            value = value.intersection(_group(draft, groups, kind, name))
    for word in node.words("port"):
        _ports(draft, side, port_list(word))
    setattr(draft, side, value)
    for key, below in node.children.items():
        if key not in ("address", "group", "port"):
            draft.conditions += [" ".join(path) for path, _ in below.leaves((side, key))]


def _ports(draft: Draft, side: str, ports: tuple[Interval, ...]) -> None:
    known = draft.source_ports if side == "source" else draft.destination_ports
    setattr(draft, f"{side}_ports", intersect(known, ports))


def _group_ports(draft: Draft, groups: Groups, name: str) -> tuple[Interval, ...]:
    resolved = groups.ports.resolve(f"port-group/{name.removeprefix('!')}")
    if resolved.unresolved:
        draft.unresolved.append(name.removeprefix("!"))
        return ((0, MAX_PORT),)
    ports = tuple(interval for service in resolved.value for interval in service.destination_ports)
    return ports_except(ports) if name.startswith("!") else ports


def _group(draft: Draft, groups: Groups, kind: str, name: str) -> AddressSet:
    plain = name.removeprefix("!")
    kinds = (kind, f"ipv6-{kind}") if draft.family == "ipv6" else (kind,)
    key = next((f"{k}/{plain}" for k in kinds if f"{k}/{plain}" in groups.addresses), f"{kind}/{plain}")
    resolved = groups.addresses.resolve(key)
    if resolved.unresolved:
        draft.unresolved += [part.rpartition("/")[2] if part == key else part for part in resolved.unresolved]
        return ANY
    return ANY.minus(resolved.value) if name.startswith("!") else resolved.value
