"""Counters of classes and queues of `show policy-map interface`."""

from __future__ import annotations

import re
from datetime import datetime

from policyhub.domain.counter_series import CounterText
from policyhub.vendorkit.series_book import SeriesBook

SOURCE = "show policy-map interface"
INTERFACE = re.compile(r"^(?P<port>\S+\d) (?:direction )?(?P<way>input|output): (?P<policy>\S+)$")
CLASS = re.compile(r"^(?:Level \d+ )?Class:? (?P<name>\S+)")
ROW = re.compile(r"^(?P<name>[A-Z][\w ()/-]*?)\s*: *(?P<first>\d{1,20})/(?P<second>\d{1,20})(?: |$)")
PAIRED = re.compile(r"\((?:packets/bytes|bytes\)/\(ms)\)")
SETTINGS = re.compile(r"^(?:Queue ID|Policy Bag|Policing statistics|Burst|Bucket|Service Policy|Hierarchical)\b", re.IGNORECASE)


def series(text: str, read_at: datetime | None = None) -> CounterText:
    """Packets and bytes per class; `queue` is `POLICY input CLASS`."""
    book = SeriesBook(text, read_at, SOURCE)
    port = place = name = ""
    for line in book.lines():
        header, of_class = INTERFACE.match(line.text), CLASS.match(line.text)
        if header:
            port, place, name = header["port"], f"{header['policy']} {header['way']}", ""
            book.known()
        elif of_class and port:
            name = f"{place} {of_class['name']}"
            book.known()
        elif row := ROW.match(line.text) if name else None:
            title = PAIRED.sub("", row["name"]).strip()
            units = ("bytes", "milliseconds") if "(ms)" in row["name"] else ("packets", "bytes")
            for cell, unit in zip((row["first"], row["second"]), units, strict=True):
                book.add(line, port, name, title, cell, unit)
        elif SETTINGS.match(line.text):
            book.known()
    return book.text()
