"""Interfaces, VLANs and lines with what is bound to them; time ranges; the other places that name an ACL."""

from __future__ import annotations

import re
from dataclasses import replace

from policyhub.domain.device_config import Interface
from policyhub.domain.qos import QosAttachment, Trust
from policyhub.vendorkit.blocks import Block
from policyhub.vendorkit.lexing import NotUnderstood, Words, ipv4_number, is_decimal, prefix_set
from policyhub.vendorkit.vrp_lines import add_schedule, interface_name, take_direction
from policyhub.vendors.huawei_vrp import lossless, nat, qos
from policyhub.vendors.huawei_vrp.reading import QueueLine, Reading, take_acl

SPEED_BY_NAME = tuple(
    (re.compile(rf"^{sign}", re.IGNORECASE), bps)
    for sign, bps in (
        (r"gigabitethernet", 10**9),
        (r"xgigabitethernet", 10**10),
        (r"multige", 25 * 10**8),
        (r"10ge", 10**10),
        (r"25ge", 25 * 10**9),
        (r"40ge", 4 * 10**10),
        (r"50\|?100ge|50ge", 5 * 10**10),
        (r"100ge", 10**11),
        (r"200ge", 2 * 10**11),
        (r"400ge", 4 * 10**11),
        (r"ge\d", 10**9),
        (r"ethernet", 10**8),
        (r"fastethernet", 10**8),
    )
)
MOST_IN_GROUP = 100_000
QUEUE_WORDS = ("lr", "gts", "queue", "pq", "drr", "wrr", "wfq", "schedule-profile", "queue-profile")
UNDERSTOOD = re.compile(
    r"^(undo shutdown|undo portswitch|portswitch|(undo )?port link-type access|port default vlan|quit)\b", re.IGNORECASE
)


def read_interface(reading: Reading, block: Block) -> None:
    words = Words(block.words, 1)
    name = interface_name(words)
    speed = next((bps for sign, bps in SPEED_BY_NAME if sign.match(name)), None)
    parent, dot, _ = name.partition(".")
    interface = Interface(name, speed_bps=None if dot else speed, parent=parent if dot else "")
    lines = [block.number]
    for child in block.below():
        try:
            changed = _line(reading, interface, child)
        except NotUnderstood as reason:
            reading.left_over.append((child, str(reason)))
            continue
        if changed is not None:
            interface = changed
            lines.append(child.number)
            reading.ledger.understood(child.number)
    reading.interfaces.append(replace(interface, lines=tuple(lines)))


def _line(reading: Reading, interface: Interface, child: Block) -> Interface | None:
    """The interface with the line in it; None leaves the line to the ignore list."""
    words = Words(child.words)
    word = words.next().lower()
    if UNDERSTOOD.match(child.text):
        return replace(interface, enabled=True) if child.text.lower().startswith("undo shutdown") else interface
    if word == "description":
        return replace(interface, description=child.text.partition(" ")[2].strip())
    if word == "shutdown":
        return replace(interface, enabled=False)
    if word == "speed":
        return _speed(interface, words)
    if word in ("ip", "ipv6") and words.accept("address"):
        return _address(interface, words)
    if word in ("ip", "ipv6") and words.accept("binding") and words.accept("vpn-instance"):
        return replace(interface, vrf=words.next("a vpn instance"))
    if word == "mtu" and is_decimal(words.peek()) and len(words.peek()) < 6:
        return replace(interface, mtu=int(words.next()))
    if word == "zone":
        return replace(interface, zone=words.next("a zone"))
    if word in ("qos", "port-queue"):
        return _qos(reading, interface, word, words, child)
    return interface if bound(reading, interface.name, child) else None


def _speed(interface: Interface, words: Words) -> Interface:
    words.accept("auto")
    value = words.next("a speed") if words else ""
    return replace(interface, speed_bps=int(value) * 10**6) if is_decimal(value) and len(value) < 8 else interface


