"""Interfaces and static routes from NVUE."""

from __future__ import annotations

import re
from dataclasses import replace

from policyhub.domain.device_config import Interface, Route
from policyhub.vendorkit.lexing import is_decimal
from policyhub.vendors.nvidia_cumulus.tree import Branch, ports_of

SPEED = re.compile(r"^(\d{1,6})([MGT])$")
SCALE = {"M": 10**6, "G": 10**9, "T": 10**12}


def interfaces(root: Branch) -> tuple[Interface, ...]:
    """A port may be named in several lists (`swp1-18`, `swp1-22`): they are put together."""
    ports = ports_of(root)
    found = {name: _interface(name, branches) for name, branches in ports.items()}
    for bond, branches in ports.items():
        for branch in branches:
            for member, _ in branch.items("bond", "member"):
                if member in found:
                    found[member] = replace(found[member], parent=bond)
    return tuple(found.values())


def _interface(name: str, branches: list[Branch]) -> Interface:
    made = Interface(name)
    for branch in branches:
        addresses = branch.at("ip", "address")
        speed = SPEED.match(branch.value("link", "speed"))
        mtu = branch.value("link", "mtu")
        made = replace(
            made,
            addresses=(*made.addresses, *(addresses.children if addresses is not None else ())),
            description=branch.value("description") or made.description,
            speed_bps=int(speed[1]) * SCALE[speed[2]] if speed else made.speed_bps,
            enabled=made.enabled and branch.value("link", "state") != "down",
            lines=tuple(sorted({*made.lines, *branch.all_lines()})),
            vrf=branch.value("ip", "vrf") or made.vrf,
            mtu=int(mtu) if is_decimal(mtu) and len(mtu) < 6 else made.mtu,
        )
    return made


def routes(root: Branch) -> tuple[Route, ...]:
    found: list[Route] = []
    for vrf, branch in root.items("vrf"):
        static = branch.at("router", "static")
        for prefix, route in static.children.items() if static is not None else ():
            via = route.at("via")
            name = "" if vrf == "default" else vrf
            for hop, below in via.children.items() if via is not None else ():
                discard = hop in ("blackhole", "reject")
                is_address = "." in hop or ":" in hop
                port = below.value("interface") or ("" if discard or is_address else hop)
                found.append(Route(prefix, hop if is_address else "", port, name, discard=discard, lines=route.all_lines()))
    return tuple(found)
