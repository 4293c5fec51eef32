"""Interfaces with what is bound to them, zones, contexts, routes, policy routing and route filters."""

from __future__ import annotations

import re
from functools import partial

from policyhub.domain.device_config import Interface
from policyhub.domain.objects import Zone
from policyhub.domain.rules import Action, Binding, Match, Rule
from policyhub.vendorkit.blocks import Block
from policyhub.vendorkit.lexing import NotUnderstood, Words
from policyhub.vendorkit.vrp_lines import (
    add_schedule,
    interface_name,
    quoted_words,
    static_route,
    take_prefix,
)
from policyhub.vendorkit.vrp_ports import read_port
from policyhub.vendors.h3c_comware import acls, nat, qos
from policyhub.vendors.h3c_comware.reading import OtherPolicy, Reading, take_acl

SPEEDS = (
    (re.compile(r"^(M-)?GigabitEthernet|^GE\d", re.IGNORECASE), 10**9),
    (re.compile(r"^Ten-GigabitEthernet|^XGE", re.IGNORECASE), 10**10),
    (re.compile(r"^Twenty-?FiveGigE|^WGE", re.IGNORECASE), 25 * 10**9),
    (re.compile(r"^FortyGigE|^FGE", re.IGNORECASE), 4 * 10**10),
    (re.compile(r"^FiftyGigE", re.IGNORECASE), 5 * 10**10),
    (re.compile(r"^HundredGigE|^HGE", re.IGNORECASE), 10**11),
    (re.compile(r"^TwoHundredGigE", re.IGNORECASE), 2 * 10**11),
    (re.compile(r"^FourHundredGigE", re.IGNORECASE), 4 * 10**11),
    (re.compile(r"^EightHundredGigE", re.IGNORECASE), 8 * 10**11),
    (re.compile(r"^(M-)?Ethernet", re.IGNORECASE), 10**8),
)
MANAGED = {
    "http": "http", "https": "https", "ping": "ping", "ssh": "ssh", "telnet": "telnet", "snmp": "snmp-request",
    "netconf-http": "http", "netconf-https": "https", "netconf-ssh": "ssh",
}  # fmt: skip


def read_interface(reading: Reading, block: Block) -> None:
    reading.interfaces.append(read_port(reading.ledger, block, SPEEDS, partial(_line, reading)))


def _line(reading: Reading, interface: Interface, child: Block) -> Interface | None:
    """The interface with the line in it; None leaves the line to the ignore list."""
    words = Words(child.words)
    word = words.next().lower()
    text = child.text.lower()
    if text.startswith(("ip policy-based-route ", "ipv6 policy-based-route ")):
        return interface
    if word == "manage":
        _manage(reading, interface.name, words, child)
        return interface
    if text.startswith(("port link-type access", "port access vlan", "port link-mode")):
        return interface
    return interface if _bound(reading, interface.name, word, child) else None


def _manage(reading: Reading, place: str, words: Words, child: Block) -> None:
    """`manage ssh inbound`: who may reach the device itself at this port. Raises NotUnderstood."""
    what = words.next("a service").lower()
    if what not in MANAGED or words.next("inbound or outbound").lower() not in ("inbound", "outbound"):
        raise NotUnderstood(f"{what[:40]!r} is not a service of the device")
    if "outbound" in child.text.lower():
        return
    services = reading.service_group(MANAGED[what])
    match = Match(unresolved=services.unresolved) if services.unresolved else Match(services=services.value)
    rule = Rule(what, Action.PERMIT, match, (child.number,), text=child.text)
    empty = OtherPolicy("local", bindings=(Binding(place, "local"),))
    reading.other.setdefault(f"manage {place}", empty).rules.append(rule)


def _bound(reading: Reading, place: str, word: str, child: Block) -> bool:
    """Filters, NAT, QoS and flow control of a port; False when the line is none of them."""
    if word == "packet-filter":
        acls.read_packet_filter(reading, place, child)
    elif word == "qos":
        qos.read_port(reading, place, child)
    elif word == "priority-flow-control":
        qos.read_pfc(reading, place, child)
    elif word == "nat":
        if not nat.read_line(reading, place, child):
            raise NotUnderstood("not understood")
    else:
        return child.text.lower().startswith(("ipsec apply policy ", "ipsec policy "))
    return True


def read_vlan(reading: Reading, block: Block) -> None:
    """`vlan 10` with a filter or a policy below it."""
    place = " ".join(block.words[:4]).lower()
    for child in block.below():
        try:
            if child.words[0].lower() in ("packet-filter", "qos") and _bound(reading, place, child.words[0].lower(), child):
                reading.ledger.understood(child.number)
        except NotUnderstood as reason:
            reading.ledger.unparsed(child.line, str(reason))


def read_zone(reading: Reading, block: Block) -> None:
    """`security-zone name Z` with `import interface IF [vlan ..]`."""
    words = Words(quoted_words(block.text), 1)
    words.accept("name")
    name = words.next("a zone")
    members: list[str] = []
    for child in block.children:
        below = Words(child.words)
        if not below.accept("import"):
            continue
        if below.accept("interface"):
            members.append(interface_name(below))
            reading.zone_of[members[-1]] = name
        reading.ledger.understood(child.number)
    reading.zones.append(Zone(name, tuple(members), block.numbers))


