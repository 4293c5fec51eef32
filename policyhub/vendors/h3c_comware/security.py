"""`security-policy`, `object-policy` and zone pairs; the matching lines that NAT rules share."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from sys import intern

from policyhub.domain.rules import Action, Binding, Policy, Rule
from policyhub.vendorkit.blocks import Block
from policyhub.vendorkit.lexing import NotUnderstood, TooScattered, Words, is_decimal
from policyhub.vendorkit.operands import Resolved, Services
from policyhub.vendorkit.vrp_acl import any_of
from policyhub.vendorkit.vrp_draft import RuleDraft, Side
from policyhub.vendorkit.vrp_lines import quoted_words
from policyhub.vendors.h3c_comware.objects import take_host, take_range, take_service, take_subnet
from policyhub.vendors.h3c_comware.reading import Reading, take_acl

ACTIONS = {"pass": Action.PERMIT, "permit": Action.PERMIT, "drop": Action.DENY, "deny": Action.DENY}
CONDITIONS = (
    "application", "app-group", "user", "user-group", "terminal", "terminal-group", "url-category", "vrf", "track",
    "outbound-interface", "inbound-interface", "vpn-instance", "dscp", "device", "ip-reputation",
)  # fmt: skip
WITHOUT_MEANING = ("profile", "session", "aspf", "accelerate", "undo", "counting", "bfd", "parent-group", "threat", "content")
OF_THE_POLICY = ("description", "accelerate", "undo", "config-logging", "config-changelog", "rules", "hit-count")
MOST_MOVES = 1000  # each costs the length of the list
OPEN_SIDES = ("location", "mac", "address-location", "ip-isp", "isp", "domain", "asset")


@dataclass(slots=True)
class Draft(RuleDraft):
    """A rule while its lines are read."""

    reading: Reading

    def take(self, child: Block) -> None:
        """One line of the rule. Raises NotUnderstood."""
        words = Words(quoted_words(child.text))
        word = words.next().lower()
        side, _, form = word.partition("-")
        if side in ("source", "destination") and form:
            self._side(side, form, words, child.text)
        elif word == "service":
            self.take_services(words)
        elif word == "service-port":
            self.services.append((take_service(words),))
        elif word in ("time-range", "schedule"):
            self.take_schedule(words)
        elif word == "description":
            self.comment = child.text.partition(" ")[2].strip().strip('"')
        elif word == "disable":
            self.enabled = False
        elif word == "logging":
            self.logged = words.peek().lower() != "disable"
        elif word in CONDITIONS:
            self.conditions.append(" ".join(child.words))
        elif word not in WITHOUT_MEANING and word != "enable":
            raise NotUnderstood(f"{word[:40]!r} is not understood in a rule")
        if word == "parent-group":
            self.group = words.peek()

    def _side(self, side: str, form: str, words: Words, text: str) -> None:
        if form == "zone":
            self.zones[f"{side}-zone"] += [intern(name) for name in words.rest().split() if name.lower() != "any"]
            return
        at = self.source if side == "source" else self.destination
        at.given = True
        try:
            self._address(at, side, form, words)
        except TooScattered:  # an upper bound that covers nothing
            at.unresolved.append(" ".join(text.split()))

    def _address(self, at: Side, side: str, form: str, words: Words) -> None:
        if form == "ip" and words.peek().lower() in ("host", "subnet", "range") and words.peek(1):
            form = f"ip-{words.next().lower()}"  # NAT rules write `source-ip host A`
        if form in OPEN_SIDES:
            at.unresolved.append(f"{side}-{form} {words.rest()}")
        elif form == "ip-host":
            at.values.append(take_host(words))
        elif form == "ip-subnet":
            at.values.append(take_subnet(words))
        elif form == "ip-range":
            at.values.append(take_range(words))
        elif form in ("ip", "ipv6", "ip-object-group"):
            self.take_group(at, words)
        else:
            raise NotUnderstood(f"{form[:40]!r} is not a form of address")
        words.end()

    def take_group(self, at: Side, words: Words) -> None:
        name = intern(words.next("a group"))
        words.rest()
        if name.lower() == "any":
            at.values.append(self.everything)
            return
        self.references.append(name)
        known = self.reading.address_group(name)
        at.unresolved += known.unresolved
        at.values.append(known.value)

    def take_services(self, words: Words) -> None:
        while words:
            name = words.next()
            known: Resolved[Services] = self.reading.service_group(name)
            if name.lower() in self.reading.own_services or known.unresolved:
                self.references.append(name)
            self.service_unresolved += known.unresolved
            self.services.append(known.value)


def rule_name(words: Words) -> str:
    """`[ID] [name N]` behind `rule`: the name, else the id. Raises NotUnderstood."""
    number = words.next() if is_decimal(words.peek()) else ""
    if words.accept("name"):
        return words.rest() or number
    if not number:
        raise NotUnderstood("a rule needs an id or a name")
    return number


def policies(reading: Reading) -> list[Policy]:
    """Security policies, then object policies."""
    found = [_security(reading, name, blocks) for name, blocks in reading.security.items()]
    return found + [_object_policy(reading, name, block) for name, block in reading.object_policies.items()]


@dataclass(slots=True)
class _RuleList:
    """A security policy while it is read. order: places of `made` as they are evaluated; ids: id -> place."""

    family: int
    made: list[Rule] = field(default_factory=list)
    order: list[int] = field(default_factory=list)
    ids: dict[str, int] = field(default_factory=dict)
    moves: int = 0
    groups: dict[str, int] = field(default_factory=dict)
    lines: list[int] = field(default_factory=list)
    default: Action = Action.DENY

    def take(self, reading: Reading, child: Block) -> bool:
        """Whether the line is one of a security policy. Raises NotUnderstood."""
        words = Words(quoted_words(child.text))
        word = words.next().lower()
        if word == "rule":
            group, rule = _rule(reading, self.family, child, words)
            self.ids[child.words[1]] = len(self.made)
            self.order.append(len(self.made))
            self.made.append(rule)
            if group:
                self.groups[group] = self.groups.get(group, 0) + 1
        elif word == "move" and words.accept("rule"):
            self.moves += 1
            if self.moves > MOST_MOVES:
                raise NotUnderstood("too many moves")
            _move(self.order, self.ids, words)
        elif word == "group":
            words.accept("name")
            self.groups.setdefault(words.next("a group"), 0)
        elif word == "default" and words.accept("rule", "action"):
            self.default = take_action(Words(words.words[-1:]))
            self.lines.append(child.number)
        else:
            return word in OF_THE_POLICY
        return True


def _security(reading: Reading, name: str, blocks: list[Block]) -> Policy:
    read = _RuleList({"ip": 4, "ipv6": 6}.get(name.rpartition(" ")[2], 0))
    for block in blocks:
        read.lines.append(block.number)
        for child in block.children:
            try:
                if read.take(reading, child):
                    reading.ledger.understood(child.number)
            except NotUnderstood as reason:
                reading.ledger.unparsed(child.line, str(reason))
    headers = tuple(block.number for block in blocks)
    notes = tuple(f"group {group}: {count} rules" for group, count in read.groups.items())
    rules = tuple(read.made[at] for at in read.order)
    binding = (Binding("", "forward", headers),)
    return Policy(name, rules, read.default, read.family, binding, tuple(read.lines), notes=notes)


def _move(order: list[int], ids: dict[str, int], words: Words) -> None:
    """`move rule ID before|after ID` of a script. `order`: places in the text as they are evaluated. Raises NotUnderstood."""
    what, where, at = words.next("a rule"), words.next("before or after").lower(), words.next("a rule")
    if what not in ids or at not in ids or what == at or where not in ("before", "after"):
        raise NotUnderstood("two rules and before or after are expected")
    order.remove(ids[what])
    order.insert(order.index(ids[at]) + (where == "after"), ids[what])


def _rule(reading: Reading, family: int, block: Block, words: Words) -> tuple[str, Rule]:
    name = rule_name(words)
    draft = Draft(reading, everything=any_of(family))
    action = Action.DENY if family else Action.CONTINUE
    for child in block.below():
        with draft.booking(reading.ledger, child):
            below = Words(child.words)
            if below.accept("action"):
                action = take_action(below)
            else:
                draft.take(child)
    return draft.group, draft.rule(name, action, block)


def take_action(words: Words) -> Action:
    """`pass`, `drop`; `inspect PROFILE` of object policies lets pass what the profile does not stop."""
    word = words.next("pass or drop").lower()
    if word == "inspect":
        words.next("a profile")
        return Action.PERMIT
    if word not in ACTIONS:
        raise NotUnderstood(f"{word[:40]!r} is not pass or drop")
    return ACTIONS[word]


def _object_policy(reading: Reading, name: str, block: Block) -> Policy:
    """`rule [ID] pass|drop [source-ip G] [destination-ip G] [service G] [vrf V] [counting] [disable] [logging] ..`."""
    family = 6 if name.startswith("object-policy ipv6 ") else 4
    made: list[Rule] = []
    comments: dict[str, str] = {}
    lines = [block.number]
    number = -1
    for child in block.children:
        words = Words(quoted_words(child.text))
        word = words.next().lower()
        try:
            if word == "rule":
                number = int(words.next()[:9]) if is_decimal(words.peek()) else number + 1
                if words.accept("comment"):
                    comments[str(number)] = child.text.split(" comment ", 1)[-1].strip().strip('"')
                else:
                    made.append(_object_rule(reading, family, str(number), child, words))
            elif word not in ("description", "accelerate"):
                continue
            lines.append(child.number)
            reading.ledger.understood(child.number)
        except NotUnderstood as reason:
            reading.ledger.unparsed(child.line, str(reason))
    rules = tuple(replace(rule, comment=comments.get(rule.name, "")) for rule in made)
    bindings = tuple(reading.object_bindings.get(name, ()))
    return Policy(name, rules, Action.DENY if bindings else None, family, bindings, tuple(lines))


def _object_rule(reading: Reading, family: int, name: str, block: Block, words: Words) -> Rule:
    action = take_action(words)
    draft = Draft(reading, everything=any_of(family))
    while words:
        word = words.next().lower()
        if word in ("source-ip", "destination-ip"):
            at = draft.source if word == "source-ip" else draft.destination
            at.given = True
            draft.take_group(at, Words([words.next("a group")]))
        elif word == "service":
            draft.take_services(Words([words.next("a service")]))
        elif word == "time-range":
            draft.take_schedule(words)
        elif word in ("vrf", "application", "app-group", "user", "user-group", "track"):
            draft.conditions.append(f"{word} {words.next('a value')}")
        elif word == "disable":
            draft.enabled = False
        elif word == "logging":
            draft.logged = True
        elif word not in ("counting", "inspect", "parameter-profile"):
            raise NotUnderstood(f"{word[:40]!r} is not understood in a rule")
        elif word != "counting":
            words.next("a profile")
    return draft.rule(name, action, block)


def read_zone_pair(reading: Reading, block: Block) -> None:
    """`zone-pair security source A destination B` with the policy or filter that is asked there."""
    words = Words(quoted_words(block.text), 1)
    if not (words.accept("security") and words.accept("source")):
        raise NotUnderstood("zone-pair security source is expected")
    source = words.next("a zone")
    if not words.accept("destination"):
        raise NotUnderstood("destination is expected")
    place = f"{source} > {words.next('a zone')}"
    for child in block.children:
        below = Words(quoted_words(child.text))
        word = below.next().lower()
        try:
            if word == "object-policy" and below.accept("apply"):
                family = below.next("ip or ipv6").lower()
                name = f"object-policy {family} {below.next('a name')}"
                binding = Binding(place, "zone-pair", (block.number, child.number))
                reading.object_bindings.setdefault(name, []).append(binding)
            elif word == "packet-filter":
                reading.bind(take_acl(below), place, "zone-pair", "deny", block.number, child.number)
            elif word not in ("aspf", "description"):
                continue
            reading.ledger.understood(child.number)
        except NotUnderstood as reason:
            reading.ledger.unparsed(child.line, str(reason))
