"""Analyzers of Juniper Junos (EX, QFX, ACX). Source: Junos OS Network Management, "Port Mirroring and Analyzers"."""

from __future__ import annotations

import re

from policyhub.domain.change import Commands
from policyhub.domain.mirroring import Copied, Mirror, MirrorDrafts, MirrorKind, numbers_in

SESSION = re.compile(r"^(?:set forwarding-options analyzer|\s+analyzer|\s{8}) ?PHM(\d+)\b", re.MULTILINE)
WAYS = {Copied.RX: "ingress", Copied.TX: "egress"}


def draft(wish: Mirror, running: str) -> Commands:
    """The whole port is copied, whatever unit stands there. The origin of ERSPAN is the device's choice."""
    analyzer = f"forwarding-options analyzer {wish.name}"
    lines = [f"set {analyzer} input {WAYS[way]} interface {_unit(wish.source)}" for way in wish.copied.ways]
    undo = [f"delete {analyzer}"]
    if wish.kind is MirrorKind.ERSPAN:
        lines.append(f"set {analyzer} output ip-address {wish.collector}")
    elif wish.kind is MirrorKind.SPAN:
        lines.append(f"set {analyzer} output interface {_unit(wish.destination)}")
    else:
        vlan = f"{wish.name}-VLAN"
        port = _unit(wish.destination).replace(".", " unit ")
        member = f"interfaces {port} family ethernet-switching vlan members {vlan}"
        lines[:0] = [f"set vlans {vlan} vlan-id {wish.vlan}", f"set {member}"]
        lines.append(f"set {analyzer} output vlan {vlan}")
        undo += [f"delete {member}", f"delete vlans {vlan}"]
    return Commands(tuple(lines), tuple(undo), (f"show forwarding-options analyzer {wish.name}",))


def _unit(port: str) -> str:
    return port if "." in port else f"{port}.0"


PORTED = frozenset({MirrorKind.SPAN, MirrorKind.RSPAN})
MIRRORS = MirrorDrafts(range(1, 17), frozenset(MirrorKind), numbers_in(SESSION), draft, by_port=PORTED, marks=False)
