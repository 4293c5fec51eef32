"""Copies by Linux traffic control. Sources: tc-mirred(8), tc-matchall(8), ip-link(8) "GRE, IPIP, SIT, ERSPAN"."""

from __future__ import annotations

import re

from policyhub.domain.change import Commands
from policyhub.domain.mirroring import Copied, Mirror, MirrorDrafts, MirrorKind, numbers_in

PREFERENCE = 49_000  # tc numbers by itself from 49152 downward
SESSION = re.compile(r"\bpref 490(\d\d)\b|\bphm(\d+)\b")
WAYS = {Copied.RX: "ingress", Copied.TX: "egress"}


def draft(wish: Mirror, running: str) -> Commands:
    """`clsact` stays at the way back: others may hang on it, and empty it does nothing. A restart forgets all of this."""
    to, lines, undo = wish.destination, [], []
    if wish.kind is MirrorKind.ERSPAN:
        to = f"phm{wish.number}"
        outer = f"local {wish.origin} remote {wish.collector} tos {(wish.dscp or 0) << 2:#04x}"
        lines += [
            f"ip link add dev {to} type erspan seq key {wish.number} {outer} erspan_ver 1 erspan {wish.number}",
            f"ip link set dev {to} up",
        ]
    lines.append(f"tc qdisc show dev {wish.source} clsact | grep -q . || tc qdisc add dev {wish.source} clsact")
    for way in wish.copied.ways:
        where = f"dev {wish.source} {WAYS[way]} pref {PREFERENCE + wish.number}"
        lines.append(f"tc filter add {where} matchall action mirred egress mirror dev {to}")
        undo.append(f"tc filter del {where}")
    if wish.kind is MirrorKind.ERSPAN:
        undo.append(f"ip link del dev {to}")
    reads = tuple(f"tc -s filter show dev {wish.source} {WAYS[way]}" for way in wish.copied.ways)
    return Commands(tuple(lines), tuple(undo), reads)


MIRRORS = MirrorDrafts(range(1, 65), frozenset({MirrorKind.SPAN, MirrorKind.ERSPAN}), numbers_in(SESSION), draft)
