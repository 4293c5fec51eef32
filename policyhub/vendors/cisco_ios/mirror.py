"""Monitor sessions of Cisco IOS and IOS-XE. Source: Cisco, "Configuring SPAN and RSPAN", "Configuring ERSPAN" (Catalyst 9000)."""

from __future__ import annotations

import re

from policyhub.domain.change import Commands
from policyhub.domain.mirroring import Mirror, MirrorDrafts, MirrorKind, numbers_in
from policyhub.vendorkit.vlan_sections import vlan_sections

SESSION = re.compile(r"^monitor session (\d+)\b", re.MULTILINE | re.IGNORECASE)
READS = ("show monitor session all",)


def draft(wish: Mirror, running: str) -> Commands:
    session = f"monitor session {wish.number}"
    if wish.kind is MirrorKind.ERSPAN:
        return Commands(_erspan(session, wish), (f"no {session}",), READS)
    lines = [f"{session} source interface {wish.source} {wish.copied}"]
    undo = [f"no {session}"]
    if wish.kind is MirrorKind.SPAN:
        lines.append(f"{session} destination interface {wish.destination} encapsulation replicate")
        return Commands(tuple(lines), tuple(undo), READS)
    if not any(re.search(r"^[ \t]+remote-span\b", body, re.MULTILINE) for body in vlan_sections(running, wish.vlan or 0)):
        # the VLAN itself stays: a VTP server has VLANs that its running configuration does not show
        lines[:0] = [f"vlan {wish.vlan}", " remote-span"]
        undo += [f"vlan {wish.vlan}", " no remote-span"]
    lines.append(f"{session} destination remote vlan {wish.vlan}")
    return Commands(tuple(lines), tuple(undo), READS)


def _erspan(session: str, wish: Mirror) -> tuple[str, ...]:
    return (
        f"{session} type erspan-source",
        f" source interface {wish.source} {wish.copied}",
        " destination",
        f"  erspan-id {wish.number}",
        f"  ip address {wish.collector}",
        f"  ip dscp {wish.dscp}",
        f"  origin ip address {wish.origin}",
        "  exit",
        " no shutdown",
    )


MIRRORS = MirrorDrafts(range(1, 67), frozenset(MirrorKind), numbers_in(SESSION), draft)
