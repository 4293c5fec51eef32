"""Hit counters: `diagnose firewall iprope show 100004` in both layouts, and the REST monitor of policies.

A count is one of sessions. Since 7.0 it covers today and the seven days before (administration guide, "Seven-day rolling counter
for policy hit counters"): the eight numbers in brackets. The time of the last hit is the device's own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from policyhub.domain.device_config import Unparsed
from policyhub.domain.hits import HitCount, HitSample
from policyhub.vendorkit.blocks import read_lines
from policyhub.vendorkit.ledger import MAX_LINE
from policyhub.vendorkit.unread_hits import NO_COUNT, NO_RULE, signed_lines, unread

ROLLING = timedelta(days=7)
POLICIES = "firewall policy"
SEEN = re.compile(r"^[ \t]*idx[=:]\d+", re.MULTILINE)
INDEX = re.compile(r"^idx[=:](\d{1,10})\b")
PAIR = re.compile(r"\bpkts/bytes=(\d{1,20})/(\d{1,20})")
BYTES = re.compile(r"^bytes:(\d{1,20})\b")
HITS = re.compile(r"\bhit count:(\d{1,20})(?: (\())?")
LAST = re.compile(r"\blast(?: hit)?:(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)")
SIGN = re.compile(r"^idx[=:]|\bpkts/bytes=|^bytes:|\bhit count:")
COMMAND = re.compile(r"\biprope6? show 0*([0-9a-fA-F]{1,8})\b")
HOST = re.compile(r"^([^\s#$]{1,64}) (?:\(([^)\s]{1,64})\) )?[#$] ")
HOSTNAME = re.compile(r'^set hostname "?([^"\s]{1,64})"?$')
POLICY_GROUP = "100004"


@dataclass(slots=True)
class _Row:
    policy: str
    key: str
    line: int
    hits: int | None = None
    bytes: int | None = None
    last_hit_at: datetime | None = None


@dataclass(slots=True)
class _Reading:
    rows: list[_Row] = field(default_factory=list)
    policy: str = POLICIES
    is_policy_group: bool = True
    rolling: bool = False
    hostname: str = ""


def counters(text: str, read_at: datetime | None = None) -> HitSample | None:
    """One HitCount per policy id and output; None when the text holds none."""
    if text.lstrip("\ufeff \t\r\n")[:1] in ("{", "["):
        return _rest(text, read_at)
    if SEEN.search(text) is None:
        return None
    reading = _Reading()
    for line in read_lines(text):
        if len(line.text) <= MAX_LINE:
            _take(reading, line.text, line.number)
    hits = tuple(HitCount(r.policy, r.key, r.hits, r.bytes, r.last_hit_at, r.line) for r in reading.rows)
    if not hits:
        return None
    since = read_at - ROLLING if reading.rolling and read_at is not None else None
    return HitSample("fortinet_fortios", "sessions", hits, read_at=read_at, covers_from=since, hostname=reading.hostname)


def unread_counts(text: str) -> Iterator[Unparsed]:
    """Lines of both layouts, and rows of the REST answer, whose id or count is no number."""
    if text.lstrip("\ufeff \t\r\n")[:1] not in ("{", "["):
        yield from signed_lines(text, SIGN, _why_unread)
        return
    for _, row in _rest_rows(text):
        if row.get("policyid") != 0 and _number(row.get("policyid")) is None:
            yield unread(1, json.dumps(row, ensure_ascii=False), NO_RULE)
        elif row.get("hit_count") is not None and _number(row["hit_count"]) is None:
            yield unread(1, json.dumps(row, ensure_ascii=False), NO_COUNT)


def _why_unread(text: str) -> str:
    if text.startswith("idx") and not INDEX.match(text):
        return NO_RULE
    if text.startswith("bytes:"):
        return "" if BYTES.match(text) else NO_COUNT
    counts = (("pkts/bytes=", PAIR), ("hit count:", HITS))
    return NO_COUNT if any(sign in text and shape.search(text) is None for sign, shape in counts) else ""


def _take(reading: _Reading, text: str, number: int) -> None:
    command = COMMAND.search(text)
    if command is not None:
        host = HOST.match(text)
        reading.is_policy_group = command[1].lower() == POLICY_GROUP
        reading.policy = f"{host[2]}/{POLICIES}" if host is not None and host[2] else POLICIES
        reading.hostname = host[1] if host is not None else reading.hostname
        return
    named = HOSTNAME.match(text)
    if named is not None:
        reading.hostname = named[1]
    index = INDEX.match(text)
    if index is not None and reading.is_policy_group:
        reading.rows.append(_Row(reading.policy, str(int(index[1])), number))
    if not reading.rows or not reading.is_policy_group:
        return
    row = reading.rows[-1]
    pair, total = PAIR.search(text), BYTES.match(text)
    if pair is not None:
        row.bytes = int(pair[2])
    elif total is not None:
        row.bytes = int(total[1])
    hits = HITS.search(text)
    if hits is not None:
        row.hits = int(hits[1])
        reading.rolling = reading.rolling or hits[2] is not None
    last = LAST.search(text)
    if last is not None:
        row.last_hit_at = _moment(last[1])


def _moment(text: str) -> datetime | None:
    try:
        return datetime.strptime(text, "%Y-%m-%d %H:%M:%S")  # noqa: DTZ007 (the device's own clock, without a zone)
    except ValueError:
        return None


def _rest(text: str, read_at: datetime | None) -> HitSample | None:
    """`/api/v2/monitor/firewall/policy`: one answer, or one per vdom (`vdom=*`)."""
    hits = [_rest_row(policy, row) for policy, row in _rest_rows(text) if _number(row.get("policyid")) is not None]
    return HitSample("fortinet_fortios", "sessions", tuple(hits), read_at=read_at) if hits else None


def _rest_rows(text: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each row with the policy it belongs to."""
    try:
        data = json.loads(text.lstrip("\ufeff"))
    except (ValueError, RecursionError):
        return
    answers = [answer for answer in (data if isinstance(data, list) else [data]) if isinstance(answer, dict)]
    several = len(answers) > 1
    for answer in answers:
        vdom, name = answer.get("vdom"), answer.get("name")
        table = f"firewall {name}" if isinstance(name, str) else POLICIES
        is_alone = not several and vdom in ("root", None)
        policy = table if is_alone or not isinstance(vdom, str) else f"{vdom}/{table}"
        results = answer.get("results")
        for row in results if isinstance(results, list) else [results]:
            if isinstance(row, dict):
                yield policy, row


def _rest_row(policy: str, row: dict[str, Any]) -> HitCount:
    last = _number(row.get("last_used"))
    when = datetime.fromtimestamp(last, UTC) if last and last < 2**33 else None
    return HitCount(policy, str(_number(row["policyid"])), _number(row.get("hit_count")), _number(row.get("bytes")), when)


def _number(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
