"""`vlan access-map NAME [SEQ]` and `vlan filter NAME vlan-list LIST`: a filter of whole VLANs."""

from __future__ import annotations

from typing import Protocol

from policyhub.domain.rules import UNDEFINED_UNKNOWN, Action, Binding, Match, Policy, Rule
from policyhub.vendorkit.blocks import Block
from policyhub.vendorkit.ios_lines import note_selectors
from policyhub.vendorkit.ledger import LineLedger
from policyhub.vendorkit.lexing import NotUnderstood, Words, is_decimal


class VlanReading(Protocol):
    """vlan_maps: clauses of one map by name; vlan_filters: (map, vlans, line)."""

    ledger: LineLedger
    vlan_maps: dict[str, list[Block]]
    vlan_filters: list[tuple[str, str, int]]

    @property
    def selectors(self) -> set[str]: ...


VERBS = {"forward": Action.PERMIT, "drop": Action.DENY, "redirect": Action.PERMIT}


def read_vlan(reading: VlanReading, block: Block) -> None:
    words = Words(block.words, 1)
    if words.accept("access-map"):
        reading.vlan_maps.setdefault(words.next("a name"), []).append(block)
        note_selectors(reading.selectors, block)
    elif words.accept("filter"):
        name = words.next("a name")
        if not words.accept("vlan-list"):
            raise NotUnderstood("vlan-list is expected")
        reading.vlan_filters.append((name, words.rest(), block.number))
    else:
        raise NotUnderstood("not understood")


def policies(reading: VlanReading, unstated: Action = Action.DENY) -> list[Policy]:
    """unstated: what a clause without an action does."""
    found = []
    for name, clauses in reading.vlan_maps.items():
        notes: list[str] = []
        rules = [_rule(reading, name, clause, notes, unstated) for clause in clauses]
        rules.sort(key=lambda pair: pair[0])
        lines = tuple(number for clause in clauses for number in clause.numbers)
        bindings = tuple(Binding(f"vlan {vlans}", "forward", (line,)) for own, vlans, line in reading.vlan_filters if own == name)
        done = tuple(rule for _, rule in rules)
        title = f"vlan-map {name}"
        found.append(Policy(title, done, Action.DENY, 0, bindings, lines, purpose="vlan-map", notes=tuple(notes)))
    for name in dict.fromkeys(name for name, _, _ in reading.vlan_filters if name not in reading.vlan_maps):
        own = [(vlans, line) for other, vlans, line in reading.vlan_filters if other == name]
        bindings = tuple(Binding(f"vlan {vlans}", "forward", (line,)) for vlans, line in own)
        lines = tuple(line for _, line in own)
        notes_of = (UNDEFINED_UNKNOWN,)
        found.append(Policy(f"vlan-map {name}", (), None, 0, bindings, lines, purpose="vlan-map", notes=notes_of))
    return found


def _rule(reading: VlanReading, name: str, clause: Block, notes: list[str], unstated: Action) -> tuple[int, Rule]:
    words = Words(clause.words, 3)
    sequence = int(words.next()[:9]) if is_decimal(words.peek()) else 10
    action, logged = unstated, False
    conditions: list[str] = []
    references: list[str] = []
    for child in clause.children:
        below = Words(child.words)
        word = below.next().lower()
        if word == "match":
            conditions.append(child.text)
            below.accept("ip", "ipv6", "mac")
            below.accept("address")
            references += below.rest().split()
        elif word == "action" and below.peek().lower() in VERBS:
            action, logged = VERBS[below.next().lower()], "log" in child.words
        elif word == "statistics":
            notes.append(child.text)
        elif word != "exit":
            reading.ledger.unparsed(child.line, "match, action or statistics is expected")
            continue
        reading.ledger.understood(child.number)
    title = f"{name} {sequence}"
    match = Match(conditions=tuple(conditions))
    rule = Rule(title, action, match, clause.numbers, clause.text, True, logged, hit_key=title, references=tuple(references))
    return sequence, rule
