"""One rule: its matches in order, what it does, and the rules that a verdict map stands for."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from policyhub.domain.qos import Marker, Policer
from policyhub.domain.rules import Action
from policyhub.vendorkit.lexing import NotUnderstood, is_decimal
from policyhub.vendors.linux_nftables.cursor import OPERATORS, Cursor, Operand, condition, operand, selector
from policyhub.vendors.linux_nftables.facts import FIELDS, Facts, Inexact, apply, dscp_of, implied, start
from policyhub.vendors.linux_nftables.lexer import Group, Node, Token, text_of
from policyhub.vendors.linux_nftables.reading import NoElement, RuleText, Table, flat_elements, is_note

RATE = re.compile(r"^(\d{1,15})/(second|minute|hour|day|week)$")
UNIT_RATE = re.compile(r"^([kmg]?)bytes/(second|minute|hour|day|week)$")
UNIT_SIZE = re.compile(r"^([kmg]?)bytes$")
SCALE = {"": 1, "k": 1024, "m": 1024**2, "g": 1024**3}
SECONDS = {"second": 1, "minute": 60, "hour": 3600, "day": 86400, "week": 604800}
NAT_WORDS = ("snat", "dnat", "masquerade", "redirect", "tproxy")
LOG_OPTIONS = ("prefix", "level", "group", "snaplen", "queue-threshold", "flags")


@dataclass(slots=True)
class Branch:
    """One element of a verdict map: what of the map's key it takes, and its verdict."""

    key: list[Node]
    verdict: list[Node]


RETURN = "return"  # a keyword, so no chain bears this name
NAMED = re.compile(r"(?<!\S)@(?!(?:ll|nh|th|ih),)[^\s,]+")
MAPPED_TO = re.compile(r"(?<= to )(?P<keys>(?:ip|ip6|tcp|udp|sctp|dccp|th|meta|ct) [a-z0-9 .]+?) map (?P<map>@\S+|\{.*\})")


@dataclass(slots=True)
class Analysed:
    """problem: why the rest of the rule was not understood, "" when all was. canonical: the text without numbers of counters."""

    facts: list[Facts] = field(default_factory=list)
    problem: str = ""
    text: str = ""
    canonical: str = ""
    is_nat: bool = False


@dataclass(slots=True)
class _State:
    facts: Facts
    cursor: Cursor
    is_nat: bool = False
    done: list[Facts] = field(default_factory=list)
    skip: list[tuple[int, int]] = field(default_factory=list)


def analyse(table: Table, rule: RuleText) -> Analysed:
    """Total: what is not understood is the rule's last condition, and `problem` says so."""
    nodes = rule.nodes
    state = _State(start(table), Cursor(nodes))
    problem, at = "", 0
    try:
        while state.cursor:
            at = state.cursor.at
            _step(state)
    except NotUnderstood as reason:
        problem = str(reason)
        state.facts.conditions.append(text_of(nodes[at : at + 200])[:200])
        _last_verdict(state.facts, nodes)
    canonical = rule.text
    if state.skip:
        canonical = text_of([node for at, node in enumerate(nodes) if not any(low <= at < high for low, high in state.skip)])
    return Analysed(state.done or [state.facts], problem, rule.text, canonical, state.is_nat)


def _last_verdict(facts: Facts, nodes: list[Node]) -> None:
    """A rule that is understood in part still accepts or drops something."""
    words = [node.text for node in nodes if isinstance(node, Token) and node.kind == "word"]
    facts.action = {"accept": Action.PERMIT, "drop": Action.DENY, "reject": Action.DENY}.get(
        words[-1] if words else "", Action.CONTINUE
    )


def _step(state: _State) -> None:
    """One match or statement."""
    cursor = state.cursor
    word = cursor.word()
    handler = STATEMENTS.get(word)
    if handler is not None:
        cursor.at += 1
        handler(state)
        return
    if word.startswith("@") and word not in ("@ll", "@nh", "@th", "@ih"):
        raise NotUnderstood(f"{word[:40]!r} is not understood here")
    _match(state)


