"""Who stands at a link by LLDP, and which priorities it says are lossless, for people."""

from __future__ import annotations

from typing import Any

from flowguard.domain.link_ends import Said, disagreements, numbers, said
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
            *_dcbx(word, read), count(neighbour["frames"]),
        ]
        for point in report["points"]
        for neighbour in point["lldp"]
        for word in said(neighbour).values() or [None]
    ]  # fmt: skip
    text = table(read(TITLE), [read(head) for head in HEAD], rows, right=(9,))
    notes = [(point["name"], found) for point in report["points"] for found in disagreements(point["lldp"])]
    return "\n".join(filter(None, [text, *(f"  {point}: {found.read(read)}." for point, found in notes)]))


def _dcbx(word: Said | None, read: Read) -> list[str]:
    if word is None:
        return ["-"] * 5
    return [
        word.dialect.upper(),
        "-" if word.lossless is None else numbers(word.lossless) or read(NONE),
        "-" if word.willing is None else read(YES if word.willing else NO),
        "-" if word.shares is None else word.shares or read(NONE),
        "-" if word.roce is None else str(word.roce),
    ]
