"""pf.conf into the domain model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from policyhub.domain.addresses import AddressSet
from policyhub.domain.device_config import DeviceConfig
from policyhub.domain.nat import NatKind, NatRule
from policyhub.domain.objects import ObjectGroup
from policyhub.domain.rules import Action, Binding, Policy, Rule
from policyhub.vendorkit.blocks import read_lines
from policyhub.vendorkit.ledger import NOT_UNDERSTOOD, LineLedger
from policyhub.vendorkit.lexing import NotUnderstood, Words, score
from policyhub.vendorkit.operands import NameTable, address_table
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
NOTE = "quick rules first, then the others from the last to the first: the same as pf's last match"


@dataclass(slots=True)
class _Reading:
    ledger: LineLedger = field(default_factory=LineLedger)
    macros: Macros = field(default_factory=Macros)
    tables: NameTable[AddressSet] = field(default_factory=address_table)
    groups: list[ObjectGroup] = field(default_factory=list)
    rules: list[tuple[Draft, Statement]] = field(default_factory=list)
    nat_rules: list[NatRule] = field(default_factory=list)


def looks_like(text: str) -> float:
    return score(text[:400_000].replace("\r", ""), SIGNS)


def parse(text: str) -> DeviceConfig:
    """Total: any text gives a model; what is not understood is in `unparsed`."""
    lines = read_lines(text)
    reading = _Reading()
    found = list(statements(reading.ledger.without_long(lines)))
    for statement in found:
        if not reading.macros.define(statement.text):
            statement.tokens = reading.macros.expand(tokens_of(statement.text))
        if statement.tokens[:1] == ["table"]:
            _try(reading, statement, _table)
    for statement in found:
        if not statement.tokens:
            reading.ledger.understood(*statement.numbers)
        elif statement.tokens[0] != "table":
            _try(reading, statement, _statement)
    policies = tuple(_policy(reading, direction) for direction in ("in", "out")) if reading.rules else ()
    return DeviceConfig(
        platform=NAME, hostname="", lines=len(lines), policies=policies, groups=tuple(reading.groups),
        ignored=reading.ledger.ignored_lines, unparsed=reading.ledger.unparsed_lines, nat_rules=tuple(reading.nat_rules),
        special=reading.ledger.special_lines,
    )  # fmt: skip


def _try(reading: _Reading, statement: Statement, read: Callable[[_Reading, Statement], None]) -> None:
    try:
        read(reading, statement)
    except NotUnderstood as error:
        for line in statement.lines:
            reading.ledger.unparsed(line, str(error))
    else:
        reading.ledger.understood(*statement.numbers)


def _table(reading: _Reading, statement: Statement) -> None:
    """`table <t> [persist] [const] [counters] [file "f"] [{ .. }]`. Raises NotUnderstood."""
    words = Words(statement.tokens, 1)
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


def _statement(reading: _Reading, statement: Statement) -> None:
    """Raises NotUnderstood."""
    first = statement.tokens[0]
    second = statement.tokens[1] if len(statement.tokens) > 1 else ""
    if first in NO_RULES:
        return
    if first not in ACTIONS and first not in KINDS and not (first == "no" and second in KINDS):
        raise NotUnderstood("rules elsewhere" if first in ("anchor", "antispoof", "load") else NOT_UNDERSTOOD)
    draft = read_rule(statement.tokens, reading.tables)
    draft.match("in")  # what it cannot be is said before it counts as a rule
    if draft.translated is not None:
        reading.nat_rules.append(_nat(draft, statement, len(reading.nat_rules) + 1))
    if first in ACTIONS:
        reading.rules.append((draft, statement))


def _nat(draft: Draft, statement: Statement, number: int) -> NatRule:
    kind, address, port = draft.translated or ("", "", "")
    is_source = kind != "rdr"
    return NatRule(
        f"{kind} {number}", KINDS[kind] if address else NatKind.EXEMPT, draft.match("in" if kind == "rdr" else "out"),
        statement.numbers, translated_source=address if is_source else "", translated_destination="" if is_source else address,
        translated_service=port, rule_set=kind, comment=draft.label,
    )  # fmt: skip


def _policy(reading: _Reading, direction: str) -> Policy:
    quick: list[Rule] = []
    others: list[Rule] = []
    for number, (draft, statement) in enumerate(reading.rules, 1):
        if draft.direction not in ("", direction):
            continue
        rule = Rule(
            f"rule {number}", ACTIONS[draft.verb], draft.match(direction), statement.numbers, statement.text[:400],
            logged=draft.is_logged, comment=draft.label, references=tuple(dict.fromkeys(draft.references)),
        )  # fmt: skip
        (quick if draft.is_quick else others).append(rule)
    return Policy(direction, (*quick, *reversed(others)), Action.PERMIT, bindings=(Binding("", direction),), notes=(NOTE,))
