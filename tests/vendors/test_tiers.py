"""The published table says what the registry says, no more."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from policyhub.conf.cli import main
from policyhub.vendorkit.contract import Capability, Tier, Vendor
from policyhub.vendorkit.registry import REGISTRY
from policyhub.vendorkit.tiers import table

SCRIPT = Path(__file__).parents[2] / "docs" / "generate_platforms.py"


def cells(row: str) -> list[str]:
    return [cell.strip() for cell in row.strip("|").split("|")]


def test_the_page_is_current():
    spec = importlib.util.spec_from_file_location("generate_platforms", SCRIPT)
    generate = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generate)
    assert generate.PAGE.read_text(encoding="utf-8") == generate.page(), "run python docs/generate_platforms.py"


def test_a_cell_is_the_tier_and_a_dash_where_the_platform_cannot():
    abilities = {Capability.RULES: Tier.REAL_OUTPUTS, Capability.NAT: Tier.DOCUMENTATION, Capability.GUARD: Tier.SIMULATED}
    vendor = Vendor("a", "A", lambda text: None, lambda text, at: None, lambda text: 0.0, abilities)
    head, _, row = table([vendor], ("golden cases", {"a": "7"})).split("\n")
    shown = dict(zip(cells(head), cells(row), strict=True))
    assert shown["rules"] == "real" and shown["nat"] == "docs" and shown["guard"] == "simulated" and shown["golden cases"] == "7"
    assert {shown[c.value] for c in Capability if c not in abilities} == {"-"}


def test_the_command_prints_every_platform(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["check", "--platforms"])
    assert ended.value.code == 0
    said = capsys.readouterr().out
    assert all(f"| {name} " in said for name in REGISTRY.names())
