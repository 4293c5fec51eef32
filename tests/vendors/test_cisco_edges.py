"""Edges of the Cisco grammars that a whole configuration rarely shows: bounds, units, spellings."""

from __future__ import annotations

import pytest

from policyhub.domain.addresses import ANY4, AddressSet
from policyhub.domain.qos import Policer, QosClass
from policyhub.domain.rules import Match, Rule
from policyhub.domain.services import Service
from policyhub.vendors.cisco_asa import VENDOR as ASA
from policyhub.vendors.cisco_ios import VENDOR as IOS


def ios_class(*actions: str) -> tuple[QosClass, list[str]]:
    config = IOS.parse("policy-map P\n class X\n" + "".join(f"  {action}\n" for action in actions))
    return config.qos_policies[0].classes[0], [unparsed.reason for unparsed in config.unparsed]


def asa_rule(entry: str) -> Rule | str:
    """The rule, or why there is none."""
    config = ASA.parse(f"access-list A extended {entry}\n")
    return config.policies[0].rules[0] if config.policies[0].rules else config.unparsed[0].reason


def asa_match(entry: str) -> Match:
    rule = asa_rule(entry)
    assert isinstance(rule, Rule), rule
    return rule.match


@pytest.mark.parametrize(
    ("number", "is_standard"),
    [(1, True), (99, True), (100, False), (199, False), (1300, True), (1999, True), (2000, False), (2699, False)],
)
def test_the_number_of_an_ios_list_tells_its_form(number: int, is_standard: bool) -> None:
    entry = "permit 10.0.0.1" if is_standard else "permit ip host 10.0.0.1 any"
    config = IOS.parse(f"access-list {number} {entry}\n")
    assert config.unparsed == () and config.policies[0].rules[0].match.source == AddressSet.of("10.0.0.1")


@pytest.mark.parametrize("number", [0, 200, 299, 700, 1299, 2700])
def test_ios_lists_of_other_numbers_are_unparsed(number: int) -> None:
    config = IOS.parse(f"access-list {number} permit any\n")
    assert config.policies == () and config.unparsed[0].reason == "access lists of this number are not modelled"


@pytest.mark.parametrize(
    ("name", "speed"),
    [
        ("Ethernet0/0", 10**7),
        ("FastEthernet0/1", 10**8),
        ("GigabitEthernet1/0/1", 10**9),
        ("TwoGigabitEthernet1/0/1", 25 * 10**8),
        ("FiveGigabitEthernet1/0/1", 5 * 10**9),
        ("TenGigabitEthernet1/1", 10**10),
        ("TwentyFiveGigE1/0/1", 25 * 10**9),
        ("FortyGigabitEthernet1/1/1", 4 * 10**10),
        ("HundredGigE1/0/1", 10**11),
        ("TwoHundredGigE1/0/1", 2 * 10**11),
        ("FourHundredGigE1/0/1", 4 * 10**11),
        ("Vlan10", None),
    ],
)
def test_speed_of_an_ios_port_by_its_type(name: str, speed: int | None) -> None:
    assert IOS.parse(f"interface {name}\n").interfaces[0].speed_bps == speed


@pytest.mark.parametrize(
    ("name", "speed"),
    [
        ("FastEthernet0", 10**8),
        ("GigabitEthernet0/0", 10**9),
        ("TenGigabitEthernet0/8", 10**10),
        ("FortyGigabitEthernet1", 4 * 10**10),
    ],
)
def test_speed_of_an_asa_port_by_its_type(name: str, speed: int) -> None:
    assert ASA.parse(f"interface {name}\n nameif x\n").interfaces[0].speed_bps == speed
    assert ASA.parse(f"interface {name}\n nameif x\n speed 10\n").interfaces[0].speed_bps == 10**7


