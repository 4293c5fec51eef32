"""Mirroring groups of H3C Comware 7. Source: Network Management and Monitoring Guide, "Configuring port mirroring"."""

from __future__ import annotations

import re

from policyhub.domain.change import Commands
from policyhub.domain.mirroring import Copied, Mirror, MirrorDrafts, MirrorKind, numbers_in
from policyhub.vendorkit.vlan_sections import vlan_sections

SESSION = re.compile(r"^[ \t]*mirroring-group (\d+)\b", re.MULTILINE | re.IGNORECASE)
WAYS = {Copied.RX: "inbound", Copied.TX: "outbound", Copied.BOTH: "both"}


def draft(wish: Mirror, running: str) -> Commands:
    """ERSPAN in encapsulation parameter mode, which names a port, too.

    A probe VLAN must learn no addresses: with both directions copied each host is seen on two ports. An existing one stays.
    """
    group = f"mirroring-group {wish.number}"
    source, undo = f"{group} mirroring-port {wish.source} {WAYS[wish.copied]}", [f"undo {group}"]
    if wish.kind is MirrorKind.RSPAN:
        lines = [f"{group} remote-source", f"{group} remote-probe vlan {wish.vlan}", source]
        lines.append(f"{group} monitor-egress {wish.destination}")
        if not vlan_sections(running, wish.vlan or 0):
            lines[:0] = [f"vlan {wish.vlan}", " undo mac-address mac-learning enable", " quit"]
            undo.append(f"undo vlan {wish.vlan}")
    else:
        lines = [f"{group} local", source, f"{group} monitor-port {wish.destination}"]
        if wish.kind is MirrorKind.ERSPAN:
            lines[-1] += f" destination-ip {wish.collector} source-ip {wish.origin} dscp {wish.dscp}"
    return Commands(tuple(lines), tuple(undo), (f"display {group}",))


MIRRORS = MirrorDrafts(range(1, 5), frozenset(MirrorKind), numbers_in(SESSION), draft, by_port=frozenset(MirrorKind))
