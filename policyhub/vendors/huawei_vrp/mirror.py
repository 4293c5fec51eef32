"""Observing ports of Huawei switches. Sources: S-series and CloudEngine Configuration Guides, "Mirroring Configuration".

NE routers have `port-observing` of their own and are not drafted.
"""

from __future__ import annotations

import re

from policyhub.domain.change import Commands
from policyhub.domain.mirroring import Copied, Mirror, MirrorDrafts, MirrorKind, numbers_in

SESSION = re.compile(r"^observe-port (\d+)\b", re.MULTILINE | re.IGNORECASE)
CLOUD_ENGINE = re.compile(r"^\d+GE", re.IGNORECASE)
WAYS = {Copied.RX: "inbound", Copied.TX: "outbound", Copied.BOTH: "both"}


def draft(wish: Mirror, running: str) -> Commands:
    """CloudEngine ports begin with their speed (10GE1/0/1); its `port-mirroring` has no `to`, its changes wait for `commit`."""
    newer = CLOUD_ENGINE.match(wish.source) is not None
    observer, way = f"observe-port {wish.number}", WAYS[wish.copied]
    if wish.kind is MirrorKind.ERSPAN:
        to = f"destination-ip {wish.collector} source-ip {wish.origin} dscp {wish.dscp}"
    else:
        to = f"interface {wish.destination}" + (f" vlan {wish.vlan}" if wish.vlan else "")
    copy = f" port-mirroring {'' if newer else 'to '}{observer} {way}"
    lines = (f"{observer} {to}", f"interface {wish.source}", copy, " quit")
    undo = (f"interface {wish.source}", f" undo{copy}", " quit", f"undo {observer}")
    done = ("commit",) if newer else ()
    return Commands((*lines, *done), (*undo, *done), ("display observe-port", "display port-mirroring"))


PORTED = frozenset({MirrorKind.SPAN, MirrorKind.RSPAN})
MIRRORS = MirrorDrafts(range(1, 9), frozenset(MirrorKind), numbers_in(SESSION), draft, by_port=PORTED)
