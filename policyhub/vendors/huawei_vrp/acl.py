"""ACLs, basic to user-defined, IPv4 and IPv6, from the configuration and from `display acl`."""

from __future__ import annotations

import re

from policyhub.domain.rules import Action, Binding, Policy
from policyhub.vendorkit.blocks import Block
from policyhub.vendorkit.lexing import NotUnderstood, Words
from policyhub.vendorkit.vrp_acl import AUTO_NOTE, BARE_COUNT, ENTRY, Acl, AclDialect, bound_only, collect, is_number, rules
from policyhub.vendors.huawei_vrp.reading import NAMES, AclKey, Reading

DIALECT = AclDialect(NAMES)
SHOWN = re.compile(
    r"^(?P<kind>Basic|Advanced|Ethernet frame|L2|User|User-defined|UCL) (?P<v6>IPv6 )?ACL(?P<v6b>6)?"
    r" (?:name )?(?P<names>\S+(?: \S+)?), (?P<count>\d+|no) rules?",
    re.IGNORECASE,
)
SHOWN_STEP = re.compile(r"^ACL(?:6)?'s step is (\d{1,6})$", re.IGNORECASE)
QUANTITY = re.compile(r"^Total quantity of nonempty ACL number is \d+$|^Total nonempty ACL number is \d+$", re.IGNORECASE)
KINDS = ((2000, "basic"), (3000, "advanced"), (4000, "layer-2"), (5000, "user"), (6000, "advanced"), (10000, "layer-2"))
KIND_WORDS = {
    "basic": "basic",
    "advance": "advanced",
    "advanced": "advanced",
    "link": "layer-2",
    "user": "user",
    "ucl": "advanced",
}


def kind_of(number: int) -> str:
    """By number; NE and AR reuse higher ranges for other purposes."""
    kind = "advanced"
    for low, name in KINDS:
        if number >= low:
            kind = name
    return kind


def read_acl(reading: Reading, block: Block) -> None:
    """`acl [ipv6] [number N | name X [basic|advance|N]] [match-order auto]`; everything below is taken here."""
    words = Words(block.words, 1)
    if words.accept("ip-pool", "port-pool", "all"):
        raise NotUnderstood("pools of addresses and ports are not modelled")
    family = 6 if words.accept("ipv6") else 4
    named = words.accept("number", "name") == "name"
    name, number, kind, auto = words.next("an ACL"), "", "", False
    named = named or not is_number(name)
    while words:
        word = words.next().lower()
        if is_number(word):
            number = word
        elif word == "name":
            number, name, named = name if is_number(name) else number, words.next("a name"), True
        elif word == "match-order":
            auto = words.next("auto or config").lower() == "auto"
        elif word in KIND_WORDS:
            kind = KIND_WORDS[word]
        elif word not in ("number", "smart", "ucl-group"):
            raise NotUnderstood(f"{word[:40]!r} is not understood here")
    number = number or ("" if named else name)
    kind = kind or (kind_of(int(number)) if number else "advanced")
    acl = _open(reading, reading.configured, family, name, kind, number)
    acl.auto = acl.auto or auto
    acl.lines.append(block.number)
    collect(reading.ledger, acl, block)


def _open(reading: Reading, lists: dict[AclKey, Acl], family: int, name: str, kind: str, number: str) -> Acl:
    key = (family, name)
    if number and number != name:
        reading.aliases[(family, number)] = key
    return lists.setdefault(key, Acl(family, name, kind, number))


def read_shown(reading: Reading, blocks: list[Block]) -> None:
    """`display acl`: a heading, the step, and the rules, indented or not; for all top-level blocks of the text."""
    acl: Acl | None = None
    for block in blocks:
        heading = SHOWN.match(block.text)
        if heading:
            names = heading["names"].split()
            kind = {"basic": "basic", "advanced": "advanced", "ucl": "advanced"}.get(heading["kind"].lower(), "layer-2")
            family = 6 if heading["v6"] or heading["v6b"] else 4
            acl = _open(reading, reading.shown, family, names[0], kind, names[-1] if is_number(names[-1]) else "")
            acl.lines.append(block.number)
            reading.ledger.understood(block.number)
        elif acl is not None and SHOWN_STEP.match(block.text):
            step = SHOWN_STEP.match(block.text)
            acl.step = max(1, int(step[1])) if step else acl.step
            acl.lines.append(block.number)
            reading.ledger.understood(block.number)
        elif QUANTITY.match(block.text):
            reading.ledger.understood(block.number)
            continue
        elif acl is not None and (ENTRY.match(block.text) or BARE_COUNT.match(block.text)):
            collect(reading.ledger, acl, Block(block.line, [block]))
            continue
        else:
            acl = None
            continue
        collect(reading.ledger, acl, block)


def policies(reading: Reading) -> list[Policy]:
    """Configured lists, lists only seen in a display output, and names that are bound but not defined."""
    lists = dict(reading.configured)
    for key, shown in reading.shown.items():
        known = reading.resolve(key)
        if known in lists:
            reading.ledger.understood(*shown.lines)
        else:
            lists[key] = shown
    bound: dict[AclKey, list[tuple[Binding, str]]] = {}
    for at, pairs in reading.bindings.items():
        bound.setdefault(reading.resolve(at), []).extend(pairs)
    uses: dict[AclKey, list[str]] = {}
    for at, use in reading.selectors.items():
        uses.setdefault(reading.resolve(at), []).append(use)
    found = [_policy(reading, acl, bound.get(key, []), uses.get(key, [])) for key, acl in lists.items()]
    return [*found, *bound_only({key: pairs for key, pairs in bound.items() if key not in lists})]


def _policy(reading: Reading, acl: Acl, bound: list[tuple[Binding, str]], use: list[str]) -> Policy:
    """`use`: for what else the list picks packets."""
    ends = {end for _, end in bound}
    default = Action.DENY if ends == {"deny"} else Action.PERMIT if ends == {"permit"} else None
    notes = [AUTO_NOTE] if acl.auto else []
    if len(ends) > 1:
        notes.append("bound in places that treat packets without a match differently")
    notes += dict.fromkeys(use)
    purpose = {"layer-2": "mac", "user": "user"}.get(acl.kind, "match" if use and not bound else "filter")
    family = 0 if acl.kind in ("layer-2", "user") else acl.family
    bindings = tuple(binding for binding, _ in bound)
    return Policy(
        acl.name,
        rules(reading.ledger, DIALECT, acl, family),
        default,
        family,
        bindings,
        tuple(acl.lines),
        True,
        purpose,
        tuple(notes),
    )
