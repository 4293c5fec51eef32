"""When, where and since when: what a collected text says about the reading itself (clock, prompt, uptime).

Understood: `show clock` / `display clock` output, a comment line with an ISO date near the top ("! 2026-11-01T08:00"), device
prompts, and uptime lines of `show version` / `display version` (the shortest, when several stand there). A clock without a known
zone is taken as UTC.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
TIME = r"(?P<time>\d{1,2}:\d{2}(?::\d{2})?)"
CLOCK = re.compile(
    rf"^[*.]?{TIME}(?:\.\d+)? (?P<zone>\S+) (?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) "
    r"(?P<month>[A-Z][a-z]{2}) +(?P<day>\d{1,2}) (?P<year>\d{4})\s*$",
    re.MULTILINE,
)
ISO = (
    r"(?P<date>\d{4}-\d{2}-\d{2})[T ](?P<time>\d{2}:\d{2}(?::\d{2})?)(?:\.\d+)?"
    r" ?(?P<zone>Z|UTC|GMT|[+-]\d{2}:?\d{2})?"
)
COMMENT = re.compile(rf"^[!#:;]+ *(?:read|taken|collected|date|time|at|on|:| )* *{ISO}\s*$", re.MULTILINE | re.IGNORECASE)
VRP_ZONE = r"(?:[A-Z][a-z]+day\b.*\n)?(?:Time Zone ?\(.*?\) ?: ?UTC(?P<offset>[+-]\d{2}:\d{2}))?"
VRP_CLOCK = re.compile(rf"^{ISO}\s*\n{VRP_ZONE}", re.MULTILINE)
PROMPT = re.compile(
    r"^[<\[]?(?P<host>[A-Za-z0-9][\w.-]*)(?P<unit>/(?:pri|sec))?(?:/\w+)*[>#\]] ?(?:show|sh|display|dis)\b", re.MULTILINE
)
SPAN = r"(?P<span>(?:\d+ (?:year|week|day|hour|minute|min|sec)\w*,? ?)+)"
UPTIME = re.compile(rf"^(?:(?!failover)\S+ up|.*\buptime is) {SPAN}", re.MULTILINE)
PART = re.compile(r"(\d+) (year|week|day|hour|min|sec)")
UNITS = {"year": 365 * 86400, "week": 7 * 86400, "day": 86400, "hour": 3600, "min": 60, "sec": 1}
TOP_LINES = 40


@dataclass(frozen=True, slots=True)
class Occasion:
    """read_at and counting_since are aware. member: host and unit as the prompt shows them ("fw-01/pri"), "" unknown."""

    read_at: datetime | None = None
    up_for: timedelta | None = None
    hostname: str = ""
    member: str = ""

    @property
    def counting_since(self) -> datetime | None:
        """Boot. A clear after it is not visible here; falling counters show it."""
        return self.read_at - self.up_for if self.read_at and self.up_for else None


def occasion_of(text: str, fallback: datetime | None = None) -> Occasion:
    """fallback: when it was read, if the text does not say."""
    prompt = PROMPT.search(text)
    hostname = prompt["host"] if prompt else ""
    member = f"{hostname}{prompt['unit'] or ''}" if prompt else ""
    spans = [sum(int(n) * UNITS[unit] for n, unit in PART.findall(found["span"])) for found in UPTIME.finditer(text)]
    up_for = timedelta(seconds=min(spans)) if spans else None
    return Occasion(_clock(text) or fallback, up_for, hostname, member)


def parse_moment(text: str) -> datetime:
    """ISO date and time; without a zone it is UTC. Raises ValueError."""
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _clock(text: str) -> datetime | None:
    found = CLOCK.search(text)
    if found and found["month"].lower() in MONTHS:
        month = MONTHS.index(found["month"].lower()) + 1
        return _moment(f"{found['year']}-{month:02}-{int(found['day']):02}", found["time"], "")
    top = "\n".join(text.split("\n", TOP_LINES)[:TOP_LINES])
    comment = COMMENT.search(top)
    if comment:
        return _moment(comment["date"], comment["time"], comment["zone"] or "")
    vrp = VRP_CLOCK.search(text)
    if vrp:
        return _moment(vrp["date"], vrp["time"], vrp["offset"] or vrp["zone"] or "")
    return None


def _moment(date: str, time: str, zone: str) -> datetime | None:
    hours, _, rest = time.partition(":")
    try:
        moment = datetime.fromisoformat(f"{date}T{int(hours):02}:{rest}")
    except ValueError:
        return None
    offset = re.fullmatch(r"([+-])(\d{2}):?(\d{2})", zone)
    if offset is None:
        return moment.replace(tzinfo=UTC)
    minutes = (int(offset[2]) * 60 + int(offset[3])) * (-1 if offset[1] == "-" else 1)
    return moment.replace(tzinfo=timezone(timedelta(minutes=minutes))).astimezone(UTC)
