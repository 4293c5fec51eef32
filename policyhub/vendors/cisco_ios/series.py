"""Counters of classes, queues, policers and WRED of `show policy-map interface` (Cisco, QoS command reference); of ports."""

from __future__ import annotations

import re
from datetime import datetime

from policyhub.domain.counter_series import CounterText
from policyhub.vendorkit.blocks import Line
from policyhub.vendorkit.port_counters import PortCounters
from policyhub.vendorkit.series_book import SeriesBook

SOURCE = "show policy-map interface"
PORT = re.compile(r"^(?P<port>(?:[A-Za-z][A-Za-z-]*\d[\w/.:-]*|Control Plane))$")
POLICY = re.compile(r"^Service-policy ?(?P<way>input|output)?\s*: (?P<name>\S+)(?: \(\d+\))?$")
DEEP = 3  # columns; a port stands at the margin
CLASS = re.compile(r"^Class-map: (?P<name>\S+)")
ALL_PRIORITY = re.compile(r"^queue stats for all priority classes:$", re.IGNORECASE)
LEVEL = re.compile(r"^priority level (?P<level>\d+)$", re.IGNORECASE)
MATCHED = re.compile(r"^(?P<packets>\d+) packets(?:, (?P<bytes>\d+) bytes)?$")
GROUP = re.compile(r"^\((?P<titles>[a-z /-]+)\) (?P<values>\d+(?:/\d+)*)$")
POLICED = re.compile(r"^(?P<name>conformed|exceeded|violated) (?:(?P<packets>\d+) packets, )?(?P<bytes>\d+) bytes; actions?:")
MARKED = re.compile(r"^Packets marked (?P<value>\d+)$")
OVER_BANDWIDTH = re.compile(r"b/w exceed drops: (?P<value>\d+)$")
MEAN = re.compile(r"^Mean queue depth: (?P<value>\d+) (?P<unit>packets|bytes)$")
WRED = re.compile(
    r"^(?P<mark>[a-z]+\d*|rsvp|default|\d+)\s+(?P<pairs>\d+/\d+(?:\s+\d+/\d+){1,3})(?:\s+\S+\s+\S+\s+\d+/\d+|\s+\d+\s+\d+/\d+)?$"
)
WRED_TITLES = {2: ("Transmitted", "Random drop"), 3: ("Transmitted", "Random drop", "Tail drop"),
               4: ("Transmitted", "Random drop", "Tail drop", "ECN Mark")}  # fmt: skip
# rates that the device worked out itself, and configured values
SETTINGS = re.compile(
    r"^(?:\d+ (?:minute|second) (?:offered )?rate|conformed \d+ bps|Match(?:es)?\b|bandwidth|queue limit|queue-limit|shape|"
    r"target shape|cir |rate |pir |bc |be |priority|Exp-weight|Fair-queue|dscp |cos |precedence |qos-group|police|"
    r"random-detect|Service-policy|Queueing|set[ -]|transmit|drop$|compress|flow rates|burst |mpls |discard-class|ip |"
    r"traffic-class|Load for five|Time source)",
    re.IGNORECASE,
)


def series(text: str, read_at: datetime | None = None) -> CounterText:
    """`queue` is `POLICY output CLASS`, of a nested policy the path of both; the name is the device's own title."""
    return _Reader(text, read_at).read()


class _Reader:
    def __init__(self, text: str, read_at: datetime | None) -> None:
        self.book = SeriesBook(text, read_at, SOURCE)
        self.port = self.way = ""
        self.path: list[tuple[int, str]] = []
        self.of_match = False

    @property
    def queue(self) -> str:
        names = [name for _, name in self.path]
        return " ".join([names[0], self.way, *names[1:]]) if names else ""

    def read(self) -> CounterText:
        counters = PortCounters(self.book)
        for line in self.book.lines():
            if not counters.take(line) and not self._place(line) and self.path:
                self._numbers(line)
        return self.book.text()

    def _place(self, line: Line) -> bool:
        """Where the following numbers belong; whether the line says so."""
        policy = POLICY.match(line.text)
        if policy:
            self._enter(line.indent, policy["name"])
            self.way = policy["way"] or self.way
        elif found := CLASS.match(line.text):
            self._enter(line.indent, found["name"])
        elif ALL_PRIORITY.match(line.text):
            self._enter(line.indent, "all priority classes")
        elif self.path and self.path[-1][1].startswith("all priority") and (found := LEVEL.match(line.text)):
            self.path[-1] = (self.path[-1][0], f"all priority classes level {found['level']}")
        elif found := PORT.match(line.text) if line.indent < DEEP else None:
            self.port, self.path = found["port"], []
        else:
            return False
        self.of_match = False
        self.book.known()
        return True

    def _enter(self, indent: int, name: str) -> None:
        self.path = [(depth, one) for depth, one in self.path if depth < indent]
        self.path.append((indent, name))

    def _numbers(self, line: Line) -> None:
        text = line.text
        if text.startswith("Match"):
            self.of_match = True
        if found := MATCHED.match(text):
            self._pair(line, "Matched", found["packets"], found["bytes"])
        elif found := GROUP.match(text):
            self._group(line, found["titles"].split("/"), found["values"].split("/"))
        elif found := POLICED.match(text):
            self._pair(line, found["name"], found["packets"], found["bytes"])
        elif found := MARKED.match(text):
            self._add(line, "Packets marked", found["value"], "packets")
        elif found := OVER_BANDWIDTH.search(text):
            self._add(line, "b/w exceed drops", found["value"], "packets")
        elif found := MEAN.match(text):
            self._add(line, "Mean queue depth", found["value"], found["unit"])
        elif found := WRED.match(text):
            pairs = found["pairs"].split()
            for title, pair in zip(WRED_TITLES[len(pairs)], pairs, strict=True):
                self._pair(line, f"{title} {found['mark']}", *pair.split("/"))
        elif SETTINGS.match(text):
            self.book.known()

    def _group(self, line: Line, titles: list[str], values: list[str]) -> None:
        """`(queue depth/total drops/no-buffer drops) 0/0/0` and the like."""
        if len(titles) != len(values):
            return
        for title, value in zip(titles, values, strict=True):
            unit = "bytes" if title.startswith("bytes") else "packets"
            self._add(line, title, value, unit)

    def _pair(self, line: Line, name: str, packets: str | None, octets: str | None) -> None:
        if self.of_match and name == "Matched":
            self.book.known()  # of one match of a class; the class's own number stands above
            return
        if packets:
            self._add(line, name, packets, "packets")
        if octets:
            self._add(line, name, octets, "bytes")

    def _add(self, line: Line, name: str, value: str, unit: str) -> None:
        self.book.add(line, self.port, self.queue, name, value, unit)
