"""Counters of Linux queueing disciplines: `tc -s qdisc show`, as text (iproute2, tc(8)). A qdisc is a queue."""

from __future__ import annotations

import re
from datetime import datetime

from policyhub.domain.counter_series import CounterText
from policyhub.vendorkit.blocks import Line
from policyhub.vendorkit.series_book import SeriesBook

SOURCE = "tc -s qdisc show"
QDISC = re.compile(
    r"^qdisc (?P<kind>\S+) (?P<handle>\S+) (?:offloaded )?dev (?P<port>\S+) (?:root|ingress_block|parent (?P<parent>\S+))?"
)
SENT = re.compile(
    r"^Sent (?P<bytes>\d+) bytes (?P<packets>\d+) pkts? "
    r"\(dropped (?P<dropped>\d+), overlimits (?P<overlimits>\d+) requeues (?P<requeues>\d+)\)$"
)
BACKLOG = re.compile(r"^backlog (?P<bytes>\d+[KMG]?)b (?P<packets>\d+)p(?: requeues \d+)?$")
SCALE = {"K": 1024, "M": 1024**2, "G": 1024**3}
PAIRS = re.compile(r"(?P<name>[a-z][a-z_]*) (?P<value>\d+)(?=\s|$)")
OWN_LINE = re.compile(r"^(?:[a-z][a-z_]* \d+(?: |$))+$")


def series(text: str, read_at: datetime | None = None) -> CounterText:
    """`queue` is kind and handle, with the class it hangs under; a discipline's own numbers (ecn_mark …) by their names."""
    book = SeriesBook(text, read_at, SOURCE)
    port = queue = ""
    for line in book.lines():
        if found := QDISC.match(line.text):
            port, queue = found["port"], f"{found['kind']} {found['handle']}"
            queue += f" of {found['parent']}" if found["parent"] else ""
            book.known()
        elif port:
            _numbers(book, line, port, queue)
    return book.text()


def _numbers(book: SeriesBook, line: Line, port: str, queue: str) -> None:
    if found := SENT.match(line.text):
        book.add(line, port, queue, "sent", found["bytes"], "bytes")
        book.add(line, port, queue, "sent", found["packets"], "packets")
        book.add(line, port, queue, "dropped", found["dropped"], "packets")
        book.add(line, port, queue, "overlimits", found["overlimits"], "events")
        book.add(line, port, queue, "requeues", found["requeues"], "events")
    elif found := BACKLOG.match(line.text):
        digits, scale = found["bytes"].rstrip("KMG"), SCALE.get(found["bytes"][-1], 1)
        book.add(line, port, queue, "backlog", float(digits) * scale, "bytes")
        book.add(line, port, queue, "backlog", found["packets"], "packets")
    elif OWN_LINE.match(line.text):
        for pair in PAIRS.finditer(line.text):
            book.add(line, port, queue, pair["name"], pair["value"], "bytes" if pair["name"] == "maxpacket" else "")
