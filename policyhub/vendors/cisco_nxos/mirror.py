"""Monitor sessions of Cisco NX-OS. Source: Nexus 9000 System Management Configuration Guide, "Configuring SPAN", "ERSPAN"."""

from __future__ import annotations

import re

from policyhub.domain.change import Commands
from policyhub.domain.errors import CannotRender
from policyhub.domain.message import gettext_noop
from policyhub.domain.mirroring import Mirror, MirrorDrafts, MirrorKind, numbers_in

SESSION = re.compile(r"^monitor session (\d+)\b", re.MULTILINE | re.IGNORECASE)
ORIGIN = re.compile(r"^monitor erspan origin ip-address (\S+)", re.MULTILINE | re.IGNORECASE)


def draft(wish: Mirror, running: str) -> Commands:
    """Raises CannotRender where another origin is set: it is one for all ERSPAN sessions of the switch."""
    session, reads = f"monitor session {wish.number}", (f"show monitor session {wish.number}",)
    undo = [f"no {session}"]
    if wish.kind is MirrorKind.SPAN:
        port, port_undo = _destination(wish.destination, running)
        body = [f"  source interface {wish.source} {wish.copied}", f"  destination interface {wish.destination}", "  no shut"]
        undo += port_undo
        return Commands((*port, session, *body), tuple(undo), reads)
    known = ORIGIN.search(running)
    if known and known[1] != wish.origin:
        said = gettext_noop("the origin of all ERSPAN sessions of this device is %(known)s. Give --origin %(known)s")
        raise CannotRender.of(said, known=known[1])
    lines = [] if known else [f"monitor erspan origin ip-address {wish.origin} global"]
    undo += [] if known else [f"no monitor erspan origin ip-address {wish.origin} global"]
    lines += [
        f"{session} type erspan-source",
        f"  erspan-id {wish.number}",
        "  vrf default",
        f"  destination ip {wish.collector}",
        f"  ip dscp {wish.dscp}",
        f"  source interface {wish.source} {wish.copied}",
        "  no shut",
    ]
    return Commands(tuple(lines), tuple(undo), reads)


def _destination(port: str, running: str) -> tuple[list[str], list[str]]:
    """What makes the port a destination, and back; nothing of what its section says already. Its default depends on the model."""
    section = re.search(rf"^interface {re.escape(port)}[ \t\r]*\n((?:[ \t].*\n?)*)", running, re.MULTILINE | re.IGNORECASE)
    known = {" ".join(line.split()).lower() for line in section[1].splitlines()} if section else set()
    if "switchport monitor" in known:
        return [], []
    routed = "no switchport" in known
    lines = [f"interface {port}", *(["  switchport"] if routed else []), "  switchport monitor"]
    return lines, [f"interface {port}", "  no switchport monitor", *(["  no switchport"] if routed else [])]


MIRRORS = MirrorDrafts(range(1, 33), frozenset({MirrorKind.SPAN, MirrorKind.ERSPAN}), numbers_in(SESSION), draft)
