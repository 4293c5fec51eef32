"""The largest flows inside tunnels, for people."""

from __future__ import annotations

from typing import Any

from flowguard.sensor.tables import count, table
from policyhub.domain.qos import dscp_name

HEAD = ["point", "tunnel", "from", "to", "proto", "source", "destination", "marks", "packets", "bytes"]


def carried_text(report: dict[str, Any]) -> str:
    rows = [
        [
            point["name"], _tunnel(row), row["outer_src"], row["outer_dst"], row["proto"], f"{row['src']}:{row['sport']}",
            f"{row['dst']}:{row['dport']}", " ".join(dscp_name(int(mark)) for mark in row["dscp"]), count(row["packets"]),
            count(row["bytes"]),
        ]
        for point in report["points"]
        for row in point["carried"]
    ]  # fmt: skip
    total = sum(point["carried_total"] for point in report["points"])
    return table(f"Carried in tunnels, counted above by their outer headers ({len(rows)} of {total})", HEAD, rows, right=(8, 9))


def _tunnel(row: dict[str, Any]) -> str:
    name = row["tunnel"] if row["tunnel_id"] is None else f"{row['tunnel']} {row['tunnel_id']}"
    return name if row["depth"] == 1 else f"{name} (level {row['depth']})"
