"""Interfaces and static routes from NVUE."""

from __future__ import annotations

import re
from dataclasses import replace

from policyhub.domain.device_config import Interface, Route
from policyhub.vendorkit.lexing import is_decimal
from policyhub.vendors.nvidia_cumulus.tree import Branch

SPEED = re.compile(r"^(\d{1,6})([MGT])$")
SCALE = {"M": 10**6, "G": 10**9, "T": 10**12}


def interfaces(root: Branch) -> tuple[Interface, ...]:
    """A port may be named in several lists (`swp1-18`, `swp1-22`): they are put together."""
    found: dict[str, Interface] = {}
    for name, branch in root.items("interface"):
        known = found.get(name, Interface(name))
        addresses = branch.at("ip", "address")
        speed = SPEED.match(branch.value("link", "speed"))
        mtu = branch.value("link", "mtu")
        found[name] = replace(
            known,
            addresses=(*known.addresses, *(addresses.children if addresses is not None else ())),
            description=branch.value("description") or known.description,
            speed_bps=int(speed[1]) * SCALE[speed[2]] if speed else known.speed_bps,
            enabled=known.enabled and branch.value("link", "state") != "down",
            lines=tuple(sorted({*known.lines, *branch.all_lines()})),
            vrf=branch.value("ip", "vrf") or known.vrf,
            mtu=int(mtu) if is_decimal(mtu) and len(mtu) < 6 else known.mtu,
        )
    for bond, branch in root.items("interface"):
        for member, _ in branch.items("bond", "member"):
            if member in found:
                found[member] = replace(found[member], parent=bond)
    return tuple(found.values())


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
