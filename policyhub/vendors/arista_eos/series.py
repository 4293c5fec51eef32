"""Counters of priority flow control: `show priority-flow-control counters [detail]`, `show priority-flow-control`."""

from __future__ import annotations

import re
from datetime import datetime

from policyhub.domain.counter_series import CounterSeries
from policyhub.vendorkit.blocks import read_lines
from policyhub.vendorkit.ledger import MAX_LINE

SOURCE = "show priority-flow-control counters"
COLUMNS = re.compile(r"^Port(?:\s+(?:RxPfc|TxPfc|RxP\d|TxP\d))+$", re.IGNORECASE)
ROW = re.compile(r"^(?P<port>(?:Et|Po|Ma|Ethernet|Port-Channel)\d\S*)(?P<cells>(?:\s+\d{1,20}){1,18})$")


def series(text: str, read_at: datetime | None = None) -> tuple[CounterSeries, ...]:
    """`RxPfc` and `TxPfc` of a port; `RxP3` is priority 3. () when there is no such table."""
    found: list[CounterSeries] = []
    columns: list[str] = []
    for line in read_lines(text):
        if len(line.text) > MAX_LINE:
            continue
        if COLUMNS.match(line.text):
            columns = line.words[1:]
            continue
        row = ROW.match(line.text) if columns else None
        if row is None:
            if line.text and not set(line.text) <= set("- "):
                columns = []
            continue
        for title, cell in zip(columns, row["cells"].split(), strict=False):
            queue = f"PFC{title[-1]}" if title[-1].isdigit() else ""
            name = f"{title[:2].title()} PFC frames"
            found.append(CounterSeries(row["port"], queue, name, float(cell), "packets", read_at, SOURCE, line.number))
    return tuple(found)