def read_context(reading: Reading, block: Block) -> None:
    """`context C id N` with `allocate interface IF [share]`."""
    name = Words(quoted_words(block.text), 1).next("a context")
    for child in block.children:
        below = Words(child.words)
        if below.accept("allocate"):
            if below.accept("interface"):
                while below and below.peek().lower() != "share":
                    reading.context_of[interface_name(below)] = name
            reading.ledger.understood(child.number)


def read_route(reading: Reading, block: Block) -> None:
    """`ip|ipv6 route-static ..`, `ip|ipv6 prefix-list ..`, `ip http acl ..`. Raises NotUnderstood for other lines."""
    words = Words(block.words, 1)
    if words.accept("route-static"):
        if words.peek().lower() not in ("default-preference", "fast-reroute", "recursive-lookup", "bfd"):
            reading.routes.append(static_route(words, (block.number,)))
    elif words.accept("prefix-list", "ip-prefix", "ipv6-prefix"):
        _prefix_list(reading, block, words)
    else:
        acls.read_service(reading, block)


def _prefix_list(reading: Reading, block: Block, words: Words) -> None:
    """`ip prefix-list N [index I] permit|deny P L [greater-equal G] [less-equal E]`: a filter of routes."""
    name = f"prefix-list {words.next('a name')}"
    index = words.next("an index") if words.accept("index") else "?"
    verb = words.next("permit or deny").lower()
    if verb not in ("permit", "deny"):
        raise NotUnderstood(f"{verb[:40]!r} is not permit or deny")
    family = 6 if block.words[0].lower() == "ipv6" else 4
    condition = "route " + " ".join([take_prefix(words), *words.rest().split()])
    rule = Rule(index, Action(verb), Match(conditions=(condition,)), (block.number,), text=block.text)
    reading.other.setdefault(name, OtherPolicy("route-filter", Action.DENY, family)).rules.append(rule)


def read_node(reading: Reading, block: Block) -> None:
    """`route-policy N permit|deny node I` (routes), `policy-based-route N permit|deny node I` (packets): conditions verbatim."""
    words = Words(quoted_words(block.text))
    kind = words.next().lower()
    name = f"{kind} {words.next('a name')}"
    if kind.startswith("ipv6"):
        kind = kind.removeprefix("ipv6 ")
    verb = words.next("permit or deny").lower()
    if verb not in ("permit", "deny") or not words.accept("node"):
        raise NotUnderstood("permit or deny, and node are expected")
    index = words.next("a node")
    conditions: list[str] = []
    does: list[str] = []
    for child in block.below():
        below = Words(child.words)
        word = below.next().lower()
        if word == "if-match":
            conditions.append(" ".join(child.words))
            if below.accept("acl") or (below.accept("ip", "ipv6") and below.accept("acl")):
                acls.use(reading, take_acl(below), f"selects packets for {kind}")
        elif word == "apply" or word == "continue":
            does.append(" ".join(child.words))
        elif word != "description":
            continue
        reading.ledger.understood(child.number)
    is_filter = kind == "route-policy"
    action = Action(verb) if is_filter else Action.CONTINUE
    comment = "; ".join(does)
    match = Match(conditions=tuple(conditions))
    rule = Rule(index, action, match, block.numbers, text=block.text, comment=comment)
    empty = OtherPolicy("route-filter", Action.DENY) if is_filter else OtherPolicy("route")
    reading.other.setdefault(name, empty).rules.append(rule)


def read_time_range(reading: Reading, block: Block) -> None:
    add_schedule(reading.schedules, Words(quoted_words(block.text), 1), block.number)


def read_ipsec(reading: Reading, block: Block) -> None:
    """`security acl X` of an IPsec policy picks traffic; the rest of it is not ours."""
    if not Words(block.words, 1).accept("policy", "policy-template", "ipv6-policy"):
        raise NotUnderstood("not modelled")
    for child in block.below():
        words = Words(child.words)
        if words.accept("security") and words.peek().lower() == "acl":
            acls.use(reading, take_acl(words), "selects packets for ipsec")
            reading.ledger.understood(child.number)


def read_traffic(reading: Reading, block: Block) -> None:
    """`traffic classifier|behavior N`."""
    words = Words(block.words, 1)
    kind = words.accept("classifier", "behavior")
    if not kind:
        raise NotUnderstood("not a traffic classifier or behavior")
    name = words.next("a name")
    (reading.mqc.classifiers if kind == "classifier" else reading.mqc.behaviors)[name] = block
    if kind == "behavior":
        return
    for child in block.children:
        below = Words(child.words)
        if below.accept("if-match") and "acl" in child.text.lower().split()[:3]:
            acls.use(reading, take_acl(below), f"classifies for {name}")


def read_global_filter(reading: Reading, block: Block) -> None:
    acls.read_packet_filter(reading, "global", block)


def read_global_pfc(reading: Reading, block: Block) -> None:
    qos.read_pfc(reading, "global", block)


def read_nat(reading: Reading, block: Block) -> None:
    """`nat global-policy`, `nat address-group`, `nat static`, and lines that translate nothing."""
    words = Words(block.words, 1)
    if words.accept("global-policy"):
        reading.nat_blocks.append(block)
    elif words.accept("address-group"):
        nat.read_group(reading, block)
    elif not nat.read_line(reading, "", block):
        raise NotUnderstood("not understood")
