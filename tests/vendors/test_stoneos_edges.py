"""StoneOS: what golden cases cannot say: lost `exit`s, flat text, pasted sessions, one-line rules, `no`, moves, logs."""

from __future__ import annotations

from datetime import datetime

import pytest

from policyhub.domain.addresses import ANY, AddressSet
from policyhub.domain.rules import Action, Rule
from policyhub.domain.services import ANY_SERVICE
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


def rule_with(*lines: str, book: str = BOOK) -> Rule:
    (rule,) = VENDOR.parse(book + "rule id 1\n" + "".join(f"  {line}\n" for line in lines) + "exit\n").policies[0].rules
    return rule


def test_unknown_services_and_hosts_are_unresolved_and_bound_nothing() -> None:
    rule = rule_with("action permit", 'src-host "a.example.com"', "src-ip 10.0.0.0/8", 'service "HTTP"', 'service "nothing"')
    assert rule.match.unresolved == ("a.example.com", "nothing")
    assert rule.match.source == ANY
    assert rule.match.services == (ANY_SERVICE,)


def test_no_line_for_a_side_means_everybody() -> None:
    match = rule_with("action deny").match
    assert (match.source, match.destination, match.services) == (ANY, ANY, (ANY_SERVICE,))


@pytest.mark.parametrize(
    ("line", "protocols", "ports"),
    [
        ("service-rule icmp type 8", (1, 1), (2048, 2303)),
        ("service-rule icmp type 3 code 1 4", (1, 1), (769, 772)),
        ("service-rule icmpv6 type 128 code 0", (58, 58), (32768, 32768)),
        ("service-rule protocol 47", (47, 47), (0, 65535)),
        ("service-rule sctp dst-port 90 80", (132, 132), (80, 90)),
    ],
)
def test_service_rules_of_every_kind(line: str, protocols: tuple[int, int], ports: tuple[int, int]) -> None:
    (service,) = rule_with("action permit", line).match.services
    assert (service.protocols, service.destination_ports) == ((protocols,), (ports,))


@pytest.mark.parametrize(
    ("switch", "action", "own", "logged"),
    [
        ("session-start on", "permit", "", True),
        ("session-end off", "permit", "log session-end", False),
        ("policy-deny on", "deny", "", True),
        ("policy-deny on", "permit", "", False),
        ("session-start off", "deny", "log policy-deny", True),
    ],
)
def test_the_global_log_switch_goes_first(switch: str, action: str, own: str, logged: bool) -> None:
    rule = RULE.replace("action permit", f"action {action}").replace("exit\n", f"  {own}\nexit\n" if own else "exit\n")
    config = VENDOR.parse(BOOK + rule + f"policy-global\n  global-policy-log {switch}\nexit\n")
    assert config.policies[0].rules[0].logged is logged
    assert config.unparsed == ()


def test_odd_lines_of_policy_global_and_groups_are_shown() -> None:
    text = BOOK + RULE + "policy-global\n  quux 1\nexit\npolicy-group g\n  rule 1\n  quux 2\n  disable\nexit\n"
    config = VENDOR.parse(text)
    assert [unparsed.text for unparsed in config.unparsed] == ["quux 1", "quux 2"]
    assert config.policies[0].notes == ("policy-group g (disabled): 1",)
    assert config.policies[0].rules[0].enabled is False


NETWORK = """zone "inside"
  vrouter "vr2"
exit
zone "outside"
  vrouter "trust-vr"
exit
interface ethernet0/1
  zone "inside"
  ip address 10.0.0.1/24
  ipv6 address 2001:db8::1/64
  mtu 9000
  description "to core"
exit
interface ethernet0/2.7
  zone "outside"
  ip address dhcp
  shutdown
exit
interface ethernet0/3
  ip address 10.9.9.9 255.0.255.0
exit
ip vrouter "vr2"
  ip route 10.0.0.0/8 ethernet0/1 10.0.0.254 50
  ip route 10.1.0.0 255.255.0.0 null0
  ip route 10.2.0.0/16 trust-vr
  ip route nonsense 1.1.1.1
exit
"""


def test_interfaces_and_routes_know_their_virtual_router() -> None:
    config = VENDOR.parse(NETWORK)
    one, two, three = config.interfaces
    assert (one.vrf, one.addresses, one.mtu, one.description) == ("vr2", ("10.0.0.1/24", "2001:db8::1/64"), 9000, "to core")
    assert (two.vrf, two.addresses, two.enabled, two.parent) == ("", (), False, "ethernet0/2")
    assert three.addresses == ()
    assert [(r.prefix, r.interface, r.next_hop, r.distance, r.discard, r.vrf) for r in config.routes] == [
        ("10.0.0.0/8", "ethernet0/1", "10.0.0.254", 50, False, "vr2"),
        ("10.1.0.0/16", "", "", None, True, "vr2"),
        ("10.2.0.0/16", "trust-vr", "", None, False, "vr2"),
    ]
    assert [unparsed.text for unparsed in config.unparsed] == ["ip address 10.9.9.9 255.0.255.0", "ip route nonsense 1.1.1.1"]


