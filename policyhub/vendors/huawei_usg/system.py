"""Interfaces, zones, virtual systems, routes, time ranges, ACLs and the places that name them."""

from __future__ import annotations

import re
from dataclasses import replace

from policyhub.domain.device_config import Interface
from policyhub.domain.objects import Schedule, Zone
from policyhub.domain.qos import QosAttachment
from policyhub.domain.rules import Action, Binding, Match, Policy, Rule
from policyhub.domain.services import ANY_SERVICE
from policyhub.vendorkit.blocks import Block
from policyhub.vendorkit.lexing import NotUnderstood, Words, is_decimal, number_in
from policyhub.vendorkit.vrp_acl import AUTO_NOTE, Acl, AclDialect, collect, is_number, rules
from policyhub.vendorkit.vrp_lines import (
    add_schedule,
    end_of_range,
    interface_name,
    quoted_words,
    static_route,
    take_direction,
)
from policyhub.vendorkit.vrp_ports import read_port
from policyhub.vendors.huawei_usg.reading import NAMES, PREDEFINED, Reading, Vsys

SPEEDS = (
    (re.compile(r"^(GigabitEthernet|GE\d|MEth|MGMT)", re.IGNORECASE), 10**9),
    (re.compile(r"^(XGigabitEthernet|XGE|10GE|Ten-GigabitEthernet)", re.IGNORECASE), 10**10),
    (re.compile(r"^(25GE|TwentyFiveGigE)", re.IGNORECASE), 25 * 10**9),
    (re.compile(r"^40GE", re.IGNORECASE), 4 * 10**10),
    (re.compile(r"^100GE", re.IGNORECASE), 10**11),
    (re.compile(r"^Ethernet", re.IGNORECASE), 10**8),
)
SERVICE_ACL = re.compile(
    r"^(?P<service>(?:snmp-agent|telnet|ssh|stelnet|sftp|ftp|http|https|ntp-service|web-manager|api)\b.*?) acl\b", re.IGNORECASE
)
KINDS = ((2000, "basic"), (3000, "advanced"), (4000, "layer-2"), (5000, "user"), (6000, "advanced"))
KIND_WORDS = {"basic": "basic", "advance": "advanced", "advanced": "advanced", "link": "layer-2", "user": "user"}


def read_interface(reading: Reading, block: Block) -> None:
    local: list[Rule] = []
    interface = read_port(reading.ledger, block, SPEEDS, lambda interface, child: _line(reading, interface, child, local))
    reading.interfaces.append(replace(interface, context=reading.now.name))
    if local:
        binding = (Binding(interface.name, "local"),)
        numbers = tuple(rule.lines[0] for rule in local)
        own = reading.now.prefix + f"service-manage {interface.name}"
        made = Policy(own, tuple(local), None, 0, binding, numbers, purpose="local", context=reading.now.name)
        reading.local.append(made)


def _line(reading: Reading, interface: Interface, child: Block, local: list[Rule]) -> Interface | None:
    """The interface with the line in it; None leaves the line to the ignore list."""
    words = Words(child.words)
    word = words.next().lower()
    text = child.text.lower()
    if word == "alias":
        return replace(interface, description=interface.description or child.text.partition(" ")[2].strip())
    if word == "service-manage":
        return _service_manage(interface, words, child, local)
    if word == "traffic-policy":
        name = words.next("a policy")
        attached = QosAttachment(interface.name, take_direction(words), (child.number,))
        reading.mqc.attachments.setdefault(name, []).append(attached)
        return interface
    if word == "bandwidth" and words.peek().lower() in ("ingress", "egress"):
        return interface
    if word in ("ipsec", "firewall", "nat") or "acl" in text.split():
        return _other(reading, interface, word, child)
    return None


def _other(reading: Reading, interface: Interface, word: str, child: Block) -> Interface | None:
    """Lines that use a list, or are recognised and not modelled."""
    if word == "ipsec" or child.text.lower() in ("nat enable", "undo nat enable"):
        return interface
    if word == "firewall" and "packet-filter" not in child.text:
        return None
    raise NotUnderstood(f"{word} at an interface is not modelled")


