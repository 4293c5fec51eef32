"""What the simulated switch does to packets: reads its running configuration the way an IOS switch acts on it.

Only what a guard needs: input service-policy -> class -> access list and DSCP -> set dscp. Shares no code with policyhub.vendors.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass

NAMES = {"default": 0, "cs1": 8, "cs2": 16, "af31": 26, "cs3": 24, "cs5": 40, "ef": 46, "cs6": 48, "cs7": 56, "voice-admit": 44}


@dataclass(frozen=True)
class Remark:
    """Packets from `sources` with a mark of `marks` leave with `target`. name: the class, under which the switch counts them."""

    name: str
    sources: tuple[ipaddress.IPv4Network, ...]
    marks: frozenset[int]
    target: int

    def applies(self, source: ipaddress.IPv4Address, dscp: int) -> bool:
        return dscp in self.marks and any(source in network for network in self.sources)


def remarks(running: str, interface: str) -> tuple[Remark, ...]:
    """Remarks that act on packets which enter `interface`."""
    blocks = _blocks(running)
    policy = _first(blocks.get(f"interface {interface}", []), r"service-policy input (\S+)")
    found: list[Remark] = []
    wanted = ""
    for line in blocks.get(f"policy-map {policy}", []):
        wanted = _first([line], r"class (\S+)$") or wanted
        target = _first([line], r"set (?:ip )?dscp (\S+)")
        if target:
            marks, acl = _class(blocks, wanted)
            found.append(Remark(wanted, _permitted(blocks, acl), marks, _mark(target)))
    return tuple(found)


def _blocks(running: str) -> dict[str, list[str]]:
    blocks: dict[str, list[str]] = {}
    current: list[str] = []
    for line in running.splitlines():
        if line and not line.startswith((" ", "!")):
            current = blocks.setdefault(line.strip(), [])
        elif line.startswith(" "):
            current.append(line.strip())
    return blocks


def _first(lines: list[str], pattern: str) -> str:
    return next((found.group(1) for line in lines if (found := re.match(pattern, line))), "")


def _class(blocks: dict[str, list[str]], name: str) -> tuple[frozenset[int], str]:
    lines = next((v for k, v in blocks.items() if re.match(rf"class-map (match-\w+ )?{re.escape(name)}$", k)), [])
    marks = frozenset(_mark(word) for line in lines for word in _first([line], r"match (?:ip )?dscp (.+)").split())
    acls = [acl for line in lines if (acl := _first([line], r"match access-group (?:name )?(\S+)"))]
    return marks, acls[0] if acls else ""


def _permitted(blocks: dict[str, list[str]], acl: str) -> tuple[ipaddress.IPv4Network, ...]:
    """Sources of permits before the first deny of everything."""
    found: list[ipaddress.IPv4Network] = []
    for line in blocks.get(f"ip access-list extended {acl}", []):
        if re.match(r"(\d+ )?deny +ip any any", line):
            break
        host = _first([line], r"(?:\d+ )?permit +ip host (\S+) any")
        wide = re.match(r"(?:\d+ )?permit +ip (\d\S+) (\d\S+) any", line)
        if host:
            found.append(ipaddress.IPv4Network(host))
        elif wide:
            found.append(ipaddress.IPv4Network(f"{wide.group(1)}/{wide.group(2)}"))  # it reads wildcards as host masks
    return tuple(found)


def _mark(word: str) -> int:
    return NAMES[word.lower()] if word.lower() in NAMES else int(word)
