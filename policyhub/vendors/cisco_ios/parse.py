"""Running configuration and `show [ip|ipv6] access-lists` of Cisco IOS and IOS-XE into the domain model."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from policyhub.domain.device_config import DeviceConfig
from policyhub.domain.rules import Action
from policyhub.vendorkit.blocks import Block, read_blocks, read_lines
from policyhub.vendorkit.ios_acl import ENTRY
from policyhub.vendorkit.ios_lines import ECHOED, excuse_paths, note_selectors, static_route, without_banners
from policyhub.vendorkit.ios_mqc import qos_policies
from policyhub.vendorkit.ios_tables import read_table_map, table_maps
from policyhub.vendorkit.ios_vlan_maps import policies as vlan_policies
from policyhub.vendorkit.ios_vlan_maps import read_vlan
from policyhub.vendorkit.ledger import NOT_UNDERSTOOD, IgnoreList, is_sensitive
from policyhub.vendorkit.lexing import NotUnderstood, Words, score
from policyhub.vendors.cisco_ios import access, interfaces, maps, nat, objects, port_queues, qos, rates, zones
from policyhub.vendors.cisco_ios.reading import PACKAGE, Reading

NAME = "cisco_ios"
IGNORED = IgnoreList.of(PACKAGE)
SIGNS = (
    (r"^ip access-list (standard|extended) \S+", 0.5),
    (r"^access-list \d+ (permit|deny|remark) ", 0.5),
    (r"^(Standard|Extended|Reflexive|Role-based|FQDN) IP access list \S+", 0.7),
    (r"^IPv6 (FQDN )?access list \S+", 0.6),
    (r"^ipv6 access-list \S+[ \t\r]*\n +(sequence \d+ )?(permit|deny|remark) ", 0.5),
    (r"^ +ip access-group \S+ (in|out)\s*$", 0.3),
    (r"^interface (Fast|Gigabit|TenGigabit|FortyGigabit|TwoGigabit)?Ethernet\d+(/\d+)*(\.\d+)?\s*$", 0.2),
    (r"^interface (Vlan|Loopback|Tunnel|Port-channel)\d+\s*$", 0.1),
    (r"^(service timestamps|boot-start-marker|Building configuration\.\.\.|version 1\d\.\d+|line vty 0 \d+)", 0.4),
    (r"^(aaa new-model|ip cef|no ip http server|ip forward-protocol nd|redundancy[ \t\r]*\n mode sso)", 0.2),
    (r"^policy-map (type (inspect|queu\w+) )?\S+[ \t\r]*\n( +description .*\n)? +class ", 0.5),
    (r"^class-map (type (inspect|queu\w+) )?(match-all|match-any) \S+", 0.5),
    (r"^ +service-policy (input|output) \S+", 0.2),
    (r"^ +(bandwidth (remaining|percent)|queue-limit|police (cir|aggregate|rate)|random-detect|priority (level|percent)) ", 0.3),
    (r"^service-policy \S+ (global|interface \S+)\s*$", -0.6),
    (r"^mls qos", 0.4),
    (r"^(V6-)?(Network|Service) object group \S+", 0.5),
    (r"^object-group (network|service) \S+[ \t\r]*\n +(host|range|tcp|udp|\d+\.\d+\.\d+\.\d+) ", 0.3),
    (r"^zone-pair security |^ip inspect name |^router (ospf|eigrp|bgp) \d+", 0.2),
    (r"^Router[>#]\s*sho?w? ", 0.3),
    (r"^(ASA|PIX|FWSM) Version |^ *nameif \S+|^ *security-level \d+|^access-group \S+ (in|out) interface", -1.0),
    (r"^feature \S+|^vdc \S+ id|^system qos|^RP/\d+/|^!! IOS XR|^class-map type network-qos|^hardware counter feature", -0.6),
    (r"^vrf instance |^interface Port-Channel\d|^traffic-policies|^policy-map type (quality-of-service|copp|pbr) ", -0.6),
    (r"^ipv4 access-list |^ +ipv4 address |^end-policy-map|^route-policy ", -1.0),
    (r"^(daemon TerminAttr|service routing protocols model|transceiver qsfp|management api http-commands)", -1.0),
)
ACL_HEADER = re.compile(
    r"^(ip|ipv6|mac) access-list |^(Standard|Extended|Role-based|Reflexive|FQDN) (IP|MAC) access list |^IPv6 .*access list "
)
HANDLERS: dict[str, Callable[[Reading, Block], None]] = {
    "object-group": objects.read_group,
    "network": objects.read_group,
    "service": objects.read_group,
    "v6-network": objects.read_group,
    "v6-service": objects.read_group,
    "access-list": access.read_numbered,
    "mac": access.read_named,
    "standard": access.read_named,
    "extended": access.read_named,
    "role-based": access.read_named,
    "reflexive": access.read_named,
    "fqdn": access.read_named,
    "interface": interfaces.read_interface,
    "line": interfaces.read_line,
    "control-plane": interfaces.read_control_plane,
    "snmp-server": interfaces.read_snmp,
    "ntp": interfaces.read_access_user,
    "time-range": interfaces.read_schedule,
    "class-map": qos.read_class_map,
    "policy-map": qos.read_policy_map,
    "table-map": read_table_map,
    "mls": maps.read_mls,
    "vlan": read_vlan,
    "auto": maps.read_auto,
    "no": lambda reading, block: _no(reading, block),
    "zone": zones.read_zone,
    "zone-pair": zones.read_zone_pair,
}
REASONS = (
    (re.compile(r"^(no|clear|default) "), "a command, not configuration"),
    (re.compile(r"^aaa "), "authentication rules are not modelled"),
    (re.compile(r"^crypto "), "VPN policy is not modelled"),
    (re.compile(r"^(auto qos|macro|mls qos|qos )"), "this QoS line is not modelled"),
)


def looks_like(text: str) -> float:
    return score(text[:400_000], SIGNS)


def parse(text: str) -> DeviceConfig:
    """Total: any text gives a model; what is not understood is in `unparsed`."""
    reading = Reading(mqc_syntax=qos.SYNTAX)
    lines = read_lines(text.replace("\\x20", " ") if "\\x20" in text else text)  # captures that write blanks so
    blocks = read_blocks(without_banners(reading.ledger, reading.ledger.without_long(lines)), is_comment, adopts)
    for block in blocks:
        _dispatch(reading, block)
    policies = [*access.policies(reading), *zones.policies(reading), *vlan_policies(reading, Action.PERMIT)]
    found = [*qos_policies(reading.mqc), *port_queues.policies(reading), *rates.policies(reading)]
    excuse_paths(reading.ledger, blocks, IGNORED)
    reading.ledger.settle(blocks, IGNORED, _reason)
    return replace(
        reading.config(NAME, len(lines), policies, found),
        dscp_maps=maps.dscp_maps(reading),
        trusts=maps.trusts(reading),
        zones=zones.zones(reading),
        nat_rules=tuple(nat.rules(reading)),
        evaluation=nat.evaluation(reading),
        qos_maps=(*port_queues.maps(reading), *table_maps(reading, found)),
    )


def is_comment(text: str) -> bool:
    return text.startswith("!")


def adopts(parent: str, child: str) -> bool:
    """Entries of an access list that lost their indentation."""
    return ACL_HEADER.match(parent) is not None and ENTRY.match(child) is not None


def _dispatch(reading: Reading, block: Block) -> None:
    words = block.words
    word = words[0].lower()
    if words[0] not in ("interface", "access-list", "class-map") and not ACL_HEADER.match(block.text):
        note_selectors(reading.selectors, block)
    if ECHOED.match(block.text):
        reading.ledger.understood(block.number)
        return
    if word == "hostname" and len(words) == 2:
        reading.hostname = words[1]
        reading.ledger.understood(block.number)
        return
    try:
        handler = _handler(words)
        if handler is None:
            raise NotUnderstood("not understood")
        handler(reading, block)
        reading.ledger.understood(block.number)
    except NotUnderstood as reason:
        if not IGNORED.takes(block.text) and not (is_sensitive(block.text) and IGNORED.excuses(block.text)):
            reading.ledger.unparsed(block.line, _reason(block.text, str(reason)))


def _route(reading: Reading, block: Block) -> None:
    """`ip|ipv6 route [vrf V] ..`; forms of other kinds are left to the ignore list."""
    words = Words(block.words, 2)
    vrf = words.next("a VRF") if words.accept("vrf") else ""
    try:
        reading.routes.append(static_route(words, vrf, (block.number,)))
    except NotUnderstood as reason:
        raise NotUnderstood(NOT_UNDERSTOOD) from reason


def _no(reading: Reading, block: Block) -> None:
    """A script takes away what it is about to write; behind the first such line it would take away what was read."""
    words = block.words
    family = {"ip": 4, "ipv6": 6}.get(words[1].lower() if len(words) > 1 else "")
    is_list = family is not None and len(words) > 3 and words[2].lower() == "access-list"
    if is_list and (family, words[-1]) not in reading.configured:
        return
    is_group = words[1:2] == ["object-group"] and len(words) == 4
    if is_group and (words[2].lower() != "network", words[3]) not in reading.groups.groups:
        return
    raise NotUnderstood(NOT_UNDERSTOOD)


def _reason(text: str, otherwise: str = NOT_UNDERSTOOD) -> str:
    """The handler's own reason, or what is known about lines of this kind."""
    if otherwise != NOT_UNDERSTOOD:
        return otherwise
    return next((known for sign, known in REASONS if sign.match(text)), otherwise)


def _handler(words: list[str]) -> Callable[[Reading, Block], None] | None:
    word = words[0].lower()
    if word in ("ip", "ipv6") and len(words) > 1:
        second = words[1].lower()
        if second in ("access-list", "access") or "access-list" in second:
            return access.read_named
        if second in ("http", "ssh", "ftp", "tftp", "scp") and any(w.lower() in ("access-class", "access-group") for w in words):
            return interfaces.read_access_user
        if second == "nat" and word == "ip":
            return nat.read_nat
        if second == "route":
            return _route
        return access.read_named if words[1:3] == ["FQDN", "access"] else None
    return HANDLERS.get(word)
