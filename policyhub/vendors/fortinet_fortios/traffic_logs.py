"""Traffic logs (syslog or file) as uses of policies: `type="traffic" .. policyid=5 policytype="policy" vd="root"`.

Fortinet, FortiOS Log Message Reference, "Traffic log support for ..", fields policyid, policytype, vd, eventtime.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime

from policyhub.domain.device_config import Unparsed
from policyhub.domain.hits import RuleUse
from policyhub.vendorkit.ledger import MAX_LINE
from policyhub.vendorkit.lexing import is_decimal
from policyhub.vendorkit.unread_hits import NO_USE, in_order, signed_lines
from policyhub.vendors.fortinet_fortios.counters import unread_counts

FIELD = re.compile(r'(\w{1,40})=(?:"([^"]*)"|(\S+))')
TRAFFIC = re.compile(r"\btype=\"?traffic\b")
INTERIM = "0000000020"  # statistics of a session that goes on
START = "start"
TABLES = {"": "firewall policy", "consolidated-policy": "firewall consolidated policy"}
YEAR_2286 = 10**10  # seconds; later numbers are in a finer unit


@dataclass(slots=True)
class _Use:
    sessions: int = 0
    first_at: datetime | None = None
    last_at: datetime | None = None


def rule_uses(text: str) -> tuple[RuleUse, ...]:
    """One row per policy, vdom and device, in the order of appearance. The implicit deny (policy 0) has none."""
    found: dict[tuple[str, str, str], _Use] = {}
    for raw in text.split("\n"):
        if "policyid=" not in raw or "traffic" not in raw or len(raw) > 2 * MAX_LINE:
            continue
        fields = {name: quoted or bare for name, quoted, bare in FIELD.findall(raw)}
        key = fields.get("policyid", "")
        if fields.get("type") != "traffic" or not is_decimal(key) or int(key[:10]) == 0:
            continue
        use = found.setdefault((_policy(fields), key, fields.get("devname", "")), _Use())
        if fields.get("action") != START and fields.get("logid") != INTERIM:
            use.sessions += 1
        when = _moment(fields)
        if when is not None:
            use.first_at = when if use.first_at is None else min(use.first_at, when)
            use.last_at = when if use.last_at is None else max(use.last_at, when)
    return tuple(
        RuleUse(policy, key, use.sessions, use.first_at, use.last_at, host) for (policy, key, host), use in found.items()
    )


def unread_hits(text: str) -> tuple[Unparsed, ...]:
    """Counts that are no numbers, and traffic logs without a policy id."""
    return in_order([*unread_counts(text), *signed_lines(text, TRAFFIC, _why_unread)])


def _why_unread(text: str) -> str:
    fields = {name: quoted or bare for name, quoted, bare in FIELD.findall(text)}
    return "" if is_decimal(fields.get("policyid", "")) else NO_USE


def _policy(fields: dict[str, str]) -> str:
    kind = fields.get("policytype", "")
    table = TABLES.get(kind, f"firewall {kind}")
    vdom = fields.get("vd", "root")
    return table if vdom in ("", "root") else f"{vdom}/{table}"


def _moment(fields: dict[str, str]) -> datetime | None:
    """`eventtime` in s, ms, us or ns by its size; else date, time and tz (UTC when it is not given)."""
    event = fields.get("eventtime", "")
    if is_decimal(event) and 9 <= len(event) <= 19:
        seconds = int(event)
        while seconds >= YEAR_2286:
            seconds //= 1000
        return datetime.fromtimestamp(seconds, UTC)
    zone = fields.get("tz", "+0000").replace(":", "")
    try:
        return datetime.strptime(f"{fields.get('date')} {fields.get('time')} {zone}", "%Y-%m-%d %H:%M:%S %z")
    except ValueError:
        return None
