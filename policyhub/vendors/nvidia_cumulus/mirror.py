"""Port mirror sessions of Cumulus Linux 5. Source: NVIDIA, "SPAN and ERSPAN" of the user guide, and the NVUE reference."""

from __future__ import annotations

import re

from policyhub.domain.change import Commands
from policyhub.domain.mirroring import Copied, Mirror, MirrorDrafts, MirrorKind

SESSION = re.compile(r"\bsystem port-mirror session (\d+)\b")
TREE = re.compile(r"^([ \t]*)[\"']?port-mirror[\"']?:\s*\{?[ \t\r]*\n((?:\1\s+.*\n?)+)", re.MULTILINE)
KEY = re.compile(r"^[ \t]*[\"']?(\d)[\"']?:", re.MULTILINE)
WAYS = {Copied.RX: "ingress", Copied.TX: "egress"}


def taken(running: str) -> frozenset[int]:
    """From `nv set` lines, and from the tree that `nv config show` prints."""
    found = {int(number) for number in SESSION.findall(running)}
    for tree in TREE.finditer(running):
        found.update(int(number) for number in KEY.findall(tree[2]))
    return frozenset(found)


def draft(wish: Mirror, running: str) -> Commands:
    lines, undo = [], []
    for number, way in zip(wish.numbers, wish.copied.ways, strict=True):
        session = f"system port-mirror session {number}"
        kind = f"nv set {session} {wish.kind}"
        lines += [f"{kind} direction {WAYS[way]}", f"{kind} source-port {wish.source}"]
        if wish.kind is MirrorKind.ERSPAN:
            lines += [f"{kind} destination source-ip {wish.origin}", f"{kind} destination dest-ip {wish.collector}"]
        else:
            lines.append(f"{kind} destination {wish.destination}")
        undo.append(f"nv unset {session}")
    return Commands((*lines, "nv config apply"), (*undo, "nv config apply"), ("nv show system port-mirror",))


MIRRORS = MirrorDrafts(range(8), frozenset({MirrorKind.SPAN, MirrorKind.ERSPAN}), taken, draft, marks=False, one_way=True)
