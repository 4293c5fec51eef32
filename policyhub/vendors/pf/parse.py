"""pf.conf into the domain model."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field

from policyhub.domain.addresses import AddressSet
from policyhub.domain.device_config import DeviceConfig
from policyhub.domain.nat import NatKind, NatRule
from policyhub.domain.objects import ObjectGroup
from policyhub.domain.rules import Action, Binding, Policy, Rule
from policyhub.vendorkit.blocks import Lines, read_lines
from policyhub.vendorkit.ledger import NOT_UNDERSTOOD, LineLedger
from policyhub.vendorkit.lexing import NotUnderstood, Words, score
from policyhub.vendorkit.operands import NameTable, address_table
from policyhub.vendorkit.sharing import drained
from policyhub.vendors.pf.lexer import Macros, Statement, statements, tokens_of
from policyhub.vendors.pf.operands import members, short_address
from policyhub.vendors.pf.rules import ACTIONS, Draft, read_rule

NAME = "pf"
SIGNS = (
    (r"^(pass|block)( +(return|drop|in|out|quick|log|all))* +(on|inet6?|proto|from|all)\b", 0.7),
    (r"^(pass|block)( +(in|out))?( +log)? +(quick|all|on)\b", 0.4),
    (r"^table <[\w.-]+>( \w+)* *(\{|$|file)", 0.5),
    (r"^(no )?(nat|rdr|binat)( pass| log)? +on +\S+.* -> ", 0.6),
    (r"^(match|scrub|antispoof)( in| out| quick| log)* (all|on|for)\b", 0.4),
    (r"^set (skip on|block-policy|limit|timeout|optimization|loginterface|state-policy)\b", 0.4),
)
KINDS = {"nat": NatKind.SOURCE, "rdr": NatKind.DESTINATION, "binat": NatKind.STATIC}
NO_RULES = ("set", "scrub")
DIRECTIONS = ("in", "out")
NOTE = "quick rules first, then the others from the last to the first: the same as pf's last match"


@dataclass(slots=True)
class _Reading:
    """rules: by direction, and whether they are quick."""

    lines: Lines
    ledger: LineLedger = field(default_factory=LineLedger)
    macros: Macros = field(default_factory=Macros)
    tables: NameTable[AddressSet] = field(default_factory=address_table)
    groups: list[ObjectGroup] = field(default_factory=list)
    rules: defaultdict[tuple[str, bool], list[Rule]] = field(default_factory=lambda: defaultdict(list))
    rule_count: int = 0
    nat_rules: list[NatRule] = field(default_factory=list)


Reader = Callable[[_Reading, Statement, list[str]], None]


def looks_like(text: str) -> float:
    return score(text[:400_000].replace("\r", ""), SIGNS)


def parse(text: str) -> DeviceConfig:
    """Total: any text gives a model; what is not understood is in `unparsed`."""
    lines = read_lines(text)
    reading = _Reading(lines)
    found = [statement for statement in statements(reading.ledger.without_long(lines)) if not _is_table(reading, statement)]
    for statement in drained(found):  # what has become a rule is forgotten at once: rulesets are long
        tokens = statement.tokens()
        if tokens:
            _try(reading, statement, tokens, _statement)
        else:
            reading.ledger.understood(*statement.numbers)
    policies = tuple(_policy(reading, direction) for direction in DIRECTIONS) if reading.rule_count else ()
    return DeviceConfig(
        platform=NAME, hostname="", lines=len(lines), policies=policies, groups=tuple(reading.groups),
        ignored=reading.ledger.ignored_lines, unparsed=reading.ledger.unparsed_lines, nat_rules=tuple(reading.nat_rules),
        special=reading.ledger.special_lines,
    )  # fmt: skip


def _is_table(reading: _Reading, statement: Statement) -> bool:
    """Macros and tables are read first: rules name tables that stand below them, and macros as they are above."""
    statement.is_macro = reading.macros.define(statement.text)
    if "$" in statement.text and not statement.is_macro:
        statement.expanded = reading.macros.expand(tokens_of(statement.text))
    tokens = statement.tokens() if statement.expanded or statement.text.startswith(("table", '"')) else []
    if tokens[:1] != ["table"]:
        return False
    _try(reading, statement, tokens, _table)
    return True


def _try(reading: _Reading, statement: Statement, tokens: list[str], read: Reader) -> None:
    try:
        read(reading, statement, tokens)
    except NotUnderstood as error:
        for number in statement.numbers:
            reading.ledger.unparsed(reading.lines.at(number), str(error))
    else:
        reading.ledger.understood(*statement.numbers)


def _table(reading: _Reading, statement: Statement, tokens: list[str]) -> None:
    """`table <t> [persist] [const] [counters] [file "f"] [{ .. }]`. Raises NotUnderstood."""
    words = Words(tokens, 1)
    name = words.next("a table")
    if not name.startswith("<") or len(name) < 3:
        raise NotUnderstood("a table has no name")
    name = name[1:-1]
    reading.tables.define(name)
    texts: list[str] = []
    excluded: list[AddressSet] = []
    known: list[AddressSet] = []
    while words:
        word = words.peek()
        if word == "{":
            for at in members(words):
                is_negated = bool(at.accept("!"))
                text = at.next("an address")
                texts.append(f"!{text}" if is_negated else text)
                found = short_address(text)
                if found is None:
                    reading.tables.leave_open(name, text)
                else:
                    (excluded if is_negated else known).append(found)
        elif words.accept("file"):
            texts.append(f"file {words.next('a file')}")
            reading.tables.leave_open(name, f"<{name}>")
        elif not words.accept("persist", "const", "counters"):
            raise NotUnderstood(f"{word[:40]!r} is not understood here")
    reading.tables.add(name, AddressSet().union(*known).minus(AddressSet().union(*excluded)))
    reading.groups.append(ObjectGroup(name, "network", tuple(texts), statement.numbers))


def _statement(reading: _Reading, statement: Statement, tokens: list[str]) -> None:
    """Raises NotUnderstood."""
    first = tokens[0]
    second = tokens[1] if len(tokens) > 1 else ""
    if first in NO_RULES:
        return
    if first not in ACTIONS and first not in KINDS and not (first == "no" and second in KINDS):
        raise NotUnderstood("rules elsewhere" if first in ("anchor", "antispoof", "load") else NOT_UNDERSTOOD)
    draft = read_rule(tokens, reading.tables)
    matches = {direction: draft.match(direction) for direction in DIRECTIONS if draft.direction in ("", direction)}
    if draft.translated is not None:
        reading.nat_rules.append(_nat(draft, statement, len(reading.nat_rules) + 1))
    if first in ACTIONS:
        reading.rule_count += 1
        for direction, match in matches.items():
            rule = Rule(
                f"rule {reading.rule_count}", ACTIONS[draft.verb], match, statement.numbers, statement.text[:400],
                logged=draft.is_logged, comment=draft.label, references=tuple(dict.fromkeys(draft.references)),
            )  # fmt: skip
            reading.rules[direction, draft.is_quick].append(rule)


def _nat(draft: Draft, statement: Statement, number: int) -> NatRule:
    kind, address, port = draft.translated or ("", "", "")
    is_source = kind != "rdr"
    return NatRule(
        f"{kind} {number}", KINDS[kind] if address else NatKind.EXEMPT, draft.match("in" if kind == "rdr" else "out"),
        statement.numbers, translated_source=address if is_source else "", translated_destination="" if is_source else address,
        translated_service=port, rule_set=kind, comment=draft.label,
    )  # fmt: skip


def _policy(reading: _Reading, direction: str) -> Policy:
    rules = (*reading.rules[direction, True], *reversed(reading.rules[direction, False]))
    return Policy(direction, rules, Action.PERMIT, bindings=(Binding("", direction),), notes=(NOTE,))
