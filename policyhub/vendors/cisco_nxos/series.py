"""Counters of queues, priority flow control, ports: `show queuing interface`, `show interface priority-flow-control|counters`."""

from __future__ import annotations

import re
from datetime import datetime

from policyhub.domain.counter_series import CounterText
from policyhub.vendorkit.blocks import Line
from policyhub.vendorkit.port_counters import PortCounters
from policyhub.vendorkit.series_book import SeriesBook

QUEUING = "show queuing interface"
PFC = "show interface priority-flow-control"
EGRESS = re.compile(r"^(?:Egress|Ingress) Queuing for (?P<port>\S+)")
GROUP = re.compile(r"^\|\s*(?:QOS GROUP (?P<group>\d+)|(?P<other>(?:CONTROL|SPAN) QOS GROUP)[^|]*)\s*\|$")
ROW = re.compile(r"^\|\s*(?P<name>[A-Za-z][^|]*?)\s*\|\s*(?P<first>[\d,]+)\s*\|\s*(?P<second>[\d,]*)\s*\|$")
PFC_ROW = re.compile(r"^(?P<cos>\d)\s+(?P<group>\d)\s+(?P<txp>\w+)\s+(?P<tx>\d+)\s+(?P<rxp>\w+)\s+(?P<rx>\d+)$")
PORT = re.compile(r"^(?P<port>(?:Ethernet|port-channel)\S*\d)$", re.IGNORECASE)
DETAIL = re.compile(r"^Total (?P<way>Rx|Tx) PFC Frames: (?P<value>\d+)$")
PRIORITIES = re.compile(r"^(?P<way>Rx|Tx)\s*\|(?P<cells>[\d\s|]+)$")
BRIEF = re.compile(
    r"^(?P<port>(?:Ethernet|Po)\S*\d)\s+(?:Auto|On|Off)\s+(?:On|Off)\s*(?:\(\w+\))?\s+(?P<rx>\d+)\s+(?P<tx>\d+)$", re.IGNORECASE
)
SETTINGS = re.compile(r"^(?:slot\s+\d+|VL bitmap|TxPPP|RxPPP|PFC_COS|QOS_?Group|Port\s+Mode|\|?\s*Priority0)", re.IGNORECASE)


def series(text: str, read_at: datetime | None = None) -> CounterText:
    """Every number of the known tables."""
    book = SeriesBook(text, read_at, QUEUING)
    port = queue = ""
    counters = PortCounters(book)
    for line in book.lines():
        if counters.take(line):
            continue
        header, group = EGRESS.match(line.text) or PORT.match(line.text), GROUP.match(line.text)
        if header:
            port, queue = header["port"], ""
            book.known()
        elif group:
            queue = f"QG{group['group']}" if group["group"] else group["other"]
            book.known()
        elif brief := BRIEF.match(line.text):
            for way in ("rx", "tx"):
                book.add(line, brief["port"], "", f"{way.title()} PFC frames", brief[way], "packets", PFC)
        elif SETTINGS.match(line.text):
            book.known()
        elif port:
            _row(book, port, queue, line)
    return book.text()


def _row(book: SeriesBook, port: str, queue: str, line: Line) -> None:
    row = ROW.match(line.text) if queue else None
    if row:
        unit = "bytes" if "Byts" in row["name"] else "packets"
        book.add(line, port, queue, f"{row['name']} Unicast", row["first"], unit)
        if row["second"]:
            book.add(line, port, queue, f"{row['name']} Multicast", row["second"], unit)
    elif pfc := PFC_ROW.match(line.text):
        book.add(line, port, f"PFC{pfc['cos']}", "Tx PFC frames", pfc["tx"], "packets")
        book.add(line, port, f"PFC{pfc['cos']}", "Rx PFC frames", pfc["rx"], "packets")
    elif total := DETAIL.match(line.text):
        book.add(line, port, "", f"{total['way']} PFC frames", total["value"], "packets", PFC)
    elif cells := PRIORITIES.match(line.text):
        for number, cell in enumerate(part.strip() for part in cells["cells"].strip("| ").split("|")):
            if cell:
                book.add(line, port, f"PFC{number}", f"{cells['way']} PFC frames", cell, "packets", PFC)
