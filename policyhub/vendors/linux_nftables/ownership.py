"""Our own table inside `nft list ruleset`: found, cut out, and brought into one canonical form."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from policyhub.domain.change import GuardSpec
from policyhub.vendorkit.rendering import clean_lines, is_prompt, words
from policyhub.vendors.linux_nftables.facts import Inexact, dscp_of

QUOTED = re.compile(r'"[^"]*"')
ANY_OWN_TABLE = re.compile(r"^table inet phg_[a-z0-9]{1,12} \{$")
DSCP_OPERAND = re.compile(r"\b(dscp(?: set)?) (\{[^{}]*\}|[\w]+)")
RATE_UNIT = re.compile(r"\b(\d+) ([kmg]?)bytes\b")
ONE_LINE = re.compile(r"^(\w+ \w+) \{ ?([^{}]*?) ?\}$")
UNITS = {"": 1, "k": 1024, "m": 1024**2, "g": 1024**3}


@dataclass(slots=True)
class OwnTable:
    """Canonical lines per object ("set m4", "chain act" ...), the prefixes of both sets, and what no guard of ours holds (`odd`).

    hits: packets and bytes of the named counter, None when the text has none.
    """

    objects: dict[str, tuple[str, ...]] = field(default_factory=dict)
    members: set[str] = field(default_factory=set)
    odd: list[str] = field(default_factory=list)
    hits: tuple[int, int] | None = None


def table_name(spec: GuardSpec) -> str:
    return spec.name.replace("-", "_").lower()


def split(text: str, spec: GuardSpec) -> tuple[list[str] | None, list[str]]:
    """Lines inside our table (None: there is none) and all lines that belong to no guard of ours."""
    header = f"table inet {table_name(spec)} {{"
    own: list[str] | None = None
    foreign: list[str] = []
    depth, mine, ours = 0, False, False
    for line in clean_lines(text):
        if not line or is_prompt(line):
            continue
        if depth == 0:
            mine = words(line) == header
            ours = ANY_OWN_TABLE.match(words(line)) is not None
            if mine:
                own = own or []
        elif mine and own is not None:
            own.append(line)
        if not ours:
            foreign.append(line)
        bare = QUOTED.sub("", line)
        depth = max(0, depth + bare.count("{") - bare.count("}"))
    return own, foreign


def without_dynamic(lines: Iterable[str]) -> list[str]:
    """Foreign lines without the elements of sets that packets fill or that time empties: those change by themselves."""
    kept: list[str] = []
    dynamic, skipping = False, False
    for line in lines:
        text = line.strip()
        if text.startswith(("set ", "map ", "meter ")):
            dynamic, skipping = False, False
        if text.startswith("flags ") and ("dynamic" in text or "timeout" in text):
            dynamic = True
        if text.startswith("elements = "):
            skipping = dynamic
        if not skipping:
            kept.append(line)
        if skipping and text.endswith("}"):
            skipping = False
    return kept


def read_own(lines: list[str]) -> OwnTable:
    """Canonical content of our table."""
    own = OwnTable()
    name, body = "", list[str]()
    for line in lines:
        text = words(line)
        if not name:
            one_line = ONE_LINE.match(text)
            if one_line:
                _close(own, one_line[1], [one_line[2]] if one_line[2] else [])
            elif text.endswith("{"):
                name, body = text.removesuffix("{").strip(), []
            elif text != "}":
                own.odd.append(text)
        elif text == "}":
            _close(own, name, body)
            name = ""
        else:
            body.append(text)
    if name:
        own.odd.append(f"{name} has no end")
    return own


def _close(own: OwnTable, name: str, body: list[str]) -> None:
    if name.startswith("set "):
        body, elements = _elements(body)
        for text in elements:
            _add_member(own, text)
    if name.startswith("counter "):
        found = re.search(r"\bpackets (\d+) bytes (\d+)", " ".join(body))
        if found:
            own.hits = (int(found[1]), int(found[2]))
        body = []
    own.objects[name] = tuple(canonical(line) for line in body)


def _elements(body: list[str]) -> tuple[list[str], list[str]]:
    """Lines of a set without its elements, and the elements (they may run over many lines)."""
    start = next((at for at, line in enumerate(body) if line.startswith("elements = ")), len(body))
    listed = " ".join(body[start:]).removeprefix("elements = ").strip("{} ")
    return body[:start], [text.strip() for text in listed.split(",") if text.strip()]


def _add_member(own: OwnTable, text: str) -> None:
    try:
        own.members.add(str(ipaddress.ip_network(text, strict=True)))
    except ValueError:
        own.odd.append(f"element {text}")


def canonical(line: str) -> str:
    """One spelling for what nft versions print differently: DSCP names, rate units, quotes, order inside braces."""
    text = words(line).replace("priority mangle", "priority -150").rstrip(";")
    text = DSCP_OPERAND.sub(lambda found: f"{found[1]} {_numbers(found[2])}", text)
    text = RATE_UNIT.sub(lambda found: f"{int(found[1]) * UNITS[found[2]]} bytes", text)
    return re.sub(r"\{[^{}]*\}", lambda found: _sorted(found[0]), text.replace('"', ""))


def _numbers(operand: str) -> str:
    values = sorted(_dscp(word.strip()) for word in operand.strip("{} ").split(","))
    return str(values[0]) if len(values) == 1 else "{ " + ", ".join(map(str, values)) + " }"


def _dscp(word: str) -> int:
    try:
        return dscp_of(word)
    except Inexact:
        return -1


def _sorted(braces: str) -> str:
    members = sorted(word.strip() for word in braces.strip("{} ").split(","))
    return members[0] if len(members) == 1 else "{ " + ", ".join(members) + " }"
