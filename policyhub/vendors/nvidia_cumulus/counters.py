"""Hit counters of `nv show interface X acl NAME statistics`: rule, packets and bytes in and out. Packets; zero is printed.

The table names no list; the command line above it does. A cell without a number is of a direction that the list is not bound in.
"""

from __future__ import annotations

import re
from datetime import datetime

from policyhub.domain.hits import HitCount, HitSample
from policyhub.vendorkit.blocks import read_lines
from policyhub.vendors.nvidia_cumulus.parse import NAME

COMMAND = re.compile(r"nv show (?:interface \S+|system control-plane) acl (\S+) statistics")
HEADER = re.compile(r"^Rule\s+In Packet\s+In Byte\s+Out Packet\s+Out Byte")
DASHES = re.compile(r"-+")
NUMBER = re.compile(r"^([\d,]{1,30}(?:\.\d{1,6})?)\s*([KMGT]?B|Bytes)?$")
SCALE = {"KB": 1024, "MB": 1024**2, "GB": 1024**3, "TB": 1024**4}


def counters(text: str, read_at: datetime | None = None) -> HitSample | None:
    """None when the text holds no such table."""
    lines = read_lines(text)
    raw = [line.expandtabs().rstrip() for line in text.removeprefix("\ufeff").split("\n")]
    found: dict[tuple[str, str], HitCount] = {}
    acl, host, seen = "", "", False
    columns: list[tuple[int, int]] = []
    for at, line in enumerate(lines):
        command = COMMAND.search(line.text)
        if command:
            acl, columns = command[1], []
            prompt = re.match(r"^[\w.-]+@([\w.-]+):", line.text)
            host = host or (prompt[1] if prompt else "")
        elif HEADER.match(line.text) and at + 1 < len(raw):
            columns, seen = [match.span() for match in DASHES.finditer(raw[at + 1])], True
        elif len(columns) >= 5 and line.text[:1].isdigit():
            cells = [raw[at][start:end].strip() for start, end in columns]
            packets, size = _total(cells[1], cells[3]), _total(cells[2], cells[4])
            known = found.get((acl, cells[0]))
            if known is not None:  # the same list on another port
                packets = None if packets is None and known.hits is None else (packets or 0) + (known.hits or 0)
                size = None if size is None and known.bytes is None else (size or 0) + (known.bytes or 0)
            found[acl, cells[0]] = HitCount(acl, cells[0], packets, size, line=line.number)
    return HitSample(NAME, "packets", tuple(found.values()), read_at=read_at, hostname=host) if seen else None


def _total(*cells: str) -> int | None:
    values = [value for value in (_number(cell) for cell in cells) if value is not None]
    return sum(values) if values else None


def _number(text: str) -> int | None:
    found = NUMBER.match(text)
    return round(float(found[1].replace(",", "")) * SCALE.get(found[2] or "", 1)) if found else None
