"""`show configuration` of Hillstone StoneOS into the domain model."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

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
HOSTNAME = re.compile(r'^hostname "?([^"\s]+)"?$', re.MULTILINE)
VERSION = re.compile(r"^Version (\d\.\d+(?:R\d+)?(?:[A-Z]\d+)?)", re.MULTILINE)
MANAGER = re.compile(r"^(?:network-manager|hsm)\b.*\b(?:host|server) ", re.MULTILINE)
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
    reading = Reading()
    root = read_tree(lines, reading.ledger)
    of: dict[str, list[Node]] = {kind: [] for kind in KINDS}
    for node in root.children:
        kind = next((kind for kind, is_one in KINDS.items() if is_one(node.text)), "")
        if kind:
            of[kind].append(node)
        elif node.text.startswith(("hostname ", "Version ")):
            reading.book(node)
    _read(reading, of)
    reading.ledger.settle(_left_over(root), IGNORED)
    return _model(reading, "\n".join(line.text for line in lines), len(lines))


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


def _left_over(root: Node) -> list[Block]:
    """Every block as the ledger knows them, which passes over what is booked."""
    top: list[Block] = []
    stack = [(node, top) for node in reversed(root.children)]
    while stack:
        node, into = stack.pop()
        below: list[Block] = []
        into.append(Block(node.line, below))
        stack.extend((child, below) for child in reversed(node.children))
    return top


def _evaluation(reading: Reading) -> Iterator[Stage]:
    """StoneOS manual, packet flow: DNAT, route, policy, SNAT."""
    for policy in reading.policies:
        if policy.rules:
            seen = Seen.TRANSLATED if policy.context in reading.translated else Seen.ORIGINAL
            yield Stage(StageKind.DESTINATION_NAT, context=policy.context)
            yield Stage(StageKind.ROUTE, context=policy.context)
            yield Stage(StageKind.FILTER, (policy.name,), seen, policy.context)
            yield Stage(StageKind.SOURCE_NAT, context=policy.context)


def _model(reading: Reading, text: str, line_count: int) -> DeviceConfig:
    hostname, version = HOSTNAME.search(text), VERSION.search(text)
    return DeviceConfig(
        platform=NAME,
        hostname=hostname[1] if hostname is not None else "",
        lines=line_count,
        policies=tuple(reading.policies),
        qos_policies=tuple(reading.qos_policies),
        interfaces=tuple(reading.interfaces),
        addresses=tuple(sorted(reading.addresses, key=lambda item: item.lines)),
        services=tuple(reading.services),
        groups=tuple(sorted(reading.groups, key=lambda item: item.lines)),
        zones=tuple(reading.zones),
        schedules=tuple(reading.schedules),
        ignored=reading.ledger.ignored_lines,
        unparsed=reading.ledger.unparsed_lines,
        nat_rules=tuple(reading.nat_rules),
        routes=tuple(reading.routes),
        evaluation=tuple(_evaluation(reading)),
        managed_by="HSM" if MANAGER.search(text) else "",
        version=version[1] if version is not None else "",
        special=reading.ledger.special_lines,
    )
