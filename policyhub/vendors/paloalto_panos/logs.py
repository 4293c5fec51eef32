"""Traffic logs with rule names: comma-separated, from syslog, from a file on the device, or the console's export.

Field order: vendor's "Traffic Log Fields". A session logs its start, its end, or both; a drop and a deny are sessions, too.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from policyhub.domain.device_config import Unparsed
from policyhub.domain.hits import RuleUse
from policyhub.vendorkit.lexing import is_decimal
from policyhub.vendorkit.unread_hits import NO_USE, in_order, signed_lines
from policyhub.vendors.paloalto_panos.counters import unread_counts

TIME = re.compile(r"^(\d{4})/(\d\d)/(\d\d) (\d\d):(\d\d):(\d\d)$")
SUBTYPE, GENERATED, RULE, VSYS, REPEAT, DEVICE = 4, 6, 11, 15, 23, 52
HIGH_RESOLUTION = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,6})?(?:Z|[+-]\d\d:\d\d)$")
TRAFFIC = re.compile(r",TRAFFIC,")
LONGEST = 20_000


@dataclass(slots=True)
class _Use:
    starts: int = 0
    ends: int = 0
    first: datetime | None = None
    last: datetime | None = None


def rule_uses(text: str) -> tuple[RuleUse, ...]:
    """One row per device, vsys and rule, in the order of their first appearance."""
    found: dict[tuple[str, str, str], _Use] = {}
    for fields in _rows(text):
        if len(fields) <= REPEAT or not fields[RULE]:
            continue
        name = fields[RULE]
        vsys = fields[VSYS]
        policy = "security" if vsys in ("", "vsys1") else f"{vsys}/security"
        device = fields[DEVICE] if len(fields) > DEVICE else ""
        use = found.setdefault((device, policy, name), _Use())
        repeat = int(fields[REPEAT]) if is_decimal(fields[REPEAT]) and 0 < len(fields[REPEAT]) < 8 else 1
        if fields[SUBTYPE] == "start":
            use.starts += max(repeat, 1)
        else:
            use.ends += max(repeat, 1)
        when = _time(fields)
        if when is not None:
            use.first = when if use.first is None else min(use.first, when)
            use.last = when if use.last is None else max(use.last, when)
    return tuple(
        RuleUse(policy, name, max(use.starts, use.ends), use.first, use.last, device)
        for (device, policy, name), use in found.items()
    )


def _rows(text: str) -> Iterator[list[str]]:
    """Fields of each traffic line, counted from the (unused) first one; a syslog header is left out."""
    for line in text.splitlines():
        fields = _fields(line) if ",TRAFFIC," in line else None
        if fields is not None:
            yield fields


def _fields(line: str) -> list[str] | None:
    """None for a line that is cut off before its rule, or is no list of fields."""
    try:
        fields = next(csv.reader([line])) if len(line) <= LONGEST else []
    except (csv.Error, StopIteration):
        return None
    shift = fields.index("TRAFFIC") - 3 if "TRAFFIC" in fields else -1  # some collectors put fields of their own in front
    return fields[shift:] if shift >= 0 and len(fields) - shift > RULE else None


def unread_hits(text: str) -> tuple[Unparsed, ...]:
    """Counts that are no numbers, and log lines that are cut off."""
    return in_order([*unread_counts(text), *signed_lines(text, TRAFFIC, _why_unread)])


def _why_unread(text: str) -> str:
    fields = _fields(text)
    return "" if fields is not None and len(fields) > REPEAT else NO_USE


def _time(fields: list[str]) -> datetime | None:
    """The high resolution time with its zone when the line has one, else the device's own clock taken as UTC."""
    exact = next((text for text in reversed(fields) if HIGH_RESOLUTION.match(text)), "")
    if exact:
        return datetime.fromisoformat(exact).astimezone(UTC)
    parts = TIME.match(fields[GENERATED])
    if parts is None:
        return None
    try:
        return datetime.fromisoformat("{}-{}-{}T{}:{}:{}+00:00".format(*parts.groups()))
    except ValueError:
        return None
