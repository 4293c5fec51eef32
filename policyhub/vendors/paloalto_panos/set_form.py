"""`set` lines (`set cli config-output-format set`) as a tree, with the `delete`, `move` and `rename` lines of scripts."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from policyhub.vendorkit.blocks import Line
from policyhub.vendors.paloalto_panos.tree import DEEPEST, Node, words

COMMANDS = ("set", "delete", "move", "rename")
WORD = re.compile(r'"(?:\\.|[^"\\])*"|\'[^\']*\'|\[|\]|[^\s\[\]]+')
OPEN_QUOTE = re.compile(r'(?:^|[\s\[])"(?:\\.|[^"\\])*$')
LONGEST_TEXT = 500  # lines of one quoted text (a banner, a certificate)
MOST_MOVED = 2_000_000  # entries that all moves and renames of a text may touch: each copies its list
# fields of a rule or an address with one value or a list: more fields may follow on the same line
RULE_FIELDS = words("several-on-a-line")
SECURITY_FIELDS = RULE_FIELDS | {"action"}  # elsewhere an action has words below it
PLAIN_RULEBASES = ("nat", "qos", "decryption", "application-override")
ADDRESS_FIELDS = words("address")
Token = str | list[str]


@dataclass(slots=True)
class SetText:
    """odd: lines that are no command of this form, with the reason. understood: lines of edits, and of what they took away."""

    root: Node
    odd: list[tuple[Line, str]] = field(default_factory=list)
    understood: list[int] = field(default_factory=list)
    left: int = MOST_MOVED

    def may_copy(self, node: Node) -> bool:
        self.left -= len(node.children or ())
        return self.left > 0


def read_set(lines: Iterable[Line]) -> SetText:
    """Lines in order; a quoted text may go over several."""
    result = SetText(Node("", 1))
    waiting = list(lines)
    at = 0
    while at < len(waiting):
        line = waiting[at]
        text, end = line.text, line.number
        at += 1
        if _is_command(text) and OPEN_QUOTE.search(text):
            joined, taken = _rest_of_quote(waiting, at)
            if taken:
                text, end, at = f"{text}\n{joined}", waiting[at + taken - 1].number, at + taken
        _take(result, line, text, end)
    return result


def _is_command(text: str) -> bool:
    return text.split(" ", 1)[0] in COMMANDS


def _rest_of_quote(lines: list[Line], at: int) -> tuple[str, int]:
    """The lines up to the closing quote; nothing when a command stands before it."""
    parts: list[str] = []
    for line in lines[at : at + LONGEST_TEXT]:
        if _is_command(line.text):
            return "", 0
        parts.append(line.text)
        if '"' in line.text:
            return "\n".join(parts), len(parts)
    return "", 0


def _take(result: SetText, line: Line, text: str, end: int) -> None:
    command, _, rest = text.partition(" ")
    if command not in COMMANDS:
        result.odd.append((line, "not a line of a PAN-OS configuration"))
        return
    tokens = tokens_of(rest)
    if tokens is None or not tokens:
        result.odd.append((line, "a bracket is not closed" if tokens is None else "nothing follows the command"))
        return
    if len(tokens) > DEEPEST:
        result.odd.append((line, "more words than any line of a configuration has"))
    elif command == "set":
        _set(result.root, tokens, line.number, end)
    elif all(_edit(result.root, command, path, result) for path in _paths(tokens)):
        result.understood.extend(range(line.number, end + 1))
    else:
        result.odd.append((line, f"there is nothing to {command}"))


def _paths(tokens: list[Token]) -> list[list[str]]:
    """What a command names: one path, or one for each word of `[ a b ]`."""
    words = [token for token in tokens if isinstance(token, str)]
    listed = [word for token in tokens if isinstance(token, list) for word in token]
    return [[*words, word] for word in listed] or [words]


def tokens_of(text: str) -> list[Token] | None:
    """Words and bracketed lists; None when a bracket is not closed."""
    tokens: list[Token] = []
    group: list[str] | None = None
    for word in WORD.findall(text):
        if word == "[" and group is None:
            group = []
        elif word == "]" and group is not None:
            tokens.append(group)
            group = None
        elif group is not None:
            group.append(unquoted(word))
        else:
            tokens.append(unquoted(word))
    return tokens if group is None else None


def unquoted(word: str) -> str:
    if len(word) > 1 and word[0] == '"' == word[-1]:
        return word[1:-1].replace('\\"', '"').replace("\\\\", "\\")
    return word[1:-1] if len(word) > 1 and word[0] == "'" == word[-1] else word


def _set(root: Node, tokens: list[Token], line: int, end: int) -> None:
    node = root
    entry: tuple[Node, frozenset[str]] | None = None
    names: list[str] = []
    for at, token in enumerate(tokens):
        last = at + 1 == len(tokens)
        is_value = entry is not None and node is not entry[0] and node.name in entry[1] and names[-1] == node.name
        if isinstance(token, list):
            for word in token:
                _put_value(node, word, line, end)
            names.append("")
            target = node
        else:
            target = _put_value(node, token, line, end) if last else _down(node, token, line, end)
            names.append(token)
        node = entry[0] if entry is not None and is_value and not last else target
        if entry is None:
            entry = _entry_with_fields(node, names)
    if node.own is None:
        node.own = []
    node.own.extend(range(line, end + 1))


def _entry_with_fields(node: Node, names: list[str]) -> tuple[Node, frozenset[str]] | None:
    """The node when it is a rule or an address object: fields may follow each other on one line."""
    if len(names) > 3 and names[-2] == "rules" and names[-4].endswith("rulebase"):
        if names[-3] == "security":
            return node, SECURITY_FIELDS
        return (node, RULE_FIELDS) if names[-3] in PLAIN_RULEBASES else None
    if len(names) > 1 and names[-2] == "address" and (len(names) == 2 or names[0] in ("shared", "vsys", "device-group")):
        return node, ADDRESS_FIELDS
    return None


def _down(node: Node, name: str, line: int, end: int) -> Node:
    below = node.child(name, line, end)
    if below.own is None:
        below.own = []
    return below


def _put_value(node: Node, name: str, line: int, end: int) -> Node:
    """The last word of a line: a value that is set again becomes the latest."""
    known = node.get(name)
    if known is not None and node.children is not None and not known.children:
        del node.children[name]
        node.children[name] = known
    return _down(node, name, line, end)


def _edit(root: Node, command: str, words: list[str], result: SetText) -> bool:
    if command == "delete":
        parent, name = _find(root, words)
        removed = parent.get(name) if parent is not None else None
        if parent is None or removed is None or parent.children is None:
            return False
        result.understood.extend(removed.lines)
        del parent.children[name]
        return True
    if command == "rename" and len(words) > 2 and words[-2] == "to":
        parent, name = _find(root, words[:-2])
        return parent is not None and result.may_copy(parent) and _rename(parent, name, words[-1])
    if command == "move":
        tail = 1 if words[-1] in ("top", "bottom") else 2
        parent, name = _find(root, words[:-tail])
        return parent is not None and result.may_copy(parent) and _move(parent, name, words[-tail:])
    return False


def _find(root: Node, words: list[str]) -> tuple[Node | None, str]:
    """The parent of the last word, and that word."""
    return (root.at(*words[:-1]), words[-1]) if words else (None, "")


def _rename(parent: Node, name: str, new: str) -> bool:
    if parent.children is None or name not in parent.children or new in parent.children:
        return False
    renamed = parent.get(name)
    if renamed is not None:
        renamed.name = new
    parent.children = {(new if key == name else key): node for key, node in parent.children.items()}
    return True


def _move(parent: Node, name: str, where: list[str]) -> bool:
    """`top`, `bottom`, `before X`, `after X`."""
    if parent.children is None or name not in parent.children:
        return False
    rest = [(key, node) for key, node in parent.children.items() if key != name]
    names = [key for key, _ in rest]
    if where[0] in ("before", "after") and len(where) == 2 and where[1] in names:
        at = names.index(where[1]) + (where[0] == "after")
    elif where == ["top"] or where == ["bottom"]:
        at = 0 if where[0] == "top" else len(rest)
    else:
        return False
    parent.children = dict([*rest[:at], (name, parent.children[name]), *rest[at:]])
    return True
