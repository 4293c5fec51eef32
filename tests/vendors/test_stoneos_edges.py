"""StoneOS: what golden cases cannot say: lost `exit`s, flat text, pasted sessions, one-line rules, `no`, moves, logs."""

from __future__ import annotations

from datetime import datetime

import pytest

from policyhub.domain.addresses import AddressSet
from policyhub.domain.rules import Action
from policyhub.vendors.hillstone_stoneos import VENDOR

BOOK = """address "net"
  ip 10.0.0.0/24
exit
service "web"
  tcp dst-port 80 81
exit
"""
RULE = """rule id 1
  action permit
  src-zone "trust"
  src-addr "net"
  dst-addr "Any"
  service "web"
exit
"""


def flat(text: str) -> str:
    return "".join(line.strip() + "\n" for line in text.splitlines())


@pytest.mark.parametrize(
    "text", [BOOK + RULE, flat(BOOK + RULE), (BOOK + RULE).replace("\n", "\r\n"), (BOOK + RULE).replace("exit\n", "")]
)
def test_indented_flat_and_without_exit_mean_the_same(text: str) -> None:
    config = VENDOR.parse(text)
    (rule,) = config.policies[0].rules
    assert rule.match.source == AddressSet.of("10.0.0.0/24")
    assert [service.destination_ports for service in rule.match.services] == [((80, 81),)]
    assert config.unparsed == ()


def test_a_pasted_session_reads_like_a_file() -> None:
    lines = (BOOK + RULE).splitlines()
    session = "".join(f"SG-6000(config{'-policy' if line.startswith(' ') else ''})# {line.strip()}\n" for line in lines)
    config = VENDOR.parse("SG-6000# show configuration\n" + session + "SG-6000(config)#\n")
    assert [rule.name for rule in config.policies[0].rules] == ["1"]
    assert config.policies[0].rules[0].match.source == AddressSet.of("10.0.0.0/24")
    assert config.unparsed == ()


ONE_LINE = (
    'rule id 7 name "ping all" top from "net" to "Any" from-zone "trust" to-zone "untrust" service "icmp" permit\n'
    "rule id 8 from range 10.0.0.1 10.0.0.9 to any service any tunnel vpn1\n"
)


@pytest.mark.parametrize("around", ["{}", "policy-global\n{}exit\n"])
def test_one_line_rules_are_rules(around: str) -> None:
    body = ONE_LINE if around == "{}" else "".join(f"  {line}\n" for line in ONE_LINE.splitlines())
    config = VENDOR.parse(BOOK + RULE + around.format(body))
    rules = config.policies[0].rules
    assert [rule.name for rule in rules] == ["7", "1", "8"]
    assert rules[0].match.source_zones == ("trust",)
    assert rules[0].comment == "ping all"
    assert rules[2].action is Action.PERMIT
    assert rules[2].match.conditions == ("action tunnel vpn1",)
    assert config.unparsed == ()


def test_no_takes_a_line_and_a_rule_away() -> None:
    text = (
        BOOK
        + RULE.replace('  service "web"\n', '  service "web"\n  no service "web"\n  service "SSH"\n')
        + RULE.replace("id 1", "id 2")
        + "no rule id 2\n"
    )
    config = VENDOR.parse(text)
    (rule,) = config.policies[0].rules
    assert [service.destination_ports for service in rule.match.services] == [((22, 22),)]


@pytest.mark.parametrize(
    ("move", "order"),
    [
        ("move 1 bottom", ["2", "3", "1"]),
        ("move 3 before 1", ["3", "1", "2"]),
        ("move 1 after 2", ["2", "1", "3"]),
        ("move 9 top", ["1", "2", "3"]),
    ],
)
def test_moves_change_the_order(move: str, order: list[str]) -> None:
    rules = "".join(RULE.replace("id 1", f"id {n}") for n in (1, 2, 3))
    config = VENDOR.parse(BOOK + rules + f"policy-global\n  {move}\nexit\n")
    assert [rule.name for rule in config.policies[0].rules] == order


def test_a_rule_with_a_line_that_nobody_knows_covers_nothing() -> None:
    config = VENDOR.parse(BOOK + RULE.replace("exit\n", "  only-on-sundays 5\nexit\n"))
    rule = config.policies[0].rules[0]
    assert rule.match.conditions == ("only-on-sundays 5",)
    assert [unparsed.text for unparsed in config.unparsed] == ["only-on-sundays 5"]


def test_exclusions_of_exclusions_are_taken_away_inside_out() -> None:
    text = """address "a"
  ip 10.0.0.0/24
  exclude ip 10.0.0.0/25
exit
address "b"
  ip 10.0.0.0/16
  exclude member "a"
exit
rule id 1
  action deny
  src-addr "b"
  dst-addr "Any"
  service "Any"
exit
"""
    expected = AddressSet.of("10.0.0.0/16").minus(AddressSet.of("10.0.0.128/25"))
    assert VENDOR.parse(text).policies[0].rules[0].match.source == expected


def test_a_group_that_holds_itself_is_survived() -> None:
    text = 'address "a"\n  member "b"\n  ip 10.0.0.1/32\nexit\naddress "b"\n  member "a"\n  exclude member "b"\nexit\n'
    assert VENDOR.parse(text).groups[0].members == ("b", "ip 10.0.0.1/32")


def test_counters_under_a_vsys_prompt_are_those_of_the_vsys() -> None:
    text = "".join(
        f"SG{mode}# show policy hit-count id 3\nPolicy id 3 is hit {hits} times\n"
        for mode, hits in (("(vsys-a)(config)", 12), ("(config)", 0))
    )
    sample = VENDOR.counters(text, None)
    assert sample is not None
    assert [(hit.policy, hit.hits) for hit in sample.hits] == [("vsys-a/policy-global", 12), ("policy-global", 0)]
    assert sample.hostname == "SG"


LINE = (
    "<190>2026-11-30 05:00:{s:02} SG6000 1234(root) 44243622 Traffic@FLOW: SESSION: 10.0.0.1:1->10.0.0.2:443(TCP), "
    "vr trust-vr, policy {n}, user -@-, {event}\n"
)


def test_traffic_logs_count_sessions_once() -> None:
    assert VENDOR.rule_uses is not None
    text = "".join(
        LINE.format(s=s, n=n, event=event)
        for s, n, event in [
            (1, 3, "session start"),
            (2, 3, "session end"),
            (3, 3, "session start"),
            (4, 9, "policy deny"),
            (5, 0, "policy deny"),
        ]
    )
    uses = VENDOR.rule_uses(text + "Traffic@FLOW: noise\n")
    assert [(use.policy, use.key, use.sessions) for use in uses] == [("policy-global", "3", 2), ("policy-global", "9", 1)]
    assert (uses[0].first_at, uses[0].last_at) == (datetime(2026, 11, 30, 5, 0, 1), datetime(2026, 11, 30, 5, 0, 3))  # noqa: DTZ001
