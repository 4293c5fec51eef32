"""Queue, priority group, PFC and port counters of the SONiC command line and of queuestat -j."""

from __future__ import annotations

import re
from datetime import datetime

from policyhub.domain.counter_series import CounterSeries, CounterText
from policyhub.vendorkit.blocks import read_lines
from policyhub.vendorkit.json_lines import Node, read_json
from policyhub.vendorkit.series_book import ECHO
from policyhub.vendors.sonic.cli_tables import TITLE, Table, read_tables
from policyhub.vendors.sonic.database import is_reading

NUMBER = re.compile(r"^-?[\d,]{1,30}(?:\.\d{1,12})?$")
WITH_UNIT = re.compile(r"^(-?[\d,]{1,30}(?:\.\d{1,12})?) ?(%|B/s|KB/s|MB/s|GB/s|/s)$")
UNIT_SCALE = {"%": ("percent", 1), "B/s": ("bytes/s", 1), "KB/s": ("bytes/s", 1024), "MB/s": ("bytes/s", 1024**2),
              "GB/s": ("bytes/s", 1024**3), "/s": ("packets/s", 1)}  # fmt: skip
PORT_COLUMNS = ("Port", "PORT", "IFACE", "Port Rx", "Port Tx", "QUEUE")
QUEUE_COLUMNS = ("TxQ", "Voq", "Priority", "PG")
WIDE = re.compile(r"^(?:PG|PFC|UC|MC|ALL|VOQ)\d+$")
WORDS = ("STATE", "STATUS", "Recent RX Pause Timestamp", "ACTION", "HISTORY")
PAIRS = ("STORM DETECTED/RESTORED", "TX OK/DROP", "RX OK/DROP", "TX LAST OK/DROP", "RX LAST OK/DROP")
JSON_UNITS = {"packet": "packets", "bytes": "bytes"}


def series(text: str, read_at: datetime | None = None) -> CounterText:
    """Every number of every known table. Rows of any other table, and what stands in none, are unread."""
    lines = read_lines(text)
    found: list[CounterSeries] = []
    titles = {
        line.number for line in lines if TITLE.match(line.text) or ECHO.match(line.text) or not any(map(str.isdigit, line.text))
    }
    shifted: list[int] = []
    for table in read_tables(lines, text):
        shifted += table.shifted
        found += _table(table, read_at)
        titles.add(table.lines[0])
    if not found and text.lstrip().startswith("{"):
        for root in read_json(lines).roots:
            found += _json(root, read_at)
    read = titles.union(one.line for one in found)
    return CounterText(tuple(found), tuple(line.number for line in lines if line.number not in read), tuple(shifted))


def is_series(table: Table) -> bool:
    """Whether its numbers are counters of ports or queues."""
    return bool(table.columns) and table.columns[0] in PORT_COLUMNS and len(table.columns) > 1 and "Type" not in table.columns


def _table(table: Table, read_at: datetime | None) -> list[CounterSeries]:
    if not is_series(table) or "DETECTION TIME" in table.columns:
        return []
    found: list[CounterSeries] = []
    first = table.columns[0]
    port = ""
    for row in table.rows:
        port = row.cells[first] or port
        if not any(char.isdigit() for char in port) or " " in port:
            continue  # a line that the terminal wrapped, or something else below the table
        interface, _, own = port.partition(":") if first == "QUEUE" else (port, "", "")
        queue = next((row.cells[name] for name in QUEUE_COLUMNS if name in row.cells), own)
        source = table.title.rstrip(": ") or f"table {first}"
        for name in table.columns[1:]:
            if name in QUEUE_COLUMNS or name in WORDS or (own and name == "PORT"):
                continue
            for title, value, unit in _values(name, row.cells[name]):
                which = name if WIDE.match(name) else queue
                label = source if WIDE.match(name) else title
                unit = unit or (_unit(source) if WIDE.match(name) else "")
                if WIDE.match(name) and first in ("Port Rx", "Port Tx"):
                    label, unit = f"{first.removeprefix('Port ')} PFC frames", "packets"
                found.append(CounterSeries(interface, which, label, value, unit, read_at, source, row.line))
    return found


def _values(name: str, cell: str) -> list[tuple[str, float | None, str]]:
    """(title, value, unit); two for `a/b` cells. A cell that is no number is left out."""
    if name in PAIRS and "/" in cell:
        titles = _pair_titles(name)
        return [(title, _number(part), "") for title, part in zip(titles, cell.split("/", 1), strict=True)]
    if cell in ("N/A", "", "-"):
        return [(name, None, _unit(name))]
    if NUMBER.match(cell):
        return [(name, _number(cell), _unit(name))]
    found = WITH_UNIT.match(cell)
    if found:
        unit, scale = UNIT_SCALE[found[2]]
        return [(name, (_number(found[1]) or 0) * scale, unit)]
    return []


def _pair_titles(name: str) -> tuple[str, str]:
    head, _, tail = name.rpartition("/")
    base, _, first = head.rpartition(" ")
    return f"{base} {first}", f"{base} {tail}"


def _number(text: str) -> float | None:
    return float(text.replace(",", "")) if NUMBER.match(text) else None


def _unit(name: str) -> str:
    lower = name.lower()
    if "pkts" in lower or "packet" in lower or lower.endswith(("_ok", "_err", "_drp", "_ovr")):
        return "packets"
    if "bytes" in lower or "occupancy" in lower or "headroom" in lower:  # watermarks are bytes (SONiC command reference)
        return "bytes"
    if lower.endswith("time us"):
        return "microseconds"
    return "events" if "transitions" in lower else ""


def _json(root: Node, read_at: datetime | None) -> list[CounterSeries]:
    """`{"Ethernet0": {"UC0": {"totalpacket": "1"}}}` of `queuestat -j`."""
    found: list[CounterSeries] = []
    for port, queues in root.pairs():
        if not is_reading(queues):
            continue
        for queue, node in queues.pairs():
            for name, value in node.pairs():
                if not value.is_scalar or name in ("time",):
                    continue
                number = _number(value.text)
                if number is None and value.text != "N/A":
                    continue
                unit = next((unit for sign, unit in JSON_UNITS.items() if sign in name), "")
                found.append(CounterSeries(port, queue, name, number, unit, read_at, "queue counters", value.line))
    return found