def _address(interface: Interface, words: Words) -> Interface:
    """`A M [sub]`, `A L`, `P/L [eui-64]`, `dhcp-alloc`."""
    first = words.next("an address")
    if ipv4_number(first) is not None and words:
        mask = words.next("a mask")
        number = ipv4_number(mask)
        length = bin(number).count("1") if number is not None else int(mask) if is_decimal(mask) and len(mask) < 3 else None
        if length is None:
            raise NotUnderstood(f"{mask[:40]!r} is not a mask")
        first = f"{first}/{length}"
    elif ":" in first and "/" not in first and is_decimal(words.peek()):
        first = f"{first}/{words.next()}"
    if prefix_set(first) is None:
        if first.lower() in ("dhcp-alloc", "bootp-alloc", "auto", "unnumbered", "ppp-negotiate"):
            return interface
        raise NotUnderstood(f"{first[:40]!r} is not an address")
    return replace(interface, addresses=(*interface.addresses, first.lower()))


def _qos(reading: Reading, interface: Interface, word: str, words: Words, child: Block) -> Interface:
    """Lines about queues wait until profiles and domains are known; rate limits of the port are policies of their own."""
    if qos.read_simple(reading, interface.name, child):
        return interface
    if word == "qos" and words.peek().lower() not in QUEUE_WORDS:
        raise NotUnderstood(f"qos {words.peek()[:40]!r} is not modelled")
    reading.queue_lines.append(QueueLine(interface.name, child))
    return interface


def bound(reading: Reading, place: str, child: Block) -> bool:
    """ACLs, traffic policies and trust at a port, a VLAN or the whole device; False when the line is none of them."""
    words = Words(child.words)
    word = words.next().lower()
    if word in ("traffic-filter", "traffic-secure"):
        _filter(reading, place, words, child)
    elif word == "traffic-policy":
        _attach(reading, place, words, child)
    elif word == "qos-profile":
        name = words.next("a profile")
        reading.profile_attachments.setdefault(name, []).append(QosAttachment(place, take_direction(words), (child.number,)))
    elif word == "trust":
        _trust(reading, place, words, child)
    elif word in ("firewall", "packet-filter"):
        _packet_filter(reading, place, word, words, child)
    elif word in ("nat", "nat64"):
        nat.read_at_interface(reading, place, child)
    elif word == "dcb" or (word == "undo" and words.peek().lower() == "dcb"):
        if lossless.read_at_interface(reading, place, child) == "queue":
            reading.queue_lines.append(QueueLine(place, child))
    elif word == "group-member":
        return True
    else:
        return qos.read_simple(reading, place, child) or child.text.lower().startswith("ipsec policy ")
    return True


def _filter(reading: Reading, place: str, words: Words, child: Block) -> None:
    """`traffic-filter [vlan N] inbound|outbound acl [ipv6] X [rule N]`: what no rule matches passes."""
    if words.accept("vlan"):
        place = f"vlan {words.next('a vlan')}"
    words.accept("global")
    direction = take_direction(words)
    while words:
        if words.peek().lower() not in ("acl", "ipv6"):
            if words.accept("rule", "name"):
                words.next("a rule")
                continue
            words.end()
        reading.bind(take_acl(words), place, direction, child.number, "permit")


def _attach(reading: Reading, place: str, words: Words, child: Block) -> None:
    """`traffic-policy P [global [slot N]|vlan N] inbound|outbound [..]`; link-layer and other suffixes do not matter here."""
    name = words.next("a policy")
    while words and words.peek().lower() not in ("inbound", "outbound"):
        word = words.next().lower()
        if word == "global":
            place = "global"
        elif word == "vlan":
            place = f"vlan {words.next('a vlan')}"
        elif word == "slot":
            place = f"{place} slot {words.next('a slot')}"
        else:
            raise NotUnderstood(f"{word[:40]!r} is not understood here")
    direction = take_direction(words)
    if words.accept("slot"):
        place = f"{place} slot {words.next('a slot')}"
    reading.attachments.setdefault(name, []).append(QosAttachment(place, direction, (child.number,)))


def _trust(reading: Reading, place: str, words: Words, child: Block) -> None:
    kind = words.next("a mark").lower()
    if kind == "upstream":
        reading.domain_ports.setdefault(words.next("a domain"), []).append(place)
        return
    modes = {"dscp": "dscp", "8021p": "pcp", "ip-precedence": "ip-precedence"}
    if kind not in modes:
        raise NotUnderstood(f"trust {kind[:40]!r} is not modelled")
    reading.trusts.append(Trust(place, modes[kind], (child.number,)))


