"""Counters of queues and of priority flow control: `show queuing interface`, `show interface priority-flow-control [detail]`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime

from policyhub.domain.counter_series import CounterSeries
from policyhub.vendorkit.blocks import Line, read_lines
from policyhub.vendorkit.ledger import MAX_LINE

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


def series(text: str, read_at: datetime | None = None) -> tuple[CounterSeries, ...]:
    """Every number of the known tables; () when there is none."""
    found: list[CounterSeries] = []
    port = queue = ""
    for line in read_lines(text):
        if not line.text or len(line.text) > MAX_LINE:
            continue
        header, group, detail = EGRESS.match(line.text), GROUP.match(line.text), PORT.match(line.text)
        if header:
            port, queue = header["port"], ""
        elif detail:
            port, queue = detail["port"], ""
        elif group:
            queue = f"QG{group['group']}" if group["group"] else group["other"]
        elif brief := BRIEF.match(line.text):
            for way in ("rx", "tx"):
                found.append(_one(brief["port"], "", f"{way.title()} PFC frames", brief[way], "packets", PFC, line, read_at))
        elif port:
            found += _rows(port, queue, line, read_at)
    return tuple(found)


def _rows(port: str, queue: str, line: Line, read_at: datetime | None) -> Iterator[CounterSeries]:
    text = line.text
    row = ROW.match(text) if queue else None
    if row:
        unit = "bytes" if "Byts" in row["name"] else "packets"
        yield _one(port, queue, f"{row['name']} Unicast", row["first"], unit, QUEUING, line, read_at)
        if row["second"]:
            yield _one(port, queue, f"{row['name']} Multicast", row["second"], unit, QUEUING, line, read_at)
    elif pfc := PFC_ROW.match(text):
        yield _one(port, f"PFC{pfc['cos']}", "Tx PFC frames", pfc["tx"], "packets", QUEUING, line, read_at)
        yield _one(port, f"PFC{pfc['cos']}", "Rx PFC frames", pfc["rx"], "packets", QUEUING, line, read_at)
    elif total := DETAIL.match(text):
        yield _one(port, "", f"{total['way']} PFC frames", total["value"], "packets", PFC, line, read_at)
    elif cells := PRIORITIES.match(text):
        for number, cell in enumerate(part.strip() for part in cells["cells"].strip("| ").split("|")):
            if cell:
                yield _one(port, f"PFC{number}", f"{cells['way']} PFC frames", cell, "packets", PFC, line, read_at)


def _one(
    port: str, queue: str, name: str, value: str, unit: str, source: str, line: Line, read_at: datetime | None
) -> CounterSeries:
    return CounterSeries(port, queue, name, float(value.replace(",", "")), unit, read_at, source, line.number)