def _match(state: _State) -> None:
    cursor = state.cursor
    begin = cursor.at
    name = selector(cursor)
    parts = [name]
    while cursor.accept("."):
        parts.append(selector(cursor))
    plain = len(parts) == 1
    if plain and cursor.accept("set"):
        _rewrite(state, name)
        return
    if cursor.accept("vmap"):
        _branches(state, " . ".join(parts), parts)
        return
    behind = cursor.at
    try:
        if not plain:
            raise NotUnderstood("a concatenation")
        operator = OPERATORS.get(cursor.word(), "==")
        cursor.accept(*OPERATORS)
        right = operand(cursor)
    except NoElement:
        raise
    except NotUnderstood:
        cursor.at = behind
        condition(cursor)
        if state.facts.counter is not None or state.facts.counter_name:
            state.facts.narrowed_after_counter = True
        for part in parts:
            implied(state.facts, part)
        text = cursor.text(begin)
        state.facts.conditions.append(text)
        state.facts.references += NAMED.findall(text)
        return
    apply(state.facts, name, operator, right)


def _value(state: _State, begin: int) -> None:
    """What is written: a value, or `KEYS map @m`, where only packets with those headers have a value."""
    cursor, asked = state.cursor, []
    try:
        asked.append(selector(cursor))
        while cursor.accept("."):
            asked.append(selector(cursor))
    except NotUnderstood:
        asked.clear()
    if cursor.word() != "map":
        cursor.at = begin
        asked.clear()
        condition(cursor)
    if cursor.accept("map"):
        condition(cursor)
        state.facts.references += NAMED.findall(cursor.text(begin))
    for header in asked:
        implied(state.facts, header)


def _rewrite(state: _State, name: str) -> None:
    """`ip dscp set cs1`, `meta priority set 1:10`, `meta mark set ..`: marks of the model are kept, the rest only passes."""
    cursor, facts = state.cursor, state.facts
    value = cursor.word()
    begin = cursor.at
    _value(state, begin)
    implied(facts, name)
    marker = facts.marker or Marker()
    if name in ("ip dscp", "ip6 dscp") and cursor.at == begin + 1:
        try:
            facts.marker = Marker(dscp_of(value), marker.pcp, marker.queue)
        except Inexact as error:
            raise NotUnderstood(f"{value[:40]!r} is not a DSCP") from error
    elif name == "vlan pcp" and is_decimal(value) and len(value) == 1:
        facts.marker = Marker(marker.dscp, int(value), marker.queue)
    elif name == "meta priority":
        minor = value.rpartition(":")[2]
        if re.fullmatch(r"[0-9a-fA-F]{1,4}", minor):
            facts.marker = Marker(marker.dscp, marker.pcp, int(minor, 16))


def _branches(state: _State, name: str, asked: list[str]) -> None:
    """`tcp dport vmap { 22 : accept, .. }`: one rule per element; the order of elements does not matter, keys are disjoint."""
    cursor = state.cursor
    node = cursor.next("a map")
    if isinstance(node, Group):
        parts = flat_elements(node)
    else:
        known = state.facts.table.sets.get(node.text.removeprefix("@"))
        state.facts.references.append(node.text)
        if known is None or known.is_dynamic:
            state.facts.unresolved.append(node.text)
            state.facts.conditions.append(f"{name} vmap {node.text}")
            return
        parts = known.elements
    state.facts.table.branches_left -= len(parts)
    if state.facts.table.branches_left < 0:
        state.facts.conditions.append(f"{name} vmap of {len(parts)} elements")
        return
    for part in parts:
        state.done.append(_branch(state.facts, name, asked, part))


def _branch(facts: Facts, name: str, asked: list[str], part: list[Node]) -> Facts:
    at = next((i for i, node in enumerate(part) if isinstance(node, Token) and node.text == ":"), None)
    made = facts.copy()
    if not at or at + 1 >= len(part):  # no key in front of the colon, or no verdict behind it
        raise NotUnderstood(f"{text_of(part)[:40]!r} is not an element of a verdict map")
    key, verdict = part[:at], part[at + 1 :]
    first = key[0]
    if name in FIELDS and isinstance(first, Token) and first.text != "*" and (len(key) == 1 or is_note(key[1])):
        apply(made, name, "==", Operand([first.text], [], [first]))
    else:
        made.conditions.append(f"{name} {text_of(key)}")
        for header in asked:
            implied(made, header)
    _verdict(made, verdict)
    return made


def _verdict(facts: Facts, nodes: list[Node]) -> None:
    words = [node.text for node in nodes if isinstance(node, Token)]
    if words in (["accept"], ["drop"]):
        facts.action = Action.PERMIT if words[0] == "accept" else Action.DENY
    elif words[:1] in (["jump"], ["goto"]) and len(words) == 2:
        facts.jumps.append(words[1])
        facts.returns = words[0] == "jump"
        facts.references.append(f"chain {words[1]}")
    elif words == ["return"]:
        _leave(facts)
    elif words != ["continue"]:
        raise NotUnderstood(f"{text_of(nodes)[:40]!r} is not a verdict")


