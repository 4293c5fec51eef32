"""Counters of `display qos queue statistics` (a list on S and AR, a table on CloudEngine) and of `display dcb pfc`."""

from __future__ import annotations

import re
from datetime import datetime

from policyhub.domain.counter_series import CounterText
from policyhub.vendorkit.blocks import Line
from policyhub.vendorkit.series_book import SeriesBook

QUEUES = "display qos queue statistics"
PFC = "display dcb pfc"
# the tables do not name their port; the command, echoed above them, does
ECHO = re.compile(r"^[<\[].{0,80}[>\]] ?dis\w* qos queue statistics interface (?P<port>\S+(?: ?\d\S*)?)", re.IGNORECASE)
PORT = re.compile(
    r"^(?:Interface ?:? ?)?(?P<port>(?:Eth-Trunk|[\dA-Za-z-]*(?:GE|Ethernet))[\d/:.]*\d)(?: outbound traffic statistics:)?$"
)
ITEM = re.compile(r"^(?P<name>[A-Z][\w ()/]*?) *: (?P<value>[\d,]+|-)$")
COUNTERS = {
    "Passed Packets": "packets",
    "Passed Bytes": "bytes",
    "Dropped Packets": "packets",
    "Dropped Bytes": "bytes",
}
FIRST = re.compile(r"^(?P<queue>\d) +\d+%? +(?P<passed>\d+) +\d+ +(?P<dropped>\d+) +\d+ +(?:-|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)$")
SECOND = re.compile(r"^\d+%? +(?P<passed>\d+) +\d+ +(?P<dropped>\d+) +\d+$")
PFC_FIRST = re.compile(r"^(?P<port>\S*\d) +(?P<queue>\d) +(?P<frames>\d+) +\d+ +(?P<locked>\d+)$")
PFC_SECOND = re.compile(r"^(?P<frames>\d+) +\d+ +(?P<recovered>\d+)$")


def series(text: str, read_at: datetime | None = None) -> CounterText:
    """Packets and bytes of each queue; rates that the device worked out are left to it."""
    book = SeriesBook(text, read_at, QUEUES)
    port = queue = ""
    paused = ("", "")
    for line in book.lines():
        if found := ECHO.match(line.text) or PORT.match(line.text):
            port, queue = found["port"].replace(" ", ""), ""
            book.known()
        elif found := FIRST.match(line.text):
            queue = found["queue"]
            book.add(line, port, queue, "Passed", found["passed"], "packets")
            book.add(line, port, queue, "Dropped", found["dropped"], "packets")
        elif found := SECOND.match(line.text) if queue else None:
            book.add(line, port, queue, "Passed", found["passed"], "bytes")
            book.add(line, port, queue, "Dropped", found["dropped"], "bytes")
        elif found := PFC_FIRST.match(line.text):
            paused = found["port"], f"PFC{found['queue']}"
            book.add(line, *paused, "Rx PFC frames", found["frames"], "packets", PFC)
            book.add(line, *paused, "PFC deadlocks", found["locked"], "events", PFC)
        elif found := PFC_SECOND.match(line.text) if paused[0] else None:
            book.add(line, *paused, "Tx PFC frames", found["frames"], "packets", PFC)
            book.add(line, *paused, "PFC recoveries", found["recovered"], "events", PFC)
        elif found := ITEM.match(line.text):
            queue = found["value"] if found["name"] == "Queue ID" else queue
            _item(book, line, port, queue, found["name"], found["value"])
    return book.text()


def _item(book: SeriesBook, line: Line, port: str, queue: str, name: str, value: str) -> None:
    unit = COUNTERS.get(name)
    if unit and queue:
        book.add(line, port, queue, name.split()[0], value, unit)
    elif name == "Queue ID" or name.startswith(("CIR", "PIR", "Passed Rate", "Dropped Rate")):
        book.known()
