"""Mirror sessions of SONiC, as shell commands. Source: Command Reference of sonic-utilities, "Mirroring"."""

from __future__ import annotations

import re

from policyhub.domain.change import Commands
from policyhub.domain.mirroring import Mirror, MirrorDrafts, MirrorKind, numbers_in

SESSION = re.compile(r"\bPHM(\d+)\b")
ERSPAN_II = "0x88be"
TTL, LOWEST_QUEUE = 64, 0  # only queue 0 is supported by many builds


def draft(wish: Mirror, running: str) -> Commands:
    """TTL, GRE type and queue stand before the port: `config` takes them by place."""
    name = wish.name
    if wish.kind is MirrorKind.ERSPAN:
        outer = f"{wish.origin} {wish.collector} {wish.dscp} {TTL} {ERSPAN_II} {LOWEST_QUEUE}"
        line = f"sudo config mirror_session erspan add {name} {outer} {wish.source} {wish.copied}"
    else:
        line = f"sudo config mirror_session span add {name} {wish.destination} {wish.source} {wish.copied} {LOWEST_QUEUE}"
    return Commands((line,), (f"sudo config mirror_session remove {name}",), ("show mirror_session",))


MIRRORS = MirrorDrafts(range(1, 9), frozenset({MirrorKind.SPAN, MirrorKind.ERSPAN}), numbers_in(SESSION), draft)
