"""Microsegmentation of CloudEngine: groups of endpoints, what may pass between two of them, in a policy of pairs."""

from __future__ import annotations

from collections.abc import Iterator

from policyhub.domain.rules import Action, Binding, Match, Policy, Rule
from policyhub.vendorkit.blocks import Block
from policyhub.vendorkit.lexing import NotUnderstood, Words
from policyhub.vendors.huawei_vrp.reading import Reading

ACTIONS = ("permit", "deny", "statistic", "statistics")


def read_segment(reading: Reading, block: Block) -> None:
    """`segment classifier|behavior|policy NAME`. Raises NotUnderstood."""
    words = Words(block.words, 1)
    kind = words.accept("classifier", "behavior", "policy")
    if not kind:
        raise NotUnderstood("classifier, behavior or policy is expected")
    reading.segments[(kind, words.next("a name"))] = block
    for child in block.children:
        words = Words(child.words)
        first = words.next().lower()
        is_whole = len(child.words) > (2 if first == "rule" else 1) or first in ACTIONS
        if is_whole and first in ("rule", "classifier", *ACTIONS):
            reading.ledger.understood(child.number)


def read_segment_policy(reading: Reading, block: Block) -> None:
    """`segment-policy NAME`: in force on the whole device."""
    reading.segment_policies.append((Words(block.words, 1).next("a policy"), block.number))


def read_traffic_segment(reading: Reading, block: Block) -> None:
    """`traffic-segment enable|same-segment ..|segment-id N ..`: groups, and what members of one group may do."""
    reading.segment_notes.append(" ".join(block.words))


def policies(reading: Reading) -> Iterator[Policy]:
    """One per segment policy; a rule per pair, as conditions, for membership of a group is no set of addresses here."""
    for (kind, name), block in reading.segments.items():
        if kind != "policy":
            continue
        rules = tuple(rule for child in block.children for rule in _rules(reading, child))
        bindings = tuple(Binding("", "forward", (line,)) for used, line in reading.segment_policies if used == name)
        yield Policy(f"segment {name}", rules, None, 0, bindings, block.numbers, notes=tuple(reading.segment_notes))


def _rules(reading: Reading, child: Block) -> Iterator[Rule]:
    words = Words(child.words)
    if not words.accept("classifier") or not words:
        return
    classifier = words.next("a classifier")
    behavior = words.next() if words.accept("behavior") and words else ""
    denies = [below for below in _below(reading, "behavior", behavior) if below.words[0].lower() == "deny"]
    for entry in _below(reading, "classifier", classifier):
        parts = Words(entry.words, 1)
        number, verb = parts.next("a number") if parts else "", parts.accept("permit", "deny")
        if not verb:
            continue
        refused = verb == "deny" or bool(denies)
        lines = (entry.number, child.number)
        match = Match(conditions=(parts.rest(),))
        action = Action.DENY if refused else Action.PERMIT
        yield Rule(f"segment {classifier} {number}", action, match, lines, entry.text, references=(classifier, behavior))


def _below(reading: Reading, kind: str, name: str) -> tuple[Block, ...]:
    block = reading.segments.get((kind, name))
    return tuple(block.children) if block is not None else ()
