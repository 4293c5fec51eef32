"""The checks over real configurations: no exception, bounded time, and every coverage claim holds for sampled packets."""

from __future__ import annotations

import os
import random
import time
from collections import Counter
from pathlib import Path

import pytest

from policyhub.checks.context import Context
from policyhub.checks.registry import all_checks, run_checks
from policyhub.domain.rules import Action, Policy, Rule
from policyhub.domain.rulespace import Fate, coverage
from policyhub.management.inputs import NotText, decode
from policyhub.vendorkit.contract import Capability
from policyhub.vendorkit.registry import REGISTRY

ROOT = Path(__file__).parents[2]
CORPUS = Path(os.environ.get("POLICYHUB_CORPUS") or ROOT.parent / "shared" / "data")
FOLDERS = {
    "cisco_asa": ["cisco_asa"],
    "cisco_ios": ["cisco_ios"],
    "huawei_vrp": ["huawei_vrp", "huawei_cloudengine", "huawei_ne"],
    "linux_nftables": ["linux_nftables"],
}
SECONDS_PER_1000_RULES = 1.0  # measured 0.03; the machine may be busy
SAMPLES = 12

pytestmark = pytest.mark.corpus


def configurations(platform: str):
    vendor = REGISTRY.get(platform)
    for folder in FOLDERS[platform]:
        where = CORPUS / "configs" / folder
        assert where.is_dir(), f"{where} is missing: set POLICYHUB_CORPUS to the folder that holds configs/"
        for path in sorted(where.rglob("*")):
            if path.is_file():
                try:
                    text, _ = decode(path.read_bytes())
                except NotText:
                    continue
                yield path, vendor, vendor.parse(text), vendor.counters(text, None)


@pytest.mark.parametrize("platform", FOLDERS)
def test_every_file_is_checked_in_bounded_time(platform):
    found: Counter[str] = Counter()
    rules = files = 0
    for path, vendor, config, sample in configurations(platform):
        counts = Capability.HIT_COUNTS in vendor.capabilities
        started = time.process_time()
        findings = run_checks(Context(config, hits=(sample,) if sample else (), counts_hits=counts), all_checks())
        spent = time.process_time() - started
        assert spent < 0.5 + SECONDS_PER_1000_RULES * config.rule_count / 1000, f"{path}: {spent:.2f} s"
        assert len({finding.fingerprint for finding in findings}) == len(findings), path
        assert not [finding for finding in findings if finding.name == "zombie-rule"], (
            f"{path}: one undated text proves no zombie"
        )
        found.update(finding.name for finding in findings)
        rules += config.rule_count
        files += 1
    print(f"{platform}: {files} files, {rules} rules, {dict(found)}")
    assert files > 3


@pytest.mark.parametrize("platform", FOLDERS)
def test_no_sampled_packet_contradicts_a_coverage_claim(platform):
    dice = random.Random(20261130)
    dead = 0
    for path, _, config, _ in configurations(platform):
        for policy in config.policies:
            for number, answer in enumerate(coverage(policy)):
                rule = policy.rules[number]
                claim = CLAIMS.get(answer.fate)
                dead += answer.fate in (Fate.SHADOWED, Fate.REDUNDANT)
                for _ in range(SAMPLES if claim else 0):
                    packet = sample(policy, rule, dice)
                    assert packet is None or claim(policy, packet, number), f"{path}: {rule.text}"
    print(f"{platform}: {dead} dead rules sampled")


# A packet: (family, source, destination, protocol, source port, destination port, source zone, destination zone, DSCP)


def sample(policy: Policy, rule: Rule, dice: random.Random):
    match = rule.match
    pairs = (4, match.source.v4, match.destination.v4), (6, match.source.v6, match.destination.v6)
    families = [pair for pair in pairs if pair[1] and pair[2] and policy.family in (0, pair[0])]
    if not families or not match.services:
        return None
    family, sources, destinations = dice.choice(families)
    service = dice.choice(match.services)
    return (
        family, pick(sources, dice), pick(destinations, dice), pick(service.protocols, dice), pick(service.source_ports, dice),
        pick(service.destination_ports, dice), dice.choice(match.source_zones or ("elsewhere",)),
        dice.choice(match.destination_zones or ("elsewhere",)), dice.choice(sorted(match.dscp) if match.dscp else range(64)),
    )  # fmt: skip


def pick(intervals, dice: random.Random) -> int:
    """An edge or an inner value of one of the intervals."""
    low, high = dice.choice(intervals)
    return dice.choice((low, high, dice.randint(low, high)))


def holds(rule: Rule, packet) -> bool:
    family, source, destination, protocol, sport, dport, zone_in, zone_out, dscp = packet
    match = rule.match
    sources, destinations = (match.source.v4, match.destination.v4) if family == 4 else (match.source.v6, match.destination.v6)
    return (
        inside(source, sources)
        and inside(destination, destinations)
        and (not match.source_zones or zone_in in match.source_zones)
        and (not match.destination_zones or zone_out in match.destination_zones)
        and (match.dscp is None or dscp in match.dscp)
        and any(
            inside(protocol, s.protocols) and inside(sport, s.source_ports) and inside(dport, s.destination_ports)
            for s in match.services
        )
    )


def inside(value: int, intervals) -> bool:
    return any(low <= value <= high for low, high in intervals)


def decides(rule: Rule) -> bool:
    return rule.enabled and rule.match.is_exact and not rule.schedule and rule.action is not Action.CONTINUE


def decider(policy: Policy, packet, before: int) -> Rule | None:
    return next((rule for rule in policy.rules[:before] if decides(rule) and holds(rule, packet)), None)


def never_reaches(policy: Policy, packet, number: int) -> bool:
    return decider(policy, packet, number) is not None


def same_fate_without(policy: Policy, packet, number: int) -> bool:
    """Whether the packet, if it reaches the rule, meets the same action below, and no inexact rule of another action first."""
    if decider(policy, packet, number) is not None:
        return True
    mine = policy.rules[number].action
    for rule in policy.rules[number + 1 :]:
        if rule.enabled and holds(rule, packet):
            if rule.action is not mine:
                return False
            if decides(rule):
                return True
    return policy.default is mine


CLAIMS = {Fate.SHADOWED: never_reaches, Fate.REDUNDANT: never_reaches, Fate.REDUNDANT_BELOW: same_fate_without}
