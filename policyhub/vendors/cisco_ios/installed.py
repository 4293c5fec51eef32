"""Our guard's objects inside a running configuration: found, brought into one canonical form, and cut out of the rest."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from policyhub.domain.change import GuardSpec
from policyhub.domain.qos import parse_dscp
from policyhub.vendorkit import rendering
from policyhub.vendorkit.guard_parts import GuardParts
from policyhub.vendorkit.rendering import Network, Section, sections, wildcard_network, words

# Never a sender (RFC 919, RFC 4291), so the entry matches nothing, whatever the platform makes of a list without entries.
BLANK = {4: ipaddress.ip_network("255.255.255.255/32"), 6: ipaddress.ip_network("ff00::/128")}
KEYWORD = {4: "ip", 6: "ipv6"}
ACL_HEADER = re.compile(r"^(?:ip access-list (?:extended|standard)|ipv6 access-list) (\S+)$")
OWNED_HEADER = re.compile(
    r"^(?:ip access-list \S+|ipv6 access-list|class-map(?: type \S+)?(?: match-\S+)?|policy-map(?: type \S+)?) (\S+)$"
)
ENTRY = re.compile(
    r"^(?:(?:sequence )?(?P<seq>\d+) )?(?P<action>permit|deny) (?P<keyword>ip|ipv6) (?P<source>host \S+|\S+ \d+\.\S+|\S+/\d+) any"
    r"(?: sequence (?P<tail>\d+))?$",
    re.IGNORECASE,
)
POLICE = re.compile(r"^police (?:cir )?(\d+) (?:bps )?(?:bc )?(\d+)(?: bytes)?(?: be \d+)? (.*)$")
SERVICE_POLICY = re.compile(r"^service-policy input (\S+)$")
VOLATILE = re.compile(r"^(?:Building configuration|Current configuration|Using \d+|ntp clock-period )")


@dataclass(slots=True)
class Installed(GuardParts):
    """What of one guard stands in a running configuration.

    parts: "acl4", "class4", "policy" ... -> canonical lines; an access list's lines are left to `members`, `blanks` and `odd`.
    members: prefix -> the entry as the device prints it.
    """

    members: dict[str, str] = field(default_factory=dict)


def object_name(spec: GuardSpec, family: int) -> str:
    """IPv4 and IPv6 lists may not share a name on IOS."""
    return spec.name if family == 4 else f"{spec.name}-V6"


def find(spec: GuardSpec, running: str) -> Installed:
    found = Installed()
    for section in sections(running, "!"):
        header = words(section.header)
        if header.startswith("interface "):
            _interface(found, header.removeprefix("interface "), section.body)
            continue
        owned = OWNED_HEADER.match(header)
        if owned is None:
            continue
        for family in (4, 6):
            if owned[1] == object_name(spec, family):
                _part(found, family, header, section)
    return found


def _interface(found: Installed, name: str, body: Iterable[str]) -> None:
    found.inputs[name] = ""
    for raw in body:
        line = words(raw)
        attached = SERVICE_POLICY.match(line)
        if attached:
            found.inputs[name] = attached[1]
        elif line.startswith("channel-group "):
            found.trouble[name] = "it is a member of a bundle; a policy belongs on the port-channel"
        elif line.startswith("mls qos trust"):
            found.trouble[name] = "an input policy would replace its 'mls qos trust' and lower everybody's marks"


def _part(found: Installed, family: int, header: str, section: Section) -> None:
    acl = ACL_HEADER.match(header)
    if acl:
        if not header.startswith(f"{KEYWORD[family]} access-list") or " standard " in header:
            found.odd.append(f"{header} has our name")
        found.parts[f"acl{family}"] = ()
        for raw in section.body:
            _entry(found, family, words(raw))
    elif header.startswith("class-map "):
        found.parts[f"class{family}"] = (header, *sorted(canonical_match(words(raw)) for raw in section.body))
    elif family == 4:
        found.parts["policy"] = (header, *canonical_policy(section.body))
    else:
        found.odd.append(f"{header} has our name")


def _entry(found: Installed, family: int, line: str) -> None:
    entry = ENTRY.match(line)
    network = _network(entry["source"]) if entry and entry["keyword"].lower() == KEYWORD[family] else None
    if entry is None or network is None:
        found.odd.append(f"entry not understood: {line}")
    elif entry["action"].lower() == "permit":
        found.members[str(network)] = line
    elif network == BLANK[family]:
        found.blanks.add(family)
    else:
        found.odd.append(f"entry not ours: {line}")


def _network(source: str) -> Network | None:
    try:
        if source.lower().startswith("host "):
            return ipaddress.ip_network(source[5:])
        if "/" in source:
            return ipaddress.ip_network(source)
        address, wildcard = source.split()
        return wildcard_network(address, wildcard)
    except ValueError:
        return None


def canonical_match(line: str) -> str:
    """`match [ip] dscp ...` with sorted numbers."""
    found = re.match(r"^match (?:ip )?dscp (.+)$", line)
    if found is None:
        return line
    try:
        return "match dscp " + " ".join(map(str, sorted(parse_dscp(word) for word in found[1].split())))
    except ValueError:
        return line


def canonical_policy(body: Iterable[str]) -> tuple[str, ...]:
    """Classes with their actions; a police printed over several lines is one line, an empty class-default is nothing."""
    joined: list[str] = []
    for raw in body:
        line = words(raw)
        if joined and joined[-1].startswith("police") and re.match(r"^(?:conform|exceed|violate)-action ", line):
            joined[-1] += f" {line}"
        else:
            joined.append(line)
    return tuple(_canonical_action(line) for line in joined if line != "class class-default")


def _canonical_action(line: str) -> str:
    mark = re.match(r"^set (?:ip )?dscp (\S+)$", line)
    if mark:
        try:
            return f"set dscp {parse_dscp(mark[1])}"
        except ValueError:
            return line
    police = POLICE.match(line)
    if police:
        return f"police cir {police[1]} bc {police[2]} {police[3].removesuffix(' violate-action drop')}"
    return line


def foreign_lines(running: str) -> Iterator[str]:
    return rendering.foreign_lines(running, "!", OWNED_HEADER, VOLATILE, SERVICE_POLICY)


CLASS_LINE = re.compile(r"^\s*Class-map: (\S+)")
COUNT_LINE = re.compile(r"^\s*(\d+) packets(?:, (\d+) bytes)?\s*$")


def count(spec: GuardSpec, outputs: Iterable[str]) -> tuple[int | None, int | None]:
    """Packets and bytes of our classes in `show policy-map interface` outputs; None where the device prints no number."""
    names = {object_name(spec, family) for family in spec.families}
    packets: list[int] = []
    sizes: list[int | None] = []
    for text in outputs:
        waiting = False
        for line in text.splitlines():
            named = CLASS_LINE.match(line)
            if named:
                waiting = named[1] in names
                continue
            counted = COUNT_LINE.match(line) if waiting else None
            if counted:
                packets.append(int(counted[1]))
                sizes.append(int(counted[2]) if counted[2] else None)
                waiting = False
    if not packets:
        return None, None
    known = [size for size in sizes if size is not None]
    return sum(packets), sum(known) if len(known) == len(sizes) else None
