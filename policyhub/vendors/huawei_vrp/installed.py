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

# Never a sender (RFC 919, RFC 4291). The rule permits nobody; a `deny` would be wrong here: VRP drops what a deny rule of a
# classifier's ACL matches, and a classifier whose only ACL has no rules may match by its other conditions alone.
BLANK = {4: ipaddress.ip_network("255.255.255.255/32"), 6: ipaddress.ip_network("ff00::/128")}
BLANK_ID = 1
KEYWORD = {4: "ip", 6: "ipv6"}
OWNED_HEADER = re.compile(
    r"^(?:acl(?: ipv6)?(?: number| name)?|traffic classifier|traffic behavior|traffic policy) (\S+)(?: (.*))?$"
)
RULE = re.compile(r"^rule (\d+) permit (ip|ipv6) source (\S+)(?: (\S+))?$")
TRAFFIC_POLICY = re.compile(r"^traffic-policy (\S+) inbound(?: .*)?$")
CAR = re.compile(r"^car (?:cir )?(\d+)(?: kbps)?\b")
TWO_STAGE = re.compile(r"^traffic classifier \S+ type (?:or|and)\b")  # S series say `operator`
VOLATILE = re.compile(r"^(?:return$|<|\[|!)")


@dataclass(slots=True)
class Installed(GuardParts):
    """What of one guard stands in a running configuration.

    parts: "acl4", "classifier4", "behavior", "policy" -> canonical lines; an ACL's rules go to `members`, `blanks` and `odd`.
    members: prefix -> rule id. ids: the rules of each family. two_stage: the device activates by `commit` (CloudEngine, NE).
    """

    members: dict[str, int] = field(default_factory=dict)
    ids: dict[int, set[int]] = field(default_factory=lambda: {4: set(), 6: set()})
    two_stage: bool = False


def object_name(spec: GuardSpec, family: int) -> str:
    return spec.name if family == 4 else f"{spec.name}-V6"


def find(spec: GuardSpec, running: str) -> Installed:
    found = Installed()
    for section in sections(running, "#"):
        header = words(section.header)
        found.two_stage = found.two_stage or TWO_STAGE.match(header) is not None
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
        attached = TRAFFIC_POLICY.match(line)
        if attached:
            found.inputs[name] = attached[1]
        elif line.startswith("eth-trunk "):
            found.trouble[name] = "it is a member of a trunk; a policy belongs on the Eth-Trunk"


def _part(found: Installed, family: int, header: str, section: Section) -> None:
    body = [words(raw) for raw in section.body]
    kind = header.split()[1]
    if header.startswith("acl "):
        if header.startswith("acl ipv6 ") != (family == 6):
            found.odd.append(f"{header} has our name")
        found.parts[f"acl{family}"] = ()
        for line in body:
            _rule(found, family, line)
    elif kind == "classifier":
        # S series print `operator and` and, older, a precedence; order of criteria does not matter
        logic = "and" if re.search(r"\b(?:operator|type) and\b", header) else "or"
        found.parts[f"classifier{family}"] = (logic, *sorted(canonical_match(line) for line in body))
    elif family == 6:
        found.odd.append(f"{header} has our name")
    elif kind == "behavior":
        found.parts["behavior"] = tuple(sorted(canonical_action(line) for line in body if line != "permit"))
    else:
        found.parts["policy"] = tuple(re.sub(r" precedence \d+$", "", line) for line in body if line != "share-mode")


def _rule(found: Installed, family: int, line: str) -> None:
    if line.startswith(("step ", "description ")) or re.match(r"rule \d+ description ", line):
        return
    rule = RULE.match(line)
    network = _network(rule[3], rule[4]) if rule and rule[2] == KEYWORD[family] else None
    if rule is None or network is None:
        found.odd.append(f"rule not understood: {line}")
        return
    found.ids[family].add(int(rule[1]))
    if network == BLANK[family]:
        found.blanks.add(family)
    else:
        found.members[str(network)] = int(rule[1])


def _network(address: str, wildcard: str | None) -> Network | None:
    """`10.1.2.3 0`, `10.1.2.0 0.0.0.255`, `2001:DB8::/64`, `2001:DB8::1 128`, `2001:DB8::1/128`."""
    try:
        if "/" in address:
            return ipaddress.ip_network(address)
        if wildcard is None:
            return None
        if ":" in address:
            return ipaddress.ip_network(f"{address}/{wildcard}")
        return wildcard_network(address, wildcard)
    except ValueError:
        return None


def _dscp(text: str) -> str:
    try:
        return str(parse_dscp(text))
    except ValueError:
        return text


def canonical_match(line: str) -> str:
    """`if-match dscp ...` with sorted numbers; `if-match [ipv6] acl [name] X` without the optional word."""
    found = re.match(r"^if-match (?:ipv6 )?dscp (.+)$", line)
    if found:
        return "if-match dscp " + " ".join(sorted((_dscp(word) for word in found[1].split()), key=lambda text: text.zfill(8)))
    return re.sub(r"^(if-match (?:ipv6 )?acl) name ", r"\1 ", line)


def canonical_action(line: str) -> str:
    """Both spellings of `statistic(s) enable`; DSCP as number; of a car its rate (the device fills in the rest)."""
    if line in ("statistic enable", "statistics enable"):
        return "statistics enable"
    mark = re.match(r"^remark dscp (\S+)$", line)
    if mark:
        return f"remark dscp {_dscp(mark[1])}"
    car = CAR.match(line)
    return f"car cir {car[1]}" if car else line


def foreign_lines(running: str) -> Iterator[str]:
    return rendering.foreign_lines(running, "#", OWNED_HEADER, VOLATILE, TRAFFIC_POLICY)
