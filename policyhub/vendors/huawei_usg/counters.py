"""Hit tables of `display security-policy rule all` and `display nat-policy rule all`; uses in policy and session logs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime

from policyhub.domain.device_config import Unparsed
from policyhub.domain.hits import HitCount, HitSample, RuleUse
from policyhub.vendorkit.blocks import read_lines
from policyhub.vendorkit.lexing import MONTHS
from policyhub.vendorkit.unread_hits import NO_COUNT, NO_USE, in_order, signed_lines, unread

ROLES = {"HRP_M": "active", "HRP_A": "active", "HRP_S": "standby"}
PROMPT = re.compile(r"^(?P<role>HRP_[AMS])?[<\[][~*]?(?P<host>[\w.\-/:@]{1,64})[>\]]\s?(?P<command>.*)$")
HEADING = re.compile(r"^RULE ID\s+RULE NAME\s+STATE\s+ACTION\s+HIT", re.IGNORECASE)
ROW = re.compile(r"^(?P<id>\d{1,10})\s+(?P<name>\S.*?)\s+(?P<state>enable|disable)\s+(?P<action>\S+)\s+(?P<hits>\d{1,20})$")
OUTPUT = re.compile(r"^(Total: ?\d+|RULE ID\s+RULE NAME\s.*|-{20,}|\S{0,60}%%01(POLICY|SECLOG)/.*)$", re.IGNORECASE)
NAT_ACTION = re.compile(r"nat|easy-ip", re.IGNORECASE)
SYSNAME = re.compile(r"^sysname (\S+)$", re.IGNORECASE)
LOG = re.compile(r"(?:(?P<host>\S+) )?%%\d\d(?P<module>POLICY|SECLOG)/\d/(?P<kind>\w+)")
POLICY_LOG = re.compile(r"%%\d\dPOLICY/\d/")
RULE_NAME = re.compile(r"(?:rule-name|PolicyName|RuleName)=(?P<name>.*?)\s*(?:[,;]|\.?\s*$)")
VSYS = re.compile(r"(?:vsys|Vsys|VSys)=(?P<name>[^,;]*)")
TIME_FIELD = re.compile(r"\btime=(?P<time>[^,;]+)")
MONTH_FIRST = re.compile(r"([A-Z][a-z]{2})\s+(\d{1,2})\s+(\d{4})\s+(\d{1,2}):(\d{2}):(\d{2})")
NUMBERS = re.compile(r"(\d{4})[-/](\d{1,2})[-/](\d{1,2})[ T]+(\d{1,2}):(\d{2}):(\d{2})")


def is_output(text: str) -> bool:
    """A heading, a rule or a log line: no configuration."""
    return OUTPUT.match(text) is not None or ("%%01" in text and LOG.search(text) is not None)


def is_row(text: str) -> bool:
    return text[:1].isdigit() and ROW.match(text) is not None


def counters(text: str, read_at: datetime | None = None) -> HitSample | None:
    """Sessions per rule; the default action has the key `default`. None when the text holds no table."""
    hits: list[HitCount] = []
    hostname, command, role = "", "", ""
    rows: list[HitCount] = []
    is_nat = False
    for line in read_lines(text):
        prompt = PROMPT.match(line.text)
        named = SYSNAME.match(line.text)
        if prompt or HEADING.match(line.text):
            hits += _named(rows, is_nat)
            rows, is_nat = [], "nat-policy" in (prompt["command"] if prompt else command)
        if prompt:
            command = prompt["command"]
            role = ROLES.get(prompt["role"] or "", role)
            hostname = hostname or prompt["host"]
        elif named:
            hostname = hostname or named[1]
        row = ROW.match(line.text) if line.text[:1].isdigit() else None
        if row:
            is_nat = is_nat or NAT_ACTION.search(row["action"]) is not None
            key = "default" if row["id"] == "0" else row["name"].strip('"')
            rows.append(HitCount("", key, int(row["hits"]), line=line.number))
    hits += _named(rows, is_nat)
    if not hits:
        return None
    return HitSample("huawei_usg", "sessions", tuple(hits), read_at=read_at, hostname=hostname, role=role)


def unread_hits(text: str) -> tuple[Unparsed, ...]:
    """Rows of a table without a number, and logs of policies that name no rule."""
    return in_order([*_unread_rows(text), *signed_lines(text, POLICY_LOG, _why_unread)])


def _unread_rows(text: str) -> Iterator[Unparsed]:
    in_table = False
    for line in read_lines(text):
        if HEADING.match(line.text) or PROMPT.match(line.text):
            in_table = HEADING.match(line.text) is not None
        elif in_table and line.text[:1].isdigit() and ROW.match(line.text) is None:
            yield unread(line.number, line.text, NO_COUNT)


def _why_unread(text: str) -> str:
    named = RULE_NAME.search(text)
    return "" if named and named["name"] else NO_USE


def _named(rows: list[HitCount], is_nat: bool) -> list[HitCount]:
    policy = "nat-policy" if is_nat else "security-policy"
    return [HitCount(policy, row.key, row.hits, line=row.line) for row in rows]


def rule_uses(text: str) -> tuple[RuleUse, ...]:
    """One row per rule and device: how many log lines name it, first and last time."""
    found: dict[tuple[str, str, str], RuleUse] = {}
    for line in text.split("\n"):
        log = LOG.search(line) if "%%" in line else None
        named = RULE_NAME.search(line, log.end()) if log else None
        if log is None or named is None or not named["name"]:
            continue
        vsys = VSYS.search(line, log.end())
        inside = vsys["name"].strip() if vsys else "public"
        policy = "security-policy" if inside in ("", "public") else f"{inside}/security-policy"
        at = _time(line, log.start())
        key = (log["host"] or "", policy, named["name"].strip('"'))
        known = found.get(key)
        times = [time for time in (at, known.first_at if known else None, known.last_at if known else None) if time]
        found[key] = RuleUse(
            policy,
            key[2],
            (known.sessions if known else 0) + 1,
            min(times) if times else None,
            max(times) if times else None,
            key[0],
        )
    return tuple(found.values())


def _time(line: str, header_ends: int) -> datetime | None:
    """The `time=` field, else the time in front of the message."""
    told = TIME_FIELD.search(line)
    for text in (told["time"] if told else "", line[:header_ends]):
        month = MONTH_FIRST.search(text)
        numbers = NUMBERS.search(text)
        try:
            if month and month[1].lower() in MONTHS:
                day, year, hour, minute, second = (int(part) for part in month.groups()[1:])
                return datetime(year, MONTHS.index(month[1].lower()) + 1, day, hour, minute, second)  # noqa: DTZ001 (the device's own local time)
            if numbers:
                year, number, day, hour, minute, second = (int(part) for part in numbers.groups())
                return datetime(year, number, day, hour, minute, second)  # noqa: DTZ001
        except ValueError:
            continue
    return None