def _service_manage(interface: Interface, words: Words, child: Block, local: list[Rule]) -> Interface:
    """`service-manage enable`, `service-manage ping permit`: who may reach the device itself at this interface."""
    what = words.next("a service").lower()
    if what in ("enable", "disable"):
        return interface
    verb = words.next("permit or deny").lower()
    if verb not in ("permit", "deny"):
        raise NotUnderstood(f"{verb[:40]!r} is not permit or deny")
    services = (ANY_SERVICE,) if what == "all" else PREDEFINED.get(what)
    match = Match(unresolved=(what,)) if services is None else Match(services=services)
    rule = Rule(what, Action(verb), match, (child.number,), text=child.text)
    local.append(rule)
    return interface


def read_zone(reading: Reading, block: Block) -> None:
    """`firewall zone [name] Z [id N]`; other `firewall` lines are left to the lists."""
    words = Words(quoted_words(block.text), 1)
    if not words.accept("zone"):
        raise NotUnderstood("not modelled")
    words.accept("name")
    name = words.next("a zone")
    members: list[str] = []
    for child in block.children:
        below = Words(child.words)
        if below.accept("add") and below.accept("interface"):
            members.append(interface_name(below))
            reading.now.zone_of[members[-1]] = name
        elif "priority" in child.words[:2] and is_decimal(child.words[-1]):
            reading.now.priorities[name] = number_in(child.words[-1], 0, 100, "a priority")
        elif not (below.accept("set", "description") or child.text.lower().startswith("undo ")):
            continue
        reading.ledger.understood(child.number)
    reading.zones.append(Zone(name, tuple(members), block.numbers, reading.now.name))


def read_vsys(reading: Reading, block: Block) -> None:
    """`vsys name V ID` with `assign interface IF`; `vsys enable`."""
    words = Words(quoted_words(block.text), 1)
    if words.accept("enable"):
        return
    words.accept("name")
    name = words.next("a virtual system")
    for child in block.children:
        below = Words(child.words)
        if below.accept("assign"):
            if below.accept("interface"):
                reading.assigned[interface_name(below)] = name
            reading.ledger.understood(child.number)
        elif below.accept("description", "resource-class"):
            reading.ledger.understood(child.number)


def read_switch(reading: Reading, block: Block) -> None:
    words = Words(quoted_words(block.text), 1)
    if not words.accept("vsys"):
        raise NotUnderstood("switch vsys is expected")
    reading.switch(words.next("a virtual system"))


def read_route(reading: Reading, block: Block) -> None:
    """`ip|ipv6 route-static ..`; other lines of `ip` are left to the lists."""
    words = Words(block.words, 1)
    if not words.accept("route-static"):
        raise NotUnderstood("not modelled")
    if words.peek().lower() in ("default-preference", "bfd", "frr", "bandwidth"):
        return
    route = static_route(words, (block.number,))
    reading.routes.append(replace(route, context=reading.now.name))


def read_time_range(reading: Reading, block: Block) -> None:
    """A block with `period-range` and `absolute-range`, or the one-line form of VRP."""
    words = Words(quoted_words(block.text), 1)
    name = words.next("a name")
    if words:
        add_schedule(reading.schedules, Words(quoted_words(block.text), 1), block.number)
        return
    texts: list[str] = []
    ends: list[str] = []
    for child in block.children:
        word = child.words[0].lower()
        if word not in ("period-range", "absolute-range", "description"):
            continue
        reading.ledger.understood(child.number)
        if word != "description":
            texts.append(child.text)
        end = end_of_range(child.text) if word == "absolute-range" else None
        ends += [end] if end else []
    expires = max(ends) if ends else None
    reading.schedules.append(Schedule(name, "; ".join(texts), expires, block.numbers, reading.now.name))


def read_acl(reading: Reading, block: Block) -> None:
    """`acl [ipv6] [number N | name X [basic|advance|N]]`."""
    words = Words(block.words, 1)
    family = 6 if words.accept("ipv6") else 4
    words.accept("number", "name")
    name = words.next("an ACL")
    number = name if is_number(name) else ""
    kind = "advanced"
    auto = False
    while words:
        word = words.next().lower()
        if is_number(word):
            number = word
        elif word == "match-order":
            auto = words.next("auto or config").lower() == "auto"
        elif word in KIND_WORDS:
            kind = KIND_WORDS[word]
        elif word in ("vpn-instance", "description"):
            words.rest()
        elif word not in ("number", "name", "ip"):
            raise NotUnderstood(f"{word[:40]!r} is not understood here")
    for low, known in KINDS:
        kind = known if number and int(number) >= low else kind
    acl = reading.now.acls.setdefault((family, name), Acl(family, name, kind, number))
    acl.auto = acl.auto or auto
    acl.lines.append(block.number)
    collect(reading.ledger, acl, block)


