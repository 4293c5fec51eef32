"""Counters of `display qos queue-statistics interface outbound` (H3C, ACL and QoS command reference, queue-based accounting)."""

from __future__ import annotations

import re
from datetime import datetime

from policyhub.domain.counter_series import CounterText
from policyhub.vendorkit.series_book import SeriesBook

SOURCE = "display qos queue-statistics"
PORT = re.compile(r"^Interface: (?P<port>\S+)$")
QUEUE = re.compile(r"^Queue (?P<queue>\d+)$")
PAIR = re.compile(r"^(?P<name>Forwarded|Dropped|ECN[\w ]*|WRED[\w ]*)\s*: (?P<packets>\d+) packets, (?P<bytes>\d+) bytes\b")
LENGTH = re.compile(r"^(?P<name>Current queue length|Peak queue length): (?P<value>\d+) (?P<unit>packets|bytes)$")


def series(text: str, read_at: datetime | None = None) -> CounterText:
    """Of each port (`queue` "") and of each queue."""
    book = SeriesBook(text, read_at, SOURCE)
    port = queue = ""
    for line in book.lines():
        if found := PORT.match(line.text):
            port, queue = found["port"], ""
            book.known()
        elif found := QUEUE.match(line.text) if port else None:
            queue = found["queue"]
            book.known()
        elif found := PAIR.match(line.text) if port else None:
            book.add(line, port, queue, found["name"], found["packets"], "packets")
            book.add(line, port, queue, found["name"], found["bytes"], "bytes")
        elif found := LENGTH.match(line.text) if port else None:
            book.add(line, port, queue, found["name"], found["value"], found["unit"])
    return book.text()
