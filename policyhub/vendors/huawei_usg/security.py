"""`security-policy`: rules, groups, the default action; the matching lines that NAT rules share."""

from __future__ import annotations

from dataclasses import dataclass, replace
from sys import intern

from policyhub.domain.rules import Action, Binding, Policy, Rule
from policyhub.vendorkit.blocks import Block
from policyhub.vendorkit.lexing import NotUnderstood, TooScattered, Words
from policyhub.vendorkit.vrp_draft import RuleDraft
from policyhub.vendorkit.vrp_lines import name_behind, quoted_words
from policyhub.vendors.huawei_usg.operands import resolve_service, take_address, take_service
from policyhub.vendors.huawei_usg.reading import Reading, Vsys

NAME = "security-policy"
CONDITIONS = (
    "application", "user", "source-user", "destination-user", "url-category", "vlan-id", "device-classification",
    "access-authentication", "ingress-interface", "egress-interface", "device-group", "ttl", "packet-length", "tos",
    "security-group", "url", "terminal",
)  # fmt: skip
LOGGING = ("policy", "session", "traffic")
WITHOUT_MEANING = ("profile", "long-link", "counting", "tag", "audit", "track", "ip-car", "undo", "nat-type")
ADDRESS_SIDES = ("source-address", "destination-address", "source-address-exclude", "destination-address-exclude")


@dataclass(slots=True)
class Draft(RuleDraft):
    """A rule while its lines are read. `lines` behind the header that are understood are booked by the caller."""

    vsys: Vsys

    def take(self, child: Block) -> bool:
        """Whether the line is one of those that every kind of rule has. Raises NotUnderstood."""
        words = Words(quoted_words(child.text))
        word = words.next().lower()
        if word in self.zones:
            while words:
                name = words.next()
                if name.lower() != "any":
                    self.zones[word].append(intern(name))
        elif word in ADDRESS_SIDES:
            self._address(word, words, child.text)
        elif word == "service":
            self._service(words)
        elif word in CONDITIONS:
            if words.peek().lower() != "any":
                self.conditions.append(" ".join(child.words))
        elif word in ("time-range", "schedule"):
            self.take_schedule(words)
        elif word == "description":
            self.comment = child.text.partition(" ")[2].strip()
        elif word == "disable":
            self.enabled = False
        elif word == "parent-group":
            self.group = words.next("a group")
        elif word in LOGGING and words.peek().lower() in ("logging", "aging-time", "log"):
            self.logged = self.logged or words.peek().lower() != "aging-time"
        else:
            return word in WITHOUT_MEANING or word == "enable"
        return True

    def _address(self, word: str, words: Words, text: str) -> None:
        side = self.source if word.startswith("source") else self.destination
        excludes = word.endswith("exclude") or words.accept("exclude") != ""
        try:
            operand = take_address(words)
        except TooScattered:  # an upper bound that covers nothing: everything, and the words as a condition
            self.conditions.append(text)
            side.unresolved = side.unresolved if excludes else [*side.unresolved, text]
            return
        self.references += operand.references
        values = [] if operand.value is None else [operand.value]
        unresolved = list(operand.open)
        for name in operand.names:
            known = self.vsys.addresses.resolve(name)
            unresolved += known.unresolved
            values.append(known.value)
        if excludes and not unresolved:
            side.excluded += values
        elif excludes:  # not all of it is known: the rule covers less than the bound says
            self.conditions.append(" ".join(text.split()))
        else:
            side.given = True
            side.values += values
            side.unresolved += unresolved

    def _service(self, words: Words) -> None:
        values, names = take_service(words)
        if values:
            self.services.append(values)
        for name in names:
            known = resolve_service(self.vsys, name)
            self.service_unresolved += known.unresolved
            self.services.append(known.value)
            if name in self.vsys.own_services or known.unresolved:
                self.references.append(name)


def rule_name(block: Block) -> str:
    """`rule name "policy 11"`. Raises NotUnderstood."""
    if [word.lower() for word in block.words[:2]] != ["rule", "name"] or len(block.words) < 3:
        raise NotUnderstood("rule name is expected")
    return name_behind(block.text, block.text[: block.text.lower().index("name") + 4])


def read_policy(reading: Reading, vsys: Vsys, blocks: list[Block]) -> Policy:
    """All `security-policy` blocks of one virtual system: the device has one list."""
    rules: list[tuple[str, Rule]] = []
    disabled: set[str] = set()
    groups: dict[str, int] = {}
    default = Action.DENY
    lines: list[int] = []
    for block in blocks:
        lines.append(block.number)
        reading.ledger.understood(block.number)
        for child in block.children:
            words = Words(quoted_words(child.text))
            word = words.next().lower()
            try:
                if word == "default" and words.accept("action"):
                    default = _action(words)
                    lines.append(child.number)
                elif word == "default" and words.peek().lower() in ("policy", "session", "traffic"):
                    pass
                elif word == "group":
                    _group(reading, child, words, disabled, groups)
                elif word == "rule":
                    rules.append(_rule(reading, vsys, child))
                else:
                    continue
                reading.ledger.understood(child.number)
            except NotUnderstood as reason:
                reading.ledger.unparsed(child.line, str(reason))
    for group, _ in rules:
        if group:
            groups[group] = groups.get(group, 0) + 1
    notes = tuple(f"group {g}{' (disabled)' if g in disabled else ''}: {n} rules" for g, n in groups.items())
    made = tuple(replace(rule, enabled=False) if group in disabled else rule for group, rule in rules)
    binding = (Binding("", "forward", tuple(block.number for block in blocks)),)
    return Policy(vsys.prefix + NAME, made, default, 0, binding, tuple(lines), notes=notes, context=vsys.name)


def _action(words: Words) -> Action:
    word = words.next("permit or deny").lower()
    if word not in ("permit", "deny"):
        raise NotUnderstood(f"{word[:40]!r} is not permit or deny")
    return Action(word)


def _group(reading: Reading, block: Block, words: Words, disabled: set[str], groups: dict[str, int]) -> None:
    """`group name G [from R to R] [disable]`, with description and state below."""
    words.accept("name")
    name = words.next("a group")
    groups.setdefault(name, 0)
    if "disable" in words.rest().lower().split():
        disabled.add(name)
    for child in block.below():
        word = child.words[0].lower()
        if word not in ("description", "disable", "enable", "tag"):
            continue
        if word == "disable":
            disabled.add(name)
        reading.ledger.understood(child.number)


def _rule(reading: Reading, vsys: Vsys, block: Block) -> tuple[str, Rule]:
    """The rule and the group it belongs to."""
    name = rule_name(block)
    draft = Draft(vsys)
    action = Action.CONTINUE
    for child in block.below():
        with draft.booking(reading.ledger, child):
            words = Words(child.words)
            if words.accept("action"):
                action = _action(words)
            elif not draft.take(child):
                raise NotUnderstood(f"{child.words[0][:40]!r} is not understood in a rule")
    return draft.group, draft.rule(name, action, block)
