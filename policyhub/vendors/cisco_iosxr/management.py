"""Who may reach the device itself: `control-plane / management-plane`, and lists of ssh, telnet, snmp, ntp and lines."""

from __future__ import annotations

from policyhub.domain.addresses import ANY, NOWHERE, AddressSet
from policyhub.domain.rules import Action, Binding, Match, Policy, Rule
from policyhub.domain.services import ANY_SERVICE, TCP, UDP, Service
from policyhub.vendorkit.blocks import Block
from policyhub.vendorkit.ledger import NOT_UNDERSTOOD
from policyhub.vendorkit.lexing import NotUnderstood, Words, host_set, prefix_set
from policyhub.vendors.cisco_iosxr.reading import Reading

SERVICES = {
    "ssh": (TCP, 22),
    "telnet": (TCP, 23),
    "snmp": (UDP, 161),
    "tftp": (UDP, 69),
    "http": (TCP, 80),
    "netconf": (TCP, 830),
}
FAMILIES = {"ipv4": 4, "ipv6": 6}


def read_control_plane(reading: Reading, block: Block) -> None:
    """One policy per band and interface; `allow` lines are its rules. Raises nothing."""
    for plane in block.children:
        if plane.words[0] != "management-plane":
            continue
        reading.ledger.understood(plane.number)
        for band in plane.children:
            reading.ledger.understood(band.number)
            _band(reading, band)


def _band(reading: Reading, band: Block) -> None:
    by_interface: dict[str, Policy] = {}
    for child in band.children:
        if child.words[0] != "interface" or len(child.words) < 2:
            continue
        reading.ledger.understood(child.number)
        name = f"management-plane {band.text}"
        if by_interface:
            name = f"{name} {child.words[1]}"
        rules = tuple(_rule(reading, f"{name} {number}", allow) for number, allow in enumerate(child.children, 1))
        bindings = (Binding(" ".join(child.words[1:]), "local", (child.number,)),)
        lines = (*(() if by_interface else (band.number,)), *child.numbers)
        by_interface[name] = Policy(name, rules, Action.DENY, 0, bindings, lines, purpose="management-plane")
    reading.policies += by_interface.values()


def _rule(reading: Reading, title: str, block: Block) -> Rule:
    """`allow PROTOCOL|all [peer]`; `address ipv4 A` lines below name the peers."""
    words = Words(block.words)
    sources: list[AddressSet] = []
    conditions: tuple[str, ...] = ()
    services: tuple[Service, ...] = (ANY_SERVICE,)
    protocol = words.next().lower() == "allow" and words.peek().lower()
    if not protocol:
        reading.ledger.unparsed(block.line, "allow is expected")
        conditions = (block.text[:200],)
    elif protocol in SERVICES:
        number, port = SERVICES[protocol]
        services = (Service.of(number, ((port, port),)),)
    elif protocol != "all":
        conditions = (f"allow {protocol}",)
    reading.ledger.understood(block.number)
    for child in block.below():
        below = child.words
        peer = prefix_set(below[-1]) or host_set(below[-1])
        if below[0] != "address" or peer is None:
            reading.ledger.unparsed(child.line, "address is expected")
            conditions = (*conditions, child.text[:200])
            continue
        sources.append(peer)
        reading.ledger.understood(child.number)
    source = NOWHERE.union(*sources) if sources else ANY
    match = Match(source, ANY, services, conditions=conditions)
    return Rule(title, Action.PERMIT, match, block.numbers, block.text, hit_key=title)


def read_line(reading: Reading, block: Block) -> None:
    """`line default`, `line template X` with `[ipv6] access-class [ipv4|ipv6] ingress|egress X`."""
    for child in block.children:
        words = Words(child.words)
        family = FAMILIES.get(words.accept("ipv4", "ipv6"), 4)
        if not words.accept("access-class"):
            continue
        family = FAMILIES.get(words.accept("ipv4", "ipv6"), family)
        if not words.peek(1):
            reading.ledger.unparsed(child.line, "ingress or egress, and a list are expected")
            continue
        direction = "out" if words.next().lower() in ("egress", "out") else "local"
        reading.bind(family, words.next(), block.text, direction, child.number)
        reading.ledger.understood(child.number)
    raise NotUnderstood(NOT_UNDERSTOOD)  # the line itself is on the ignore list


def read_ntp(reading: Reading, block: Block) -> None:
    """`access-group [vrf V] ipv4|ipv6 peer|serve|.. X` below `ntp`."""
    for child in (block, *block.children):
        words = Words(child.words, 1 if child is block else 0)
        if not words.accept("access-group"):
            continue
        vrf = f" vrf {words.next()}" if words.accept("vrf") and words else ""
        family = FAMILIES.get(words.accept("ipv4", "ipv6"), 4)
        if not words.peek(1):
            reading.ledger.unparsed(child.line, "a kind and a list are expected")
            continue
        kind = words.next()
        reading.bind(family, words.next(), f"ntp {kind}{vrf}", "local", child.number)
        reading.ledger.understood(child.number)
    if not reading.ledger.is_understood(block.number):
        raise NotUnderstood(NOT_UNDERSTOOD)


def read_server(reading: Reading, block: Block) -> None:
    """`ssh server vrf V ipv4 access-list X ipv6 access-list Y`, `telnet vrf V ipv4 server max-servers N access-list X`,
    `http server .. access-list X`.
    """
    words = block.words
    place = words[0]
    if "vrf" in words[:-1]:
        place = f"{place} vrf {words[words.index('vrf') + 1]}"
    family, found = 4, False
    for at, word in enumerate(words[:-1]):
        family = FAMILIES.get(word.lower(), family)
        if word.lower() in ("access-list", "access-group"):
            reading.bind(family, words[at + 1], place, "local", block.number)
            found = True
    if not found:
        raise NotUnderstood(NOT_UNDERSTOOD)


def read_snmp(reading: Reading, block: Block) -> None:
    """`snmp-server community C RO [IPv4 X] [IPv6 Y] [X]`, `snmp-server group G v3 .. IPv4 X`. The community is not kept."""
    words = block.words
    if words[1:2] not in (["community"], ["group"]):
        raise NotUnderstood(NOT_UNDERSTOOD)
    found = False
    for at, word in enumerate(words[2:-1], 2):
        if word.lower() in FAMILIES:
            reading.bind(FAMILIES[word.lower()], words[at + 1], "snmp", "local", block.number)
            found = True
    rest = [word for word in words[3:] if word.lower() not in ("ro", "rw", "sdrowner", "systemowner")]
    if not found and words[1] == "community" and len(rest) == 1:
        reading.bind(4, rest[0], "snmp", "local", block.number)
        found = True
    if not found and words[1] != "community":
        raise NotUnderstood(NOT_UNDERSTOOD)
