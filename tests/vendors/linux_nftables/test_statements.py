"""What each match and statement of nft(8) says of a rule."""

from __future__ import annotations

from typing import Any

import pytest

from policyhub.domain.rules import Rule
from policyhub.vendorkit.registry import REGISTRY
from tests.vendors.model_json import readable

VENDOR = REGISTRY.get("linux_nftables")
HOOK = "type filter hook input priority filter; policy accept;"
SETS = " set a { type ipv4_addr; elements = { 10.0.0.1, 10.0.0.2 } }\n set p { type inet_service; elements = { 80 } }\n"


def rule(text: str, family: str = "inet", before: str = "") -> Rule:
    config = VENDOR.parse(f"table {family} t {{\n{before} chain other {{ }}\n chain c {{\n  {HOOK}\n  {text}\n }}\n}}\n")
    assert not config.unparsed, config.unparsed
    return next(policy for policy in config.policies if policy.bindings).rules[0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ip saddr 10.0.0.0/8 drop", {"source": "10.0.0.0/8", "destination": "any4"}),
        ("ip saddr != 128.0.0.0/1 drop", {"source": "0.0.0.0/1", "destination": "any4"}),
        ("ip daddr 10.0.0.0/255.0.0.0 drop", {"source": "any4", "destination": "10.0.0.0/8"}),
        ("ip6 daddr 2001:db8::/32 drop", {"source": "any6", "destination": "2001:db8::/32"}),
        ("ip saddr { 10.0.0.1, 10.0.0.2-10.0.0.3 } drop", {"source": "10.0.0.1/32, 10.0.0.2/31", "destination": "any4"}),
        ("ip saddr @a drop", {"source": "10.0.0.1/32, 10.0.0.2/32", "destination": "any4"}),
        ("ip saddr @nobody drop", {"source": "any4", "destination": "any4", "unresolved": ["@nobody"]}),
        ("ip saddr host.example drop", {"source": "any4", "destination": "any4", "conditions": ["ip saddr host.example"]}),
        ("ip protocol tcp drop", {"source": "any4", "destination": "any4", "services": ["tcp"]}),
        ("ip6 nexthdr udp drop", {"source": "any6", "destination": "any6", "services": ["udp"]}),
        ("meta l4proto { tcp, udp } drop", {"services": ["tcp+udp"]}),
        ("meta l4proto != 1-255 drop", {"services": ["proto 0"]}),
        ("tcp dport @p drop", {"services": ["tcp 80"]}),
        ("th dport 53 drop", {"services": ["tcp+udp+proto 33+sctp+proto 136 53"]}),
        ("icmp type echo-request drop", {"source": "any4", "destination": "any4", "services": ["icmp 8"]}),
        ("icmp type destination-unreachable icmp code 4 drop", {"source": "any4", "destination": "any4",
         "services": ["icmp 3:4"]}),
        ("icmp type destination-unreachable icmp code 256 drop",
         {"source": "any4", "destination": "any4", "services": ["icmp 3"], "conditions": ["icmp code 256"]}),
        ("icmpv6 type nd-neighbor-solicit drop", {"source": "any6", "destination": "any6", "services": ["icmp6 135"]}),
        ("icmp type != echo-request drop",
         {"source": "any4", "destination": "any4", "services": ["icmp"], "conditions": ["icmp type != echo-request"]}),
        ("ip dscp ef drop", {"source": "any4", "destination": "any4", "dscp": [46]}),
        ("ip dscp 0x2e drop", {"source": "any4", "destination": "any4", "dscp": [46]}),
        ("ip6 dscp { cs1, 10 } drop", {"source": "any6", "destination": "any6", "dscp": [8, 10]}),
        ("ip dscp 64 drop", {"source": "any4", "destination": "any4", "conditions": ["ip dscp 64"]}),
        ("ip dscp > 3 drop", {"source": "any4", "destination": "any4", "conditions": ["ip dscp > 3"]}),
        ("iifname eth0 oifname eth1 drop", {"source_zones": ["eth0"], "destination_zones": ["eth1"]}),
        ("iifname != eth0 drop", {"conditions": ["meta iifname != eth0"]}),
        ("ip ttl < 5 drop", {"source": "any4", "destination": "any4", "conditions": ["ip ttl < 5"]}),
        ("tcp flags syn drop", {"services": ["tcp"], "conditions": ["tcp flags syn"]}),
        ("ct state established drop", {"conditions": ["ct state established"]}),
        ("tcp dport < 80 drop", {"services": ["tcp 0-79"]}),
        ("tcp dport 9-7 drop", {"services": ["tcp"], "conditions": ["tcp dport 9-7"]}),
        ("quota over 25 mbytes drop", {"conditions": ["quota over 25 mbytes"]}),
        ("limit rate 5/second accept", {"conditions": ["limit rate 5/second"]}),
        ("queue num 3 bypass", {"conditions": ["queue num 3 bypass"]}),
        ("numgen random mod 2 0 drop", {"conditions": ["numgen random mod 2 0"]}),
        ("socket transparent 1 drop", {"conditions": ["socket transparent 1"]}),
        ("rt ip nexthop 10.0.0.1 drop", {"conditions": ["rt ip nexthop 10.0.0.1"]}),
        ("add @a { ip saddr limit rate 5/second } drop", {"conditions": ["add @a { ip saddr limit rate 5/second }"]}),
        ("add @a { ip saddr } drop", {}),
    ],
)  # fmt: skip
def test_what_a_match_says(text: str, expected: dict[str, Any]) -> None:
    assert readable(rule(text, before=SETS).match) == expected


