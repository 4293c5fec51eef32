"""Who stands at a link by LLDP, and which priorities it says are lossless, for people."""

from __future__ import annotations

from typing import Any

from flowguard.domain.link_ends import bandwidth, disagreements
from flowguard.sensor.tables import Read, count, table
from policyhub.domain.message import gettext_noop

TITLE = gettext_noop("Neighbours (LLDP)")
HEAD = (
    gettext_noop("point"), gettext_noop("system"), gettext_noop("chassis"), gettext_noop("port"), gettext_noop("DCBX dialect"),
    gettext_noop("lossless priorities"), gettext_noop("willing"), gettext_noop("bandwidth"), gettext_noop("RoCEv2 priority"),
    gettext_noop("frames"),
)  # fmt: skip
NONE, YES, NO = gettext_noop("none"), gettext_noop("yes"), gettext_noop("no")


def neighbours_text(report: dict[str, Any], read: Read = gettext_noop) -> str:
    rows = [
        [
            point["name"], neighbour["system_name"] or "-", neighbour["chassis"], neighbour["port"],
            *_dcbx(said, read), count(neighbour["frames"]),
        ]
        for point in report["points"]
        for neighbour in point["lldp"]
        for said in neighbour["dcbx"] or [None]
    ]  # fmt: skip
    text = table(read(TITLE), [read(head) for head in HEAD], rows, right=(9,))
    notes = [(point["name"], found) for point in report["points"] for found in disagreements(point["lldp"])]
    return "\n".join(filter(None, [text, *(f"  {point}: {found.read(read)}." for point, found in notes)]))


def _dcbx(said: dict[str, Any] | None, read: Read) -> list[str]:
    if said is None:
        return ["-"] * 5
    pfc, ets, roce = said["pfc"], said["ets"], said["roce_priority"]
    return [
        said["dialect"].upper(),
        "-" if pfc is None else " ".join(map(str, pfc["enabled"])) or read(NONE),
        "-" if pfc is None else read(YES if pfc["willing"] else NO),
        "-" if ets is None else bandwidth(ets) or read(NONE),
        "-" if roce is None else str(roce),
    ]
