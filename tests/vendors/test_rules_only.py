"""Platforms of which only rules are read: their golden cases, damaged text, and lines that must not vanish."""

from __future__ import annotations

import random

import pytest

from policyhub.vendorkit.registry import REGISTRY
from tests.vendors.test_parse_robust import HERE, check

PLATFORMS = ("aws", "azure", "gcp", "mikrotik", "opnsense_pfsense", "pf", "sonicwall", "topsec", "vmware_nsx", "vyos")
EACH = pytest.mark.parametrize("platform", PLATFORMS)
MIN_CASES = 6
MARKS = [
    "{",
    "}",
    "[",
    "]",
    '"',
    "'",
    "<",
    ">",
    "²",
    "99999999999999999999",
    "!any",
    "0.0.0.0/33",
    "\x00",
    "<!--",
    "null",
    "-1",
    "\\",
]


@EACH
def test_a_platform_has_its_golden_cases(platform: str) -> None:
    assert len(list((HERE / platform).glob("*/expected.json"))) >= MIN_CASES


@EACH
def test_damaged_text_never_raises(platform: str) -> None:
    rng = random.Random(11)
    for path in sorted((HERE / platform).glob("*/*.txt")):
        for _ in range(12):
            damaged = path.read_text(encoding="utf-8")
            for _ in range(rng.randrange(1, 6)):
                at = rng.randrange(len(damaged) + 1)
                damaged = damaged[:at] + rng.choice(MARKS) + damaged[at + rng.randrange(12) :]
            check(platform, damaged)


@EACH
def test_a_line_that_nobody_understands_never_vanishes(platform: str) -> None:
    """It is among the unparsed lines, or a member of a list, a condition or the text of a rule it was written into."""
    for path in sorted((HERE / platform).glob("*/config.txt")):
        lines = path.read_text(encoding="utf-8").split("\n")
        for at in range(1, len(lines)):
            found = REGISTRY.get(platform).parse("\n".join([*lines[:at], "quux permit access 7", *lines[at:]]))
            said = [unparsed.text for unparsed in found.unparsed]
            said += [rule.text for policy in found.policies for rule in policy.rules]
            said += [condition for rule in found.nat_rules for condition in rule.match.conditions]
            said += [member for group in found.groups for member in group.members]
            assert at + 1 in found.special or any("quux" in text for text in said), f"{path.parent.name} line {at + 1}"
