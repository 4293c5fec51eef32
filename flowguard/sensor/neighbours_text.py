"""Who stands at a link by LLDP, and which priorities it says are lossless, for people."""

from __future__ import annotations

from typing import Any

from flowguard.sensor.tables import count, table

HEAD = ["point", "system", "chassis", "port", "by", "lossless priorities", "willing", "bandwidth", "RoCEv2 priority", "frames"]


def neighbours_text(report: dict[str, Any]) -> str:
    rows = [
        [
            point["name"], neighbour["system_name"] or "-", neighbour["chassis"], neighbour["port"],
            *_dcbx(said), count(neighbour["frames"]),
        ]
        for point in report["points"]
        for neighbour in point["lldp"]
        for said in neighbour["dcbx"] or [None]
    ]  # fmt: skip
    return table("Neighbours (LLDP)", HEAD, rows, right=(9,))


def _dcbx(said: dict[str, Any] | None) -> list[str]:
    if said is None:
        return ["-"] * 5
    pfc, ets, roce = said["pfc"], said["ets"], said["roce_priority"]
    return [
        said["dialect"].upper(),
        "-" if pfc is None else " ".join(map(str, pfc["enabled"])) or "none",
        "-" if pfc is None else "yes" if pfc["willing"] else "no",
        "-" if ets is None else _bandwidth(ets),
        "-" if roce is None else str(roce),
    ]


def _bandwidth(ets: dict[str, Any]) -> str:
    """Classes with a share, each with the priorities that belong to it."""
    parts = []
    for number, percent in enumerate(ets["percent"]):
        priorities = [str(priority) for priority, owner in enumerate(ets["class_of"]) if owner == number]
        if percent and priorities:
            parts.append(f"{','.join(priorities)}: {percent} %")
    return "; ".join(parts) or "none"
