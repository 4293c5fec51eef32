"""Shell scripts of iptables commands: which commands run at start, in which order, and what stands around them.

Not a shell: functions, `case`, loops and conditions are followed by their words. Whatever cannot be followed stays a condition
or a variable of the rule, so that a rule is never thought wider or surer than it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import takewhile

from policyhub.vendorkit.blocks import Line
from policyhub.vendorkit.sharing import Pool
from policyhub.vendorkit.xtables.options import split_words

TOOL = re.compile(r"^(?:(?:/\w[\w.-]*)+/)?(iptables|ip6tables)(?:-nft|-legacy)?$")
SET_TOOL = re.compile(r"^(?:(?:/\w[\w.-]*)+/)?ipset$")
WHICH = re.compile(r"^(?:`which (\S+)`|\$\(which (\S+)\)|\$\(command -v (\S+)\))$")
ASSIGNMENT = re.compile(r"^(?:export\s+|readonly\s+|local\s+)?([A-Za-z_]\w*)=(.*)$", re.DOTALL)
VARIABLE = re.compile(r"\$\{([A-Za-z_]\w*)\}|\$([A-Za-z_]\w*)")
FUNCTION = re.compile(r"^(?:function\s+)?([A-Za-z_][\w-]*)\s*(?:\(\s*\))\s*(\{)?\s*$|^function\s+([A-Za-z_][\w-]*)\s*(\{)?\s*$")
OPENS = re.compile(r"^(?:if|for|while|until|select)\b|\|\s*while\b")
CLOSES = re.compile(r"^(?:fi|done)\b")
BRANCH = re.compile(r"^\(?\s*([^()\s]+(?:\s*\|\s*[^()\s]+)*)\s*\)\s*(.*)$")
START = frozenset({"start", "restart", "reload", "up", "on"})
MOST_NESTED = 30  # loops in loops, variables in variables
MOST_RUN = 200_000  # statements; functions that call each other could make more of a small text


@dataclass(frozen=True, slots=True)
class Command:
    """`tool`: iptables, ip6tables or ipset. conditions: words around it that decide whether it runs."""

    tool: str
    words: list[str]
    lines: tuple[int, ...]
    text: str
    conditions: tuple[str, ...]
    unresolved: tuple[str, ...]


@dataclass(slots=True)
class _Statement:
    """A line with those that it goes on in. `around`: headers of the loops and conditions it stands in."""

    line: Line
    lines: tuple[int, ...]
    text: str
    around: tuple[str, ...]
    runs: bool


@dataclass(slots=True)
class Script:
    """Functions and the statements outside of them."""

    functions: dict[str, list[_Statement]] = field(default_factory=dict)
    main: list[_Statement] = field(default_factory=list)
    values: dict[str, set[str]] = field(default_factory=dict)
    steps: int = 0
    pool: Pool = field(default_factory=Pool)


def joined(lines: list[Line]) -> Iterator[tuple[Line, tuple[int, ...], str]]:
    """Lines with a backslash at the end go on in the next one."""
    at = 0
    while at < len(lines):
        line = lines[at]
        parts, numbers = [line.text], [line.number]
        while parts[-1].endswith("\\") and not parts[-1].endswith("\\\\") and at + 1 < len(lines):
            at += 1
            parts[-1] = parts[-1][:-1]
            parts.append(lines[at].text)
            numbers.append(lines[at].number)
        yield line, tuple(numbers), " ".join(part.strip() for part in parts)
        at += 1


def read_script(lines: list[Line]) -> Script:
    script = Script()
    name, depth = "", 0
    around: list[str] = []
    branches: list[list[str]] = []  # of open `case`s: the labels of the branch
    for line, numbers, text in joined(lines):
        if text.startswith("#") or not text:
            continue
        opened = FUNCTION.match(text)
        if opened and not name:
            name, depth = opened[1] or opened[3], 1 if opened[2] or opened[4] else 0
            around, branches = [], []
            continue
        if name:
            depth += text.count("{") - text.count("}")
            if depth <= 0 and "{" not in text and "}" in text:
                name = ""
                continue
        text = _branch(text, branches)
        runs = not any(labels and not START & set(labels) for labels in branches)
        target = script.functions.setdefault(name, []) if name else script.main
        if CLOSES.match(text) and around:
            around.pop()
        target.append(_Statement(line, numbers, text, tuple(around), runs))
        if len(around) < MOST_NESTED and OPENS.search(text) and not re.search(r"\b(?:fi|done)\s*(?:[;|>].*)?$", text):
            around.append(text.split("; then")[0].split("; do")[0])
        _assign(script, text)
    return script


def _branch(text: str, branches: list[list[str]]) -> str:
    """Keep the stack of open `case`s; gives what is left of the line behind a label."""
    if re.match(r"case\s.*\sin\s*$", text):
        if len(branches) < MOST_NESTED:
            branches.append([])
        return ""
    if not branches:
        return text
    if text.startswith("esac"):
        branches.pop()
        return ""
    found = BRANCH.match(text)
    if found and not branches[-1]:
        branches[-1] = [label.strip().strip("'\"") for label in found[1].split("|")]
        text = found[2]
    if text.endswith(";;"):
        rest = text[:-2].strip()
        branches[-1] = []
        return rest
    return text


def _assign(script: Script, text: str) -> None:
    for part in re.split(r";\s*", text) if "=" in text else ():
        found = ASSIGNMENT.match(part.strip())
        if found is None:
            continue
        value = found[2].strip()
        known = WHICH.match(value)
        if known:
            value = known[1] or known[2] or known[3]
        elif "`" in value or "$(" in value:
            value = "$"
        elif " " in value and value[:1] not in "\"'":
            continue  # `VAR=x command`: for that command only
        script.values.setdefault(found[1], set()).add(value.strip("\"'"))


def literal(script: Script, name: str, seen: tuple[str, ...] = ()) -> str | None:
    """The one value that the text gives a variable; None when it gives none or several, or when it depends on others."""
    values = script.values.get(name)
    if values is None or len(values) != 1 or name in seen or len(seen) > MOST_NESTED:
        return None
    value = next(iter(values))
    if "$" not in value:
        return value
    whole = expand(script, value, (*seen, name))
    return None if "$" in whole else whole


def expand(script: Script, text: str, seen: tuple[str, ...] = ()) -> str:
    def value(found: re.Match[str]) -> str:
        known = literal(script, found[1] or found[2], seen)
        return found[0] if known is None or len(known) > 4000 else known

    return VARIABLE.sub(value, text) if "$" in text else text


def commands(script: Script) -> Iterator[Command]:
    """Commands in order of execution; one by one, as functions that are called often make many of a small text."""
    has_rules = False
    for command in _run(script, script.main, (), ()):
        has_rules = has_rules or (command.tool != "ipset" and _is_rule(command))
        yield command
    if not has_rules:
        for name, body in script.functions.items():  # a library: nobody calls its functions here
            yield from _run(script, body, (name,), ())


def _is_rule(command: Command) -> bool:
    return any(word in ("-A", "-I", "--append", "--insert") for word in command.words)


def _run(script: Script, body: list[_Statement], active: tuple[str, ...], around: tuple[str, ...]) -> Iterator[Command]:
    for statement in body:
        script.steps += 1
        if script.steps > MOST_RUN:
            return
        if not statement.runs:
            continue
        first = statement.text.split(None, 1)[0] if statement.text else ""
        called = first.rstrip(";") if first.rstrip(";") in script.functions else ""
        if called and called not in active and len(active) < 20:
            yield from _run(script, script.functions[called], (*active, called), (*around, *statement.around))
        else:
            yield from statement_commands(script, statement, around)


def statement_commands(script: Script, statement: _Statement, around: tuple[str, ...] = ()) -> Iterator[Command]:
    if "tables" not in statement.text and "ipset" not in statement.text and "$" not in statement.text:
        return
    guard: list[str] = []
    for text, joint in _parts(statement.text):
        words = _words(script, text)
        while words and words[0] in ("sudo", "exec", "eval", "then", "do", "else", "{", "(", "!", "command", "nice"):
            words.pop(0)
        tool = TOOL.match(words[0]) if words else None
        name = tool[1] if tool else "ipset" if words and SET_TOOL.match(words[0]) else ""
        if name:
            own = [script.pool(word) for word in words[1:] if word != "}"]
            own = list(takewhile(lambda word: not re.match(r"^\d?>", word) and word not in ("&", "<"), own))
            unknown = tuple(dict.fromkeys(word for word in own if "$" in word or "`" in word))
            yield Command(name, own, statement.lines, statement.text, (*around, *statement.around, *guard), unknown)
        if joint in ("&&", "||"):
            guard.append(f"{text.strip()} {joint}")
        else:
            guard = []


def _words(script: Script, text: str) -> list[str]:
    """Variables are replaced word by word, so that one with blanks becomes several words only outside of quotes."""
    if "$" not in text:
        return split_words(text)
    words: list[str] = []
    for word in _raw_words(text):
        if word.startswith("'"):
            words += split_words(word)
            continue
        whole = expand(script, word)
        words += [whole.strip('"')] if word.startswith('"') else split_words(whole)
    return words


def _raw_words(text: str) -> list[str]:
    return re.findall(r"\"(?:[^\"\\]|\\.)*\"|'[^']*'|[^\s\"']+(?:\"[^\"]*\"|'[^']*')*", text)


def _parts(text: str) -> Iterator[tuple[str, str]]:
    """Commands of a line with the joint behind each (`;`, `&&`, `||`, `|`, ""); quotes are respected, a comment is cut off."""
    begin, at, quote = 0, 0, ""
    while at < len(text):
        char = text[at]
        if quote:
            if char == "\\" and quote == '"':
                at += 1
            elif char == quote:
                quote = ""
        elif char in "\"'":
            quote = char
        elif char == "#" and (at == 0 or text[at - 1].isspace()):
            break
        elif char in ";&|":
            joint = text[at : at + 2] if text[at : at + 2] in ("&&", "||") else char
            if joint != "&" or text[at - 1 : at] != ">":
                yield text[begin:at], joint
                at += len(joint) - 1
                begin = at + 1
        at += 1
    if text[begin:at].strip():
        yield text[begin:at], ""