def test_odd_lines_of_objects_are_shown_and_leave_the_name_open() -> None:
    text = """address "bad"
  ip 10.0.0.0/8
  ip nonsense
exit
address "wild"
  wildcard 10.0.0.1 255.0.0.255
  member "any"
exit
service "bad"
  tcp dst-port 80
  tcp dst-port x
exit
servgroup "g"
  service "HTTP"
  service "web"
  quux
exit
schedule "s"
  absolute end 12/31/2024 23:59
  absolute end 06/30/2025 23:59
  absolute end 13/45/2025 23:59
  quux
exit
"""
    config = VENDOR.parse(BOOK + text)
    assert [unparsed.line for unparsed in config.unparsed] == [9, 17, 22, 27, 28]
    assert [(one.name, one.addresses) for one in config.addresses] == [("net", AddressSet.of("10.0.0.0/24")), ("bad", None)]
    assert config.schedules[0].expires == "2025-06-30T23:59"
    match = rule_with("action permit", 'src-addr "bad"', 'service "g"', book=BOOK + text).match
    assert match.unresolved == ("bad",)
    assert {service.destination_ports for service in match.services} == {((80, 81),)}


def test_a_table_row_needs_its_heading_and_an_action() -> None:
    row = "1   6  ai  dmz  a b  Any  svc  Any  PERMIT 33\n"
    assert VENDOR.counters(row, None) is None
    sample = VENDOR.counters("Most hit policy rules:\n" + row + "2   7  x  y  z  Any  s  Any  NONSENSE 1\n", None)
    assert sample is not None
    assert [(hit.key, hit.hits) for hit in sample.hits] == [("6", 33)]


def test_wider_lines_than_a_device_writes_are_unparsed() -> None:
    config = VENDOR.parse(RULE + "rule id 2 description " + "x" * 5000 + "\n")
    assert [unparsed.reason for unparsed in config.unparsed] == ["the line is too long to be configuration"]


def test_a_class_of_any_packets_and_one_without_values() -> None:
    text = (
        "class-map a\n  match any\nexit\nclass-map d\n  match dscp\nexit\nclass-map e\n  match dscp nonsense\nexit\n"
        "qos-profile p\n" + "".join(f"  class {name}\n    police 1000\n  exit\n" for name in "ade") + "exit\n"
    )
    matches = [made.match for made in VENDOR.parse(text).qos_policies[0].classes]
    assert [(one.any, one.dscp, one.other) for one in matches] == [
        (True, None, ()),
        (False, None, ("dscp",)),
        (False, None, ("dscp nonsense",)),
    ]


def test_a_root_pipe_without_a_name_is_not_understood() -> None:
    config = VENDOR.parse("qos-engine first\n  root-pipe\n    pipe-map\n    exit\n  exit\nexit\n")
    assert [line.text for line in config.unparsed] == ["root-pipe", "pipe-map"]


def test_addresses_with_a_number_and_masks_in_dots() -> None:
    book = 'address id 5 "X"\n  ip 10.0.0.0/255.255.0.0\nexit\naddress id 6\n  ip 10.0.0.1/32\nexit\n'
    assert rule_with("action permit", 'src-addr "X"', 'dst-addr "id"', book=book).match.source == AddressSet.of("10.0.0.0/16")
    assert [one.name for one in VENDOR.parse(book).addresses] == ["X", "id"]


def test_a_range_over_two_families_is_none() -> None:
    config = VENDOR.parse('address "X"\n  range 10.0.0.9 2001:db8::1\nexit\n')
    assert ([line.line for line in config.unparsed], config.addresses[0].addresses) == ([2], None)


def test_a_line_that_no_group_knows_does_not_hide_the_next() -> None:
    config = VENDOR.parse(BOOK + 'servgroup "g"\n  quux\n  description "x"\n  service "web"\nexit\n')
    assert ([line.text for line in config.unparsed], config.groups[0].members) == (["quux"], ("web",))


def test_any_zone_is_no_zone() -> None:
    match = rule_with("action permit", 'src-zone "Any"', 'dst-zone "dmz"').match
    assert (match.source_zones, match.destination_zones) == ((), ("dmz",))


def test_logs_of_a_vsys_and_of_two_devices_stay_apart() -> None:
    assert VENDOR.rule_uses is not None
    line = LINE.format(s=1, n=3, event="session end")
    text = line + line.replace("(root)", "(vsys-a)") + line.replace("SG6000", "SG6001") + line.replace("1234(root) ", "")
    uses = VENDOR.rule_uses(text)
    assert [(use.policy, use.hostname, use.sessions) for use in uses] == [
        ("policy-global", "SG6000", 2),
        ("vsys-a/policy-global", "SG6000", 1),
        ("policy-global", "SG6001", 1),
    ]


def test_a_session_of_a_user_without_privilege_reads_like_a_file() -> None:
    config = VENDOR.parse("SG-6000> show configuration\n" + BOOK + RULE + "SG-6000>\n")
    assert ([rule.name for rule in config.policies[0].rules], config.unparsed) == (["1"], ())


def test_an_exit_too_many_ends_nothing() -> None:
    config = VENDOR.parse("exit\n" + BOOK + "exit\nexit\n" + RULE)
    assert [rule.name for rule in config.policies[0].rules] == ["1"]


def test_counters_behind_a_line_that_no_device_prints() -> None:
    text = "Policy id 3 is hit 12 times\nSG# " + "x" * 9_000 + "\n"
    sample = VENDOR.counters(text, None)
    assert sample is not None and (sample.hostname, sample.hits[0].hits) == ("", 12)
