"""Other outputs in the same file: `display interface` gives interfaces, `display bgp peer` and brief tables are recognised."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from policyhub.domain.device_config import Interface
from policyhub.vendorkit.blocks import Line
from policyhub.vendorkit.lexing import prefix_set
from policyhub.vendorkit.vrp_lines import is_interface

STATE = re.compile(r"^(?:(?P<name>[A-Za-z][\w-]*\d[\d/.:]*) )?current state ?: ?(?P<state>.+)$", re.IGNORECASE)
BRIEF = re.compile(r"^(The b|B)rief information (of|on) interface", re.IGNORECASE)
PEER = re.compile(r"^BGP Peer is \S+, +remote AS \d+", re.IGNORECASE)
HEADS = ("The", "Bri", "BGP")
ADDRESS = re.compile(r"^Internet address(?: is|:) (\S+)", re.IGNORECASE)
UNIT = re.compile(r"^(?:The maximum transmit unit is|Maximum transmission unit:) (\d{2,5})$", re.IGNORECASE)
BANDWIDTH = re.compile(r"^Bandwidth: (\d{1,12}) ?kbps$", re.IGNORECASE)
CONFIGURATION = re.compile(
    r"^(#|acl |interface \S*\d|rule \d|rule (permit|deny|pass|drop)|sysname |return$|security-|object-|zone-pair |traffic |qos "
    r"|packet-filter |nat |ip (address|route|vpn|prefix|http)|ipv6 (address|route)|vlan \d|undo |version |time-range |snmp-agent"
    r"|line (vty|con|aux|class)|user-interface)",
    re.IGNORECASE,
)
SAYING = r"supports|capabilities|is|are|not set|has been|have been|since|disabled|enabled|mode|messages|filter|list|policy"
FACT = re.compile(
    rf"^(?:[^:]{{1,80}}:.*|[-\d].*|.{{0,60}}\b(?:{SAYING})\b.*|(?:Allow|Media|Link|Last|Tunnel|Loopback|Peer|Interface|4-byte) .*"
    r"|\S+ +(?:UP|DOWN|ADM|Stby)\b.*)$",
    re.IGNORECASE,
)


def read_outputs(lines: Iterable[Line]) -> tuple[list[int], list[Interface]]:
    """Line numbers of such outputs, and the interfaces they tell about."""
    taken: list[int] = []
    found: list[Interface] = []
    inside = ""
    before: Line | None = None
    for line in lines:
        text = line.text
        state = STATE.match(text) if "urrent state" in text else None
        if state and (state["name"] or (before is not None and is_interface(before.text))):
            name = state["name"] or (before.text if before else "")
            numbers = (line.number,) if state["name"] or before is None else (before.number, line.number)
            enabled = "administratively" not in state["state"].lower() and not state["state"].startswith("ADM")
            found.append(Interface(name, enabled=enabled, lines=numbers))
            taken += numbers
            inside = "interface"
        elif text[:3] in HEADS and (BRIEF.match(text) or PEER.match(text)):
            inside = "other"
            taken.append(line.number)
        elif text and inside and FACT.match(text) and not CONFIGURATION.match(text):
            taken.append(line.number)
            if inside == "interface":
                found[-1] = _fact(found[-1], text, line.number)
        elif text and not is_interface(text):
            inside = "" if CONFIGURATION.match(text) or inside != "other" else inside
        before = line
    return taken, found


def _fact(interface: Interface, text: str, number: int) -> Interface:
    address, unit, bandwidth = ADDRESS.match(text), UNIT.match(text), BANDWIDTH.match(text)
    lines = (*interface.lines, number)
    if text.startswith("Description: "):
        return replace(interface, description=text.removeprefix("Description: ").strip(), lines=lines)
    if address and prefix_set(address[1]) is not None:
        return replace(interface, addresses=(*interface.addresses, address[1]), lines=lines)
    if unit:
        return replace(interface, mtu=int(unit[1]), lines=lines)
    if bandwidth:
        return replace(interface, speed_bps=int(bandwidth[1]) * 1000, lines=lines)
    return interface
