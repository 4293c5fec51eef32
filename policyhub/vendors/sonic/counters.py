"""Hit counters of ACL rules: `aclshow` (also `show acl counters`). Packets; N/A is no number.

Without -a aclshow leaves out rules that counted nothing, so zero is printed only when some row shows it. They count since the
rule was made or `sonic-clear acl`; a rule whose table has no counters prints N/A.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from policyhub.domain.device_config import Unparsed
from policyhub.domain.hits import HitCount, HitSample
from policyhub.vendorkit.blocks import Line, read_lines
from policyhub.vendorkit.lexing import is_decimal
from policyhub.vendorkit.unread_hits import NO_COUNT, in_order, unread
from policyhub.vendors.sonic.cli_tables import Row, read_tables
from policyhub.vendors.sonic.parse import NAME, hostname_of

COLUMNS = ("RULE NAME", "TABLE NAME", "PACKETS COUNT")


def counters(text: str, read_at: datetime | None = None) -> HitSample | None:
    """None when the text holds no such table."""
    lines = read_lines(text)
    hits: list[HitCount] = []
    seen = False
    for row in _rows(text, lines):
        seen = True
        if row is not None:
            packets, size = _number(row.cells["PACKETS COUNT"]), _number(row.cells.get("BYTES COUNT", ""))
            hits.append(HitCount(row.cells["TABLE NAME"], row.cells["RULE NAME"], packets, size, line=row.line))
    if not seen:
        return None
    zero = any(hit.hits in (0, None) for hit in hits)
    return HitSample(NAME, "packets", tuple(hits), zero_is_printed=zero, read_at=read_at, hostname=hostname_of(lines))


def unread_hits(text: str) -> tuple[Unparsed, ...]:
    """Rows whose packets are neither a number nor N/A."""
    return in_order(
        unread(row.line, " ".join(row.cells.values()), NO_COUNT)
        for row in _rows(text, read_lines(text))
        if row is not None and row.cells["PACKETS COUNT"] != "N/A" and _number(row.cells["PACKETS COUNT"]) is None
    )


def _rows(text: str, lines: Sequence[Line]) -> Iterator[Row | None]:
    """None for each table of counters, then its rows."""
    for table in read_tables(lines, text):
        if all(name in table.columns for name in COLUMNS):
            yield None
            yield from table.rows


def _number(text: str) -> int | None:
    plain = text.replace(",", "")
    return int(plain) if is_decimal(plain) and len(plain) < 25 else None
