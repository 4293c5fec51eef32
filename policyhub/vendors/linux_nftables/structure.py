"""Tables, chains, sets and commands of a ruleset, from `nft list ruleset` or a script."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from policyhub.vendorkit.blocks import Line
from policyhub.vendorkit.lexing import NotUnderstood, is_decimal
from policyhub.vendorkit.sharing import drained
from policyhub.vendors.linux_nftables.lexer import Group, Node, Token, line_span, split, text_of, tokens, tree
from policyhub.vendors.linux_nftables.reading import FAMILIES, Chain, Reading, RuleText, SetDef, Table, elements_of, flat_elements

OBJECTS: dict[str, tuple[str, ...]] = {  # kind -> first words of the lines in its body
    "counter": ("packets", "comment"),
    "limit": ("rate", "comment"),
    "quota": ("over", "until", "used", "comment"),
    "flowtable": ("hook", "devices", "device", "flags", "counter", "comment"),
    "secmark": (),
    "synproxy": ("mss", "wscale", "timestamp", "sack-perm", "comment"),
    "ct": ("type", "l3proto", "protocol", "l4proto", "policy", "timeout", "dport", "size", "comment"),
}
COMMAND = "a command, not configuration"


def read_ruleset(reading: Reading, lines: Iterable[Line]) -> None:
    for statement in split(tree(tokens(lines)), blocks=True):
        _guarded(reading, statement, lambda part: _top(reading, part))


def _guarded(reading: Reading, statement: list[Node], handler: Callable[[list[Node]], None]) -> None:
    """Book every line of the statement: as understood, or as unparsed with the reason."""
    try:
        handler(statement)
    except NotUnderstood as reason:
        _unparsed(reading, statement, str(reason))
        return
    first, last = line_span(statement)
    reading.ledger.understood(first, last)


def _unparsed(reading: Reading, statement: Sequence[Node], reason: str) -> None:
    for number, text in _texts(statement):
        reading.ledger.unparsed(Line(number, 0, text), reason)


def _texts(nodes: Sequence[Node]) -> Iterator[tuple[int, str]]:
    """Line numbers in order, each with what of the statement stands on it."""
    words: list[str] = []
    at = 0
    for line, word in _placed(nodes):
        if line != at and words:
            yield at, " ".join(words)
            words = []
        at = line
        words.append(word)
    if words:
        yield at, " ".join(words)


def _placed(nodes: Sequence[Node]) -> Iterator[tuple[int, str]]:
    """Words as they stand in the text, each with its line, and forgotten: nobody reads a statement that is not understood."""
    stack: list[Node | int] = list(reversed(nodes))
    while stack:
        node = stack.pop()
        if isinstance(node, int):
            yield node, "}"
        elif isinstance(node, Group):
            yield node.line, "{"
            if node.closed:
                stack.append(node.end)
            stack.extend(reversed(node.items))
            node.items = []
        elif node.kind not in ("sep", "handle"):
            yield node.line, f'"{node.text}"' if node.kind == "string" else node.text


def _words(statement: Sequence[Node]) -> list[str]:
    return [node.text for node in statement if isinstance(node, Token) and node.kind in ("word", "string")]


def _top(reading: Reading, statement: list[Node]) -> None:
    words = _words(statement)
    first = words[0] if words else ""
    if first == "table":
        _table(reading, statement, 1)
    elif first in ("define", "redefine"):
        _define(reading, statement, words)
    elif first in ("add", "create", "insert"):
        _add(reading, statement, words)
    elif first in ("flush", "delete", "destroy"):
        _remove(reading, words)
    elif first == "include":
        raise NotUnderstood("an included file is not read")
    elif first == "rename":
        _rename(reading, words)
    elif _names_a_chain(reading, words):
        _add(
            reading,
            [Token("word", "add", statement[0].line), Token("word", "rule", statement[0].line), *statement],
            ["add", "rule", *words],
        )
    elif first in ("list", "reset", "replace", "monitor", "describe", "undefine", "export"):
        raise NotUnderstood(COMMAND)
    else:
        raise NotUnderstood("not understood")


def _names_a_chain(reading: Reading, words: list[str]) -> bool:
    """`[family] table chain ..`: `add rule` may be left out when both exist."""
    try:
        family, name, at = _target(words, 0)
    except NotUnderstood:
        return False
    table = reading.tables.get((family, name))
    return table is not None and at < len(words) and words[at] in table.chains


def _rename(reading: Reading, words: list[str]) -> None:
    """`rename chain [family] table OLD NEW`."""
    if words[1:2] != ["chain"]:
        raise NotUnderstood(COMMAND)
    family, name, at = _target(words, 2)
    table = reading.tables.get((family, name))
    if table is None or len(words) != at + 2 or words[at] not in table.chains or words[at + 1] in table.chains:
        raise NotUnderstood("the chain is not defined here")
    old, new = words[at : at + 2]
    table.chains[old].name = new
    table.chains = {chain.name: chain for chain in table.chains.values()}
    for rule in (rule for chain in table.chains.values() for rule in chain.rules):
        nodes = rule.nodes
        before = [Token("word", "", 0), *nodes]
        rule.text = text_of(
            [
                node._replace(text=new)
                if isinstance(node, Token) and node.text == old and _word_of(last) in ("jump", "goto")
                else node
                for last, node in zip(before, nodes, strict=False)
            ]
        )


def _define(reading: Reading, statement: list[Node], words: list[str]) -> None:
    """`define X = value`; the equals sign may touch its neighbours."""
    name = words[1] if len(words) > 1 else ""
    if "=" in name[1:]:
        raise NotUnderstood("blanks are expected around the equals sign")
    at = next((i for i, node in enumerate(statement) if isinstance(node, Token) and node.text == "="), None)
    if at is None or not name:
        raise NotUnderstood("an equals sign is expected")
    if not reading.define(name, statement[at + 1 :]):
        raise NotUnderstood("this definition grows too large")


def _target(words: list[str], at: int) -> tuple[str, str, int]:
    """`[family] table`: family (ip when left out), name, and the next position."""
    family = "ip"
    if at < len(words) and words[at] in FAMILIES and at + 1 < len(words):
        family, at = words[at], at + 1
    if at >= len(words):
        raise NotUnderstood("a table's name is expected")
    return family, words[at], at + 1


def _table(reading: Reading, statement: list[Node], at: int) -> None:
    family, name, _ = _target(_words(statement), at)
    table = reading.table(family, name)
    body = statement[-1]
    if not isinstance(body, Group):
        return
    for part in split(drained(body.items), blocks=True):
        _guarded(reading, part, lambda inner: _in_table(reading, table, inner))


def _in_table(reading: Reading, table: Table, statement: list[Node]) -> None:
    words = _words(statement)
    first = words[0] if words else ""
    body = statement[-1] if isinstance(statement[-1], Group) else None
    if first == "chain" and len(words) > 1:
        _chain(reading, table, words[1], body, statement)
    elif first in ("set", "map") and len(words) > 1 and body:
        _set(reading, table, words[1], body, statement)
    elif first in OBJECTS and len(words) > 1:
        _object(reading, table, words, body)
    elif first == "flags":
        table.dormant = "dormant" in words
    elif first in ("define", "redefine"):
        _define(reading, statement, words)
    elif first not in ("comment", "owner"):
        raise NotUnderstood("not understood in a table")


def _chain(reading: Reading, table: Table, name: str, body: Group | None, statement: Sequence[Node]) -> None:
    chain = table.chains.setdefault(name, Chain(name))
    chain.lines += [line for line in line_span(statement) if line not in chain.lines]
    for part in split(drained(body.items)) if body else ():
        _guarded(reading, part, lambda inner: _in_chain(reading, table, chain, inner))


def _in_chain(reading: Reading, table: Table, chain: Chain, statement: list[Node]) -> None:
    words = _words(statement)
    first = words[0] if words else ""
    span = line_span(statement)
    chain.lines += [line for line in range(span[0], span[1] + 1) if line not in chain.lines[-2:]]
    if first == "type" and "hook" in words:
        _hook(reading, chain, statement, words)
    elif first == "policy" and len(words) == 2 and words[1] in ("accept", "drop"):
        chain.policy = words[1]
    elif first in ("devices", "device") and "=" in words[:2]:
        chain.devices = tuple(_devices(reading, statement[2:]))
    elif first == "comment" and len(words) == 2:
        return
    else:
        _rule(reading, table, chain, statement)


def _hook(reading: Reading, chain: Chain, statement: list[Node], words: list[str]) -> None:
    """`type filter hook input [device "x"] priority 0` and, in a definition of older form, the policy behind it."""
    chain.kind, chain.hook = words[1], words[words.index("hook") + 1] if words.index("hook") + 1 < len(words) else ""
    for key in ("device", "devices"):
        if key in words:
            at = next(i for i, node in enumerate(statement) if isinstance(node, Token) and node.text == key)
            chain.devices = tuple(_devices(reading, statement[at + 1 :]))
    if "priority" in words:
        after = words[words.index("priority") + 1 :]
        chain.priority = " ".join(word for word in after if word not in ("policy", "accept", "drop"))
    if "policy" in words and words[-1] in ("accept", "drop"):
        chain.policy = words[-1]


def _devices(reading: Reading, nodes: Sequence[Node]) -> list[str]:
    found: list[str] = []
    for node in reading.expand(nodes):
        if isinstance(node, Group):
            return [part[0].text for part in flat_elements(node) if isinstance(part[0], Token)]
        if node.text == "priority":
            break
        if node.text != "=" and node.kind in ("word", "string"):
            found.append(node.text)
    return found


def _rule(reading: Reading, table: Table, chain: Chain, statement: list[Node]) -> None:
    if any(isinstance(node, Group) and not node.closed for node in statement):
        raise NotUnderstood("a brace is not closed: whatever stands behind it may be of the rule or not")
    handle = next((node.text for node in statement if isinstance(node, Token) and node.kind == "handle"), "")
    first, last = line_span(statement)
    nodes = _named(reading, table, chain, statement)
    chain.rules.append(RuleText(text_of(reading.expand(nodes)), tuple(range(first, last + 1)), handle))
    reading.ledger.understood(*range(first, last + 1))


def _named(reading: Reading, table: Table, chain: Chain, statement: list[Node]) -> list[Node]:
    """A chain without a name (`jump { .. }`) becomes one that is named after the chain it stands in."""
    verb = next((i for i, node in enumerate(statement[:-1]) if _word_of(node) in ("jump", "goto")), None)
    body = statement[verb + 1] if verb is not None else None
    if verb is None or not isinstance(body, Group):
        return statement
    chain.nameless += 1
    name = f"{chain.name}#{chain.nameless}"
    inner = table.chains.setdefault(name, Chain(name))
    _chain(reading, table, inner.name, body, statement[verb:])
    return [*statement[: verb + 1], Token("word", inner.name, body.line), *statement[verb + 2 :]]


def _word_of(node: Node) -> str:
    return node.text if isinstance(node, Token) else ""


def _set(reading: Reading, table: Table, name: str, body: Group, statement: Sequence[Node]) -> None:
    known = table.sets.setdefault(name, SetDef(name))
    first, last = line_span(statement)
    known.lines += range(first, last + 1)
    for part in split(body.items, blocks=True):
        _guarded(reading, part, lambda inner: _in_set(reading, known, inner))


def _in_set(reading: Reading, known: SetDef, statement: list[Node]) -> None:
    words = _words(statement)
    first = words[0] if words else ""
    if first in ("type", "typeof"):
        text = text_of(reading.expand(statement[1:]))
        key, _, data = text.partition(" : ")
        known.types, known.data = tuple(part.strip() for part in key.split(" . ")), data.strip()
    elif first == "flags":
        known.flags = tuple(word for word in words[1:] if word)
    elif first == "elements":
        expanded = reading.expand(statement)
        known.elements += [part for node in expanded if isinstance(node, Group) for part in elements_of(node)]
        begin, end = line_span(statement)
        reading.ledger.understood(*range(begin, end + 1))
    elif first not in ("size", "timeout", "gc-interval", "policy", "auto-merge", "counter", "comment", "quota", "limit", "last"):
        raise NotUnderstood("not understood in a set")


def _object(reading: Reading, table: Table, words: list[str], body: Group | None) -> None:
    """Named counters and limits are used by rules; the others hold no rule."""
    if body is None:
        return
    for part in split(body.items):
        _guarded(reading, part, lambda inner: _in_object(table, words, inner))
    reading.ledger.understood(body.line, body.end)


def _in_object(table: Table, words: list[str], statement: list[Node]) -> None:
    """`packets 3 bytes 4` of a counter, `rate over ..` of a limit; known settings of the others."""
    kind, inner = words[0], _words(statement)
    first = inner[0] if inner else ""
    if first not in OBJECTS[kind] and not (kind == "quota" and is_decimal(first)) and kind != "secmark":
        raise NotUnderstood(f"not understood in a {kind}")
    if kind == "counter" and first == "packets":
        if len(inner) != 4 or not is_decimal(inner[1]) or not is_decimal(inner[3]):
            raise NotUnderstood("a counter without numbers")
        table.counters[words[1]] = (int(inner[1][:20]), int(inner[3][:20]))
    elif kind == "limit" and first == "rate":
        table.limits[words[1]] = statement


def _add(reading: Reading, statement: list[Node], words: list[str]) -> None:
    """`add table|chain|rule|set|map|element ..`: the same as the block, written as a command."""
    kind = words[1] if len(words) > 1 else ""
    if kind == "table":
        _table(reading, statement, 2)
        return
    if kind not in ("chain", "rule", "set", "map", "element", "counter", "limit", "quota", "ct", "flowtable"):
        raise NotUnderstood("not understood")
    at = 3 if kind == "ct" else 2
    family, name, at = _target(words, at)
    if at >= len(words):
        raise NotUnderstood("a name is expected")
    table = reading.table(family, name)
    body = statement[-1] if isinstance(statement[-1], Group) else None
    if kind == "chain":
        _chain(reading, table, words[at], body, statement)
    elif kind == "rule":
        _add_rule(reading, table, statement, words, at)
    elif kind in ("set", "map") and body:
        _set(reading, table, words[at], body, statement)
    elif kind == "element" and body:
        known = table.sets.get(words[at])
        if known is None:
            raise NotUnderstood(f"set {words[at][:40]!r} is not defined here")
        for node in reading.expand([body]):
            known.elements += elements_of(node) if isinstance(node, Group) else []
        first, last = line_span(statement)
        reading.ledger.understood(*range(first, last + 1))
    else:
        _object(reading, table, [kind, words[at]], body)


def _add_rule(reading: Reading, table: Table, statement: list[Node], words: list[str], at: int) -> None:
    """`add rule` appends, `insert rule` stands first; with a handle or an index they stand behind or in front of that rule."""
    chain = table.chains.setdefault(words[at], Chain(words[at]))
    rest = statement[_position(statement, words[at]) :]
    place: int | None = None
    if _words(rest)[:1] in (["handle"], ["position"], ["index"]):
        place = _place(chain, *[*_words(rest), ""][:2])
        rest = rest[2:]
    if not rest:
        raise NotUnderstood("a rule is expected")
    _rule(reading, table, chain, rest)
    chain.lines += line_span(statement)
    made = chain.rules.pop()
    if place is None:
        place = 0 if words[0] == "insert" else len(chain.rules)
    elif words[0] != "insert":
        place += 1
    chain.rules.insert(place, made)
    reading.ledger.understood(*range(line_span(statement)[0], line_span(statement)[1] + 1))


def _place(chain: Chain, kind: str, number: str) -> int:
    """Where in the chain the rule with this handle or index stands. Raises NotUnderstood."""
    signs = (str(at) if kind == "index" else rule.handle for at, rule in enumerate(chain.rules))
    found = next((at for at, sign in enumerate(signs) if sign and sign == number), None)
    if found is None:
        raise NotUnderstood("the handle is not in this text")
    return found


def _position(statement: Sequence[Node], chain: str) -> int:
    """Index behind `add rule [family] table chain`."""
    words = [node.text if isinstance(node, Token) else "" for node in statement[:5]]
    return (3 if words[2] in FAMILIES else 2) + 2


def _remove(reading: Reading, words: list[str]) -> None:
    """What scripts do before they build: the model forgets it too."""
    what = words[1] if len(words) > 1 else ""
    if words[0] == "flush" and what == "ruleset":
        families = [word for word in words[2:] if word in FAMILIES]
        for key in list(reading.tables):
            if not families or key[0] in families:
                del reading.tables[key]
        return
    if what not in ("table", "chain", "set", "map", "rule"):
        raise NotUnderstood(COMMAND)
    family, name, at = _target(words, 2)
    if what == "rule":
        _delete_rule(reading.tables.get((family, name)), words[at:])
        return
    table = reading.tables.get((family, name))
    inner = words[at] if at < len(words) else ""
    if table is None:
        return
    if what == "table" and words[0] != "flush":
        del reading.tables[(family, name)]
    elif what == "table":
        for chain in table.chains.values():
            chain.rules.clear()
    elif what == "chain" and words[0] == "flush" and inner in table.chains:
        table.chains[inner].rules.clear()
    elif what == "chain":
        table.chains.pop(inner, None)
    elif words[0] == "flush" and inner in table.sets:
        table.sets[inner].elements.clear()
    else:
        table.sets.pop(inner, None)


def _delete_rule(table: Table | None, words: list[str]) -> None:
    """`delete rule [family] table CHAIN handle N`."""
    chain = table.chains.get(words[0]) if table is not None and words else None
    if chain is None or words[1:2] != ["handle"] or len(words) != 3:
        raise NotUnderstood("the handle is not in this text")
    chain.rules.pop(_place(chain, "handle", words[2]))
