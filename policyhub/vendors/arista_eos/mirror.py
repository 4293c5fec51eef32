"""Mirror sessions of Arista EOS. Source: EOS User Manual, "Port mirroring"; EOS TOI "Mirroring to GRE tunnels"."""

from __future__ import annotations

import re

from policyhub.domain.change import Commands
from policyhub.domain.mirroring import Mirror, MirrorDrafts, MirrorKind, numbers_in

SESSION = re.compile(r"^monitor session (?:PHM)?(\d+)\b", re.MULTILINE | re.IGNORECASE)


def draft(wish: Mirror, running: str) -> Commands:
    session = f"monitor session {wish.name}"
    to = wish.destination
    if wish.kind is MirrorKind.ERSPAN:
        to = f"tunnel mode gre source {wish.origin} destination {wish.collector} dscp {wish.dscp}"
    lines = (f"{session} source {wish.source} {wish.copied}", f"{session} destination {to}")
    return Commands(lines, (f"no {session}",), (f"show monitor session {wish.name} detail",))


MIRRORS = MirrorDrafts(range(1, 65), frozenset({MirrorKind.SPAN, MirrorKind.ERSPAN}), numbers_in(SESSION), draft)
