"""Hit counters of `nv show interface X acl NAME statistics`: rule, packets and bytes in and out. Packets; zero is printed.

The table names no list; the command line above it does. A cell without a number is of a direction that the list is not bound in.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime

from policyhub.domain.device_config import Unparsed
from policyhub.domain.hits import HitCount, HitSample
from policyhub.vendorkit.blocks import Line, read_lines
from policyhub.vendorkit.unread_hits import NO_COUNT, in_order, unread
from policyhub.vendors.nvidia_cumulus.parse import NAME

COMMAND = re.compile(r"nv show (?:interface \S+|system control-plane) acl (\S+) statistics")
HEADER = re.compile(r"^Rule\s+In Packet\s+In Byte\s+Out Packet\s+Out Byte")
DASHES = re.compile(r"-+")
NUMBER = re.compile(r"^([\d,]{1,30}(?:\.\d{1,6})?)\s*([KMGT]?B|Bytes)?$")
NOT_COUNTED = ("", "-", "N/A")  # what the device says of a direction that it does not count
SCALE = {"KB": 1024, "MB": 1024**2, "GB": 1024**3, "TB": 1024**4}


@dataclass(frozen=True, slots=True)
class _Row:
    acl: str
    line: Line
    cells: tuple[str, ...]

    @property
    def is_read(self) -> bool:
        return all(cell in NOT_COUNTED or NUMBER.match(cell) for cell in self.cells[1:5])


def counters(text: str, read_at: datetime | None = None) -> HitSample | None:
    """None when the text holds no such table."""
    found: dict[tuple[str, str], HitCount] = {}
    rows, host = _rows(text)
    for row in rows or ():
        if not row.is_read:
            continue
        key = (row.acl, row.cells[0])
        packets, size = _total(row.cells[1], row.cells[3]), _total(row.cells[2], row.cells[4])
        known = found.get(key)
        if known is not None:  # the same list on another port
            packets = None if packets is None and known.hits is None else (packets or 0) + (known.hits or 0)
            size = None if size is None and known.bytes is None else (size or 0) + (known.bytes or 0)
        found[key] = HitCount(*key, packets, size, line=row.line.number)
    return None if rows is None else HitSample(NAME, "packets", tuple(found.values()), read_at=read_at, hostname=host)


def unread_hits(text: str) -> tuple[Unparsed, ...]:
    """Rows with a cell that is no number."""
    rows, _ = _rows(text)
    return in_order(unread(row.line.number, row.line.text, NO_COUNT) for row in rows or () if not row.is_read)


def _rows(text: str) -> tuple[list[_Row] | None, str]:
    """Rows of all tables, None without a table, and the host of the first prompt."""
    lines = read_lines(text)
    raw = [line.expandtabs().rstrip() for line in text.removeprefix("\ufeff").split("\n")]
    rows: list[_Row] | None = None
    acl, host = "", ""
    columns: list[tuple[int, int]] = []
    for at, line in enumerate(lines):
        command = COMMAND.search(line.text)
        if command:
            acl, columns = command[1], []
            prompt = re.match(r"^[\w.-]+@([\w.-]+):", line.text)
            host = host or (prompt[1] if prompt else "")
        elif HEADER.match(line.text) and at + 1 < len(raw):
            columns = [match.span() for match in DASHES.finditer(raw[at + 1])]
            rows = rows or []
        elif rows is not None and len(columns) >= 5 and line.text[:1].isdigit():
            rows.append(_Row(acl, line, tuple(raw[at][start:end].strip() for start, end in columns)))
    return rows, host


def _total(*cells: str) -> int | None:
    values = [value for value in (_number(cell) for cell in cells) if value is not None]
    return sum(values) if values else None


def _number(text: str) -> int | None:
    found = NUMBER.match(text)
    return round(float(found[1].replace(",", "")) * SCALE.get(found[2] or "", 1)) if found else None
