"""Counters of classes and queues of `show policy-map interface`."""

from __future__ import annotations

import re
from datetime import datetime

from policyhub.domain.counter_series import CounterSeries
from policyhub.vendorkit.blocks import read_lines
from policyhub.vendorkit.ledger import MAX_LINE

SOURCE = "show policy-map interface"
INTERFACE = re.compile(r"^(?P<port>\S+\d) (?:direction )?(?P<way>input|output): (?P<policy>\S+)$")
CLASS = re.compile(r"^(?:Level \d+ )?Class:? (?P<name>\S+)")
ROW = re.compile(r"^(?P<name>[A-Z][\w ()/-]*?)\s*: *(?P<packets>\d{1,20})/(?P<bytes>\d{1,20})(?: |$)")
PAIRED = re.compile(r"\((?:packets/bytes|bytes\)/\(ms)\)")


def series(text: str, read_at: datetime | None = None) -> tuple[CounterSeries, ...]:
    """Packets and bytes per class; `queue` is `POLICY input CLASS`. () when the text holds no such output."""
    found: list[CounterSeries] = []
    port = place = name = ""
    for line in read_lines(text):
        if not line.text or len(line.text) > MAX_LINE:
            continue
        header, of_class = INTERFACE.match(line.text), CLASS.match(line.text)
        if header:
            port, place, name = header["port"], f"{header['policy']} {header['way']}", ""
        elif of_class and port:
            name = f"{place} {of_class['name']}"
        elif row := ROW.match(line.text) if name else None:
            title = PAIRED.sub("", row["name"]).strip()
            units = ("bytes", "milliseconds") if "(ms)" in row["name"] else ("packets", "bytes")
            for cell, unit in zip((row["packets"], row["bytes"]), units, strict=True):
                found.append(CounterSeries(port, name, title, float(cell), unit, read_at, SOURCE, line.number))
    return tuple(found)