def _accept(state: _State) -> None:
    state.facts.action = Action.PERMIT


def _drop(state: _State) -> None:
    state.facts.action = Action.DENY


def _reject(state: _State) -> None:
    """An answer in ICMP or TCP goes to packets of that family or protocol only."""
    state.facts.action = Action.DENY
    if state.cursor.accept("with"):
        answer = state.cursor.take_word("icmp, icmpv6, icmpx or tcp")
        if answer == "tcp":
            implied(state.facts, "tcp flags")
            state.cursor.take_word("reset")
            return
        if answer in ("icmp", "icmpv6"):
            state.facts.only(4 if answer == "icmp" else 6)
        state.cursor.accept("type")
        state.cursor.take_word("a code")


def _nothing(state: _State) -> None:
    """`continue`, `notrack`: evaluation goes on, nothing is decided here."""


def _return(state: _State) -> None:
    _leave(state.facts)


def _leave(facts: Facts) -> None:
    """`return` is a goto to an empty chain; in a base chain it is the chain's policy (`model.py`)."""
    facts.jumps.append(RETURN)
    facts.returns = False


def _jump(state: _State, returns: bool = True) -> None:
    node = state.cursor.next("a chain")
    if isinstance(node, Group):
        raise NotUnderstood("a chain is expected")
    state.facts.jumps.append(node.text)
    state.facts.returns = returns
    state.facts.references.append(f"chain {node.text}")


def _goto(state: _State) -> None:
    _jump(state, returns=False)


def _queue(state: _State) -> None:
    """The verdict comes from a program: nothing is known."""
    begin = state.cursor.at - 1
    while state.cursor.accept("num", "to", "flags", "bypass", "fanout") or is_decimal(state.cursor.word().partition("-")[0]):
        if isinstance(state.cursor.peek(), Token) and is_decimal(state.cursor.word().partition("-")[0]):
            state.cursor.at += 1
        while isinstance(state.cursor.peek(), Token) and state.cursor.peek().kind == "comma":  # type: ignore[union-attr]
            state.cursor.at += 1
            state.cursor.take_word("a flag")
    state.facts.conditions.append(state.cursor.text(begin))


def _nat(state: _State) -> None:
    """The packet is accepted and rewritten (`translate.py` says to what)."""
    begin = state.cursor.at - 1
    state.is_nat = True
    state.facts.action = Action.PERMIT
    if state.cursor.word() in ("ip", "ip6"):
        state.facts.only(4 if state.cursor.word() == "ip" else 6)
    while state.cursor and state.cursor.word() not in ("comment", "counter"):
        state.cursor.at += 1
    state.facts.nat = state.cursor.text(begin)
    found = MAPPED_TO.search(state.facts.nat)
    if found is not None:  # what is not in the map does not match the rule
        state.facts.conditions.append(found[0])
        state.facts.references += NAMED.findall(found["map"])
        for header in found["keys"].split(" . "):
            implied(state.facts, header)


def _counter(state: _State) -> None:
    cursor, begin = state.cursor, state.cursor.at
    if cursor.accept("name"):
        state.facts.counter_name = cursor.take_word("a counter")
        return
    state.facts.counter = (0, 0)
    if cursor.accept("packets"):
        packets = cursor.take_word("a number")
        size = cursor.take_word("a number") if cursor.accept("bytes") else "0"
        if not (is_decimal(packets) and is_decimal(size)):
            raise NotUnderstood("a counter without numbers")
        state.facts.counter = (int(packets[:20]), int(size[:20]))
        state.skip.append((begin, cursor.at))


def _log(state: _State) -> None:
    state.facts.logged = True
    while True:
        option = state.cursor.accept(*LOG_OPTIONS)
        if not option:
            return
        if option == "flags" and state.cursor.accept("tcp", "ip"):
            pass
        state.cursor.take_word("a value")
        while isinstance(state.cursor.peek(), Token) and state.cursor.peek().kind == "comma":  # type: ignore[union-attr]
            state.cursor.at += 1
            state.cursor.take_word("a value")


