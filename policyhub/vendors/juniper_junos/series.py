"""Counters of `show interfaces queue` (Juniper, CLI reference)."""

from __future__ import annotations

import re
from datetime import datetime

from policyhub.domain.counter_series import CounterText
from policyhub.vendorkit.blocks import Line
from policyhub.vendorkit.series_book import SeriesBook

SOURCE = "show interfaces queue"
PORT = re.compile(r"^(?:Physical|Logical) interface:? (?P<port>[\w/:.-]+\d)\b")
WAY = re.compile(r"^(?P<way>Ingress|Egress) queues: \d+ supported")
QUEUE = re.compile(r"^Queue: (?P<number>\d+), Forwarding classes: (?P<classes>.+)$")
PART = re.compile(r"^(?P<part>Queued|Transmitted|Queue-depth bytes) *:$")
ITEM = re.compile(r"^(?P<name>[A-Z][\w -]*?) *: +(?P<value>\d+|Not [Aa]vailable)(?: +\d+ (?P<rate>pps|bps))?$")
LOSSES = ("Low", "Medium-low", "Medium-high", "High")
SETTINGS = re.compile(
    r"^(?:Interface index|Description|Forwarding classes|Burst size|Link-level|Speed|Minimum|Maximum queue)", re.IGNORECASE
)


def series(text: str, read_at: datetime | None = None) -> CounterText:
    """`queue` is its number, `in` before it for an ingress queue; names as printed, with the part they stand in."""
    book = SeriesBook(text, read_at, SOURCE)
    port = way = queue = part = ""
    for line in book.lines():
        if found := PORT.match(line.text):
            port, way, queue = found["port"], "", ""
            book.known()
        elif found := WAY.match(line.text):
            way, queue = ("in " if found["way"] == "Ingress" else ""), ""
            book.known()
        elif found := QUEUE.match(line.text) if port else None:
            queue, part = f"{way}{found['number']} {found['classes']}", ""
            book.known()
        elif found := PART.match(line.text):
            part = found["part"]
        elif found := ITEM.match(line.text) if queue else None:
            _item(book, line, port, queue, part, found)
        elif SETTINGS.match(line.text):
            book.known()
    return book.text()


def _item(book: SeriesBook, line: Line, port: str, queue: str, part: str, found: re.Match[str]) -> None:
    name = found["name"]
    if name in LOSSES:
        book.known()  # the parts of the number above, by drop priority
        return
    unit = "bytes" if "bytes" in f"{part} {name}".lower() or found["rate"] == "bps" else "packets"
    if part == "Queue-depth bytes":
        name = f"Queue-depth {name}"
    elif name in ("Packets", "Bytes"):
        name = part
    book.add(line, port, queue, name, found["value"], unit)
