"""`nft list ruleset` (with or without counters and handles) and nftables scripts into the domain model."""

from __future__ import annotations

import re

from policyhub.domain.device_config import DeviceConfig
from policyhub.vendorkit.blocks import Lines, read_lines
from policyhub.vendorkit.ledger import IgnoreList
from policyhub.vendorkit.lexing import score
from policyhub.vendorkit.rendering import is_prompt
from policyhub.vendors.linux_nftables.hooks import evaluation
from policyhub.vendors.linux_nftables.model import Built, build, objects
from policyhub.vendors.linux_nftables.reading import PACKAGE, Reading
from policyhub.vendors.linux_nftables.structure import read_ruleset

NAME = "linux_nftables"
IGNORED = IgnoreList.of(PACKAGE)
SIGNS = (
    (r"^[ \t]*table (ip|ip6|inet|arp|bridge|netdev) \S+ \{", 0.9),
    (r"^table \S+ \{", 0.5),
    (r"^(interfaces|firewall|service|system|set (interfaces|firewall)\b.*) ?\{?$", -0.6),
    (r"type (filter|nat|route) hook \w+ ", 0.6),
    (r"^#! ?/\S*nft\b", 0.8),
    (r"^[ \t]*(add|create) (table|chain|rule|set|map|element) ", 0.5),
    (r"^[ \t]*flush ruleset", 0.5),
    (r"^[ \t]*chain \S+\s*\{", 0.4),
    (r"^[ \t]*(ip6?|tcp|udp|ct|iifname|meta) .*\b(accept|drop|jump \S+)", 0.2),
    (r"^\*(filter|nat|mangle|raw)$|^:INPUT |^-A \S+ ", -0.9),
)
HOSTNAME = re.compile(r"^[\w.-]+@([\w.-]+):[^#$]*[#$](?:\s|$)")


def looks_like(text: str) -> float:
    return score(text[:400_000], SIGNS)


def is_comment(text: str) -> bool:
    return text.startswith("#")


def read(text: str) -> tuple[Reading, Built, Lines, str]:
    """Shared by the parser and the counters."""
    lines = read_lines(text)
    reading = Reading()
    prompts = [line for line in lines if is_prompt(line.text) and "{" not in line.text]
    reading.ledger.understood(*(line.number for line in prompts))
    host = next((found[1] for line in prompts if (found := HOSTNAME.match(line.text))), "")
    read_ruleset(reading, (line for line in reading.ledger.unbooked(lines) if line.text))
    return reading, build(reading), lines, host


def parse(text: str) -> DeviceConfig:
    """Total: any text gives a model; what is not understood is in `unparsed`."""
    reading, built, lines, host = read(text)
    addresses, services, groups = objects(reading)
    reading.ledger.settle_lines(lines, IGNORED, is_comment)
    return DeviceConfig(
        platform=NAME,
        hostname=host,
        lines=len(lines),
        policies=tuple(built.policies),
        qos_policies=tuple(built.qos_policies),
        addresses=addresses,
        services=services,
        groups=groups,
        ignored=reading.ledger.ignored_lines,
        unparsed=reading.ledger.unparsed_lines,
        nat_rules=tuple(built.nat_rules),
        evaluation=evaluation(reading.tables.values()),
    )
