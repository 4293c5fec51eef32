"""Running configuration (and `show access-list`) of Cisco ASA, also PIX and FWSM, into the domain model."""

from __future__ import annotations

import re
from collections.abc import Callable

from policyhub.domain.addresses import AddressSet
from policyhub.domain.device_config import DeviceConfig
from policyhub.domain.objects import AddressObject, ObjectGroup, ServiceObject
from policyhub.vendorkit.blocks import Block, read_blocks, read_lines
from policyhub.vendorkit.ledger import IgnoreList
from policyhub.vendorkit.lexing import NotUnderstood, is_decimal, score
from policyhub.vendors.cisco_asa import access, interfaces, nat, nat_before_83, network, objects, qos
from policyhub.vendors.cisco_asa.reading import PACKAGE, Reading

NAME = "cisco_asa"
IGNORED = IgnoreList.of(PACKAGE)
SIGNS = (
    (r"^(ASA|PIX|FWSM) Version \d", 0.9),
    (r"\(hitcnt=\d+\)", 0.7),
    (r"^access-list \S+ (line \d+ )?(extended|standard) (permit|deny) ", 0.5),
    (r"^access-list \S+ line \d+ ", 0.3),
    (r"^access-list \S+; \d+ elements; name hash: 0x", 0.9),
    (r"^ *nameif \S+", 0.4),
    (r"^ *security-level \d+", 0.4),
    (r"^access-group \S+ (in|out) interface \S+", 0.5),
    (r"^access-group \S+ global", 0.5),
    (r"^object (network|service) \S+[ \t\r]*\n[ \t]+(host|subnet|range|fqdn|service) ", 0.5),
    (r"^ *(network-object|port-object|service-object|protocol-object|icmp-object) ", 0.4),
    (r"^(static|nat|global) \(\S+\)", 0.4),
    (r"^(fixup protocol|same-security-traffic|xlate per-session|failover lan|names$)", 0.3),
    (r"^service-policy \S+ (global|interface \S+)\s*$", 0.6),
    (r"^ip access-list |^(Extended|Standard) IP access list ", -0.4),
)
CHILDREN = (
    (re.compile(r"^object (network|service) "), re.compile(r"^(host|subnet|range|fqdn|service) ")),
    (
        re.compile(r"^object-group "),
        re.compile(r"^((network|port|service|protocol|icmp)-object|group-object|security-group|user(-group)?) "),
    ),
)
HANDLERS: dict[str, Callable[[Reading, Block], None]] = {
    "name": objects.read_alias,
    "object": objects.read_object,
    "object-group": objects.read_group,
    "access-list": access.read_access_list,
    "access-group": access.read_access_group,
    "ipv6": lambda reading, block: _ipv6(reading, block),
    "nat": nat.read_nat,
    "global": nat_before_83.read_global,
    "static": nat_before_83.read_static,
    "route": network.read_route,
    "mtu": network.read_mtu,
    "context": network.read_context,
    "icmp": network.read_icmp,
    "same-security-traffic": network.read_same_security,
    "clear": lambda reading, block: _clear(reading, block),
    "interface": interfaces.read_interface,
    "nameif": interfaces.read_nameif,
    "ip": interfaces.read_ip,
    "time-range": interfaces.read_schedule,
    "class-map": qos.read_class_map,
    "policy-map": qos.read_policy_map,
    "service-policy": qos.read_service_policy,
    "priority-queue": qos.read_priority_queue,
}
HEADERS = ("ASA", "PIX", "FWSM", "hostname", "banner")
REASONS = {
    "clear": "a command, not configuration",
    "no": "a command, not configuration",
    "conduit": "conduits (before PIX 6.3) are not modelled",
    "aaa": "authentication rules are not modelled",
}


def looks_like(text: str) -> float:
    return score(text[:400_000], SIGNS)


def parse(text: str) -> DeviceConfig:
    """Total: any text gives a model; what is not understood is in `unparsed`."""
    lines = read_lines(text)
    reading = Reading()
    blocks = read_blocks(reading.ledger.without_long(lines), is_comment, adopts)
    for block in blocks:
        _header(reading, block)
    for block in blocks:
        _dispatch(reading, block)
    nat_rules = nat.rules(reading)
    policies = [*access.policies(reading), *network.icmp_policies(reading)]
    qos_policies = qos.qos_policies(reading)
    reading.ledger.settle(blocks, IGNORED)
    return DeviceConfig(
        platform=NAME,
        hostname=reading.hostname,
        lines=len(lines),
        policies=tuple(policies),
        qos_policies=tuple(qos_policies),
        interfaces=tuple(reading.interfaces.values()),
        addresses=_address_objects(reading),
        services=_service_objects(reading),
        groups=_groups(reading),
        zones=interfaces.zones(reading),
        schedules=tuple(reading.schedules),
        ignored=reading.ledger.ignored_lines,
        unparsed=reading.ledger.unparsed_lines,
        nat_rules=tuple(nat_rules),
        routes=tuple(reading.routes),
        evaluation=tuple(network.evaluation(reading, policies)),
        version=reading.release,
        special=reading.ledger.special_lines,
    )


