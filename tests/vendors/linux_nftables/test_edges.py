"""Corners of nft(8) that a golden case is too large for."""

from __future__ import annotations

from pathlib import Path

import pytest

from policyhub.domain.change import GuardSpec
from policyhub.domain.device_config import DeviceConfig
from policyhub.domain.rules import Match
from policyhub.vendorkit.registry import REGISTRY
from policyhub.vendors.linux_nftables.ownership import without_dynamic
from tests.vendors.model_json import addresses, service

VENDOR = REGISTRY.get("linux_nftables")
HOOK = "type filter hook input priority filter; policy accept;"


def parse(*rules: str) -> DeviceConfig:
    return VENDOR.parse(f"table inet t {{\n chain c {{\n  {HOOK}\n" + "".join(f"  {rule}\n" for rule in rules) + " }\n}\n")


def match(rule: str) -> Match:
    config = parse(rule)
    assert not config.unparsed
    return config.policies[0].rules[0].match


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("tcp dport != { 80, 443 } drop", "tcp 0-79,81-442,444-65535"),
        ("tcp dport != 0-1023 drop", "tcp 1024-65535"),
        ("tcp dport != 1024-65535 drop", "tcp 0-1023"),
        ("tcp dport < 80 drop", "tcp 0-79"),
        ("tcp dport <= 80 drop", "tcp 0-80"),
        ("tcp dport > 80 drop", "tcp 81-65535"),
        ("tcp dport >= 80 drop", "tcp 80-65535"),
        ("tcp sport != 1 drop", "tcp from 0,2-65535"),
        ("tcp dport { 10 - 20, 80 } drop", "tcp 10-20,80"),
        ('tcp dport { 80 comment "web" } drop', "tcp 80"),
    ],
)
def test_comparisons_of_ports(rule: str, expected: str) -> None:
    assert service(match(rule).services[0]) == expected


def test_interfaces_that_are_named_twice_must_be_both() -> None:
    assert match('iifname { "a", "b" } iifname { "b", "c" } drop').source_zones == ("b",)
    assert match('oifname { "b", "a" } oifname "a" drop').destination_zones == ("a",)
    never = match('iifname "a" iifname "c" drop')
    assert (never.source_zones, never.is_exact) == (("a",), False)
    assert match('iifname "eth*" drop').is_exact is False


def test_a_meter_is_a_condition_in_its_own_words() -> None:
    assert match("meter m { ip saddr limit rate 10/second } drop").conditions == ("meter m { ip saddr limit rate 10/second }",)


def test_families_by_their_protocol() -> None:
    assert addresses(match("meta nfproto ipv4 drop").source) == "any4"
    assert addresses(match("meta nfproto ipv6 drop").source) == "any6"
    assert match("meta nfproto != ipv6 drop").is_exact is False


@pytest.mark.parametrize("line", ["add colour inet t x", "add chain inet", "add"])
def test_commands_that_nft_does_not_have(line: str) -> None:
    assert [odd.text for odd in VENDOR.parse(f"add table inet t\n{line}\n").unparsed] == [line]


def test_rules_are_put_where_their_index_says() -> None:
    text = (
        "add table ip t\nadd chain ip t c { type filter hook input priority 0; }\nadd rule ip t c tcp dport 1 drop\n"
        "add rule ip t c tcp dport 2 drop\nadd rule ip t c index 0 tcp dport 3 drop\n"
        "insert rule ip t c index 1 tcp dport 4 drop\n"
        "insert rule ip t c tcp dport 5 drop\n"
    )
    config = VENDOR.parse(text + "add rule ip t c index 5 tcp dport 6 drop\n")
    assert [service(rule.match.services[0]) for rule in config.policies[0].rules] == [f"tcp {n}" for n in (5, 1, 4, 3, 2)]
    assert [odd.line for odd in config.unparsed] == [8]


def test_elements_that_come_and_go_by_themselves_are_no_change() -> None:
    lines = [
        "set a {", "flags dynamic,timeout", "elements = { 10.0.0.1 expires 1s,", "10.0.0.2 expires 2s }", "}",
        "set b {", "flags interval", "elements = { 10.1.0.0/16,", "10.2.0.0/16 }", "}",
        "set c {", "flags timeout", "elements = { 10.0.0.3 expires 9s }", "}", "map d {", "elements = { 1 : 2 }", "}",
    ]  # fmt: skip
    kept = without_dynamic(lines)
    assert [line for line in lines if line not in kept] == [lines[2], lines[3], lines[12]]


SCRIPT = "add table inet t\nadd chain inet t c { type filter hook input priority 0; }\nadd chain inet t other\n"


def policy(lines: str) -> list[str]:
    """Rules of the input chain of a script, as names of what they match."""
    config = VENDOR.parse(SCRIPT + lines)
    assert not config.unparsed, config.unparsed
    return [service(rule.match.services[0]) for rule in config.policies[0].rules]