@pytest.mark.parametrize(
    ("line", "policer"),
    [
        ("police 8000", Policer(8000)),
        ("police cir 1000000 bc 8000 be 16000", Policer(1_000_000, 8000)),
        ("police cir 1000000 bc 10 ms", Policer(1_000_000, 1250)),
        ("police cir 8000000 bc 500 us", Policer(8_000_000, 500)),
        ("police rate 2 gbps burst 3 mbytes", Policer(2 * 10**9, 3_000_000)),
        ("police cir percent 100", Policer(None, percent=100.0)),
        ("police cir percent 20 bc 300 ms", Policer(None, percent=20.0)),
        (
            "police 64000 exceed-action set-dscp-transmit dscp table T",
            Policer(64000, exceed_action="set-dscp-transmit dscp table T"),
        ),
        ("police cir 64000 pir 128000 bps", Policer(64000)),
        ("police rate 100 pps burst 20 packets", Policer(None)),
        ("police 64000 account user-defined 20", Policer(64000)),
    ],
)
def test_police_spellings(line: str, policer: Policer) -> None:
    found, reasons = ios_class(line)
    assert found.policer == policer and reasons == []


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("police cir percent 101", "'101' is not a percentage (0..100)"),
        ("police 64000 sideways", "'sideways' is not understood here"),
        ("police 64000 exceed-action", "the line ends where what to do is expected"),
        ("set cos 8", "'8' is not a class of service (0..7)"),
        ("set precedence 8", "'8' is not a precedence (0..7)"),
        ("set dscp 64", "'64' is not a dscp"),
        ("priority level 8", "'8' is not a priority level (1..7)"),
        ("priority level 0", "'0' is not a priority level (1..7)"),
        ("bandwidth remaining ratio 65536", "'65536' is not a ratio (1..65535)"),
        ("set qos-group 100", "'100' is not a qos-group (0..99)"),
        ("shape sideways 5", "average or peak is expected"),
        ("queue-buffers ratio", "buffer ratios of a queue are not modelled"),
    ],
)
def test_a_qos_line_out_of_bounds_is_unparsed(line: str, reason: str) -> None:
    assert ios_class(line)[1] == [reason]


def test_the_last_value_in_bounds_is_taken() -> None:
    found, reasons = ios_class(
        "set cos 7", "set precedence 7", "set qos-group 99", "priority level 7 percent 100", "bandwidth remaining ratio 65535"
    )
    assert reasons == []
    assert found.marker is not None and (found.marker.dscp, found.marker.pcp, found.marker.queue) == (56, 7, 99)
    assert found.queue is not None and (found.queue.ceiling_percent, found.queue.remaining_weight) == (100.0, 65535)


def test_ranges_of_class_of_service() -> None:
    config = IOS.parse("class-map C\n match cos 0,5-7\nclass-map D\n match cos 8\npolicy-map P\n class C\n class D\n")
    assert config.qos_policies[0].classes[0].match.pcp == frozenset({0, 5, 6, 7})
    assert [unparsed.line for unparsed in config.unparsed] == [4]


def test_a_policer_does_not_override_the_rate_of_priority() -> None:
    found, _ = ios_class("priority 512", "police 8000")
    assert found.queue is not None and found.queue.ceiling_bps == 512_000


def test_thresholds_per_mark_are_kept_in_order() -> None:
    found, reasons = ios_class("random-detect dscp-based", "random-detect dscp 10 20 40")
    assert reasons == [] and found.queue is not None
    assert found.queue.early_drop == "dscp-based; dscp 10 20 40" and not found.queue.ecn


def test_a_show_output_prints_a_service_group_by_its_bare_name() -> None:
    group = "Service object group WEB\n tcp eq www\n"
    text = group + "Extended IP access list S\n    10 permit WEB 10.0.0.0 0.0.0.255 any\n    20 permit frob 7 any\n"
    config = IOS.parse(text)
    assert config.policies[0].rules[0].match.services == (Service.of(6, ((80, 80),)),)
    assert [unparsed.line for unparsed in config.unparsed] == [5]


def test_a_configured_list_wins_over_the_same_list_in_a_show_output() -> None:
    config = IOS.parse(
        "ip access-list extended X\n permit ip any any\nExtended IP access list X\n    10 deny ip any any (5 matches)\n"
    )
    assert [rule.action for rule in config.policies[0].rules] == ["permit"] and len(config.policies) == 1
    assert config.unparsed == ()


def test_ios_counters_without_numbers_count_as_the_parser_does() -> None:
    listed = "permit 10.0.0.1 (3 matches)\npermit 10.0.0.2\n\ndeny any (1 match)\n"
    text = f"hostname c\nStandard IP access list 7\n{listed}c#\n10 permit x (9 matches)\n"
    sample = IOS.counters(text, None)
    assert sample is not None and sample.hostname == "c"
    assert [(hit.key, hit.hits) for hit in sample.hits] == [("7 10", 3), ("7 20", None), ("7 30", 1)]


