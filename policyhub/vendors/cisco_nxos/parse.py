"""Running configuration and `show access-lists` of Cisco NX-OS into the domain model."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from policyhub.domain.device_config import DeviceConfig
from policyhub.domain.qos import Marker
from policyhub.domain.rules import UNDEFINED_PERMITS, UNDEFINED_UNKNOWN, Action, Policy
from policyhub.vendorkit.blocks import Block, read_blocks, read_lines
from policyhub.vendorkit.ios_acl import ENTRY
from policyhub.vendorkit.ios_groups import read_group
from policyhub.vendorkit.ios_lines import excuse_paths, note_selectors, static_route, without_banners
from policyhub.vendorkit.ios_mqc import qos_policies
from policyhub.vendorkit.ios_pfc import read_pfc
from policyhub.vendorkit.ios_ports import Port, read_interface
from policyhub.vendorkit.ios_reading import (
    Gaps,
    IosReading,
    collect,
    dispatch,
    list_policies,
    read_access_class,
    read_class_map,
    read_policy_map,
    remove_list,
    take_binding,
)
from policyhub.vendorkit.ios_tables import default_marks, mark_by_default, read_table_map, table_maps
from policyhub.vendorkit.ios_vlan_maps import policies as vlan_policies
from policyhub.vendorkit.ios_vlan_maps import read_vlan
from policyhub.vendorkit.ledger import NOT_UNDERSTOOD, IgnoreList
from policyhub.vendorkit.lexing import NotUnderstood, Words, number_in, score
from policyhub.vendorkit.time_ranges import read_time_range
from policyhub.vendors.cisco_nxos import nat, qos
from policyhub.vendors.cisco_nxos.reading import ACL, NAMES, PACKAGE, Reading

NAME = "cisco_nxos"
IGNORED = IgnoreList.of(PACKAGE)
GAPS = Gaps(
    None,
    "empty: what the device does is not documented",
    Action.PERMIT,  # Nexus 7000 command reference, ip access-group: a deleted ACL does not affect traffic on the interface
    UNDEFINED_PERMITS,
)
IPV6_NOTE = "the device permits nd-na, nd-ns, router-advertisement and router-solicitation before the final deny"
SIGNS = (
    (r"^!Command: show running-config", 0.6),
    (r"^!RANCID-CONTENT-TYPE: cisco-nx", 0.9),
    (r"^feature \S+", 0.5),
    (r"^vdc \S+ id \d", 0.5),
    (r"^vrf context \S+", 0.5),
    (r"^[ \t]+statistics per-entry", 0.4),
    (r"^(?:class-map|policy-map) type (?:network-qos|queuing) ", 0.4),
    (r"^object-group ip(?:v6)? (?:address|port) ", 0.6),
    (r"^system qos", 0.4),
    (r"^hardware access-list tcam ", 0.5),
    (r"^[ \t]*(?:IP|IPv6|MAC) access list \S+[ \t\r]*$", 0.6),
    (r"\[match=\d+\]", 0.5),
    (r"^version \d+\.\d+\(\d+\)\S* Bios:", 0.6),
    (r"^Egress Queuing for \S+ \[System\]|^[ \t]+VL bitmap: ", 0.6),
    (r"^! device: .*EOS-|^!! IOS XR|^ipv4 access-list |^end-policy-map|^management api |^mls qos", -1.0),
    (r"^[ \t]+(?:permit|deny) .* sequence \d+[ \t\r]*$", -0.6),
    (r"^ip access-list (?:standard|extended) \S+|^(?:Standard|Extended) IP access list ", -0.6),
)
HEADER = re.compile(r"^(?P<kind>ip|ipv6|mac|arp) access-list (?P<name>\S+)$|^(?P<shown>IP|IPv6|MAC) access list (?P<seen>\S+)$")
REMOVED = re.compile(r"^no (?P<kind>ip|ipv6|mac|arp) access-list (?P<name>\S+)$")
GROUP = re.compile(r"^object-group (?:ip(?:v6)? (?P<kind>address|port)) (?P<name>\S+)$")
FAMILY = {"ip": 4, "ipv6": 6, "mac": 0, "arp": 0}
REASONS = ((re.compile(r"^(no|clear|default) "), "a command, not configuration"),)


def looks_like(text: str) -> float:
    return score(text[:400_000], SIGNS)


def parse(text: str) -> DeviceConfig:
    """Total: any text gives a model; what is not understood is in `unparsed`."""
    reading = Reading(mqc_syntax=qos.SYNTAX)
    lines = read_lines(text)
    kept = without_banners(reading.ledger, reading.ledger.without_long(lines))
    blocks = read_blocks(kept, lambda line: line.startswith("!"), adopts)
    for block in blocks:
        dispatch(reading, block, IGNORED, _handler, _note_users, _reason)
    policies: list[Policy] = [*map(_as_documented, list_policies(reading, ACL, GAPS, IPV6_NOTE)), *vlan_policies(reading)]
    found = [*qos_policies(reading.mqc), *default_marks(reading)]
    lossless = qos.losslessness(reading, found)
    excuse_paths(reading.ledger, blocks, IGNORED)
    reading.ledger.settle(blocks, IGNORED, _reason)
    made = reading.config(NAME, len(lines), policies, found)
    return replace(made, losslessness=lossless, qos_maps=table_maps(reading, found))


def _as_documented(policy: Policy) -> Policy:
    """What a name that is bound and not defined does is documented for interfaces only, not for lines, SNMP or NTP."""
    if UNDEFINED_PERMITS not in policy.notes or any(binding.direction != "local" for binding in policy.bindings):
        return policy
    return replace(policy, default=None, notes=(UNDEFINED_UNKNOWN,))


def adopts(parent: str, child: str) -> bool:
    """Entries of an access list that lost their indentation."""
    return HEADER.match(parent) is not None and ENTRY.match(child) is not None and not child.startswith("no ")


def _reason(text: str, otherwise: str = NOT_UNDERSTOOD) -> str:
    if otherwise != NOT_UNDERSTOOD:
        return otherwise
    return next((known for sign, known in REASONS if sign.match(text)), otherwise)


def _note_users(reading: Reading, block: Block) -> None:
    note_selectors(reading.selectors, block)


def _handler(words: list[str]) -> Callable[[Reading, Block], None] | None:
    first, second = words[0], words[1] if len(words) > 1 else ""
    if (first in FAMILY and second == "access-list") or (first in ("IP", "IPv6", "MAC") and second == "access"):
        return _list
    if first == "no" and words[2:3] == ["access-list"]:
        return _removed
    if first == "ip" and second == "nat":
        return nat.read_nat
    if words[:4] == ["ip", "arp", "inspection", "filter"]:
        return _inspection
    if first in ("ip", "ipv6") and second == "route":
        return _route
    if first == "vlan" and second in ("access-map", "filter"):
        return read_vlan
    if (first, second) in (("system", "qos"), ("vrf", "context")):
        return qos.read_place if first == "system" else _vrf
    return HANDLERS.get(first)


def _list(reading: Reading, block: Block) -> None:
    header = HEADER.match(block.text)
    if header is None:
        raise NotUnderstood("not an access list that is modelled")
    family = FAMILY[(header["kind"] or header["shown"]).lower()]
    form = "arp" if header["kind"] == "arp" else {0: "mac", 6: "ipv6"}.get(family, "extended")
    collect(reading, (family, header["name"] or header["seen"]), form, block, shown=header["kind"] is None)


def _removed(reading: Reading, block: Block) -> None:
    remove_list(reading, REMOVED.match(block.text), FAMILY)


def _group(reading: Reading, block: Block) -> None:
    header = GROUP.match(block.text)
    if header is None:
        raise NotUnderstood("only groups of addresses and ports are modelled")
    kind = "network" if header["kind"] == "address" else "service"
    read_group(reading.groups, reading.ledger, NAMES, kind, header["name"], block)


def _interface(reading: Reading, block: Block) -> None:
    read_interface(reading, block, _port_line)


def _port_line(reading: IosReading, port: Port, child: Block) -> bool:
    assert isinstance(reading, Reading)
    words = Words(child.words)
    first = words.next().lower()
    if first in FAMILY:
        words.accept("port")
        if words.accept("access-group", "traffic-filter"):
            if first == "mac" and not words.peek(1):
                reading.bind(0, words.next("an access list"), port.name, "in", child.number)
            else:
                take_binding(reading, FAMILY[first], words, port.name, child.number)
            words.end()
            return True
        return bool(words.accept("nat") and words.accept("inside", "outside"))
    if first == "service-policy":
        qos.read_service_policy(reading, port.name, child)
        return True
    if first == "untagged" and words.accept("cos"):
        mark_by_default(
            reading, port.name, child.number, Marker(pcp=number_in(words.next("a level"), 0, 7, "a class of service"))
        )
        return True
    return read_pfc(reading, port.name, child)


def _line(reading: Reading, block: Block) -> None:
    read_access_class(reading, block.text, block)
    raise NotUnderstood(NOT_UNDERSTOOD)  # the line itself is on the ignore list


def _user_of_list(reading: Reading, block: Block) -> None:
    """`snmp-server community X use-ipv4acl A [use-ipv6acl B]`, `ntp access-group peer A`: who may ask."""
    words = block.words
    places = {"use-acl": 4, "use-ipv4acl": 4, "use-ipv6acl": 6}
    found = False
    for at, word in enumerate(words[:-1]):
        if word in places:
            reading.bind(places[word], words[at + 1], "snmp", "local", block.number)
            found = True
    if words[:2] == ["ntp", "access-group"] and len(words) == 4:
        reading.bind(4, words[3], f"ntp {words[2]}", "local", block.number)
        found = True
    if not found:
        raise NotUnderstood(NOT_UNDERSTOOD)


def _inspection(reading: Reading, block: Block) -> None:
    """`ip arp inspection filter ACL vlan LIST`."""
    words = Words(block.words, 4)
    name = words.next("an access list")
    reading.bind(0, name, words.rest() or "arp", "in", block.number)


def _route(reading: Reading, block: Block) -> None:
    reading.routes.append(static_route(Words(block.words, 2), "", (block.number,)))


def _vrf(reading: Reading, block: Block) -> None:
    name = Words(block.words, 2).next("a vrf")
    for child in block.children:
        if child.words[0] in ("ip", "ipv6") and child.words[1:2] == ["route"]:
            with reading.ledger.booking(child.line):
                reading.routes.append(static_route(Words(child.words, 2), name, (child.number,)))


def _schedule(reading: Reading, block: Block) -> None:
    reading.schedules.append(read_time_range(block, reading.ledger))


def _named(reading: Reading, block: Block) -> None:
    if len(block.words) < 2:
        raise NotUnderstood(NOT_UNDERSTOOD)
    if block.words[0] == "version":
        reading.version = block.words[1]
    else:
        reading.hostname = block.words[1]


def _pfc(reading: Reading, block: Block) -> None:
    if not read_pfc(reading, qos.DEVICE, block):
        raise NotUnderstood(NOT_UNDERSTOOD)


HANDLERS: dict[str, Callable[[Reading, Block], None]] = {
    "object-group": _group,
    "interface": _interface,
    "line": _line,
    "snmp-server": _user_of_list,
    "ntp": _user_of_list,
    "time-range": _schedule,
    "class-map": read_class_map,
    "policy-map": read_policy_map,
    "table-map": read_table_map,
    "control-plane": qos.read_place,
    "priority-flow-control": _pfc,
    "hostname": _named,
    "switchname": _named,
    "version": _named,
}
