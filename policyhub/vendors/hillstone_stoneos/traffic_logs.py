"""Traffic logs as uses of rules: `Traffic@FLOW: SESSION: A:P->B:Q(TCP), .., policy 3, .., session start`.

StoneOS log messages, traffic log. The line's own time has no zone and often no year.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime

from policyhub.domain.device_config import Unparsed
from policyhub.domain.hits import RuleUse
from policyhub.vendorkit.ledger import MAX_LINE
from policyhub.vendorkit.unread_hits import NO_USE, in_order, signed_lines
from policyhub.vendors.hillstone_stoneos.counters import unread_counts

SIGN = "Traffic@FLOW"
LINE = re.compile(SIGN)
POLICY = re.compile(r"\bpolicy (\d{1,9})\b")
EVENT = re.compile(r"\b(session start|session end|policy deny)\b")
STAMP = re.compile(r"\b(\d{4})[-/](\d{2})[-/](\d{2})[ T](\d{2}:\d{2}:\d{2})")
HOST = re.compile(r"^(?:<\d{1,3}>)?(?:\w{3} {1,2}\d{1,2} \d\d:\d\d:\d\d|\S{10}[ T]\S{8,15}) ([\w.\-]{1,64})")
VSYS = re.compile(r"\d\(([\w.\-]{1,64})\)")


@dataclass(slots=True)
class _Use:
    starts: int = 0
    ends: int = 0
    denied: int = 0
    first_at: datetime | None = None
    last_at: datetime | None = None

    @property
    def sessions(self) -> int:
        return max(self.starts, self.ends) + self.denied


def rule_uses(text: str) -> tuple[RuleUse, ...]:
    """One row per rule, vsys and device, in the order of appearance."""
    found: dict[tuple[str, str, str], _Use] = {}
    for raw in text.split("\n"):
        if SIGN not in raw or len(raw) > MAX_LINE:
            continue
        rule, event = POLICY.search(raw), EVENT.search(raw)
        if rule is None or event is None or int(rule[1]) == 0:
            continue
        host, vsys = HOST.match(raw), VSYS.search(raw, 0, raw.index(SIGN))  # behind it `443(TCP)` looks alike
        prefix = "" if vsys is None or vsys[1] == "root" else f"{vsys[1]}/"
        use = found.setdefault((f"{prefix}policy-global", rule[1], host[1] if host is not None else ""), _Use())
        use.starts += event[1] == "session start"
        use.ends += event[1] == "session end"
        use.denied += event[1] == "policy deny"
        when = _moment(raw)
        if when is not None:
            use.first_at = when if use.first_at is None else min(use.first_at, when)
            use.last_at = when if use.last_at is None else max(use.last_at, when)
    return tuple(
        RuleUse(policy, key, use.sessions, use.first_at, use.last_at, host) for (policy, key, host), use in found.items()
    )


def unread_hits(text: str) -> tuple[Unparsed, ...]:
    """Counts that are no numbers, and traffic logs without a rule or an event."""
    return in_order([*unread_counts(text), *signed_lines(text, LINE, _why_unread)])


def _why_unread(text: str) -> str:
    return "" if POLICY.search(text) and EVENT.search(text) else NO_USE


def _moment(raw: str) -> datetime | None:
    found = STAMP.search(raw)
    if found is None:
        return None
    try:
        return datetime.strptime(f"{found[1]}-{found[2]}-{found[3]} {found[4]}", "%Y-%m-%d %H:%M:%S")  # noqa: DTZ007 (no zone is printed)
    except ValueError:
        return None
