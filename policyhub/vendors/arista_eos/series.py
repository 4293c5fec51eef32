"""Counters of priority flow control and ports: `show priority-flow-control [counters [detail]]`, `show interfaces counters`."""

from __future__ import annotations

import re
from datetime import datetime

from policyhub.domain.counter_series import CounterText
from policyhub.vendorkit.port_counters import PortCounters
from policyhub.vendorkit.series_book import SeriesBook

SOURCE = "show priority-flow-control counters"
COLUMNS = re.compile(r"^Port(?:\s+(?:RxPfc|TxPfc|RxP\d|TxP\d))+$", re.IGNORECASE)
ROW = re.compile(r"^(?P<port>(?:Et|Po|Ma|Ethernet|Port-Channel)\d\S*)(?P<cells>(?:\s+\d{1,20}){1,18})$")
RULER = set("- ")


def series(text: str, read_at: datetime | None = None) -> CounterText:
    """`RxPfc` and `TxPfc` of a port; `RxP3` is priority 3."""
    book = SeriesBook(text, read_at, SOURCE)
    columns: list[str] = []
    counters = PortCounters(book)
    for line in book.lines():
        if counters.take(line):
            continue
        if COLUMNS.match(line.text):
            columns = line.words[1:]
            book.known()
            continue
        row = ROW.match(line.text) if columns else None
        if row is None:
            if not set(line.text) <= RULER:
                columns = []
            continue
        for title, cell in zip(columns, row["cells"].split(), strict=False):
            queue = f"PFC{title[-1]}" if title[-1].isdigit() else ""
            book.add(line, row["port"], queue, f"{title[:2].title()} PFC frames", cell, "packets")
    return book.text()
