"""`router segment-security`: segments (groups of prefixes) as zones, and the policies between them."""

from __future__ import annotations

from policyhub.domain.objects import Zone
from policyhub.domain.rules import Action, Binding, Match, Policy, Rule
from policyhub.vendorkit.blocks import Block
from policyhub.vendorkit.lexing import NotUnderstood, Words, is_decimal
from policyhub.vendors.arista_eos.reading import Reading

VERBS = {"forward": Action.PERMIT, "drop": Action.DENY, "redirect": Action.PERMIT}


def read_segments(reading: Reading, block: Block) -> None:
    for child in block.children:
        if child.words[0] == "policy" and len(child.words) == 2:
            reading.segment_policies.append(child)
        elif child.words[0] == "vrf":
            _vrf(reading, child)
        elif child.text not in ("shutdown", "no shutdown", "exit"):
            continue
        reading.ledger.understood(child.number)


def _vrf(reading: Reading, block: Block) -> None:
    for child in block.children:
        if child.words[0] != "segment" or len(child.words) != 2:
            continue
        name = child.words[1]
        lines = reading.segments.setdefault(name, [])
        lines.append(child.number)
        reading.ledger.understood(child.number)
        for below in (deeper for top in child.children for deeper in top.walk()):
            words = below.words
            if words[0] == "from" and len(words) == 4 and words[2] == "policy":
                binding = Binding(f"{words[1]} > {name}", "zone pair", (below.number,))
                reading.segment_bindings.setdefault(words[3], []).append(binding)
            elif words[0] in ("definition", "match"):
                lines.append(below.number)
            elif words[0] not in ("policies", "fallback", "exit"):
                continue
            reading.ledger.understood(below.number)


def zones(reading: Reading) -> tuple[Zone, ...]:
    return tuple(Zone(name, (), tuple(lines)) for name, lines in reading.segments.items())


def policies(reading: Reading) -> list[Policy]:
    found = []
    defined = {block.words[1] for block in reading.segment_policies}
    for block in reading.segment_policies:
        name = block.words[1]
        rules = [rule for child in block.children if (rule := _rule(reading, name, child)) is not None]
        bindings = tuple(reading.segment_bindings.get(name, ()))
        found.append(Policy(name, tuple(rules), Action.DENY, 0, bindings, block.numbers, purpose="segment"))
    for name, bound in reading.segment_bindings.items():
        if name not in defined:  # policy-forward-all, policy-drop-all are known to the device
            lines = tuple(line for binding in bound for line in binding.lines)
            default = {"policy-forward-all": Action.PERMIT, "policy-drop-all": Action.DENY}.get(name)
            found.append(Policy(name, (), default, 0, tuple(bound), lines, purpose="segment"))
    return found


def _rule(reading: Reading, policy: str, block: Block) -> Rule | None:
    """`[N] application X action forward|drop [stateless] [log]`."""
    words = Words(block.words)
    try:
        number = words.next() if is_decimal(words.peek()) else "?"
        if not words.accept("application"):
            raise NotUnderstood("application is expected")
        application = words.next("an application")
        if not words.accept("action") or words.peek().lower() not in VERBS:
            raise NotUnderstood("action forward or drop is expected")
        action = VERBS[words.next().lower()]
    except NotUnderstood as reason:
        reading.ledger.unparsed(block.line, str(reason))
        return None
    reading.ledger.understood(block.number)
    conditions = () if application.lower() in ("any", "app-match-all") else (f"application {application}",)
    title = f"{policy} {number}"
    logged = "log" in words.rest().split()
    match = Match(conditions=conditions)
    return Rule(title, action, match, (block.number,), block.text, True, logged, hit_key=title)
