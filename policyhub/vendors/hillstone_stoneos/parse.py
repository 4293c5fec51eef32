"""`show configuration` of Hillstone StoneOS into the domain model."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from operator import attrgetter

from policyhub.domain.device_config import DeviceConfig
from policyhub.domain.evaluation import Seen, Stage, StageKind
from policyhub.vendorkit.blocks import Block, read_lines
from policyhub.vendorkit.ledger import IgnoreList
from policyhub.vendorkit.lexing import score
from policyhub.vendors.hillstone_stoneos import nat, network, objects, qos, rules
from policyhub.vendors.hillstone_stoneos.reading import PACKAGE, Reading
from policyhub.vendors.hillstone_stoneos.tree import Node, read_tree

NAME = "hillstone_stoneos"
IGNORED = IgnoreList.of(PACKAGE)
SIGNS = (
    (r"^Version \d\.\d+R?\d*\s*$", 0.3),
    (r'^ip vrouter "?[\w-]+"?\s*$', 0.5),
    (r"^ *rule id \d+", 0.3),
    (r'^ +(src|dst)-(zone|addr|ip|range|host) "?\S', 0.3),
    (r"^ *(snatrule|dnatrule|bnatrule) ", 0.6),
    (r"^policy-global\b", 0.5),
    (r'^(address|servgroup)( id \d+)? "[^"]*"\s*$', 0.3),
    (r"^service \"[^\"]*\"\s*$", 0.2),
    (r"^ +(tcp|udp) dst-port \d", 0.4),
    (r"^exit\s*$", 0.2),
    (r"^Most hit policy rules:", 0.7),
    (r"^Policy id \d+ is hit \d+ times", 0.7),
    (r"\bTraffic@FLOW: SESSION:", 0.9),
    (r"^qos-engine (first|second)", 0.5),
    (r"^(config (system|firewall)|security-policy|set |#config-version|ASA Version)", -0.6),
)
VERSION = re.compile(r"Version (\d\.\d+(?:R\d+)?(?:[A-Z]\d+)?)")
MANAGER = re.compile(r"(?:network-manager|hsm)\b.*\b(?:host|server) ")
KINDS: dict[str, Callable[[str], bool]] = {
    "address": lambda text: text.startswith("address "),
    "service": lambda text: text.startswith("service "),
    "servgroup": lambda text: text.startswith("servgroup "),
    "schedule": lambda text: text.startswith("schedule "),
    "zone": lambda text: text.startswith("zone "),
    "interface": lambda text: text.startswith("interface "),
    "vrouter": lambda text: text.startswith("ip vrouter "),
    "policy": lambda text: text == "policy-global" or re.match(r"(rule|policy-group)\s", text) is not None,
    "class-map": lambda text: text.startswith("class-map "),
    "qos-profile": lambda text: text.startswith("qos-profile "),
    "engine": lambda text: text.startswith("qos-engine "),
}


def looks_like(text: str) -> float:
    return score(text[:400_000].replace("\r", ""), SIGNS)


def parse(text: str) -> DeviceConfig:
    """Total: any text gives a model; what is not understood is in `unparsed`."""
    lines = read_lines(text)
    line_count = len(lines)
    reading = Reading()
    root = read_tree(lines, reading.ledger)
    del lines  # the tree holds their text
    of: dict[str, list[Node]] = {kind: [] for kind in KINDS}
    for node in root.children:
        kind = next((kind for kind, is_one in KINDS.items() if is_one(node.text)), "")
        if kind:
            of[kind].append(node)
        else:
            _about(reading, node)
    _read(reading, of)
    for node in root.children:
        _settle(reading, node)
    reading.addresses.sort(key=attrgetter("lines"))
    reading.groups.sort(key=attrgetter("lines"))
    reading.evaluation += _evaluation(reading)
    return reading.config(NAME, line_count)


def _about(reading: Reading, node: Node) -> None:
    """Name and release of the device, and the manager that owns it."""
    words = node.words
    version = VERSION.match(node.text)
    if words[0] == "hostname" and len(words) == 2:
        reading.hostname = words[1]
        reading.book(node)
    elif version is not None:
        reading.version = version[1]
        reading.book(node)
    elif MANAGER.match(node.text):
        reading.managed_by = "HSM"


def _read(reading: Reading, of: dict[str, list[Node]]) -> None:
    objects.read_schedules(reading, of["schedule"])
    objects.read_addresses(reading, of["address"])
    objects.read_services(reading, of["service"])
    objects.read_service_groups(reading, of["servgroup"])
    network.read_interfaces(reading, of["zone"], of["interface"])
    network.read_routes(reading, of["vrouter"])
    rules.read_rules(reading, of["policy"])
    nat.read_nat(reading, of["vrouter"])
    qos.read_profiles(reading, of["qos-profile"], of["class-map"], [*of["zone"], *of["interface"]])
    qos.read_engines(reading, of["engine"])


def _settle(reading: Reading, node: Node) -> None:
    """What nobody booked of one block."""
    if all(reading.ledger.is_booked(one.number) for one in node.walk()):
        return
    top: list[Block] = []
    stack = [(node, top)]
    while stack:
        one, into = stack.pop()
        below: list[Block] = []
        into.append(Block(one.line, below))
        stack.extend((child, below) for child in reversed(one.children))
    reading.ledger.settle(top, IGNORED)


def _evaluation(reading: Reading) -> Iterator[Stage]:
    """StoneOS manual, packet flow: DNAT, route, policy, SNAT."""
    for policy in reading.policies:
        if policy.rules:
            seen = Seen.TRANSLATED if policy.context in reading.translated else Seen.ORIGINAL
            yield Stage(StageKind.DESTINATION_NAT, context=policy.context)
            yield Stage(StageKind.ROUTE, context=policy.context)
            yield Stage(StageKind.FILTER, (policy.name,), seen, policy.context)
            yield Stage(StageKind.SOURCE_NAT, context=policy.context)
