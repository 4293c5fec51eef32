"""Hit counters of ACL rules: `aclshow` (also `show acl counters`). Packets; N/A is no number.

Without -a aclshow leaves out rules that counted nothing, so zero is printed only when some row shows it. They count since the
rule was made or `sonic-clear acl`; a rule whose table has no counters prints N/A.
"""

from __future__ import annotations

from datetime import datetime

from policyhub.domain.hits import HitCount, HitSample
from policyhub.vendorkit.blocks import read_lines
from policyhub.vendorkit.lexing import is_decimal
from policyhub.vendors.sonic.cli_tables import read_tables
from policyhub.vendors.sonic.parse import NAME, hostname_of

COLUMNS = ("RULE NAME", "TABLE NAME", "PACKETS COUNT")


def counters(text: str, read_at: datetime | None = None) -> HitSample | None:
    """None when the text holds no such table."""
    lines = read_lines(text)
    raw = [line.expandtabs().rstrip() for line in text.removeprefix("\ufeff").split("\n")]
    hits: list[HitCount] = []
    seen = False
    for table in read_tables(lines, raw):
        if not all(name in table.columns for name in COLUMNS):
            continue
        seen = True
        for row in table.rows:
            packets, size = _number(row.cells["PACKETS COUNT"]), _number(row.cells.get("BYTES COUNT", ""))
            hits.append(HitCount(row.cells["TABLE NAME"], row.cells["RULE NAME"], packets, size, line=row.line))
    if not seen:
        return None
    zero = any(hit.hits in (0, None) for hit in hits)
    return HitSample(NAME, "packets", tuple(hits), zero_is_printed=zero, read_at=read_at, hostname=hostname_of(lines))


def _number(text: str) -> int | None:
    plain = text.replace(",", "")
    return int(plain) if is_decimal(plain) and len(plain) < 25 else None
