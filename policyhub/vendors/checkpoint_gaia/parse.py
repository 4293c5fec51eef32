"""Configuration of Gaia and answers of Check Point's management API into the domain model."""

from __future__ import annotations

from policyhub.domain.device_config import DeviceConfig
from policyhub.domain.evaluation import Seen, Stage, StageKind
from policyhub.domain.rules import Policy
from policyhub.vendorkit.blocks import Line, read_lines
from policyhub.vendorkit.ledger import IgnoreList
from policyhub.vendorkit.lexing import score
from policyhub.vendors.checkpoint_gaia.answers import find
from policyhub.vendors.checkpoint_gaia.clish import Clish, read_command
from policyhub.vendors.checkpoint_gaia.collect import collect
from policyhub.vendors.checkpoint_gaia.nat import read_nat
from policyhub.vendors.checkpoint_gaia.objects import define
from policyhub.vendors.checkpoint_gaia.reading import PACKAGE, Reading
from policyhub.vendors.checkpoint_gaia.rules import read_policies

NAME = "checkpoint_gaia"
IGNORED = IgnoreList.of(PACKAGE)
MANAGER = "Check Point Security Management"
SIGNS = (
    (r'"type" ?: ?"(access-rule|access-section|nat-rule|nat-section|access-layer|CpmiAnyObject|RulebaseAction)"', 0.9),
    (r'"objects-dictionary" ?:', 0.6),
    (r'"domain-type" ?: ?"(domain|data domain|global domain)"', 0.7),
    (r'"type" ?: ?"(service-(tcp|udp|icmp|other|group)|group-with-exclusion|simple-gateway)"', 0.6),
    (r'"(mask-length4|subnet4|icmp-type|implicit-cleanup-action|ipv4-address-first)" ?:', 0.3),
    (r'"uid" ?: ?"[^"]*", ?\s*"name" ?: ?"[^"]*", ?\s*"type" ?: ?"(host|network|group|address-range|time)"', 0.4),
    (r"^# Language version: \d", 0.9),
    (r"^# Configuration of \S+", 0.4),
    (r"^(set|add) (installer policy|clienv|bonding group|expert-password|core-dump|web ssl-port|virtual-system)\b", 0.6),
    (r"^set interface \S+ (ipv4-address \S+ (mask-length|subnet-mask)|link-speed|auto-negotiation|comments|state o[nf])", 0.6),
    (r"^set (ipv6 )?static-route \S+ (nexthop|off|rank|comment)", 0.6),
)


def looks_like(text: str) -> float:
    return score(text[:400_000], SIGNS)


def parse(text: str) -> DeviceConfig:
    """Total: any text gives a model; what is not understood is in `unparsed`."""
    text = text.removeprefix("\ufeff")
    reading = Reading(text.split("\n"))
    inside = _read_answers(reading, text)
    clish = Clish()
    commands = reading.ledger.without_long(_outside(reading, inside))
    for line in commands:
        if line.text and not is_comment(line.text):
            read_command(reading, clish, line)
    define(reading)
    policies = read_policies(reading)
    read_nat(reading)
    reading.ledger.settle_lines(commands, IGNORED, is_comment)
    return _config(reading, clish, policies)


def is_comment(text: str) -> bool:
    return text.startswith("#")


def _read_answers(reading: Reading, text: str) -> set[int]:
    """Numbers of the lines that answers stand on, damaged ones too."""
    found = find(text, reading.rows)
    inside: set[int] = set()
    for answer in found.answers:
        inside.update(answer.lines)
        collect(reading, answer)
    for number, reason in found.damaged:
        inside.add(number)
        reading.ledger.unparsed(reading.line(number), reason)
    return inside


def _outside(reading: Reading, inside: set[int]) -> list[Line]:
    """The other lines, without pager remnants; answers may be long and need none of that."""
    numbers = [number for number in range(1, len(reading.rows) + 1) if number not in inside]
    cleaned = read_lines("\n".join(reading.rows[number - 1] for number in numbers))
    return [Line(number, line.indent, line.text) for number, line in zip(numbers, cleaned, strict=False)]


def _evaluation(reading: Reading, policies: list[Policy]) -> tuple[Stage, ...]:
    """The path of each package when there are several (a gateway has one), else one path of all ordered layers."""
    here = [p.name for p in policies if p.bindings]
    known = {package: [name for name in layers if name in here] for package, layers in reading.packages.items()}
    known = {package: layers for package, layers in known.items() if layers}
    if len(known) > 1:
        return tuple(stage for package, layers in known.items() for stage in _path(reading, layers, package))
    first = next(iter(known.values()), [])
    return _path(reading, [*first, *(name for name in here if name not in first)], "") if here else ()


def _path(reading: Reading, layers: list[str], context: str) -> tuple[Stage, ...]:
    """Every ordered layer must accept; NAT comes behind them, so that rules are written for original addresses."""
    stages = [Stage(StageKind.FILTER, (name,), Seen.ORIGINAL, context, "each layer must accept") for name in layers]
    kinds = (StageKind.DESTINATION_NAT, StageKind.ROUTE, StageKind.SOURCE_NAT) if reading.nat_rules else (StageKind.ROUTE,)
    return (*stages, *(Stage(kind, context=context) for kind in kinds))


def _config(reading: Reading, clish: Clish, policies: list[Policy]) -> DeviceConfig:
    is_managed = bool(policies or reading.objects or reading.nat_rules)
    return DeviceConfig(
        platform=NAME,
        hostname=clish.hostname,
        lines=len(reading.rows) - (reading.rows[-1] == "" and len(reading.rows) > 1),
        policies=tuple(policies),
        interfaces=clish.interfaces(),
        addresses=tuple(reading.address_objects),
        services=tuple(reading.service_objects),
        groups=tuple(reading.groups),
        zones=tuple(reading.zones),
        schedules=tuple(reading.schedules),
        ignored=reading.ledger.ignored_lines,
        unparsed=reading.ledger.unparsed_lines,
        nat_rules=tuple(reading.nat_rules),
        routes=clish.static_routes(),
        evaluation=_evaluation(reading, policies),
        managed_by=MANAGER if is_managed else "",
        special=reading.ledger.special_lines,
    )
