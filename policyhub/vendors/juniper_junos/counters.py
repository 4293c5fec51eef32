"""Counters of `show security policies hit-count` and `show firewall`, and policies named in RT_FLOW session logs.

A hit counts a session of the policy; zero is printed. Filter counters count packets and bytes of the terms that name them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime

from policyhub.domain.device_config import Unparsed
from policyhub.domain.hits import HitCount, HitSample, RuleUse
from policyhub.vendorkit.blocks import Line, read_lines
from policyhub.vendorkit.ledger import MAX_LINE
from policyhub.vendorkit.unread_hits import NO_COUNT, NO_USE, in_order, signed_lines, unread

HEADER = re.compile(r"^Index +From zone +To zone +Name +(?:Policy count|Hit ?count|Count)")
MEMBER = re.compile(r"^(?:node\d|Logical system: .*|Tenant: .*|-{5,}|Number of policy: \d+)\s*:?$")
FILTER = re.compile(r"^Filter: (\S+)$")
COLUMNS = re.compile(r"^Name +(?:Bytes +)?Packets$")
SECTIONS = re.compile(r"^(Counters|Policers|Prefix.*):$")
ROW = re.compile(r"^(\S.{0,200}?)\s+(\d{1,20})\s+(\d{1,20})$")
FILTER_LIKE = re.compile(r"^\S+ {2,}(?:\S*\d\S*) {2,}(?:\S*\d\S*)$")
POLICER_ROW = re.compile(r"^(\S.{0,200}?)\s+(\d{1,20})(?:\s+(\d{1,20}))?$")
COPY = re.compile(r"-[a-z]{2,4}\d{0,2}[-\d/:.]*\.?\d*-[io]$")
ACTIONS = ("Permit", "Deny", "Reject", "permit", "deny", "reject")
PLAIN = re.compile(
    r"RT_FLOW: (?:RT_FLOW_SESSION_(?P<kind>CREATE|CLOSE|DENY)\w*: )?session (?P<verb>created|closed|denied)\b(?P<body>.*)$"
)
STRUCTURED = re.compile(r"RT_FLOW_SESSION_(?:CREATE|CLOSE|DENY)\w*\b.*?policy-name=\"(?P<policy>[^\"]*)\"")
ZONES = re.compile(r"source-zone-name=\"([^\"]*)\".*?destination-zone-name=\"([^\"]*)\"")
TIME = re.compile(r"(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2})(?:\.\d{1,9})?(Z|[+-]\d{2}:\d{2})")
ADDRESSES = re.compile(r"^[0-9A-Fa-f.:]{2,45}/\d{1,5}->")
SESSION = re.compile(r"RT_FLOW_SESSION_(?:CREATE|CLOSE|DENY)|RT_FLOW: session (?:created|closed|denied)")
GLOBAL = "junos-global"


def key_of(source: str, destination: str, name: str) -> tuple[str, str]:
    """(policy, hit key) as the configuration names them."""
    policy = "global" if GLOBAL in (source, destination) else f"{source}->{destination}"
    return policy, f"{policy} {name}"


class _Rows:
    """Hits by key, in order of appearance, added up over members and interfaces."""

    def __init__(self) -> None:
        self.found: dict[tuple[str, str], HitCount] = {}
        self.lines: set[int] = set()
        self.unread: list[Unparsed] = []
        self.sessions = False

    def add(self, policy: str, key: str, hits: int, size: int | None, line: int) -> None:
        known = self.found.get((policy, key))
        if known is None:
            self.found[policy, key] = HitCount(policy, key, hits, size, line=line)
            return
        total = (known.hits or 0) + hits
        both = None if known.bytes is None or size is None else known.bytes + size
        self.found[policy, key] = HitCount(policy, key, total, both, line=known.line)


def _read(lines: Iterable[Line]) -> _Rows:
    rows = _Rows()
    table = filter_name = section = ""
    member = 0  # line of the member that the next table belongs to
    for line in lines:
        text = line.text
        if not text or len(text) > MAX_LINE:
            continue
        if HEADER.match(text):
            table = "policies"
            rows.lines.update({member} - {0})
        elif FILTER.match(text) is not None:
            table, filter_name, section = "filter", text[8:], ""
        elif table == "filter" and SECTIONS.match(text):
            section = text[:-1]
        elif not (
            (table == "filter" and section and COLUMNS.match(text))
            or (table and MEMBER.match(text))
            or (table == "policies" and _policy_row(rows, line))
            or (table == "filter" and section and _filter_row(rows, filter_name, section, line))
        ):
            if (table == "policies" and text[0].isdigit()) or (table == "filter" and section and FILTER_LIKE.match(text)):
                rows.unread.append(unread(line.number, text, NO_COUNT))
                continue  # one bad row does not end the table
            table = ""
            member = line.number if MEMBER.match(text) else 0
            continue
        rows.lines.add(line.number)
    return rows


def _policy_row(rows: _Rows, line: Line) -> bool:
    """`1  trust  untrust  p1  27 [Permit]`, read from both ends: the name takes what is left."""
    words = line.text.split()
    if words and words[-1] in ACTIONS:
        words.pop()
    if len(words) < 5 or not (words[0].isascii() and words[0].isdigit() and words[-1].isascii() and words[-1].isdigit()):
        return False
    if len(words[-1]) > 20:
        return False
    policy, key = key_of(words[1], words[2], " ".join(words[3:-1]))
    rows.sessions = True
    rows.add(policy, key, int(words[-1]), None, line.number)
    return True


def _filter_row(rows: _Rows, name: str, section: str, line: Line) -> bool:
    """Counters are kept; a policer counts only what exceeds its rate."""
    if section != "Counters":
        return POLICER_ROW.match(line.text) is not None
    found = ROW.match(line.text)
    if found is None:
        return False
    plain = COPY.sub("", name)
    counter = COPY.sub("", found[1]) if plain != name else found[1]
    rows.add(plain, f"{plain} {counter}", int(found[3]), int(found[2]), line.number)
    return True


def output_lines(lines: Iterable[Line]) -> set[int]:
    """Numbers of the lines that are output of a counter command, when it stands in a file with configuration."""
    return _read(lines).lines


def counters(text: str, read_at: datetime | None = None) -> HitSample | None:
    """One HitCount per row; None when the text holds no counters."""
    rows = _read(read_lines(text))
    if not rows.found:
        return None
    kept = [hit for hit in rows.found.values() if not rows.sessions or "->" in hit.policy or hit.policy == "global"]
    return HitSample("juniper_junos", "sessions" if rows.sessions else "packets", tuple(kept), read_at=read_at)


def unread_hits(text: str) -> tuple[Unparsed, ...]:
    """Rows without a number, and session logs whose policy cannot be told."""
    return in_order([*_read(read_lines(text)).unread, *signed_lines(text, SESSION, _why_unread)])


def _why_unread(text: str) -> str:
    return "" if len(text) <= MAX_LINE and (_structured(text) or _plain(text)) else NO_USE


def rule_uses(text: str) -> tuple[RuleUse, ...]:
    """Sessions per policy in RT_FLOW logs. A session that is created and closed in the same text counts once per record of
    creation or denial; where a policy is only seen closing, its closings count."""
    starts: dict[tuple[str, str], list[datetime | None]] = {}
    closes: dict[tuple[str, str], list[datetime | None]] = {}
    for line in read_lines(text):
        if "RT_FLOW" not in line.text or len(line.text) > MAX_LINE:
            continue
        found = _structured(line.text) or _plain(line.text)
        if found is None:
            continue
        is_close, policy, key = found
        (closes if is_close else starts).setdefault((policy, key), []).append(_time(line.text))
    uses: list[RuleUse] = []
    for policy, key in dict.fromkeys((*starts, *closes)):
        records = starts.get((policy, key)) or closes[policy, key]
        times = sorted(t for t in (*starts.get((policy, key), ()), *closes.get((policy, key), ())) if t is not None)
        uses.append(RuleUse(policy, key, len(records), times[0] if times else None, times[-1] if times else None))
    return tuple(uses)


def _structured(text: str) -> tuple[bool, str, str] | None:
    found = STRUCTURED.search(text)
    zones = ZONES.search(text)
    if found is None or zones is None:
        return None
    return "RT_FLOW_SESSION_CLOSE" in text, *key_of(zones[1], zones[2], found["policy"])


def _plain(text: str) -> tuple[bool, str, str] | None:
    """The policy and both zones follow the two translated address pairs, NAT rules and protocol (created, closed), or the
    protocol and ICMP type (denied): the three words behind the last number of `protocol(type)` or protocol."""
    found = PLAIN.search(text)
    if found is None:
        return None
    words = found["body"].split()
    if found["verb"] == "denied":
        at = next((n for n, word in enumerate(words) if re.fullmatch(r"\d{1,3}\(\d{1,3}\)", word)), -1)
    else:
        pairs = [n for n, word in enumerate(words) if ADDRESSES.match(word)]
        at = _behind_nat(words, pairs[1]) if len(pairs) > 1 else -1
    if at < 0 or len(words) < at + 4:
        return None
    name, source, destination = words[at + 1 : at + 4]
    return found["verb"] == "closed", *key_of(source, destination, name)


def _behind_nat(words: list[str], at: int) -> int:
    """Index of the protocol number: behind the second address pair and the names of NAT rules."""
    return next((n for n in range(at + 1, min(at + 8, len(words))) if re.fullmatch(r"\d{1,3}", words[n])), -1)


def _time(text: str) -> datetime | None:
    """Only times with a zone are times; the plain syslog form knows neither year nor zone."""
    found = TIME.search(text[:120])
    if found is None:
        return None
    try:
        return datetime.fromisoformat(f"{found[1]}{found[2].replace('Z', '+00:00')}")
    except ValueError:
        return None
