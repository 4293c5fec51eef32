"""Filters of old releases: `policy interzone A B inbound`, `firewall packet-filter default permit interzone A B direction ..`."""

from __future__ import annotations

from policyhub.domain.rules import Action, Binding, Match, Policy, Rule
from policyhub.vendorkit.blocks import Block
from policyhub.vendorkit.lexing import NotUnderstood, Words, is_decimal
from policyhub.vendorkit.vrp_lines import quoted_words
from policyhub.vendors.huawei_usg.reading import Reading, Vsys
from policyhub.vendors.huawei_usg.security import Draft

PRIORITIES = {"local": 100, "trust": 85, "dmz": 50, "untrust": 5}
DEFAULTS = "packet-filter default"
SIDES = {"source": "source-address", "destination": "destination-address"}


def take_zones(vsys: Vsys, words: Words, word: str) -> tuple[str, str]:
    """Source and destination of `A B inbound|outbound`: inbound runs from the lower to the higher priority."""
    first, second = words.next("a zone"), words.next("a zone")
    if word:
        words.accept(word)
    direction = words.next("inbound or outbound").lower() if words else "outbound"
    if direction not in ("inbound", "outbound"):
        raise NotUnderstood(f"{direction[:40]!r} is not inbound or outbound")
    ranks = [vsys.priorities.get(name, PRIORITIES.get(name.lower(), 0)) for name in (first, second)]
    high, low = (first, second) if ranks[0] >= ranks[1] else (second, first)
    return (low, high) if direction == "inbound" else (high, low)


def read_interzone(reading: Reading, vsys: Vsys, block: Block) -> Policy:
    """`policy N` blocks in file order; what none matches is decided by the default packet filter. Raises NotUnderstood."""
    source, destination = take_zones(vsys, Words(quoted_words(block.text), 2), "")
    place = f"{source} > {destination}"
    made: list[Rule] = []
    for child in block.children:
        words = Words(quoted_words(child.text))
        try:
            if not (words.accept("policy") and is_decimal(words.peek())):
                continue
            made.append(_policy(reading, vsys, child, words.next(), (source, destination)))
            reading.ledger.understood(child.number)
        except NotUnderstood as reason:
            reading.ledger.unparsed(child.line, str(reason))
    name = f"{vsys.prefix}interzone {place}"
    binding = (Binding(place, "zone-pair", (block.number,)),)
    return Policy(name, tuple(made), None, 0, binding, (block.number,), context=vsys.name)


def _policy(reading: Reading, vsys: Vsys, block: Block, name: str, zones: tuple[str, str]) -> Rule:
    draft = Draft(vsys)
    draft.zones = {"source-zone": [zones[0]], "destination-zone": [zones[1]]}
    action = Action.CONTINUE
    for child in block.below():
        words = Words(child.words)
        with draft.booking(reading.ledger, child):
            if words.accept("action") and words.peek().lower() in ("permit", "deny"):
                action = Action(words.next().lower())
            else:
                draft.take(_as_new(child))
    return draft.rule(name, action, block)


def _as_new(child: Block) -> Block:
    """`policy source 10.0.0.0 0.0.0.255` as `source-address 10.0.0.0 0.0.0.255`; `policy service ..`, `policy disable` alike."""
    words = child.words
    if words[0].lower() != "policy" or len(words) < 2 or words[1].lower() == "logging":
        return child
    second = words[1].lower()
    text = " ".join([SIDES.get(second, second), *words[2:]])
    return Block(child.line._replace(text=text), child.children)


def read_default(reading: Reading, block: Block) -> None:
    """`firewall packet-filter default permit|deny all|interzone A B [direction D]`. Raises NotUnderstood."""
    words = Words(quoted_words(block.text), 3)
    verb = words.next("permit or deny").lower()
    if verb not in ("permit", "deny"):
        raise NotUnderstood(f"{verb[:40]!r} is not permit or deny")
    pairs: list[tuple[str, str]] = []
    if words.accept("interzone"):
        told = words.words[words.at :]
        both = "direction" not in [word.lower() for word in told]
        pairs.append(take_zones(reading.now, words, "direction"))
        pairs += [(pairs[0][1], pairs[0][0])] if both else []
    elif not words.accept("all"):
        raise NotUnderstood("all or interzone is expected")
    rules = reading.now.default_rules
    for source, destination in pairs:
        match = Match(source_zones=(source,), destination_zones=(destination,))
        rules.append(Rule(f"{source} > {destination}", Action(verb), match, (block.number,), text=block.text))
    if not pairs:
        rules.append(Rule("all", Action(verb), Match(), (block.number,), text=block.text))


def defaults(vsys: Vsys) -> Policy:
    """What is asked last, line by line; the pairs first, `all` after them."""
    ordered = sorted(vsys.default_rules, key=lambda rule: rule.name == "all")
    lines = tuple(line for rule in ordered for line in rule.lines)
    binding = (Binding("", "forward"),)
    return Policy(vsys.prefix + DEFAULTS, tuple(ordered), Action.DENY, 0, binding, lines, context=vsys.name)