def _packet_filter(reading: Reading, place: str, word: str, words: Words, child: Block) -> None:
    """`firewall packet-filter N inbound` at a port, `packet-filter N inbound` between zones; the default is set elsewhere."""
    if word == "firewall" and not words.accept("packet-filter"):
        raise NotUnderstood("only packet filters are modelled")
    if words.accept("default", "enable"):
        raise NotUnderstood("the default of packet filters is not modelled")
    key = take_acl(words)
    reading.bind(key, place, take_direction(words), child.number, "unknown")


def read_vlan(reading: Reading, block: Block) -> None:
    """`vlan N` with a policy or filter below it; `vlan batch` holds nothing for us."""
    words = Words(block.words, 1)
    place = f"vlan {words.next('a vlan')}"
    book_children(reading, place, block)


def book_children(reading: Reading, place: str, block: Block) -> None:
    for child in block.below():
        try:
            if bound(reading, place, child):
                reading.ledger.understood(child.number)
        except NotUnderstood as reason:
            reading.ledger.unparsed(child.line, str(reason))


def read_group(reading: Reading, name: str, block: Block) -> None:
    """`qos group G`: what stands in it holds at each member port, at the group itself while it has none."""
    members: list[str] = []
    for child in block.children:
        words = Words(child.words)
        if words.accept("group-member"):
            words.accept("interface")
            members.append(words.rest())
    if len(members) * len(block.children) > MOST_IN_GROUP:  # no device has so many ports
        members.clear()
    for place in members or [f"qos group {name}"]:
        book_children(reading, place, block)


def read_global(reading: Reading, block: Block) -> None:
    """`traffic-policy P global inbound`, `traffic-filter ..` in the system view."""
    if not bound(reading, "global", block):
        raise NotUnderstood("not understood")


def read_interzone(reading: Reading, block: Block) -> None:
    """`firewall interzone A B` with packet filters below; zones and the rest of `firewall` are not modelled on this platform."""
    words = Words(block.words, 1)
    if not words.accept("interzone"):
        raise NotUnderstood("only interzone packet filters are modelled")
    book_children(reading, f"{words.next('a zone')} > {words.next('a zone')}", block)


def read_lines_view(reading: Reading, block: Block) -> None:
    """`user-interface vty 0 4`: an ACL there decides who may log in; what no rule permits is refused."""
    place = " ".join(block.words[:5])
    for child in block.below():
        words = Words(child.words)
        if words.peek().lower() != "acl":
            continue
        with reading.ledger.booking(child.line):
            key = take_acl(words)
            direction = take_direction(words)
            reading.bind(key, place, "local" if direction == "in" else "out", child.number, "deny")


SERVICE_ACL = re.compile(
    r"^(?P<service>(?:snmp-agent|telnet|ssh|stelnet|sftp|ftp|http|https|ntp-service|tftp-server|snmp)\b.*?) acl\b", re.I
)


def read_service(reading: Reading, block: Block) -> None:
    """`telnet server acl 2000`, `snmp-agent community .. acl 2001`: who may use a service of the device itself."""
    found = SERVICE_ACL.match(block.text)
    if found is None:
        raise NotUnderstood("may hold a rule")
    words = Words(block.text[found.end("service") :].split())
    reading.bind(take_acl(words), found["service"].split()[0], "local", block.number, "deny")


def read_ipsec(reading: Reading, block: Block) -> None:
    """`ipsec policy P N isakmp` with `security acl X`: the list picks traffic, the rest is not ours."""
    if not Words(block.words, 1).accept("policy"):
        raise NotUnderstood("not understood")
    for child in block.below():
        words = Words(child.words)
        if words.accept("security") and words.accept("acl"):
            reading.selectors.setdefault((4, words.next("an ACL")), "selects packets for ipsec")
            reading.ledger.understood(child.number)


def read_time_range(reading: Reading, block: Block) -> None:
    """`time-range N 08:00 to 18:00 working-day`, `time-range N from 00:00 2026/1/1 to 23:59 2026/12/31`."""
    add_schedule(reading.schedules, Words(block.words, 1), block.number)