def read_limit(cursor: Cursor) -> tuple[bool, Policer | None]:
    """`rate [over] N/second [burst N packets]` or `.. N kbytes/second [burst N kbytes]`: whether over, and the policer."""
    if not cursor.accept("rate"):
        raise NotUnderstood("rate is expected")
    over = cursor.accept("over") == "over"
    cursor.accept("until")
    amount = cursor.take_word("a rate")
    policer: Policer | None = None
    if not RATE.match(amount):
        unit = UNIT_RATE.match(cursor.take_word("a unit"))
        if unit is None or not is_decimal(amount):
            raise NotUnderstood(f"{amount[:40]!r} is not a rate")
        policer = Policer(int(amount[:15]) * SCALE[unit[1]] * 8 // SECONDS[unit[2]], counts_l3=True)
    if cursor.accept("burst"):
        burst = cursor.take_word("a burst")
        size = UNIT_SIZE.match(cursor.word())
        if cursor.word() == "packets" or size:
            cursor.at += 1
        if policer and size and is_decimal(burst):
            policer = Policer(policer.rate_bps, int(burst[:15]) * SCALE[size[1]], counts_l3=True)
    return over, policer


def _limit(state: _State) -> None:
    """A byte rate that is exceeded and then dropped is a policer; every other limit is a condition."""
    cursor, begin = state.cursor, state.cursor.at - 1
    if cursor.accept("name"):
        name = cursor.take_word("a limit")
        known = state.facts.table.limits.get(name)
        over, policer = read_limit(Cursor(known)) if known else (False, None)
    else:
        over, policer = read_limit(cursor)
    state.facts.conditions.append(cursor.text(begin))
    if over and policer:
        state.facts.policer = policer


def _quota(state: _State) -> None:
    cursor, begin = state.cursor, state.cursor.at - 1
    if cursor.accept("name"):
        cursor.take_word("a quota")
    else:
        cursor.accept("over", "until")
        cursor.take_word("a number")
        cursor.take_word("a unit")
        if cursor.accept("used"):
            used = cursor.at
            cursor.take_word("a number")
            cursor.take_word("a unit")
            state.skip.append((used - 1, cursor.at))
    state.facts.conditions.append(cursor.text(begin))


def _comment(state: _State) -> None:
    state.facts.comment = state.cursor.take_word("a comment")


def _update_set(state: _State) -> None:
    """`add @s { ip saddr }`; with a limit or a connection count inside, only some packets go on."""
    cursor, begin = state.cursor, state.cursor.at - 1
    cursor.accept("add", "update")
    while cursor and not isinstance(cursor.peek(), Group):
        node = cursor.next()
        if isinstance(node, Token) and node.text.startswith("@"):
            state.facts.references.append(node.text)
            if not isinstance(cursor.peek(), Group):
                return
    cursor.next("braces")
    text = cursor.text(begin)
    if re.search(r"\b(limit|ct count|quota)\b", text):
        state.facts.conditions.append(text)


def _meter(state: _State) -> None:
    begin = state.cursor.at - 1
    while state.cursor and not isinstance(state.cursor.peek(), Group):
        state.cursor.at += 1
    state.cursor.next("braces")
    state.facts.conditions.append(state.cursor.text(begin))


def _flow(state: _State) -> None:
    state.cursor.take_word("add or offload")
    state.cursor.take_word("a flow table")


def _to(state: _State) -> None:
    """`dup to ..` copies, `fwd to ..` takes the packet away to another port."""
    begin = state.cursor.at - 1
    while state.cursor and state.cursor.word() not in ("comment", "counter", "accept", "drop"):
        state.cursor.at += 1
    state.facts.conditions.append(state.cursor.text(begin))


def _synproxy(state: _State) -> None:
    while state.cursor.accept("mss", "wscale", "timestamp", "sack-perm", "name"):
        if state.cursor.word() and state.cursor.word() not in ("wscale", "timestamp", "sack-perm"):
            state.cursor.at += 1


def _last(state: _State) -> None:
    """`last used 5s`: when the rule matched last."""
    begin = state.cursor.at
    if state.cursor.accept("used"):
        state.cursor.take_word("a time")
        state.skip.append((begin, state.cursor.at))


STATEMENTS: dict[str, Callable[[_State], None]] = {
    "accept": _accept, "drop": _drop, "reject": _reject, "jump": _jump, "goto": _goto, "queue": _queue, "counter": _counter,
    "log": _log, "limit": _limit, "quota": _quota, "comment": _comment, "meter": _meter, "flow": _flow, "synproxy": _synproxy,
    "last": _last, **dict.fromkeys(("continue", "notrack"), _nothing), "return": _return, **dict.fromkeys(NAT_WORDS, _nat),
    **dict.fromkeys(("add", "update", "delete", "set"), _update_set), **dict.fromkeys(("dup", "fwd"), _to),
}  # fmt: skip
