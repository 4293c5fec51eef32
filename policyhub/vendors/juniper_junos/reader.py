"""Text of Junos, braces or commands of configuration mode, into one tree. Total: what is no statement is a stray line."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from policyhub.vendorkit.blocks import Line
from policyhub.vendors.juniper_junos.chains import chained
from policyhub.vendors.juniper_junos.tree import Node

TOKEN = re.compile(
    r'"((?:[^"\\]|\\.)*)"?|(##? .*|##?$|#\S.*)|(/\*)|([{};])|(\[)(?=[\s"<\w])|(\])'
    r'|((?:<[^>\s]*>|\\.|[^\s{};"\[\]])(?:<[^>\s]*>|\\.|[^\s{};"\[\]]|\[[^\s\]]*\])*)'
)
MARKS = re.compile(r'[{};"\[#*\\]')  # a line with one of them, but for its end, is read word by word
COMMANDS = frozenset(
    (
        "set",
        "delete",
        "deactivate",
        "activate",
        "insert",
        "rename",
        "edit",
        "top",
        "up",
        "exit",
        "annotate",
        "protect",
        "unprotect",
    )
)
PROMPT = re.compile(r"^(?:\S{1,64}@\S{1,128}|[\w.-]{1,64})[>#%]\s*")
TYPED = frozenset((*COMMANDS, "", "show", "run", "configure", "commit", "cli", "quit", "rollback"))
CLUSTER = re.compile(r"^\{\w[\w:-]{0,40}\}$")
EDIT = re.compile(r"^\[edit(?: ([^\]]*))?\]$")
FLAGS = ("inactive:", "protect:", "replace:", "delete:")
# stanzas that people show alone -> where they belong
ROOTS: dict[str, tuple[str, ...]] = {
    "from-zone": ("security", "policies"), "default-policy": ("security", "policies"), "policies": ("security",),
    "security-zone": ("security", "zones"), "zones": ("security",), "address-book": ("security",), "nat": ("security",),
    "application": ("applications",), "application-set": ("applications",), "family": ("firewall",), "filter": ("firewall",),
    "policer": ("firewall",), "classifiers": ("class-of-service",), "scheduler-maps": ("class-of-service",),
    "rewrite-rules": ("class-of-service",), "drop-profiles": ("class-of-service",), "forwarding-classes": ("class-of-service",),
    "prefix-list": ("policy-options",),
}  # fmt: skip


@dataclass(slots=True)
class Text:
    """stray: lines that are no statement; idle: lines without effect of their own (braces, prompts, deleted statements).

    applies: `apply-groups` stands somewhere. prefix: where `edit` went. stack: open braces; last: what a brace belongs to.
    """

    root: Node = field(default_factory=lambda: Node(""))
    stray: list[tuple[Line, str]] = field(default_factory=list)
    idle: list[int] = field(default_factory=list)
    hostname: str = ""
    applies: bool = False
    prefix: tuple[str, ...] = ()
    stack: list[Node] = field(default_factory=list)
    last: Node | None = None
    in_comment: bool = False


def read(lines: Iterable[Line]) -> Text:
    text = Text()
    for line in lines:
        if not line.text:
            continue
        if text.in_comment:
            text.idle.append(line.number)
            _, closed, rest = line.text.partition("*/")
            text.in_comment = not closed
            if not rest.strip():
                continue
            line = Line(line.number, line.indent, rest.strip())
        _read_line(text, line)
    return text


def _read_line(text: Text, line: Line) -> None:
    words = line.text
    if words[0] == "#":
        text.idle.append(line.number)
        return
    if not text.stack or words[0] not in "}{":
        found = PROMPT.match(words) if words[-1] not in "{};" or " set " in words else None
        if found is not None and ("@" in found[0] or words[found.end() :].split(" ", 1)[0] in TYPED):
            words = _after_prompt(text, line, found)
            if not words:
                return
    first = words.split(None, 1)[0]
    if first in COMMANDS and (not text.stack or words[-1] not in "{;"):
        _command(text, line, split_words(words.removesuffix(";")))
    elif CLUSTER.match(words):
        text.idle.append(line.number)
    elif (edit := EDIT.match(words)) is not None and not text.stack:
        text.prefix = tuple(split_words(edit[1] or ""))
        text.idle.append(line.number)
    elif not text.stack and not words.endswith(("{", ";", "}")) and "{" not in words and ";" not in words and "*/" not in words:
        text.stray.append((line, ""))
    else:
        _braces(text, line, words)


def _after_prompt(text: Text, line: Line, found: re.Match[str]) -> str:
    """A prompt says that whatever was open is cut off; a command of configuration mode behind it counts."""
    text.stack.clear()
    host = found[0].strip()[:-1].partition("@")[2]
    text.hostname = text.hostname or host
    rest = line.text[found.end() :]
    if rest.split(None, 1)[:1] and rest.split(None, 1)[0] in COMMANDS:
        return rest
    text.idle.append(line.number)
    return ""


def split_words(text: str) -> list[str]:
    """Words of a command; quotes are taken off, brackets stay words, a trailing `## ..` is a comment."""
    if '"' not in text and "[" not in text and "##" not in text:
        return text.split()
    words: list[str] = []
    for match in TOKEN.finditer(text):
        kind = match.lastindex
        if kind == 2:
            break
        words.append(match[1] if kind == 1 else match[0])
    return words


def _braces(text: Text, line: Line, words: str) -> None:
    if words == "}":
        text.idle.append(line.number)
        _finish(text, line, [], "}")
        return
    if words[-1] in "{;" and not MARKS.search(words, 0, len(words) - 1):
        _finish(text, line, words[:-1].split(), words[-1])
        return
    now: list[str] = []
    was_statement = False
    for match in TOKEN.finditer(words):
        kind = match.lastindex
        if kind == 2:
            break
        if kind == 3:
            end = words.find("*/", match.end())
            if end < 0:
                text.in_comment = True
            elif words[end + 2 :].strip():
                _braces(text, line, words[end + 2 :].strip())
            break
        if kind == 4:
            was_statement = was_statement or bool(now)
            _finish(text, line, now, match[4])
            now = []
        else:
            now.append(match[1] if kind == 1 else match[0])
    if now:  # patches leave the semicolon out
        _finish(text, line, now, ";")
    elif not was_statement:
        text.idle.append(line.number)


def _finish(text: Text, line: Line, words: list[str], end: str) -> None:
    if end == "}":
        if words:
            _finish(text, line, words, ";")
        if text.stack:
            text.last = text.stack.pop()
        elif not words:
            text.stray.append((line, "a closing brace without its opening one"))
        return
    if not words:
        if end == "{":
            text.stack.append(text.last or text.root)
        return
    flags = []
    while words and words[0] in FLAGS:
        flags.append(words.pop(0))
    if not words:
        text.stray.append((line, "the line ends where a statement is expected"))
        return
    here = text.stack[-1] if text.stack else _base(text, words[0])
    if "delete:" in flags:
        _remove(text, here, words)
        text.idle.append(line.number)
        return
    ends = _grow(text, here, words, line.number)
    if "inactive:" in flags:
        for node in ends:
            node.inactive = True
    text.last = ends[-1]
    if end == "{":
        text.stack.append(text.last)


def _base(text: Text, word: str) -> Node:
    """Where a statement at the top of the text belongs."""
    node = text.root
    for part in text.prefix or ROOTS.get(word, ()):
        node = node.child(part)
    return node


def _grow(text: Text, here: Node, words: list[str], number: int) -> list[Node]:
    """The nodes that the statement ends in: one, or one per word of `[ a b ]`."""
    node = here
    at = words.index("[") if "[" in words else len(words)
    for word in words if at == len(words) else words[:at]:
        if word == "apply-groups":
            text.applies = True
        node = node.children.get(word) or node.adopt(Node(word))
    ends = [node.child(word) for word in words[at + 1 :] if word not in "[]"] or [node]
    for end in ends:
        end.lines += (number,)
    return ends


def _command(text: Text, line: Line, words: list[str]) -> None:
    handler = HANDLERS.get(words[0])
    text.stack.clear()
    reason = handler(text, line, words[1:]) if handler is not None else "a command, not configuration"
    if reason:
        text.stray.append((line, reason))


def _set(text: Text, line: Line, words: list[str]) -> str:
    if not words:
        return "the line ends where a statement is expected"
    here = _base(text, words[0])
    for statement in chained(words):
        _grow(text, here, statement, line.number)
    return ""


def _find(text: Text, words: list[str]) -> Node | None:
    node: Node | None = _base(text, words[0]) if words else None
    for word in words:
        node = node.children.get(word) if node is not None else None
    return node


def _delete(text: Text, line: Line, words: list[str]) -> str:
    if not words:
        return "it deletes everything"
    text.idle.append(line.number)
    _remove(text, _base(text, words[0]), words)
    return ""


def _remove(text: Text, node: Node, words: list[str]) -> None:
    for word in words[:-1]:
        below = node.children.get(word)
        if below is None:
            return
        node = below
    gone = node.children.pop(words[-1], None) if words else None
    if gone is not None:
        text.idle.extend(gone.all_lines())


def _switch(inactive: bool) -> Callable[[Text, Line, list[str]], str]:
    def switch(text: Text, line: Line, words: list[str]) -> str:
        node = _find(text, words)
        if node is None:
            return "there is no such statement above"
        node.inactive = inactive
        node.lines += (line.number,)
        return ""

    return switch


def _insert(text: Text, line: Line, words: list[str]) -> str:
    """`insert PATH KIND NAME before|after [KIND] NAME`."""
    at = next((n for n in range(len(words) - 1, 0, -1) if words[n] in ("before", "after")), 0)
    parent = _find(text, words[: at - 1]) if at > 1 else None
    moved, other = (words[at - 1], words[-1]) if at else ("", "")
    if parent is None or moved not in parent.children or other not in parent.children or moved == other:
        return "there is no such statement above"
    order = [word for word in parent.children if word != moved]
    order.insert(order.index(other) + (words[at] == "after"), moved)
    parent.children = {word: parent.children[word] for word in order}
    text.idle.append(line.number)
    return ""


def _rename(text: Text, line: Line, words: list[str]) -> str:
    """`rename PATH KIND OLD to KIND NEW`."""
    at = next((n for n in range(len(words) - 1, 0, -1) if words[n] == "to"), 0)
    parent = _find(text, words[: at - 1]) if at > 1 else None
    if parent is None or words[at - 1] not in parent.children or words[-1] in parent.children:
        return "there is no such statement above"
    new = words[-1]
    parent.children = {new if word == words[at - 1] else word: node for word, node in parent.children.items()}
    parent.children[new].word = new
    text.idle.append(line.number)
    return ""


def _move(text: Text, line: Line, words: list[str], verb: str) -> str:
    if verb == "edit":
        text.prefix = (*text.prefix, *words)
    elif verb == "top":
        text.prefix = ()
        if words and words[0] in COMMANDS:
            _command(text, line, words)
            return ""
    else:
        text.prefix = text.prefix[:-1]
    text.idle.append(line.number)
    return ""


def _pass_over(text: Text, line: Line, _: list[str]) -> str:
    text.idle.append(line.number)
    return ""


HANDLERS: dict[str, Callable[[Text, Line, list[str]], str]] = {
    "set": _set,
    "delete": _delete,
    "deactivate": _switch(True),
    "activate": _switch(False),
    "insert": _insert,
    "rename": _rename,
    "edit": lambda text, line, words: _move(text, line, words, "edit"),
    "top": lambda text, line, words: _move(text, line, words, "top"),
    "up": lambda text, line, words: _move(text, line, words, "up"),
    "exit": lambda text, line, words: _move(text, line, words, "up"),
    "annotate": _pass_over,
    "protect": _pass_over,
    "unprotect": _pass_over,
}
