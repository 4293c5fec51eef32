"""From answers to what they hold: rulebases joined over their pages, objects, layers, packages."""

from __future__ import annotations

from typing import Any

from policyhub.vendors.checkpoint_gaia.answers import Answer, Item
from policyhub.vendors.checkpoint_gaia.objects import register
from policyhub.vendors.checkpoint_gaia.reading import Layer, Reading

HIDDEN = "a place-holder: the account that asked may not read this rule"
SECTIONS = ("access-section", "nat-section")
RULES = ("access-rule", "nat-rule")


def collect(reading: Reading, answer: Answer) -> None:
    """Books the answer's lines; one that holds nothing known stays unparsed."""
    found = False
    stack: list[Any] = [answer.value]
    while stack:
        value = stack.pop()
        if isinstance(value, list):
            stack.extend(reversed(value))
        elif isinstance(value, Item):
            known = _take(reading, value)
            found = found or known
            if not known:
                stack.extend(entry for entry in reversed(list(value.values())) if isinstance(entry, Item | list))
    if found:
        reading.ledger.understood(*answer.lines)
    else:
        reading.leave(answer.lines[0], answer.lines[-1], "an answer without rules or objects")


def _take(reading: Reading, item: Item) -> bool:
    """Whether it is an answer, or an object, that is known."""
    for entry in item.items_of("objects-dictionary"):
        register(reading, entry)
    if isinstance(item.get("rulebase"), list):
        _take_rulebase(reading, item)
        return True
    for key in ("access-layers", "packages", "objects"):
        if isinstance(item.get(key), list) and ("type" not in item or key != "access-layers"):
            for entry in item.items_of(key):
                _take_object(reading, entry)
            return True
    if item.text("uid") and item.text("type"):
        _take_object(reading, item)
        return True
    return "objects-dictionary" in item


def _take_object(reading: Reading, item: Item) -> None:
    kind = item.text("type")
    if kind == "access-layer":
        reading.cleanup[item.text("name")] = item.text("implicit-cleanup-action")
        reading.layer_names[item.text("uid")] = item.text("name")
    elif kind == "package":
        for layer in item.list_of("access-layers"):
            name = layer.text("name") if isinstance(layer, Item) else reading.layer_names.get(str(layer), str(layer))
            layers = reading.packages.setdefault(item.text("name"), [])
            if name not in layers:
                layers.append(name)
    register(reading, item)
    _take_inside(reading, item)


def _take_inside(reading: Reading, item: Item) -> None:
    """Members that are written out (details-level full)."""
    stack = [item]
    while stack:
        here = stack.pop()
        inside = [entry for key in ("members", "include", "except") for entry in here.items_of(key)]
        for entry in inside:
            register(reading, entry)
        stack.extend(inside)


def _take_rulebase(reading: Reading, item: Item) -> None:
    entries = item.items_of("rulebase")
    if _is_nat(item, entries):
        for section, rule in _flat(reading, entries):
            reading.nat_items.append((section.text("name") if section is not None else "", rule))
        return
    name = item.text("name") or reading.layer_names.get(item.text("uid"), "") or f"uid {item.text('uid')}"
    layer = reading.layers.setdefault(item.text("uid") or name, Layer(name))
    if item.text("uid"):
        reading.layer_names.setdefault(item.text("uid"), name)
    layer.lines.append(item.first)
    seen = {rule.text("uid") for _, rule in layer.rules}
    for section, rule in _flat(reading, entries):
        if rule.text("uid") in seen and rule.text("uid"):
            continue  # the same page twice
        layer.rules.append((section.text("name") if section is not None else "", rule))


def _is_nat(item: Item, entries: list[Item]) -> bool:
    kinds = [entry.text("type") for entry in entries]
    return any(kind.startswith("nat-") for kind in kinds) or (not kinds and not item.text("name"))


def _flat(reading: Reading, entries: list[Item]) -> list[tuple[Item | None, Item]]:
    """Rules with their sections, in order."""
    found: list[tuple[Item | None, Item]] = []
    for entry in entries:
        inside = [(entry, rule) for rule in entry.items_of("rulebase")] if entry.text("type") in SECTIONS else [(None, entry)]
        for section, rule in inside:
            if rule.text("type") in RULES:
                found.append((section, rule))
                for key in rule:
                    for written in rule.items_of(key):
                        if written.text("uid") and written.text("type"):
                            register(reading, written)
            else:
                reason = HIDDEN if rule.text("type") == "place-holder" else f"{rule.text('type')[:40]!r} is not a kind of rule"
                reading.leave(rule.first, rule.last, reason)
    return found