def acl_policies(reading: Reading, vsys: Vsys) -> list[Policy]:
    """Every list; what no rule matches is refused where it guards a service, and undecided where it only selects."""
    dialect = AclDialect(NAMES, ignored=("description",), addresses=vsys.addresses.resolve)
    found: list[Policy] = []
    for (family, name), acl in vsys.acls.items():
        bindings = [*vsys.acl_bindings.get(name, ()), *(vsys.acl_bindings.get(acl.number, ()) if acl.number != name else ())]
        uses = vsys.acl_uses.get(name, [])
        purpose = {"layer-2": "mac", "user": "user"}.get(acl.kind, "match" if uses and not bindings else "filter")
        own = 0 if acl.kind in ("layer-2", "user") else family
        made = Policy(
            vsys.prefix + name,
            rules(reading.ledger, dialect, acl, own),
            Action.DENY if bindings else None,
            own,
            tuple(bindings),
            tuple(acl.lines),
            purpose=purpose,
            notes=(*((AUTO_NOTE,) if acl.auto else ()), *dict.fromkeys(uses)),
            context=vsys.name,
        )
        found.append(made)
    return found


def read_lines_view(reading: Reading, block: Block) -> None:
    """`user-interface vty 0 4`: an ACL there decides who may log in."""
    place = " ".join(block.words[:5])
    for child in block.below():
        words = Words(child.words)
        if not words.accept("acl"):
            continue
        words.accept("ipv6", "number", "name")
        with reading.ledger.booking(child.line):
            name = words.next("an ACL")
            direction = "local" if take_direction(words) == "in" else "out"
            reading.now.acl_bindings.setdefault(name, []).append(Binding(place, direction, (child.number,)))


def read_service(reading: Reading, block: Block) -> None:
    """`telnet server acl 2000`, `snmp-agent community .. acl 2001`."""
    found = SERVICE_ACL.match(block.text)
    if found is None:
        raise NotUnderstood("may hold a rule")
    words = Words(block.text[found.end() :].split())
    words.accept("ipv6", "number", "name")
    binding = Binding(found["service"].split()[0], "local", (block.number,))
    reading.now.acl_bindings.setdefault(words.next("an ACL"), []).append(binding)


def read_ipsec(reading: Reading, block: Block) -> None:
    """`security acl X` of an IPsec policy picks traffic; the rest of it is not ours."""
    if not Words(block.words, 1).accept("policy", "policy-template"):
        raise NotUnderstood("not modelled")
    for child in block.below():
        words = Words(child.words)
        if words.accept("security") and words.accept("acl"):
            words.accept("ipv6")
            reading.now.acl_uses.setdefault(words.next("an ACL"), []).append("selects packets for ipsec")
            reading.ledger.understood(child.number)
        elif child.text.lower().startswith(("policy ", "respond-time", "sa trigger")):
            reading.ledger.understood(child.number)


def read_traffic(reading: Reading, block: Block) -> None:
    """`traffic classifier|behavior|policy N`: modular QoS."""
    words = Words(block.words, 1)
    kind = words.accept("classifier", "behavior", "policy")
    if not kind:
        raise NotUnderstood("not a traffic classifier, behavior or policy")
    name = words.next("a name")
    mqc = reading.mqc
    {"classifier": mqc.classifiers, "behavior": mqc.behaviors, "policy": mqc.policies}[kind][name] = block
    if kind == "classifier":
        for child in block.children:
            below = [word.lower() for word in child.words]
            if below[0] == "if-match" and "acl" in below:
                reading.now.acl_uses.setdefault(child.words[-1], []).append(
                    f"classifies for {name}: a packet that one of its deny rules matches is dropped"
                )