def is_comment(text: str) -> bool:
    """`!` and `:` lines; the device prints `: Saved` and `: end` itself."""
    return text.startswith(("!", ": ")) or text == ":"


def adopts(parent: str, child: str) -> bool:
    """Members of objects and groups that lost their indentation."""
    return parent.startswith("object") and any(header.match(parent) and member.match(child) for header, member in CHILDREN)


def _header(reading: Reading, block: Block) -> None:
    """What later lines depend on: the release (meaning of `any`), aliases, the host name."""
    if not block.text.startswith(HEADERS):
        return
    words = block.words
    if words[0] in ("ASA", "PIX", "FWSM") and len(words) > 2 and words[1] == "Version":
        major, _, minor = words[2].partition("(")[0].partition(".")
        reading.version = int(major) if is_decimal(major) and len(major) < 4 else None
        reading.minor = int(minor) if is_decimal(minor) and len(minor) < 4 else 0
        reading.release = words[2]
        reading.ledger.understood(block.number)
    elif words[0] == "hostname" and len(words) == 2:
        reading.hostname = words[1]
        reading.ledger.understood(block.number)
    elif words[0] == "banner":
        reading.ledger.understood(block.number)  # free text of people


def _dispatch(reading: Reading, block: Block) -> None:
    word = block.text.split(None, 1)[0].lower()
    _note_selector(reading, block)
    if word == "group-policy":
        access.read_group_policy(reading, block)  # the rest of a group is left to the lists
        return
    handler = HANDLERS.get(word)
    if handler is None:
        if word in REASONS and not IGNORED.takes(block.text) and not IGNORED.excuses(block.text):
            reading.ledger.unparsed(block.line, REASONS[word])
        return
    try:
        handler(reading, block)
        reading.ledger.understood(block.number)
    except NotUnderstood as reason:
        if not IGNORED.takes(block.text):
            reading.ledger.unparsed(block.line, str(reason))


def _ipv6(reading: Reading, block: Block) -> None:
    """Access lists of releases before 9.0, routes, ICMP to the device."""
    word = block.words[1].lower() if len(block.words) > 1 else ""
    handler = {"route": network.read_ipv6_route, "icmp": network.read_icmp}.get(word, access.read_ipv6)
    handler(reading, block)


def _clear(reading: Reading, block: Block) -> None:
    """A script clears what it is about to write. Behind the first such line it would take away what was read: not understood."""
    kind, *names = [word.lower() for word in block.words[1:] if word.lower() not in ("config", "configure")] or [""]
    filled = {
        "access-list": [name for name in reading.entries if not names or name.lower() in names],
        "object": reading.definitions,
        "object-group": reading.definitions,
        "global": reading.globals,
        "nat": reading.twice or reading.old_nat or reading.object_nat,
        "static": reading.old_nat,
        "icmp": reading.icmp_rules,
        "xlate": (),
    }
    if filled.get(kind, True):
        raise NotUnderstood(REASONS["clear"])


SELECTOR = re.compile(r"\b(?:access-list|match address) (\S+)")


def _note_selector(reading: Reading, block: Block) -> None:
    """Lists that pick traffic for something else (NAT, VPN, captures) are not filters."""
    if block.text.startswith(("access-list", "access-group", "object", "interface")):
        return
    for below in block.walk():
        for found in SELECTOR.finditer(below.text):
            reading.selectors.add(found[1])


def _address_objects(reading: Reading) -> tuple[AddressObject, ...]:
    found: list[AddressObject] = []
    for (_, name), definition in reading.definitions.items():
        if definition.kind == "network" and not definition.is_group and definition.members:
            resolved = reading.addresses.resolve(name)
            known: AddressSet | None = None if resolved.unresolved else resolved.value
            found.append(AddressObject(name, known, definition.dynamic or "static", tuple(definition.lines)))
    return (*found, *reading.pools.values())


def _service_objects(reading: Reading) -> tuple[ServiceObject, ...]:
    return tuple(
        ServiceObject(name, reading.services.resolve(name).value, tuple(definition.lines))
        for (is_service, name), definition in reading.definitions.items()
        if is_service and not definition.is_group
    )


def _groups(reading: Reading) -> tuple[ObjectGroup, ...]:
    return tuple(
        ObjectGroup(name, definition.kind, tuple(definition.members), tuple(definition.lines))
        for (_, name), definition in reading.definitions.items()
        if definition.is_group
    )
