"""Counters of `show service-policy`: policers, priority queues and inspections (Cisco ASA command reference)."""

from __future__ import annotations

import re
from datetime import datetime

from policyhub.domain.counter_series import CounterText
from policyhub.vendorkit.blocks import Line
from policyhub.vendorkit.series_book import SeriesBook

SOURCE = "show service-policy"
PLACE = re.compile(r"^(?:Interface (?P<port>\S+):|(?P<global>Global policy):)$")
POLICY = re.compile(r"^Service-policy: (?P<name>\S+)$")
CLASS = re.compile(r"^Class-map: (?P<name>\S+)")
WAY = re.compile(r"^(?P<way>Input|Output) police Interface (?P<port>[^:\s]+):$", re.IGNORECASE)
POLICE = re.compile(r"^police Interface (?P<port>[^:\s]+):$", re.IGNORECASE)
POLICED = re.compile(r"^(?P<name>conformed|exceeded|violated) (?P<packets>\d+) packets, (?P<bytes>\d+) bytes; actions?:")
PRIORITY = re.compile(r"^Interface (?P<port>[^:\s]+): aggregate drop (?P<drop>\d+), aggregate transmit (?P<transmit>\d+)$")
INSPECT = re.compile(
    r"^Inspect: (?P<name>[^,]+?) ?, packet (?P<packet>\d+), (?:lock fail \d+, )?drop (?P<drop>\d+), reset-drop (?P<reset>\d+)"
)
PAIRS = re.compile(r"(?P<name>[a-z][a-z -]*?) (?P<value>\d+)(?:,|$)")
PROXY = re.compile(r"^(?:tcp-proxy: |Set connection (?:policy|decrement-ttl)?: ?|current conns |match: )")
SETTINGS = re.compile(
    r"^(?:cir \d|conformed \d+ bps|Priority:|Queueing|Set connection timeout|idle |DCD:|.*timeout)", re.IGNORECASE
)


def series(text: str, read_at: datetime | None = None) -> CounterText:
    """The port is the interface of the policer or queue, else of the policy, "" of the global one; `queue` is `POLICY CLASS`."""
    book = SeriesBook(text, read_at, SOURCE)
    port = policed = policy = name = ""
    for line in book.lines():
        place = PLACE.match(line.text)
        if place:
            port = policed = place["port"] or ""
            policy = name = ""
            book.known()
        elif found := POLICY.match(line.text):
            policy, name = found["name"], ""
            book.known()
        elif found := CLASS.match(line.text):
            policed, name = port, f"{policy} {found['name']}"
            book.known()
        elif found := WAY.match(line.text) or POLICE.match(line.text):
            policed = found["port"]
            book.known()
        elif name:
            _numbers(book, line, policed, name)
    return book.text()


def _numbers(book: SeriesBook, line: Line, port: str, queue: str) -> None:
    text = line.text
    if found := POLICED.match(text):
        book.add(line, port, queue, found["name"], found["packets"], "packets")
        book.add(line, port, queue, found["name"], found["bytes"], "bytes")
    elif found := PRIORITY.match(text):
        book.add(line, found["port"], queue, "aggregate drop", found["drop"], "packets")
        book.add(line, found["port"], queue, "aggregate transmit", found["transmit"], "packets")
    elif found := INSPECT.match(text):
        for title in ("packet", "drop", "reset"):
            label = {"packet": "packet", "drop": "drop", "reset": "reset-drop"}[title]
            book.add(line, port, f"{queue} inspect {found['name']}", label, found[title], "packets")
    elif PROXY.match(text):
        for pair in PAIRS.finditer(PROXY.sub("", text)):
            unit = "bytes" if pair["name"].startswith("bytes") else ""
            book.add(line, port, queue, pair["name"].strip(), pair["value"], unit)
    elif SETTINGS.match(text):
        book.known()
