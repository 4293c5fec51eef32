"""What crossed a port between readings, by whatever its device counts: the port itself, or what its queues sent."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from policyhub.domain.counter_series import CounterSeries
from policyhub.domain.errors import BadInput
from policyhub.domain.message import gettext_noop
from policyhub.domain.mirroring import Copied

KINDS = ("UcastPkts", "McastPkts", "BcastPkts")
# Titles whose sum is all frames, and those that are all octets, of a port; the first that is whole counts.
FRAMES = {
    Copied.RX: (tuple(f"In{kind}" for kind in KINDS), ("RX_OK",)),
    Copied.TX: (tuple(f"Out{kind}" for kind in KINDS), ("TX_OK",), ("Forwarded",)),
}
OCTETS = {Copied.RX: (("InOctets",),), Copied.TX: (("OutOctets",), ("Forwarded",))}
# By command, what queues say of what left them; their sum is what the port sent. SONiC's tables have no command.
SENT = {
    "show queuing interface": re.compile(r"Tx (?:Pkts|Byts) \w+"),
    "show interfaces queue": re.compile(r"Transmitted"),
    "display qos queue statistics": re.compile(r"Passed"),
    "tc -s qdisc show": re.compile(r"sent"),
}
OF_SONIC = re.compile(r"Counter/(?:pkts|bytes)")
INNER = re.compile(r"^in | of ")  # Junos ingress queues; disciplines of tc below another
LETTERS = re.compile(r"^([A-Za-z-]+)\s*(\d.*)$")
LISTED = 8


@dataclass(frozen=True, slots=True)
class PortTraffic:
    """Counters of one reading, ever rising. octets: None when the device counts none."""

    at: datetime
    packets: int
    octets: int | None


def traffic_of(rows: Iterable[CounterSeries], copied: Copied, at: datetime) -> PortTraffic | None:
    """Of one port at one time; None when its device does not count every copied direction."""
    known = list(rows)
    packets = _sum([_counted(known, FRAMES[way], "packets", way) for way in copied.ways])
    octets = _sum([_counted(known, OCTETS[way], "bytes", way) for way in copied.ways])
    return None if packets is None else PortTraffic(at, packets, octets)


def _counted(rows: Sequence[CounterSeries], choices: Sequence[Sequence[str]], unit: str, way: Copied) -> int | None:
    of_port = {row.name: row.value for row in rows if not row.queue and row.unit == unit}
    for titles in choices:
        whole = _sum([of_port.get(title) for title in titles])
        if whole is not None:
            return whole
    return None if way is Copied.RX else _sum([row.value for row in rows if row.queue and row.unit == unit and _left(row)])


def _sum(values: Sequence[float | None]) -> int | None:
    """None of nothing, and as soon as one is unknown."""
    known = [value for value in values if value is not None]
    return int(sum(known)) if known and len(known) == len(values) else None


def _left(row: CounterSeries) -> bool:
    return SENT.get(row.source, OF_SONIC).fullmatch(row.name) is not None and INNER.search(row.queue) is None


def port_named(wanted: str, known: Iterable[str]) -> str:
    """The port as the counters call it: also `Gi1/0/1` for GigabitEthernet1/0/1 and the other way. Raises BadInput."""
    names = list(dict.fromkeys(known))
    for name in names:
        if name.casefold() == wanted.casefold():
            return name
    short = [name for name in names if _same(name, wanted)]
    if len(short) == 1:
        return short[0]
    if not names:
        raise BadInput.of(gettext_noop("no counters of port %(port)s, nor of any other. Read the device's counters"), port=wanted)
    listed = ", ".join(names[:LISTED]) + (", ..." if names[LISTED:] else "")
    raise BadInput.of(gettext_noop("no counters of port %(port)s. There are those of: %(known)s"), port=wanted, known=listed)


def _same(one: str, other: str) -> bool:
    first, second = LETTERS.match(one), LETTERS.match(other)
    if first is None or second is None or first[2] != second[2]:
        return False
    longer, shorter = sorted((first[1].casefold(), second[1].casefold()), key=len, reverse=True)
    return len(shorter) >= 2 and longer.startswith(shorter)
