"""Counters of ports in the table with RX_OK … TX_OVR: `nv show interface counters`, `net show counters`, cl-netstat."""

from __future__ import annotations

from datetime import datetime

from policyhub.domain.counter_series import CounterText
from policyhub.vendorkit.series_book import SeriesBook

SOURCE = "nv show interface counters"
TITLES = ("RX_OK", "RX_ERR", "RX_DRP", "RX_OVR", "TX_OK", "TX_ERR", "TX_DRP", "TX_OVR")


def series(text: str, read_at: datetime | None = None) -> CounterText:
    """Frames of each port: fine, damaged, dropped, overrun, in both directions. Columns stand where the header says."""
    book = SeriesBook(text, read_at, SOURCE)
    columns: list[str] = []
    for line in book.lines():
        words = line.words
        if "RX_OK" in words and "TX_OK" in words:
            columns = words
            book.known()
        elif columns and len(words) == len(columns) and not set(line.text) <= set("- "):
            for title, cell in zip(columns, words, strict=True):
                if title in TITLES:
                    book.add(line, words[0], "", title, cell, "packets")
    return book.text()
