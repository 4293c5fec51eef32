"""What the ends of a link say of it by LLDP and DCBX, and where they disagree: what one side pauses, the other drops."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from policyhub.domain.message import Message, gettext_noop

Row = Mapping[str, Any]  # of points[].lldp
DCBX_NAMES = {"ieee": "IEEE 802.1Qaz", "cee": "CEE"}  # dialects, the preferred one first

NOT_LOSSLESS = gettext_noop("%(end)s puts RoCEv2 into priority %(priority)d, which is not lossless there")
NO_DCBX = gettext_noop("%(end)s says nothing by DCBX, %(other)s does: look at %(end)s itself what is lossless there")
OTHER_DIALECT = gettext_noop("%(end)s speaks DCBX as %(own)s, %(other)s as %(others)s: neither takes over what the other says")
PFC = gettext_noop("lossless priorities differ: %(own)s at %(end)s, %(others)s at %(other)s")
PFC_UNSAID = gettext_noop("%(end)s does not say which priorities are lossless, %(other)s does: %(others)s")
ETS = gettext_noop("bandwidth differs: %(own)s at %(end)s, %(others)s at %(other)s")
ROCE = gettext_noop("RoCEv2 goes by priority %(own)d at %(end)s, by %(others)d at %(other)s")
ROCE_UNSAID = gettext_noop("RoCEv2 goes by priority %(others)d at %(other)s, %(end)s does not say by which")
DSCP = gettext_noop("DSCP %(marks)s go by other priorities at %(end)s than at %(other)s")
NONE = gettext_noop("none")


@dataclass(frozen=True, slots=True)
class Said:
    """One neighbour's word in one dialect; None = not said. shares: see `bandwidth`; dscp: priorities by code point."""

    end: str
    dialect: str
    lossless: tuple[int, ...] | None
    willing: bool | None
    shares: str | None
    roce: int | None
    dscp: Mapping[int, tuple[int, ...]]


def end_of(row: Row) -> str:
    """The neighbour's system and port, as people call them."""
    return f"{row['system_name'] or row['chassis']} {row['port']}"


def said(row: Row) -> dict[str, Said]:
    """By dialect."""
    return {dcbx["dialect"]: _said(row, dcbx) for dcbx in row["dcbx"]}


def _said(row: Row, dcbx: Row) -> Said:
    pfc, ets = dcbx["pfc"], dcbx["ets"]
    marks = {one["protocol"]: tuple(one["priorities"]) for one in dcbx.get("applications", ()) if one["selector"] == "dscp"}
    return Said(
        end_of(row), dcbx["dialect"], tuple(pfc["enabled"]) if pfc else None, pfc["willing"] if pfc else None,
        bandwidth(ets) if ets else None, dcbx["roce_priority"], marks,
    )  # fmt: skip


def bandwidth(ets: Row) -> str:
    """Classes with a share, each with the priorities that belong to it; empty without any."""
    parts = []
    for number, percent in enumerate(ets["percent"]):
        priorities = [str(priority) for priority, owner in enumerate(ets["class_of"]) if owner == number]
        if percent and priorities:
            parts.append(f"{','.join(priorities)}: {percent} %")
    return "; ".join(parts)


def disagreements(rows: Sequence[Row]) -> list[Message]:
    """Of the neighbours that one point shows. Exactly two are the ends of one link; of more nobody can say who hears whom."""
    words = [said(row) for row in rows]
    found = [message for one in words for message in _alone(one)]
    if len(rows) == 2:
        found += _between(rows, words[0], words[1])
    return found


def _alone(word: Mapping[str, Said]) -> Iterator[Message]:
    for one in word.values():
        if one.roce is not None and one.lossless is not None and one.roce not in one.lossless:
            yield Message(NOT_LOSSLESS, {"end": one.end, "priority": one.roce})


def _between(rows: Sequence[Row], one: Mapping[str, Said], other: Mapping[str, Said]) -> Iterator[Message]:
    names = {"end": end_of(rows[0]), "other": end_of(rows[1])}
    shared = next((dialect for dialect in DCBX_NAMES if dialect in one and dialect in other), None)
    if shared:
        yield from _differences(one[shared], other[shared])
    elif one and other:
        own, others = (", ".join(DCBX_NAMES[dialect] for dialect in word) for word in (one, other))
        yield Message(OTHER_DIALECT, {**names, "own": own, "others": others})
    elif one or other:
        silent, speaks = (names["other"], names["end"]) if one else (names["end"], names["other"])
        yield Message(NO_DCBX, {"end": silent, "other": speaks})


def _differences(one: Said, other: Said) -> Iterator[Message]:
    names = {"end": one.end, "other": other.end}
    if one.lossless is None or other.lossless is None:
        if one.lossless != other.lossless:
            silent, speaks = (one, other) if one.lossless is None else (other, one)
            yield Message(PFC_UNSAID, {"end": silent.end, "other": speaks.end, "others": _numbers(speaks.lossless or ())})
    elif one.lossless != other.lossless:
        yield Message(PFC, {**names, "own": _numbers(one.lossless), "others": _numbers(other.lossless)})
    if one.shares is not None and other.shares is not None and one.shares != other.shares:
        yield Message(ETS, {**names, "own": _shares(one.shares), "others": _shares(other.shares)})
    if one.roce is not None and other.roce is not None and one.roce != other.roce:
        yield Message(ROCE, {**names, "own": one.roce, "others": other.roce})
    elif one.roce != other.roce:
        silent, speaks = (one, other) if one.roce is None else (other, one)
        yield Message(ROCE_UNSAID, {"end": silent.end, "other": speaks.end, "others": speaks.roce})
    marks = sorted(mark for mark in one.dscp.keys() & other.dscp.keys() if one.dscp[mark] != other.dscp[mark])
    if marks:
        yield Message(DSCP, {**names, "marks": ", ".join(map(str, marks))})


def numbers(priorities: Sequence[int]) -> str:
    return " ".join(map(str, priorities))


def _numbers(priorities: Sequence[int]) -> Message | str:
    return numbers(priorities) or Message(NONE)


def _shares(shares: str) -> Message | str:
    return shares or Message(NONE)
