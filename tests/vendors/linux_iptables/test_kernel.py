"""What iptables-restore gives the kernel and iptables-save reads back is the same model, however it was spelled.

The kernel and its tools are the independent reader: rules in every spelling that iptables-restore takes go in, canonical ones
come out. `iptables -L` and nftables' view of the same rules must agree, too.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from policyhub.domain.device_config import DeviceConfig
from policyhub.domain.rules import Rule
from policyhub.vendorkit.registry import REGISTRY
from tests.vendors.linux_iptables.rulesets import Generator
from tests.vendors.linux_nftables.netns import Namespace, namespace
from tests.vendors.model_json import readable

pytestmark = pytest.mark.root

IPTABLES = REGISTRY.get("linux_iptables")
NFTABLES = REGISTRY.get("linux_nftables")
EACH = pytest.mark.parametrize("version", [4, 6])
SEEDS = pytest.mark.parametrize("seed", range(6))
WITHOUT = ("lines", "references")


@pytest.fixture
def space(request: pytest.FixtureRequest) -> Iterator[Namespace]:
    with namespace("xt") as made:
        yield made


def load(space: Namespace, text: str, version: int, folder: Path) -> str:
    """Give the text to the kernel; what iptables-save prints."""
    file = folder / "rules"
    file.write_text(text, encoding="utf-8")
    tool = "ip6tables" if version == 6 else "iptables"
    done = space.run(f"{tool}-nft-restore -c {file}")
    assert done.returncode == 0, f"{done.stderr}\n{text}"
    return space.must(f"{tool}-nft-save -c")


def rules(config: DeviceConfig) -> dict[str, list[dict[str, object]]]:
    return {policy.name: [_plain(rule) for rule in policy.rules] for policy in config.policies if policy.rules}


def _plain(rule: Rule) -> dict[str, object]:
    plain: dict[str, object] = readable(rule)
    return {key: value for key, value in plain.items() if key not in WITHOUT} | {
        "hit_key": rule.hit_key,
        "conditions": sorted(rule.match.conditions),
    }


def counted(text: str) -> dict[str, tuple[int | None, int | None]]:
    sample = IPTABLES.counters(text, None)
    assert sample is not None
    return {hit.key: (hit.hits, hit.bytes) for hit in sample.hits}


@EACH
@SEEDS
def test_what_the_kernel_reads_back_is_the_model_of_what_was_written(
    space: Namespace, tmp_path: Path, version: int, seed: int
) -> None:
    text = Generator(seed, version).text(25)
    saved = load(space, text, version, tmp_path)
    before, after = IPTABLES.parse(text), IPTABLES.parse(saved)
    assert not before.unparsed and not after.unparsed
    assert rules(before) == rules(after)
    assert {p.name: p.default for p in before.policies} == {p.name: p.default for p in after.policies}
    assert counted(text).keys() == counted(saved).keys()
    if version == 4:  # ip6tables-restore -c of iptables-nft 1.8.9 drops the counters of its rules
        assert counted(text) == counted(saved)
    assert len(before.nat_rules) == len(after.nat_rules)
    nat_before = {
        (r.hit_key, r.kind, r.translated_source, r.translated_destination, r.translated_service) for r in before.nat_rules
    }
    assert nat_before == {
        (r.hit_key, r.kind, r.translated_source, r.translated_destination, r.translated_service) for r in after.nat_rules
    }
    marks = {c.name: (c.marker, c.match.dscp) for q in before.qos_policies for c in q.classes}
    assert marks == {c.name: (c.marker, c.match.dscp) for q in after.qos_policies for c in q.classes}


@EACH
@SEEDS
def test_a_listing_joins_with_the_save(space: Namespace, tmp_path: Path, version: int, seed: int) -> None:
    """Keys and counters of `iptables -L -n -v -x` are those of iptables-save; matches are as wide."""
    saved = load(space, Generator(seed, version).text(25), version, tmp_path)
    tool = "ip6tables" if version == 6 else "iptables"
    listed = "".join(
        f"# {tool} -t {t} -L -n -v -x\n" + space.must(f"{tool}-nft -t {t} -L -n -v -x")
        for t in ("raw", "mangle", "nat", "filter")
    )
    first, second = IPTABLES.parse(saved), IPTABLES.parse(listed)
    assert not second.unparsed
    assert counted(saved) == counted(listed)
    for policy in first.policies:
        other = second.policy(policy.name)
        assert other is not None and other.default == policy.default
        for mine, theirs in zip(policy.rules, other.rules, strict=True):
            assert (mine.action, mine.target, mine.returns, mine.logged) == (
                theirs.action,
                theirs.target,
                theirs.returns,
                theirs.logged,
            ), mine.text
            assert (mine.match.source, mine.match.destination, mine.match.services, mine.match.dscp) == (
                theirs.match.source, theirs.match.destination, theirs.match.services, theirs.match.dscp,
            ), f"{mine.text}\n{theirs.text}"  # fmt: skip
            assert len(mine.match.conditions) == len(theirs.match.conditions), f"{mine.text}\n{theirs.text}"


@EACH
@SEEDS
def test_nftables_sees_the_same_rules(space: Namespace, tmp_path: Path, version: int, seed: int) -> None:
    """nft's JSON, our reading of nft's text and our reading of the save: as many rules in each chain, with the same verdicts."""
    saved = load(space, Generator(seed, version).text(25), version, tmp_path)
    family = "ip6" if version == 6 else "ip"
    ours = {p.name: [_verdict(rule) for rule in p.rules] for p in IPTABLES.parse(saved).policies if p.rules}
    listed = json.loads(space.must("nft -j list ruleset"))["nftables"]
    theirs: dict[str, list[str]] = {}
    for item in listed:
        rule = item.get("rule")
        if rule and rule["family"] == family:
            theirs.setdefault(f"{family} {rule['table']} {rule['chain']}", []).append(_json_verdict(rule["expr"]))
    compared = {
        name: [v for v, o in zip(found, ours.get(name, found), strict=True) if o != "other"] for name, found in theirs.items()
    }
    assert compared == {name: [v for v in found if v != "other"] for name, found in ours.items()}
    text = NFTABLES.parse(space.must("nft list ruleset 2>/dev/null"))
    assert {p.name: len(p.rules) for p in text.policies if p.rules} == {name: len(found) for name, found in ours.items()}


@pytest.mark.parametrize(
    "case", ["a_list_of_addresses_is_several_rules", "insert_delete_replace_flush", "renamed_chains_and_joined_commands"]
)
def test_a_script_leaves_the_rules_that_the_kernel_has_then(space: Namespace, case: str) -> None:
    file = Path(__file__).parent / case / "config.txt"
    space.must(f"sh {file}")
    ours = IPTABLES.parse(file.read_text(encoding="utf-8"))
    assert not ours.unparsed
    assert rules(ours) == rules(IPTABLES.parse(space.must("iptables-nft-save -t filter")))


def _verdict(rule: Rule) -> str:
    """`other` for targets that nft shows in ways of its own (NAT, marks)."""
    words = rule.text.split()
    target = words[words.index("-j") + 1] if "-j" in words else words[words.index("-g") + 1] if "-g" in words else ""
    if target in ("ACCEPT", "DROP", "RETURN"):
        return target.lower()
    if rule.target:
        return f"{'jump' if rule.returns else 'goto'} {rule.target.split()[-1]}"
    return "none" if not target or target == "LOG" else "other"


def _json_verdict(expressions: list[dict[str, object]]) -> str:
    for expression in expressions:
        for name in ("accept", "drop", "return"):
            if name in expression:
                return name
        for name in ("jump", "goto"):
            chosen = expression.get(name)
            if isinstance(chosen, dict):
                return f"{name} {chosen['target']}"
    return "none"
