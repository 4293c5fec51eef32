"""Traffic logs of Check Point's Log Exporter (syslog and CEF forms): which rule of which layer took a connection.

One line is one connection, or one update of it; with several layers a line names one rule per layer.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime

from policyhub.domain.device_config import Unparsed
from policyhub.domain.hits import RuleUse
from policyhub.vendorkit.ledger import MAX_LINE
from policyhub.vendorkit.unread_hits import NO_USE, in_order, signed_lines
from policyhub.vendors.checkpoint_gaia.counters import unread_counts

FIELD = re.compile(r'\b(layer_name|rule_uid|time|rt)(?::|=)(?:"([^"]{0,300})"|([^\s;|"]{1,300}))')
ISO = re.compile(r"^(?:<\d{1,3}>\d? ?)?(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2})(?:\.\d{1,9})?(Z|[+-]\d{2}:?\d{2})")
LINE = re.compile(r"\brule_uid(?::|=)")
UPDATE = re.compile(r'\baction(?::|=)"?Update\b')


@dataclass(slots=True)
class _Use:
    sessions: int = 0
    first_at: datetime | None = None
    last_at: datetime | None = None


def rule_uses(text: str) -> tuple[RuleUse, ...]:
    """Policy is the layer ("" when the line does not say which), key the rule's uid. Updates of a connection count no session."""
    uses: dict[tuple[str, str], _Use] = {}
    for line in text.removeprefix("\ufeff").split("\n"):
        if "rule_uid" not in line or len(line) > MAX_LINE:
            continue
        fields = [(found[1], found[2] if found[2] is not None else found[3]) for found in FIELD.finditer(line)]
        rules = [value.strip("{}") for key, value in fields if key == "rule_uid" and value.strip("{}")]
        layers = [value for key, value in fields if key == "layer_name"]
        names = layers if len(layers) == len(rules) else [""] * len(rules)
        when = _time(line, fields)
        for policy, uid in dict.fromkeys(zip(names, rules, strict=True)):
            use = uses.setdefault((policy, uid), _Use())
            use.sessions += UPDATE.search(line) is None
            if when is not None:
                use.first_at = when if use.first_at is None else min(use.first_at, when)
                use.last_at = when if use.last_at is None else max(use.last_at, when)
    return tuple(RuleUse(policy, uid, use.sessions, use.first_at, use.last_at) for (policy, uid), use in uses.items())


def unread_hits(text: str) -> tuple[Unparsed, ...]:
    """Counts that are no numbers, and log lines whose rule is cut off."""
    return in_order([*unread_counts(text), *signed_lines(text, LINE, _why_unread)])


def _why_unread(text: str) -> str:
    named = any(found[1] == "rule_uid" and (found[2] or found[3] or "").strip("{}") for found in FIELD.finditer(text))
    return "" if named else NO_USE


def _time(line: str, fields: list[tuple[str, str]]) -> datetime | None:
    """The record's own time (seconds, or milliseconds in CEF), else that of the syslog header."""
    stamp = next((value for key, value in fields if key in ("time", "rt") and value.isascii() and value.isdigit()), "")
    if 9 <= len(stamp) <= 10:
        return datetime.fromtimestamp(int(stamp), UTC)
    if len(stamp) == 13:
        return datetime.fromtimestamp(int(stamp) // 1000, UTC)
    found = ISO.match(line)
    try:
        return datetime.fromisoformat(found[1] + found[2].replace("Z", "+00:00")) if found is not None else None
    except ValueError:
        return None
