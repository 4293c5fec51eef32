"""What Junos inherits: `apply-groups` with wildcards, and interface ranges. Afterwards the tree holds what the device uses."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache

from policyhub.vendors.juniper_junos.tree import Node

MOST = 400_000  # words looked at while inheriting in one text: groups of groups can multiply
TOO_MUCH = "too much to inherit"
RANGE = re.compile(r"\[(\d{1,4})-(\d{1,4})\]")
Source = tuple[str, Node]


@dataclass(slots=True)
class Inheritance:
    """Work of one text. open: (line numbers, reason) of `apply-groups` that cannot be followed."""

    groups: dict[str, Node]
    left: int = MOST
    open: list[tuple[tuple[int, ...], str]] = field(default_factory=list)


def expand(root: Node, applies: bool) -> list[tuple[tuple[int, ...], str]]:
    """Puts every inherited statement where it applies; returns lines that cannot be followed, with the reason."""
    node = root.at("groups")
    work = Inheritance({} if node is None else {group.word: group for group in node.active()})
    if applies:
        _inherit(work, root)
    for place in (root, *root.kids("logical-systems"), *root.kids("tenants")):
        _expand_ranges(work, place)
    return work.open


def _inherit(work: Inheritance, root: Node) -> None:
    """From the top down: each node takes what the groups of its ancestors, then its own, hold for it."""
    stack: list[tuple[Node, tuple[str, ...], tuple[Source, ...]]] = [(root, (), ())]
    while stack:
        node, path, sources = stack.pop()
        sources = _own_groups(work, node, path, sources)
        below = _merge(work, node, sources) if sources else {}
        for child in node.children.values():
            if (node is not root or child.word != "groups") and (child.children or below.get(child.word)):
                stack.append((child, (*path, child.word), tuple(below.get(child.word, ()))))


def _own_groups(work: Inheritance, node: Node, path: tuple[str, ...], sources: tuple[Source, ...]) -> tuple[Source, ...]:
    """The sources of the ancestors without those excepted here, and what the groups applied here hold for this path."""
    refused = set(node.values("apply-groups-except"))
    found = [source for source in sources if source[0] not in refused] if refused else list(sources)
    waiting = [*node.kids("apply-groups"), *(kid for _, tree in found for kid in tree.kids("apply-groups"))]
    seen = {name for name, _ in found} if waiting else set()
    while waiting:
        kid = waiting.pop(0)
        name = kid.word
        if name in seen or name in refused:
            continue
        seen.add(name)
        group = work.groups.get(name)
        if group is None or group.has("when") or work.left <= 0:
            work.open.append((kid.lines, _reason(name, group) if work.left > 0 else TOO_MUCH))
            continue
        for tree in _descend(work, group, path):
            found.append((name, tree))
            waiting.extend(tree.kids("apply-groups"))
    return tuple(found)


def _reason(name: str, group: Node | None) -> str:
    if "$" in name:
        return "the text does not say which node this is"
    return "there is no such group" if group is None else "the group has a condition"


def _descend(work: Inheritance, group: Node, path: tuple[str, ...]) -> list[Node]:
    """What a group holds for a place: every branch whose words and patterns match the path."""
    here = [group]
    for word in path:
        after: list[Node] = []
        for node in here:
            work.left -= len(node.children)
            after.extend(
                kid for kid in node.active() if kid.word == word or (is_pattern(kid.word) and pattern(kid.word).fullmatch(word))
            )
        here = after if work.left > 0 else []
    return here


def is_pattern(word: str) -> bool:
    return word.startswith("<") and word.endswith(">")


def _merge(work: Inheritance, node: Node, sources: tuple[Source, ...]) -> dict[str, list[Source]]:
    """Takes over the words of the sources; returns what each child gets from them."""
    below: dict[str, list[Source]] = {}
    patterns: list[tuple[str, Node]] = []
    for name, tree in sources:
        work.left -= len(tree.children)
        for part in tree.children.values() if work.left > 0 else ():
            if is_pattern(part.word):
                patterns.append((name, part))
            elif part.word not in ("apply-groups", "apply-groups-except", "when"):
                _take(work, node, name, part)
                below.setdefault(part.word, []).append((name, part))
    for name, part in patterns:
        matches = pattern(part.word)
        work.left -= len(node.children)
        for child in node.children.values() if work.left > 0 else ():
            if matches.fullmatch(child.word) and child.word not in ("apply-groups", "apply-groups-except"):
                below.setdefault(child.word, []).append((name, part))
                if not part.children:
                    child.lines += part.lines
    return below


def _take(work: Inheritance, node: Node, name: str, part: Node) -> None:
    """The word as inherited, unless it is configured here; its lines count for the item that it becomes part of."""
    child = node.children.get(part.word)
    if child is None:
        work.left -= 1
        if work.left <= 0:
            return
        child = node.adopt(Node(part.word, name))
        child.inactive = part.inactive
        child.lines = part.lines


@cache
def pattern(text: str) -> re.Pattern[str]:
    """`<ge-*>`, `<em[0,1]>` as a regular expression; one that is not understood matches nothing."""
    body = text.removeprefix("<").removesuffix(">")
    parts: list[str] = []
    at = 0
    while at < len(body):
        letter = body[at]
        close = body.find("]", at) if letter == "[" else -1
        if close > 0:
            inner = body[at + 1 : close].replace("\\", "").replace("!", "^", 1) if body[at + 1] == "!" else body[at + 1 : close]
            parts.append(f"[{inner}]")
            at = close
        else:
            parts.append({"*": ".*", "?": "."}.get(letter, re.escape(letter)))
        at += 1
    try:
        return re.compile(re.sub(r"(?:\.\*){2,}", ".*", "".join(parts)))
    except re.error:
        return re.compile(r"(?!)")


def members(texts: Iterable[str], known: Iterable[str]) -> list[str]:
    """Interfaces that `member` names: one, a bracketed range of numbers, or a pattern over the known ones."""
    found: dict[str, None] = {}
    names = list(known)
    for text in texts:
        several = RANGE.search(text)
        if several is not None and "*" not in text:
            low, high = int(several[1]), int(several[2])
            numbers = range(low, min(high, low + 511) + 1)
            found.update(dict.fromkeys(f"{text[: several.start()]}{n}{text[several.end() :]}" for n in numbers))
        elif "*" in text or "[" in text:
            found.update(dict.fromkeys(name for name in names if pattern(text).fullmatch(name)))
        else:
            found[text] = None
    return list(found)


def _range_members(node: Node, known: list[str]) -> list[str]:
    """`member X` and `member-range ge-0/0/0 to ge-0/0/7`."""
    texts = node.values("member")
    for first in node.kids("member-range"):
        last = first.value("to")
        head, _, low = first.word.rpartition("/")
        top = last.rpartition("/")[2]
        texts.append(f"{head}/[{low}-{top}]" if low.isdecimal() and top.isdecimal() else first.word)
    return members(texts, known)


def _expand_ranges(work: Inheritance, place: Node) -> None:
    interfaces = place.at("interfaces")
    if interfaces is None:
        return
    for node in interfaces.kids("interface-range"):
        source = Node(node.word)
        source.children = {word: child for word, child in node.children.items() if word not in ("member", "member-range")}
        for name in _range_members(node, [word for word in interfaces.children if word != "interface-range"]):
            if work.left > 0:
                _copy_below(work, interfaces.child(name), source)


def _copy_below(work: Inheritance, target: Node, source: Node) -> None:
    stack = [(target, source)]
    while stack:
        here, there = stack.pop()
        work.left -= len(there.children)
        for part in there.children.values():
            _take(work, here, f"range {source.word}", part)
            child = here.children.get(part.word)
            if child is not None:
                stack.append((child, part))
