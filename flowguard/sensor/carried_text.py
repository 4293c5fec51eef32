"""The largest flows inside tunnels, for people."""

from __future__ import annotations

from typing import Any

from flowguard.sensor.tables import Read, count, table
from policyhub.domain.message import gettext_noop
from policyhub.domain.qos import dscp_name

TITLE = gettext_noop("Carried in tunnels, counted above by their outer headers (%(shown)d of %(all)d)")
HEAD = (
    gettext_noop("point"), gettext_noop("tunnel"), gettext_noop("tunnel from"), gettext_noop("tunnel to"), gettext_noop("proto"),
    gettext_noop("source"), gettext_noop("destination"), gettext_noop("marks"), gettext_noop("packets"), gettext_noop("bytes"),
)  # fmt: skip
LEVEL = gettext_noop("%(tunnel)s (level %(level)d)")


def carried_text(report: dict[str, Any], read: Read = gettext_noop) -> str:
    rows = [
        [
            point["name"], _tunnel(row, read), row["outer_src"], row["outer_dst"], row["proto"], f"{row['src']}:{row['sport']}",
            f"{row['dst']}:{row['dport']}", " ".join(dscp_name(int(mark)) for mark in row["dscp"]), count(row["packets"]),
            count(row["bytes"]),
        ]
        for point in report["points"]
        for row in point["carried"]
    ]  # fmt: skip
    total = sum(point["carried_total"] for point in report["points"])
    return table(read(TITLE) % {"shown": len(rows), "all": total}, [read(head) for head in HEAD], rows, right=(8, 9))


def _tunnel(row: dict[str, Any], read: Read) -> str:
    name = row["tunnel"] if row["tunnel_id"] is None else f"{row['tunnel']} {row['tunnel_id']}"
    return name if row["depth"] == 1 else read(LEVEL) % {"tunnel": name, "level": row["depth"]}
