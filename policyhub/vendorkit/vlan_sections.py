"""Whether a running configuration has a VLAN already, under whatever list of VLANs its section stands."""

from __future__ import annotations

import re

SECTION = re.compile(
    r"^vlan[ \t]+(\d[\d ,-]*(?:to[\d ]+)*)[ \t\r]*(?:\n|\Z)((?:[ \t].*(?:\n|\Z))*)", re.MULTILINE | re.IGNORECASE
)


def vlan_sections(running: str, vlan: int) -> list[str]:
    """Bodies of the sections that are of the VLAN (`vlan 9`, `vlan 5,7-9`, `vlan 2 to 10`); [] when there is none."""
    return [found[2] for found in SECTION.finditer(running) if _holds(found[1], vlan)]


def _holds(listed: str, vlan: int) -> bool:
    for part in re.sub(r"\s*(?:to|-)\s*", "-", listed.lower()).replace(",", " ").split():
        first, _, last = part.partition("-")
        if first.isdecimal() and int(first) <= vlan <= int(last if last.isdecimal() else first):
            return True
    return False
