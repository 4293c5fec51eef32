"""Hit counters of `show access-list` and `show access-list NAME brief`.

`(hitcnt=N)` stands on the entry as configured and on each member that the device expanded from it (indented, same line number,
own hash). An entry has as many hits as it prints or as its members print together, whichever is more: releases differ in
whether the entry itself counts, and with object-group-search only it does. Zero is printed; `(inactive)` without a number is
no data. The brief form knows hashes only; together with the long form it adds the time of the last hit.
The prompt (`fw/sec/stby#`) or `show failover` tells which unit of a pair counted.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from policyhub.domain.device_config import Unparsed
from policyhub.domain.hits import HitCount, HitSample
from policyhub.vendorkit.blocks import read_lines
from policyhub.vendorkit.ledger import MAX_LINE
from policyhub.vendorkit.unread_hits import NO_COUNT, NO_RULE, in_order, signed_lines
from policyhub.vendors.cisco_asa.access import hit_key

SHOWN = re.compile(
    r"^access-list (?P<name>\S+) line (?P<line>\d{1,9}) (?P<body>(?:extended |standard |ethertype |webtype )?(?:permit|deny) .*?)"
    r"(?: ?\(hitcnt=(?P<hits>\d{1,20})\))?(?: ?\(inactive\))?(?: ?0x(?P<hash>[0-9a-f]{1,8}))?$"
)
HEADER = re.compile(r"^access-list (?P<name>\S+); \d+ elements")
BRIEF = re.compile(r"^(?P<hash>[0-9a-f]{8}) (?P<parent>[0-9a-f]{8}) (?P<hits>[0-9a-f]{8}) (?P<last>[0-9a-f]{8})$")
DECORATION = re.compile(r"\([^()]*\)")
SIGN = re.compile(r"\(hitcnt|^access-list \S+ line ")
REMARK = re.compile(r"^access-list \S+ line \d+ remark ")
UNIT = re.compile(
    r"^(?P<host>[A-Za-z0-9][\w.-]*)(?:/(?:pri|sec))?/(?P<state>act|stby)[>#]|^\s*This host: .* - (?P<said>Active|Standby)\b"
)
ROLES = {"act": "active", "stby": "standby"}
SEEN = re.compile(r"\(hitcnt=\d+\)|^access-list \S+; \d+ elements", re.MULTILINE)


@dataclass(slots=True)
class _Entry:
    """`own` and `members`: hits printed for the entry and its expanded members; None when none was printed."""

    policy: str
    key: str
    line: int
    own: int | None
    members: int | None = None
    last_hit_at: datetime | None = None

    @property
    def hits(self) -> int | None:
        known = [hits for hits in (self.own, self.members) if hits is not None]
        return max(known) if known else None


@dataclass(slots=True)
class _Reading:
    entries: list[_Entry] = field(default_factory=list)
    by_hash: dict[tuple[str, str], _Entry] = field(default_factory=dict)
    loose: list[HitCount] = field(default_factory=list)
    current: dict[str, tuple[int, _Entry]] = field(default_factory=dict)


def counters(text: str, read_at: datetime | None = None) -> HitSample | None:
    """One HitCount per configured entry; None when the text holds no counters. `counts` is sessions: a connection hits once."""
    if SEEN.search(text) is None:
        return None
    reading = _Reading()
    brief_of = ""
    hostname = role = ""
    for line in read_lines(text):
        if line.text.startswith("hostname "):
            hostname = line.text[9:].strip()
        unit = UNIT.match(line.text)
        if unit is not None:
            hostname = hostname or unit["host"] or ""
            role = role or ROLES.get(unit["state"]) or unit["said"].lower()
        header = HEADER.match(line.text)
        if header is not None:
            brief_of = header["name"]
            continue
        shown = SHOWN.match(" ".join(line.text.split())) if len(line.text) <= MAX_LINE else None
        if shown is not None:
            _take(reading, shown, line.number)
            continue
        brief = BRIEF.match(line.text)
        if brief is not None and brief_of:
            _take_brief(reading, brief_of, brief, line.number)
    hits = [HitCount(e.policy, e.key, e.hits, last_hit_at=e.last_hit_at, line=e.line) for e in reading.entries]
    if not hits and not reading.loose:
        return None
    return HitSample("cisco_asa", "sessions", (*hits, *reading.loose), read_at=read_at, hostname=hostname, role=role)


def unread_hits(text: str) -> tuple[Unparsed, ...]:
    """Entries without a list, a line number or a readable `hitcnt`."""
    return in_order(signed_lines(text, SIGN, _why_unread))


def _why_unread(text: str) -> str:
    shown = SHOWN.match(" ".join(text.split())) if len(text) <= MAX_LINE else None
    if shown is None:
        return "" if REMARK.match(text) else NO_RULE
    return NO_COUNT if "hitcnt" in text and shown["hits"] is None else ""


def _take(reading: _Reading, shown: re.Match[str], number: int) -> None:
    name, line = shown["name"], int(shown["line"])
    hits = int(shown["hits"]) if shown["hits"] is not None else None
    at = reading.current.get(name)
    if at is not None and at[0] == line:
        entry = at[1]
        if hits is not None:
            entry.members = (entry.members or 0) + hits
    else:
        if hits is None and shown["hash"] is None:
            return  # a configuration line with `line n`, not a counter
        entry = _Entry(name, hit_key(name, DECORATION.sub(" ", shown["body"]).split()), number, hits)
        reading.entries.append(entry)
        reading.current[name] = (line, entry)
    if shown["hash"] is not None:
        reading.by_hash.setdefault((name, shown["hash"]), entry)


def _take_brief(reading: _Reading, name: str, brief: re.Match[str], number: int) -> None:
    """The parent's hash is 00000000 for an entry that has no members."""
    last = int(brief["last"], 16)
    when = datetime.fromtimestamp(last, UTC) if last else None
    entry = reading.by_hash.get((name, brief["parent"])) or reading.by_hash.get((name, brief["hash"]))
    if entry is not None:
        if when is not None and (entry.last_hit_at is None or when > entry.last_hit_at):
            entry.last_hit_at = when
        return
    own = brief["hash"] if brief["parent"] == "00000000" else brief["parent"]
    key = f"{name} 0x{own}"
    hits = int(brief["hits"], 16)
    for at, known in enumerate(reading.loose):
        if known.key == key:
            later = max((t for t in (known.last_hit_at, when) if t is not None), default=None)
            reading.loose[at] = replace(known, hits=(known.hits or 0) + hits, last_hit_at=later)
            return
    reading.loose.append(HitCount(name, key, hits, last_hit_at=when, line=number))