def test_rules_of_a_script_in_every_spelling() -> None:
    assert policy("add rule inet t c tcp dport 1 drop\ninet t c tcp dport 2 drop\ncreate rule inet t c tcp dport 3 drop\n") == [
        "tcp 1", "tcp 2", "tcp 3",
    ]  # fmt: skip
    plain = VENDOR.parse("add table t\nadd chain t c { type filter hook input priority 0; }\nadd rule t c tcp dport 1 drop\n")
    assert [service(rule.match.services[0]) for rule in plain.policies[0].rules] == ["tcp 1"]


def test_a_renamed_chain_is_still_the_one_that_is_jumped_to() -> None:
    config = VENDOR.parse(
        SCRIPT
        + "add rule inet t c tcp dport 1 jump other\nadd rule inet t c tcp dport 2 drop\nadd rule inet t other udp dport 9 drop\n"
        "rename chain inet t other new\nadd chain inet t third\nadd rule inet t c jump third\n"
    )
    assert not config.unparsed
    found = {policy.name: [rule.target for rule in policy.rules if rule.target] for policy in config.policies}
    assert any(target.endswith("new") for targets in found.values() for target in targets)
    assert any(target.endswith("third") for targets in found.values() for target in targets)
    assert [one.reason for one in VENDOR.parse(SCRIPT + "rename chain inet t nobody new\n").unparsed] == [
        "the chain is not defined here"
    ]


def test_helpers_and_quotas_hold_no_rule() -> None:
    assert policy('add ct helper inet t h { type "ftp" protocol tcp; }\nadd quota inet t q { over 25 mbytes; }\n') == []


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("add rule inet t c index 9 drop", "the handle is not in this text"),
        ("add rule inet t c handle 4 drop", "the handle is not in this text"),
        ("delete rule inet t c index 0", "the handle is not in this text"),
        ("delete rule inet t c handle", "the handle is not in this text"),
        ("add rule inet t c", "a rule is expected"),
        ("add element inet t nobody { 1 }", "set 'nobody' is not defined here"),
        ("add counter inet t", "a name is expected"),
    ],
)
def test_commands_that_name_nothing(line: str, reason: str) -> None:
    assert [odd.reason for odd in VENDOR.parse(SCRIPT + line + "\n").unparsed] == [reason]


@pytest.mark.parametrize(
    ("inside", "actions"),
    [
        ("80 : accept, 81 : drop", ["permit", "deny"]),
        ("80 : return, 81 : drop", ["permit", "deny"]),
        ("80 : continue", []),
        ("80 comment \"web\" : accept", ["permit"]),
    ],
)  # fmt: skip
def test_verdicts_of_a_map(inside: str, actions: list[str]) -> None:
    config = parse(f"tcp dport vmap {{ {inside} }}")
    assert not config.unparsed
    assert [rule.action.value for rule in config.policies[0].rules if rule.action.value in ("permit", "deny")] == actions


@pytest.mark.parametrize("inside", ["80 : perhaps", "80 : accept now", "80 : return now", "80 :", ": accept"])
def test_verdicts_that_nft_does_not_have(inside: str) -> None:
    assert len(parse(f"tcp dport vmap {{ {inside} }}").unparsed) == 1


def test_what_the_guard_counted_is_read_with_its_bytes() -> None:
    renderer = VENDOR.render
    assert renderer is not None
    spec = GuardSpec("PHG-RIM4", ("edge0", "edge1"), frozenset({40, 46}))
    table = (Path(__file__).parent / "installed_guard" / "config.txt").read_text(encoding="utf-8")
    first, *others = renderer.reads(spec)
    state = renderer.read(spec, {first: table, **dict.fromkeys(others, table)})
    assert (state.installed, state.packets, state.bytes) == (True, 812, 99_064)


@pytest.mark.parametrize(
    ("text", "hits"),
    [
        ("tcp dport 80 counter packets 5 bytes 60 drop", (5, 60)),
        ("counter packets 5 bytes 60 tcp dport 80 drop", (None, None)),
        ("counter packets 0 bytes 0 tcp dport 80 drop", (0, 0)),
        ("tcp dport 80 drop", (None, None)),
    ],
)
def test_a_counter_in_front_of_further_matches_counts_more_than_the_rule(text: str, hits: tuple[int | None, int | None]) -> None:
    other = "udp dport 53 counter packets 1 bytes 2 accept"
    sample = VENDOR.counters(f"table inet t {{\n chain c {{\n  {HOOK}\n  {text}\n  {other}\n }}\n}}\n", None)
    assert sample is not None
    assert [(hit.hits, hit.bytes) for hit in sample.hits][-1] == (1, 2)
    assert (sample.hits[0].hits, sample.hits[0].bytes) == (hits if len(sample.hits) > 1 else (1, 2))


def test_a_table_with_its_body_may_be_a_command() -> None:
    config = VENDOR.parse(f"add table inet u {{ chain c {{ {HOOK} tcp dport 1 drop; }} }}\n")
    assert [policy.name for policy in config.policies] == ["inet u c"] and not config.unparsed
    assert len(VENDOR.parse(SCRIPT + "rename chain inet t other new more\n").unparsed) == 1
