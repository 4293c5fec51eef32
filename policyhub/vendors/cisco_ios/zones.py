"""Zone-based firewall: `zone security`, `zone-pair security`, policy maps of type inspect."""

from __future__ import annotations

from policyhub.domain.objects import Zone
from policyhub.domain.rules import UNDEFINED_UNKNOWN, Action, Binding, Match, Policy, Rule
from policyhub.vendorkit.blocks import Block
from policyhub.vendorkit.lexing import NotUnderstood, Words
from policyhub.vendors.cisco_ios.reading import Reading

VERBS = {"inspect": Action.PERMIT, "pass": Action.PERMIT, "drop": Action.DENY}


def read_zone(reading: Reading, block: Block) -> None:
    words = Words(block.words, 1)
    if not words.accept("security"):
        raise NotUnderstood("not understood")
    name = words.next("a zone")
    reading.zone_members.setdefault(name, [])
    reading.zone_lines.setdefault(name, []).append(block.number)


def read_zone_pair(reading: Reading, block: Block) -> None:
    """`zone-pair security X source A destination B` with `service-policy type inspect P`."""
    words = block.words
    if len(words) < 7 or words[1].lower() != "security" or words[3].lower() != "source" or words[5].lower() != "destination":
        raise NotUnderstood("zone-pair needs security NAME source ZONE destination ZONE")
    reading.zone_pairs.append(block)


def zones(reading: Reading) -> tuple[Zone, ...]:
    return tuple(
        Zone(name, tuple(dict.fromkeys(members)), tuple(reading.zone_lines[name]))
        for name, members in reading.zone_members.items()
    )


def policies(reading: Reading) -> list[Policy]:
    """One policy per policy map of type inspect; what a class inspects stays a condition (it may look into payloads)."""
    bound = _bindings(reading)
    conditions = {name: _conditions(reading, block) for name, block in reading.inspect_classes.items()}
    found: list[Policy] = []
    for name, block in reading.inspect_policies.items():
        if len(block.words) > 4:  # type inspect http NAME: deep inspection below a class
            for child in block.below():
                reading.ledger.ignore(child.line, "deep inspection is not modelled")
            continue
        rules = tuple(rule for child in block.children if (rule := _rule(reading, name, child, conditions)) is not None)
        found.append(Policy(name, rules, Action.DENY, 0, tuple(bound.get(name, ())), block.numbers, purpose="zone-pair"))
    for name, bindings in bound.items():
        if name not in reading.inspect_policies:
            lines = tuple(line for binding in bindings for line in binding.lines)
            notes = (UNDEFINED_UNKNOWN,)
            found.append(Policy(name, (), Action.DENY, 0, tuple(bindings), lines, purpose="zone-pair", notes=notes))
    return found


def _bindings(reading: Reading) -> dict[str, list[Binding]]:
    bound: dict[str, list[Binding]] = {}
    for block in reading.zone_pairs:
        words = block.words
        for child in block.children:
            below = Words(child.words)
            if below.accept("service-policy") and below.accept("type") and below.accept("inspect") and below:
                binding = Binding(f"{words[4]} > {words[6]}", "zone pair", (block.number, child.number))
                bound.setdefault(below.next(), []).append(binding)
                reading.ledger.understood(child.number)
            elif child.words[0] == "description":
                reading.ledger.understood(child.number)
    return bound


def _conditions(reading: Reading, block: Block) -> tuple[str, ...]:
    found: list[str] = []
    for child in block.below():
        if child.words[0].lower() in ("match", "description"):
            reading.ledger.understood(child.number)
            if child.words[0].lower() == "match":
                found.append(child.text)
    if len(found) > 1 and "match-any" in block.words:
        return (f"any of: {'; '.join(found)}",)
    return tuple(found)


def _rule(reading: Reading, name: str, block: Block, conditions: dict[str, tuple[str, ...]]) -> Rule | None:
    words = Words(block.words)
    if words.accept("description"):
        reading.ledger.understood(block.number)
        return None
    if not words.accept("class"):
        reading.ledger.unparsed(block.line, "class is expected")
        return None
    if words.accept("type"):
        words.accept("inspect")
    class_name = words.rest()
    reading.ledger.understood(block.number)
    action, logged, limits = Action.DENY, False, []
    for child in block.children:
        verb = child.words[0].lower()
        if verb in VERBS:
            action, logged = VERBS[verb], "log" in child.words
            reading.ledger.understood(child.number)
        elif verb == "police":
            limits.append(child.text)
            reading.ledger.understood(child.number)
    wanted = () if class_name == "class-default" else conditions.get(class_name, (f"class-map {class_name} is not defined",))
    title = f"{name} class {class_name}"
    return Rule(title, action, Match(conditions=(*wanted, *limits)), block.numbers, block.text, logged=logged, hit_key=title)
