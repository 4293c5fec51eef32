"""Running configuration and `show ip access-lists` of Arista EOS into the domain model."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from policyhub.domain.device_config import DeviceConfig
from policyhub.domain.rules import UNDEFINED_UNKNOWN, Binding
from policyhub.vendorkit.blocks import Block, Line, read_blocks, read_lines
from policyhub.vendorkit.ios_acl import ENTRY
from policyhub.vendorkit.ios_lines import excuse_paths, note_selectors, static_route
from policyhub.vendorkit.ios_mqc import qos_policies
from policyhub.vendorkit.ios_ports import Port, read_interface
from policyhub.vendorkit.ios_reading import (
    Gaps,
    IosReading,
    collect,
    dispatch,
    list_policies,
    read_class_map,
    remove_list,
    take_binding,
    take_direction,
)
from policyhub.vendorkit.ios_tables import default_marks
from policyhub.vendorkit.ledger import NOT_UNDERSTOOD, IgnoreList, LineLedger
from policyhub.vendorkit.lexing import NotUnderstood, Words, score
from policyhub.vendors.arista_eos import nat, qos, queues, segments, traffic_policies
from policyhub.vendors.arista_eos.reading import ACL, PACKAGE, Reading

NAME = "arista_eos"
IGNORED = IgnoreList.of(PACKAGE)
GAPS = Gaps(
    None,
    "empty: what the device does is not documented",
    None,
    UNDEFINED_UNKNOWN,
)
SIGNS = (
    (r"^! device: .*\(.*EOS-", 0.9),
    (r"^!RANCID-CONTENT-TYPE: arista", 0.9),
    (r"^! Command: show running-config", 0.3),
    (r"^! boot system flash:/?EOS", 0.5),
    (r"^management (?:api (?:http-commands|gnmi|models)|ssh|security|console|cvx)", 0.5),
    (r"^service routing protocols model", 0.6),
    (r"^transceiver qsfp default-mode|^vlan internal order ", 0.5),
    (r"^daemon TerminAttr|^router adaptive-virtual-topology|^router traffic-engineering", 0.5),
    (r"^traffic-policies", 0.7),
    (r"^vrf instance \S+", 0.3),
    (r"^[ \t]+counters per-entry", 0.5),
    (r"^policy-map type (?:quality-of-service|copp|pdp) ", 0.6),
    (r"^class-map type pbr ", 0.5),
    (r"^qos (?:profile|map (?:dscp|cos|traffic-class)) |^router segment-security|^ip nat profile ", 0.5),
    (r"^[ \t]*(?:Standard )?(?:IP|IPV6|MAC) Access List \S+", 0.7),
    (r"\[match \d+ packets", 0.5),
    (r"^interface Port-Channel\d+", 0.3),
    (r"^interface Management\d", 0.3),
    (
        r"^[ \t]+(?:mlag \d+$|ip address virtual |evpn ethernet-segment|switchport trunk group |service-profile )",
        0.3,
    ),
    (r"^policy-map type pbr \S+[ \t\r]*\n(?:[ \t]+\d+ class |[ \t]+class .*\n[ \t]+set nexthop)", 0.5),
    (r"^conf s[ \t\r]*$", 0.3),
    (r"^interface (?:Ethernet|Management|Port-Channel)\d+(?:/\d+)*(?:\.\d+)?[ \t\r]*$", 0.1),
    (r"^!Command: |^feature \S+|^!! IOS XR|^ipv4 access-list |^system qos|^boot-start-marker", -1.0),
)
HEADER = re.compile(
    r"^(?P<kind>ip|ipv6|mac) access-list (?:(?P<form>standard) )?(?P<name>\S+)$"
    r"|^(?P<plain>Standard )?(?P<shown>IP|IPV6|MAC) Access List (?P<seen>\S+)(?: \[.*\])?$"
)
REMOVED = re.compile(r"^no (?P<kind>ip|ipv6|mac) access-list (?:standard )?(?P<name>\S+)$")
FAMILY = {"ip": 4, "ipv6": 6, "mac": 0}
LIST_USE = re.compile(r"\b(?:access-list|access-group|boundary) (?P<name>\S+)")
PREFIXES = re.compile(r"^(?:source|destination) prefix \S")  # one line holds every prefix, however many
TEXTS = re.compile(r"^(?:banner (?:login|motd)|protocol https certificate|comment)$")
VERSION = re.compile(r"^! (?:device: .*\(.*|boot system flash:/?)EOS-(?P<version>[\w.]+?)(?:\)|\.swi)")
CLOUD = re.compile(r"^exec \S*TerminAttr\b.* -?-cv(?:addr|opt|config)\b")


def looks_like(text: str) -> float:
    return score(text[:400_000], SIGNS)


def parse(text: str) -> DeviceConfig:
    """Total: any text gives a model; what is not understood is in `unparsed`."""
    reading = Reading(mqc_syntax=qos.SYNTAX)
    lines = read_lines(text)
    for line in lines[:50]:
        found = VERSION.match(line.text[:300])
        reading.version = reading.version or (found["version"] if found else "")
    kept = _without_texts(reading.ledger, reading.ledger.without_long(lines, PREFIXES))
    blocks = read_blocks(kept, lambda line: line.startswith("!"), adopts)
    for block in blocks:
        dispatch(reading, block, IGNORED, _handler, _note_users)
    queues.apply_profiles(reading)
    policies = [*list_policies(reading, ACL, GAPS), *traffic_policies.policies(reading), *segments.policies(reading)]
    found_qos = [*qos_policies(reading.mqc), *queues.policies(reading), *traffic_policies.marks(reading), *default_marks(reading)]
    excuse_paths(reading.ledger, blocks, IGNORED)
    reading.ledger.settle(blocks, IGNORED)
    return replace(
        reading.config(NAME, len(lines), policies, found_qos),
        dscp_maps=qos.dscp_maps(reading),
        addresses=(*reading.set_objects, *reading.pools),
        services=tuple(reading.set_services),
        groups=tuple(reading.set_groups),
        zones=segments.zones(reading),
        nat_rules=nat.rules(reading),
        qos_maps=qos.qos_maps(reading),
        managed_by=reading.managed_by,
    )


def adopts(parent: str, child: str) -> bool:
    """Entries of an access list that lost their indentation."""
    return HEADER.match(parent) is not None and ENTRY.match(child) is not None and not child.startswith("no ")


def _without_texts(ledger: LineLedger, lines: Sequence[Line]) -> Iterator[Line]:
    """Texts and certificates end with a line `EOF`; one that never ends is its first line only."""
    last = max((at for at, line in enumerate(lines) if line.text == "EOF"), default=-1)
    inside = False
    for at, line in enumerate(lines):
        if inside or (TEXTS.match(line.text) and at < last):
            ledger.understood(line.number)
            following = lines[at + 1].text if at + 1 < len(lines) else ""
            inside = line.text != "EOF" or following.startswith(("<", "-----BEGIN"))  # a key follows its certificate
        else:
            yield line


def _note_users(reading: Reading, block: Block) -> None:
    """Lists that pick traffic or routes for something else; the manager that a daemon streams to."""
    note_selectors(reading.selectors, block)
    for below in block.walk():
        found = LIST_USE.search(below.text)
        if found is not None:
            reading.selectors.add(found["name"])
        if CLOUD.match(below.text):
            reading.managed_by = "CloudVision"


def _handler(words: list[str]) -> Callable[[Reading, Block], None] | None:
    first, second = words[0], words[1] if len(words) > 1 else ""
    if (first in FAMILY and second == "access-list") or (words[:1] == ["Standard"] and "Access" in words[1:3]):
        return _list
    if first in ("IP", "IPV6", "MAC") and second == "Access":
        return _list
    if first == "no" and words[2:3] == ["access-list"]:
        return _removed
    if first == "ip" and second == "nat":
        return nat.read_global
    if first == "ip" and words[1:3] == ["address", "virtual"]:
        return nat.read_virtual
    if first in ("ip", "ipv6") and second == "route":
        return _route
    if first == "router" and second == "segment-security":
        return segments.read_segments
    if first in ("management", "control-plane") or (first, second) == ("system", "control-plane"):
        return _plane
    return HANDLERS.get(first)


def _list(reading: Reading, block: Block) -> None:
    header = HEADER.match(block.text)
    if header is None:
        raise NotUnderstood("not an access list that is modelled")
    family = FAMILY[(header["kind"] or header["shown"]).lower()]
    form = "standard" if header["form"] or header["plain"] else {0: "mac", 6: "ipv6"}.get(family, "extended")
    collect(reading, (family, header["name"] or header["seen"]), form, block, shown=header["kind"] is None)


def _removed(reading: Reading, block: Block) -> None:
    remove_list(reading, REMOVED.match(block.text), FAMILY)


def _interface(reading: Reading, block: Block) -> None:
    read_interface(reading, block, _port_line)


def _port_line(reading: IosReading, port: Port, child: Block) -> bool:
    assert isinstance(reading, Reading)
    words = Words(child.words)
    first, second = words.next().lower(), words.peek().lower()
    if first in FAMILY and second == "access-group":
        words.next()
        take_binding(reading, FAMILY[first], words, port.name, child.number)
        words.end()
    elif first == "traffic-policy":
        direction = take_direction(words)
        reading.traffic_bindings.setdefault(words.next("a policy"), []).append(Binding(port.name, direction, (child.number,)))
    elif first == "service-policy":
        qos.read_service_policy(reading, port.name, child)
    elif first == "service-profile":
        reading.profile_users.append((words.next("a profile"), port.name, child.number))
    elif first == "ip" and second == "nat":
        return nat.read_line(reading, port.name, child)
    else:
        found = LIST_USE.search(child.text)
        if found is not None:
            reading.selectors.add(found["name"])
        return queues.read_lines(reading, port.name, child) or qos.read_port_line(reading, port.name, child)
    return True


def _plane(reading: Reading, block: Block) -> None:
    """`management X`, `control-plane`: lists for the switch itself, also below `vrf V`."""
    vrf = ""
    for top in block.children:
        for child in top.walk():
            if child is top:
                vrf = f" vrf {child.words[1]}" if child.words[0] == "vrf" and len(child.words) == 2 else ""
            words = Words(child.words)
            family = FAMILY.get(words.next().lower())
            if child.words[0] == "service-policy":
                _attach_plane(reading, block.text, child)
            elif family is not None and words.accept("access-group"):
                _bind_plane(reading, family, f"{block.text}{vrf}", words, child)
    raise NotUnderstood(NOT_UNDERSTOOD)  # the header is on the ignore list


def _attach_plane(reading: Reading, place: str, child: Block) -> None:
    with reading.ledger.booking(child.line):
        qos.read_service_policy(reading, place, child)


def _bind_plane(reading: Reading, family: int, place: str, words: Words, child: Block) -> None:
    """`NAME [vrf V] [in]`."""
    with reading.ledger.booking(child.line):
        name = words.next("an access list")
        if words.accept("vrf"):
            place = f"{place} vrf {words.next('a vrf')}"
        words.accept("in")
        words.end()
        reading.bind(family, name, place, "local", child.number)


def _snmp(reading: Reading, block: Block) -> None:
    """`snmp-server ipv4|ipv6 access-list X`, `snmp-server community C [view V] ro|rw [ipv6 X] [X]`. The community is not kept."""
    words = block.words
    if words[1:3] in (["ipv4", "access-list"], ["ipv6", "access-list"]) and len(words) > 3:
        reading.bind(4 if words[1] == "ipv4" else 6, words[3], "snmp", "local", block.number)
        return
    at = next((at for at, word in enumerate(words) if word in ("ro", "rw")), len(words))
    rest = words[at + 1 :]
    if words[1:2] != ["community"] or not rest:
        raise NotUnderstood(NOT_UNDERSTOOD)
    if rest[0] == "ipv6" and len(rest) > 1:
        reading.bind(6, rest[1], "snmp", "local", block.number)
        rest = rest[2:]
    if rest:
        reading.bind(4, rest[0], "snmp", "local", block.number)


def _ntp(reading: Reading, block: Block) -> None:
    """`ntp serve [vrf V] ip|ipv6 access-group X [vrf V] [in]`."""
    words = block.words
    if words[:2] != ["ntp", "serve"] or "access-group" not in words[:-1]:
        raise NotUnderstood(NOT_UNDERSTOOD)
    at = words.index("access-group")
    vrf = f" vrf {words[words.index('vrf') + 1]}" if "vrf" in words[:-1] else ""
    reading.bind(6 if words[at - 1] == "ipv6" else 4, words[at + 1], f"ntp{vrf}", "local", block.number)


def _cpu(reading: Reading, block: Block) -> None:
    words = Words(block.words, 1)
    if not words.accept("traffic-policy"):
        raise NotUnderstood(NOT_UNDERSTOOD)
    reading.traffic_bindings.setdefault(words.next("a policy"), []).append(Binding("cpu", "local", (block.number,)))


def _route(reading: Reading, block: Block) -> None:
    words = Words(block.words, 2)
    vrf = words.next("a vrf") if words.accept("vrf") else ""
    reading.routes.append(static_route(words, vrf, (block.number,)))


def _hostname(reading: Reading, block: Block) -> None:
    reading.hostname = Words(block.words, 1).next("a name")


def _pfc(reading: Reading, block: Block) -> None:
    if not qos.read_port_line(reading, "", block):
        raise NotUnderstood(NOT_UNDERSTOOD)


HANDLERS: dict[str, Callable[[Reading, Block], None]] = {
    "interface": _interface,
    "class-map": read_class_map,
    "policy-map": qos.read_policy_map,
    "qos": qos.read_global,
    "priority-flow-control": _pfc,
    "traffic-policies": traffic_policies.read_policies,
    "cpu": _cpu,
    "snmp-server": _snmp,
    "ntp": _ntp,
    "platform": queues.read_platform,
    "hostname": _hostname,
}