@pytest.mark.parametrize(
    "text", ["", "ip access-list extended A\n permit ip any any\n", "access-list A extended permit ip any any\n"]
)
def test_a_configuration_holds_no_counters(text: str) -> None:
    assert IOS.counters(text, None) is None and ASA.counters(text, None) is None


def test_an_inserted_line_of_a_configuration_is_no_counter() -> None:
    text = (
        "access-list A line 1 extended permit ip any any\naccess-list A line 2 extended deny ip any any (hitcnt=4) 0x00c0ffee\n"
    )
    sample = ASA.counters(text, None)
    assert sample is not None and [(hit.key, hit.hits) for hit in sample.hits] == [("A deny ip any any", 4)]


def test_the_latest_hit_of_the_members_is_the_last_hit() -> None:
    head = "access-list A; 2 elements; name hash: 0x00000001\n"
    long = "access-list A line 1 extended permit ip object-group G any (hitcnt=9) 0x0000000a\n"
    brief = "0000000b 0000000a 00000004 6745a100\n0000000c 0000000a 00000005 67459f00\n0000000d 0000000a 00000000 00000000\n"
    sample = ASA.counters(head + long + head + brief, None)
    assert sample is not None and sample.hits[0].last_hit_at is not None
    assert sample.hits[0].last_hit_at.isoformat() == "2024-11-26T10:20:48+00:00"
    assert sample.hits[0].hits == 9


@pytest.mark.parametrize(
    ("entry", "logged"),
    [("log", True), ("log 0", True), ("log 7 interval 600", True), ("log disable", False), ("log default", True)],
)
def test_asa_log_options(entry: str, logged: bool) -> None:
    rule = asa_rule(f"permit ip any4 any4 {entry}")
    assert isinstance(rule, Rule) and rule.logged is logged and rule.hit_key == "A permit ip any4 any4"


@pytest.mark.parametrize("entry", ["log 8", "log interval 601", "log interval 0", "log interval"])
def test_asa_log_options_out_of_bounds_are_unparsed(entry: str) -> None:
    assert isinstance(asa_rule(f"permit ip any4 any4 {entry}"), str)


def test_a_range_of_addresses_is_told_from_a_range_of_ports() -> None:
    match = asa_match("permit tcp range 10.1.1.3 10.1.1.4 range 10.1.1.6 10.1.1.7 range 20 21")
    assert (match.source, match.destination) == (AddressSet.of("10.1.1.3-10.1.1.4"), AddressSet.of("10.1.1.6-10.1.1.7"))
    assert match.services == (Service.of(6, ((20, 21),)),)
    assert asa_match("permit tcp any4 range 20 21 any4").services == (Service.of(6, source=((20, 21),)),)


def test_a_name_of_both_kinds_is_read_by_its_place() -> None:
    both = "object-group network X\n network-object host 10.0.0.1\nobject-group service X tcp\n port-object eq 99\n"
    config = ASA.parse(f"{both}access-list A extended permit tcp any4 object-group X object-group X\n")
    match = config.policies[0].rules[0].match
    assert (match.source, match.destination) == (ANY4, AddressSet.of("10.0.0.1"))
    assert match.services == (Service.of(6, ((99, 99),)),)


def test_an_empty_group_matches_nothing() -> None:
    config = ASA.parse("object-group network E\naccess-list A extended permit ip object-group E any4\n")
    assert config.policies[0].rules[0].match.source.is_empty and config.policies[0].rules[0].match.is_exact


def test_asa_criteria_by_precedence() -> None:
    classes = "class-map C\n match precedence 7\nclass-map D\n match precedence 8\n"
    config = ASA.parse(classes + "policy-map P\n class C\n  priority\n class D\n  priority\n")
    assert config.qos_policies[0].classes[0].match.dscp == frozenset(range(56, 64))
    assert [unparsed.line for unparsed in config.unparsed] == [4]


def test_a_reopened_class_and_group_are_merged() -> None:
    classes = "class-map C\n match dscp ef\nclass-map C\n match dscp cs5\n"
    config = IOS.parse(f"{classes}policy-map P\n class C\n  priority\npolicy-map P\n class class-default\n  fair-queue\n")
    assert [c.name for c in config.qos_policies[0].classes] == ["C", "class-default"]
    assert config.qos_policies[0].classes[0].match.dscp == frozenset()  # match-all: ef and cs5 at once is impossible
    assert config.unparsed == ()