@pytest.mark.parametrize(("family", "expected"), [("ip", ("any4", "any4")), ("ip6", ("any6", "any6")), ("inet", (None, None))])
def test_a_table_of_one_family_asks_for_its_packets_only(family: str, expected: tuple[str | None, str | None]) -> None:
    found = readable(rule("tcp dport 80 drop", family).match)
    assert (found.get("source"), found.get("destination")) == expected


@pytest.mark.parametrize(
    ("text", "field", "value"),
    [
        ("accept", "action", "permit"), ("drop", "action", "deny"), ("reject", "action", "deny"),
        ("counter", "action", "continue"),
        ('log prefix "x" level warn drop', "logged", True), ("log flags tcp sequence,options drop", "logged", True),
        ("drop", "logged", False),
        ('drop comment "why"', "comment", "why"), ("jump other", "returns", True), ("goto other", "returns", False),
    ],
)  # fmt: skip
def test_what_a_statement_does(text: str, field: str, value: object) -> None:
    assert getattr(rule(text), field) == value


@pytest.mark.parametrize(
    ("text", "reset"),
    [
        ("reject with icmp type host-unreachable", "any4"),
        ("reject with icmpv6 type no-route", "any6"),
        ("reject with icmpx type no-route", None),
    ],
)
def test_an_answer_tells_the_family(text: str, reset: str | None) -> None:
    assert readable(rule(text).match).get("source") == reset


def test_an_answer_of_tcp_goes_to_tcp_only() -> None:
    assert readable(rule("reject with tcp reset").match)["services"] == ["tcp"]


@pytest.mark.parametrize(
    ("limit", "policer"),
    [
        ("limit rate over 1000 bytes/second drop", (8000, None)),
        ("limit rate over 2 kbytes/second burst 4 kbytes drop", (16_384, 4096)),
        ("limit rate over 1 mbytes/minute drop", (1024 * 1024 * 8 // 60, None)), ("limit name l drop", (8000, None)),
    ],
)  # fmt: skip
def test_what_is_over_a_rate_of_bytes_and_dropped_is_a_policer(limit: str, policer: tuple[int, int | None]) -> None:
    text = (
        f"table inet t {{\n limit l {{ rate over 1000 bytes/second }}\n chain c {{\n  {HOOK}\n  tcp dport 80 {limit}\n }}\n}}\n"
    )
    config = VENDOR.parse(text)
    assert not config.unparsed
    found = [made.policer for policy in config.qos_policies for made in policy.classes]
    assert [(one.rate_bps, one.burst_bytes) for one in found if one] == [policer]


def test_scripts_take_away_what_they_build_again() -> None:
    head = "add table ip t\nadd chain ip t c { type filter hook input priority 0; policy drop; }\n"
    head += "add chain ip t d\nadd rule ip t c tcp dport 1 drop\n"

    def rules(more: str) -> dict[str, int]:
        config = VENDOR.parse(head + more)
        assert not config.unparsed, config.unparsed
        return {policy.name: len(policy.rules) for policy in config.policies}

    assert rules("") == {"ip t c": 1, "ip t d": 0}
    assert rules("flush chain ip t c\n") == rules("flush table ip t\n") == {"ip t c": 0, "ip t d": 0}
    assert (rules("delete chain ip t d\n"), rules("delete chain ip t c\n")) == ({"ip t c": 1}, {"ip t d": 0})
    assert rules("delete table ip t\n") == rules("flush ruleset\n") == rules("flush ruleset ip\n") == {}
    assert rules("flush ruleset ip6\n") == rules("delete table ip nobody\n") == rules("")


def test_policies_devices_and_priorities_of_a_hook() -> None:
    config = VENDOR.parse(
        "table netdev t {\n chain c {\n  type filter hook ingress devices = { eth0, eth1 } priority 5; policy drop;\n  drop\n }\n"
        " chain d {\n  type filter hook ingress device \"eth2\" priority filter; policy accept;\n  drop\n }\n}\n"
    )  # fmt: skip
    told = {
        policy.name.rpartition(" ")[2]: (policy.default and policy.default.value, [b.interface for b in policy.bindings])
        for policy in config.policies
    }
    assert told == {"c": ("deny", ["eth0", "eth1"]), "d": ("permit", ["eth2"])}


@pytest.mark.parametrize(
    "line",
    ["define =1", "define x", "define x=1", "rename table ip t u", "delete colour ip t", "table", "add set ip t"],
)  # fmt: skip
def test_lines_that_are_no_command_are_told(line: str) -> None:
    config = VENDOR.parse(f"add table ip t\n{line}\n")
    assert [one.line for one in config.unparsed] == [2]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("tcp dport { 22, 80 accept\n udp dport 53 accept }", "'80 accept udp dport 53 accept' is no element of a set"),
        ("ip saddr { 10.0.0.1 10.0.0.2 } accept", "'10.0.0.1 10.0.0.2' is no element of a set"),
        ("tcp dport { 22, 80", "a brace is not closed: whatever stands behind it may be of the rule or not"),
    ],
)
def test_what_a_lost_mark_swallows_is_not_understood(text: str, told: str) -> None:
    config = VENDOR.parse(f"table inet t {{\n chain c {{\n  {HOOK}\n  {text}")
    assert [one.reason for one in config.unparsed] == [told]


def test_elements_of_a_named_set_without_their_comma_are_told() -> None:
    config = VENDOR.parse("table ip t {\n set a {\n type ipv4_addr\n elements = { 10.0.0.1 10.0.0.2 }\n }\n}\n")
    assert [(one.line, one.reason) for one in config.unparsed] == [(4, "'10.0.0.1 10.0.0.2' is no element of a set")]
