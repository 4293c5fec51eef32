"""Monitor sessions of Cisco IOS-XR. Source: Interface and Hardware Component Guide (NCS 5500), "Traffic Mirroring"."""

from __future__ import annotations

import re

from policyhub.domain.change import Commands
from policyhub.domain.mirroring import Copied, Mirror, MirrorDrafts, MirrorKind, numbers_in
from policyhub.vendors.cisco_iosxr.parse import parse

SESSION = re.compile(r"^(?:monitor-session PHM|interface tunnel-ip)(\d+)\b", re.MULTILINE | re.IGNORECASE)
WAYS = {Copied.RX: " direction rx-only", Copied.TX: " direction tx-only", Copied.BOTH: ""}


def draft(wish: Mirror, running: str) -> Commands:
    lines, undo = [], [f"interface {wish.source}", f" no monitor-session {wish.name} ethernet", f"no monitor-session {wish.name}"]
    destination = wish.destination
    if wish.kind is MirrorKind.ERSPAN:
        destination = f"tunnel-ip{wish.number}"
        lines += [f"interface {destination}", *_address(wish, running), " tunnel mode gre ipv4"]
        lines += [f" tunnel tos {(wish.dscp or 0) << 2}", f" tunnel source {wish.origin}"]
        lines += [f" tunnel destination {wish.collector}", "!"]
        undo.append(f"no interface {destination}")
    lines += [
        f"monitor-session {wish.name} ethernet",
        f" destination interface {destination}",
        "!",
        f"interface {wish.source}",
        f" monitor-session {wish.name} ethernet{WAYS[wish.copied]} port-level",
        "!",
    ]
    return Commands(tuple(lines), tuple(undo), (f"show monitor-session {wish.name} status",))


def _address(wish: Mirror, running: str) -> list[str]:
    """A tunnel without an address stays down: it borrows that of the port which has the origin, where the configuration says."""
    for port in parse(running).interfaces:
        if port.has(wish.origin):
            return [f" ipv4 unnumbered {port.name}"]
    return []


MIRRORS = MirrorDrafts(range(1, 65), frozenset({MirrorKind.SPAN, MirrorKind.ERSPAN}), numbers_in(SESSION), draft)
