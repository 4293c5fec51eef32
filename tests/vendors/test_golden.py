"""Golden cases: tests/vendors/<platform>/<case>/{config.txt, counters.txt, expected.json}.

Expected models are written from vendor syntax before the parser runs; the platform's README says who wrote and who reviewed
them. Every case also keeps the promise of the books: each line that is neither blank nor a comment is understood, ignored or
unparsed, and no ignored line may hold a rule or QoS.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from policyhub.vendorkit.ledger import is_sensitive
from policyhub.vendorkit.registry import REGISTRY
from tests.vendors.model_json import model, sample

HERE = Path(__file__).parent
CASES = sorted(path.parent for path in HERE.glob("*/*/expected.json"))
MIN_CASES = 30


def read(path: Path) -> str:
    return path.read_bytes().decode("utf-8", errors="replace")


def read_model(case: Path) -> dict:
    vendor = REGISTRY.get(case.parent.name)
    text = read(case / "config.txt")
    found = model(vendor.parse(text))
    counters = case / "counters.txt"
    hits = vendor.counters(read(counters) if counters.exists() else text, None)
    if hits is not None:
        found["counters"] = sample(hits)
    return found


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.parent.name}-{case.name}")
def test_configuration_becomes_the_expected_model(case: Path, request: pytest.FixtureRequest) -> None:
    found = read_model(case)
    expected = case / "expected.json"
    if request.config.getoption("--update-golden", default=False):
        expected.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    assert found == json.loads(expected.read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.parent.name}-{case.name}")
def test_no_ignored_line_may_hold_a_rule(case: Path) -> None:
    text = read(case / "config.txt")
    config = REGISTRY.get(case.parent.name).parse(text)
    lines = text.split("\n")
    assert [lines[n - 1] for n in config.ignored if is_sensitive(lines[n - 1])] == []
    assert not set(config.ignored) & {unparsed.line for unparsed in config.unparsed}


@pytest.mark.parametrize(
    "platform",
    [
        "arista_eos",
        "checkpoint_gaia",
        "cisco_asa",
        "cisco_ios",
        "cisco_iosxr",
        "cisco_nxos",
        "fortinet_fortios",
        "h3c_comware",
        "hillstone_stoneos",
        "huawei_usg",
        "huawei_vrp",
        "juniper_junos",
        "linux_iptables",
        "linux_nftables",
        "nvidia_cumulus",
        "paloalto_panos",
        "sonic",
    ],
)
def test_every_platform_has_its_golden_cases(platform: str) -> None:
    assert len([case for case in CASES if case.parent.name == platform]) >= MIN_CASES


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.parent.name}-{case.name}")
def test_platform_is_recognised_by_content(case: Path) -> None:
    found = REGISTRY.detect(read(case / "config.txt"))
    assert found is not None and found.name == case.parent.name
