"""Junos: class of service, filters and NAT in the forms that golden cases leave out."""

from __future__ import annotations

import pytest

from policyhub.domain.addresses import AddressSet
from policyhub.domain.device_config import DeviceConfig
from policyhub.domain.nat import NatRule
from policyhub.domain.qos import Marker, QosClass, QosPolicy
from policyhub.domain.rules import Match
from policyhub.vendors.juniper_junos import VENDOR
from tests.vendors.model_json import service

COS = "set class-of-service "
FILTER = "set firewall family inet filter F term t "


def parse(*lines: str) -> DeviceConfig:
    config = VENDOR.parse("\n".join(lines) + "\n")
    assert config.unparsed == ()
    return config


def match(*lines: str, family: str = "inet") -> Match:
    words = f"set firewall family {family} filter F term t from "
    policy = parse(*(words + line for line in lines)).policy("F")
    assert policy is not None
    return policy.rules[0].match


def services(*lines: str, family: str = "inet") -> list[str]:
    return [service(found) for found in match(*lines, family=family).services]


def qos(config: DeviceConfig, name: str) -> QosPolicy:
    return next(policy for policy in config.qos_policies if policy.name == name)


def classes(config: DeviceConfig, name: str) -> dict[str, QosClass]:
    return {found.name: found for found in qos(config, name).classes}


def nat(*lines: str) -> NatRule:
    (rule,) = parse(*lines).nat_rules
    return rule


# filters


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (("protocol icmp", "icmp-type echo-request"), ["icmp 8"]),
        (("protocol icmp", "icmp-type [ 0 3 ]"), ["icmp 0,3"]),
        (("protocol icmp", "icmp-type 3", "icmp-code fragmentation-needed"), ["icmp 3:4"]),
        (("protocol icmp", "icmp-type 0-2"), ["icmp 0-2"]),
        (("protocol icmp", "icmp-type-except 1-255"), ["icmp 0"]),
        (("protocol icmp", "icmp-type 3", "icmp-code-except 1-255"), ["icmp 3:0"]),
        (("protocol tcp", "source-port-except 0-1023"), ["tcp from 1024-65535"]),
        (("protocol tcp", "destination-port [ ssh 8000-8010 ]"), ["tcp 22,8000-8010"]),
        (("protocol [ udp ospf ]",), ["udp", "proto 89"]),
        (("protocol-except [ tcp udp ]", "protocol [ tcp icmp ]"), ["icmp"]),
        (("protocol 50-51",), ["proto 50", "proto 51"]),
    ],
)
def test_services_of_a_term(lines: tuple[str, ...], expected: list[str]) -> None:
    assert services(*lines) == expected


def test_icmp_of_a_filter_for_ipv6_is_icmp_of_ipv6() -> None:
    assert services("next-header icmp6", "icmp-type neighbor-solicit", family="inet6") == ["icmp6 135"]


@pytest.mark.parametrize(
    ("line", "marks"),
    [
        ("dscp [ ef 26 ]", {46, 26}),
        ("dscp 101110", {46}),
        ("dscp 0x2e", {46}),
        ("precedence critical-ecp", set(range(40, 48))),
        ("precedence 0", set(range(8))),
        ("dscp-except [ 0 1 ]", set(range(2, 64))),
    ],
)
def test_marks_of_a_term(line: str, marks: set[int]) -> None:
    assert match(line).dscp == marks


@pytest.mark.parametrize(
    "line", ["dscp quux", "precedence 8", "destination-port 70000", "source-address 10.0.0.0/33", "protocol quux"]
)
def test_a_value_that_is_none_is_unparsed_and_a_condition(line: str) -> None:
    config = VENDOR.parse(f"{FILTER}from {line}\n{FILTER}then accept\n")
    assert [unparsed.line for unparsed in config.unparsed] == [1]
    assert config.policies[0].rules[0].match.conditions == (line,)


def test_scattered_masks_are_expanded() -> None:
    assert match("source-address 10.0.0.1/255.255.254.255").source == AddressSet.of("10.0.0.1", "10.0.1.1")


def test_prefix_lists_are_read_with_their_exceptions() -> None:
    lists = ("set policy-options prefix-list all 10.0.0.0/8", "set policy-options prefix-list part 10.1.0.0/16")
    both = (
        parse(*lists, FILTER + "from source-prefix-list all", FILTER + "from source-prefix-list part except").policies[0].rules[0]
    )
    assert both.match.source == AddressSet.of("10.0.0.0/8").minus(AddressSet.of("10.1.0.0/16"))
    assert both.references == ("all", "part")
    alone = parse(*lists, FILTER + "from source-prefix-list part except").policies[0].rules[0].match
    assert alone.source == AddressSet.of("0.0.0.0/0").minus(AddressSet.of("10.1.0.0/16"))
    assert alone.conditions == ("source-prefix-list part except",)
    gone = parse(FILTER + "from destination-prefix-list gone").policies[0].rules[0].match
    assert (gone.unresolved, gone.destination.is_any4) == (("gone",), True)


def test_a_prefix_list_may_follow_a_path_through_the_configuration() -> None:
    config = parse(
        'set policy-options prefix-list own apply-path "interfaces <*> unit <*> family inet address <10.*>"',
        "set interfaces ge-0/0/0 unit 0 family inet address 10.0.0.1/24",
        "set interfaces ge-0/0/1 unit 0 family inet address 192.0.2.1/24",
    )
    assert config.groups[0].members == ("10.0.0.1/24",)


def test_what_either_side_may_hold_is_a_condition() -> None:
    found = match("address 10.0.0.0/8", "port 53", "tcp-flags syn")
    assert found.conditions == ("address 10.0.0.0/8", "port 53", "tcp-flags syn")
    assert found.source.is_any4 and found.destination.is_any4


def test_a_filter_that_asks_another_one_comes_back() -> None:
    config = parse(FILTER + "filter G", "set firewall family inet filter G term x then discard")
    rule = config.policies[0].rules[0]
    assert (rule.action, rule.target, rule.returns) == ("continue", "G", True)


def test_filters_of_vlans_tables_and_switched_ports_are_bound() -> None:
    config = parse(
        "set firewall family ethernet-switching filter L2 term x then accept",
        "set firewall family inet filter L3 term x then accept",
        "set vlans users forwarding-options filter input L2",
        "set interfaces ge-0/0/3 unit 0 family ethernet-switching filter input L2",
        "set forwarding-options family inet filter input L3",
    )
    found = {policy.name: [(b.interface, b.direction) for b in policy.bindings] for policy in config.policies}
    assert sorted(found["L2"]) == [("ge-0/0/3.0", "in"), ("vlan users", "in")]
    assert found["L3"] == [("forwarding table", "in")]


def test_a_filter_of_one_name_in_two_families_keeps_both() -> None:
    config = parse(FILTER + "then accept", "set firewall family inet6 filter F term t then discard")
    assert [(policy.name, policy.family) for policy in config.policies] == [("F", 4), ("inet6/F", 6)]


def test_policers_by_percent_and_with_colours() -> None:
    config = parse(
        "set firewall policer P if-exceeding bandwidth-percent 20",
        "set firewall policer P if-exceeding burst-size-limit 1m",
        "set firewall policer P then loss-priority high",
        "set firewall three-color-policer T two-rate committed-information-rate 5m",
        "set firewall three-color-policer T two-rate committed-burst-size 100k",
        FILTER + "then policer P",
        "set firewall family inet filter F term u then three-color-policer two-rate T",
        "set firewall family inet filter F term u then traffic-class cs2",
    )
    found = classes(config, "F")
    one, other = found["t"].policer, found["u"].policer
    assert one is not None and (one.percent, one.burst_bytes, one.exceed_action) == (20.0, 1_000_000, "loss-priority high")
    assert other is not None and (other.rate_bps, other.burst_bytes) == (5_000_000, 100_000)
    assert found["u"].marker == Marker(dscp=16)
    assert found["t"].match.any


# class of service


def test_forwarding_classes_by_queue_and_by_class() -> None:
    config = parse(
        COS + "forwarding-classes queue 5 gold",
        COS + "forwarding-classes class roce queue-num 3 no-loss pfc-priority 3",
        COS + "classifiers dscp C forwarding-class gold loss-priority low code-points [ ef cs5 ]",
        COS + "classifiers dscp C forwarding-class roce loss-priority high code-points 011010",
        COS + "classifiers dscp C forwarding-class best-effort loss-priority low code-points be",
    )
    found = classes(config, "classifier dscp C")
    assert {name: one.marker for name, one in found.items()} == {
        "gold low": Marker(queue=5), "roce high": Marker(queue=3), "best-effort low": Marker(queue=0),
    }  # fmt: skip
    assert found["gold low"].match.dscp == {46, 40}
    assert found["roce high"].match.dscp == {26}
    assert [(one.name, one.kind, one.entries) for one in config.qos_maps] == [
        ("forwarding-classes", "pfc-priority-to-queue", ((3, 3),))
    ]
    assert config.dscp_maps == ()


def test_classes_by_priority_bits_precedence_and_exp() -> None:
    config = parse(
        COS + "forwarding-classes queue 4 gold",
        COS + "code-point-aliases ieee-802.1 top 110",
        COS + "classifiers ieee-802.1 P forwarding-class gold loss-priority low code-points [ top 101 ]",
        COS + "classifiers inet-precedence I forwarding-class gold loss-priority low code-points 101",
        COS + "classifiers exp E import default",
        COS + "classifiers exp E forwarding-class gold loss-priority low code-points 001",
        COS + "interfaces ge-0/0/1 unit 0 classifiers ieee-802.1 P",
    )
    assert classes(config, "classifier ieee-802.1 P")["gold low"].match.pcp == {5, 6}
    assert classes(config, "classifier inet-precedence I")["gold low"].match.dscp == set(range(40, 48))
    exp = classes(config, "classifier exp E")
    assert exp["gold low"].match.other == ("exp 1",) and exp["import default"].match.other == ("import default",)
    assert [(one.kind, one.entries, one.interfaces) for one in config.qos_maps] == [
        ("pcp-to-class", ((5, 4), (6, 4)), ("ge-0/0/1.0",))
    ]
    assert [(one.interface, one.mode) for one in config.trusts] == [("ge-0/0/1.0", "pcp")]


def test_a_classifier_that_imports_another_one_serves_its_marks_too() -> None:
    config = parse(
        COS + "classifiers dscp BASE forwarding-class best-effort loss-priority low code-points cs1",
        COS + "classifiers dscp C import BASE",
        COS + "classifiers dscp C forwarding-class network-control loss-priority low code-points cs6",
        COS + "schedulers hi priority strict-high",
        COS + "schedulers lo transmit-rate percent 10",
        COS + "scheduler-maps M forwarding-class network-control scheduler hi",
        COS + "scheduler-maps M forwarding-class best-effort scheduler lo",
    )
    level = {one.name: one.level for one in config.dscp_maps}
    assert level == {"BASE": ((8, 0),), "C": ((8, 0), (48, 4))}


def test_a_class_that_two_maps_serve_differently_has_no_level() -> None:
    config = parse(
        COS + "classifiers dscp C forwarding-class best-effort loss-priority low code-points be",
        COS + "schedulers hi priority high",
        COS + "schedulers lo priority low",
        COS + "scheduler-maps M forwarding-class best-effort scheduler hi",
        COS + "scheduler-maps N forwarding-class best-effort scheduler lo",
    )
    assert config.dscp_maps == ()


def test_queues_of_a_scheduler_map() -> None:
    config = parse(
        COS + "schedulers s transmit-rate 20m rate-limit",
        COS + "schedulers s priority strict-high",
        COS + "schedulers s drop-profile-map loss-priority low protocol any drop-profile soft",
        COS + "schedulers s drop-profile-map loss-priority high protocol any drop-profile hard",
        COS + "schedulers s explicit-congestion-notification",
        COS + "schedulers r transmit-rate remainder 30",
        COS + "schedulers e excess-rate percent 40",
        COS + "schedulers e shaping-rate 5g",
        COS + "drop-profiles soft interpolate fill-level [ 50 80 ]",
        COS + "drop-profiles soft interpolate drop-probability [ 0 60 ]",
        COS + "drop-profiles hard fill-level 70 drop-probability 90",
        COS + "scheduler-maps M forwarding-class best-effort scheduler s",
        COS + "scheduler-maps M forwarding-class assured-forwarding scheduler r",
        COS + "scheduler-maps M forwarding-class network-control scheduler e",
        COS + "interfaces xe-0/0/0 scheduler-map M",
    )
    found = classes(config, "M")
    queue = found["best-effort"].queue
    assert queue is not None
    assert (queue.is_strict_priority, queue.guaranteed_bps, queue.ceiling_bps, queue.ecn) == (True, 20_000_000, 20_000_000, True)
    assert (queue.early_drop, queue.drop_max_percent) == ("soft,hard", 90.0)
    rest, excess = found["assured-forwarding"].queue, found["network-control"].queue
    assert rest is not None and (rest.remaining_percent, rest.ceiling_bps) == (30.0, None)
    assert excess is not None and (excess.remaining_percent, excess.ceiling_bps) == (40.0, 5_000_000_000)
    assert found["network-control"].shaper is not None
    assert [(one.interface, one.direction) for one in qos(config, "M").attachments] == [("xe-0/0/0", "out")]


def test_a_map_without_its_scheduler_says_so() -> None:
    config = VENDOR.parse(COS + "scheduler-maps M forwarding-class best-effort scheduler gone\n")
    assert [unparsed.reason for unparsed in config.unparsed] == ["there is no scheduler gone"]


def test_profiles_sets_rates_and_fixed_classes_of_ports() -> None:
    config = parse(
        "set interfaces et-0/0/0 mtu 9216",
        "set interfaces et-0/0/1 mtu 9216",
        COS + "traffic-control-profiles TCP scheduler-map M",
        COS + "traffic-control-profiles TCP shaping-rate 10g",
        COS + "traffic-control-profiles TCP guaranteed-rate percent 30",
        COS + "interfaces et-* forwarding-class-set lossless output-traffic-control-profile TCP",
        COS + "interfaces et-0/0/1 shaping-rate 1g",
        COS + "interfaces et-0/0/1 unit 0 forwarding-class network-control",
        COS + "host-outbound-traffic forwarding-class network-control",
        COS + "host-outbound-traffic dscp-code-point 110000",
        COS + "host-outbound-traffic ieee-802.1 default 111",
    )
    profile = qos(config, "TCP")
    assert [one.interface for one in profile.attachments] == ["et-0/0/0", "et-0/0/1"]
    only = profile.classes[0]
    assert only.child_policy == "M" and only.shaper is not None and only.shaper.rate_bps == 10_000_000_000
    assert only.queue is not None and only.queue.guaranteed_percent == 30.0
    shaped = qos(config, "shaping-rate et-0/0/1").classes[0].shaper
    assert shaped is not None and shaped.rate_bps == 1_000_000_000
    assert classes(config, "forwarding-class network-control")["network-control"].marker == Marker(queue=3)
    assert ("et-0/0/1.0", "none") in [(one.interface, one.mode) for one in config.trusts]
    assert classes(config, "host-outbound-traffic")["host-outbound-traffic"].marker == Marker(dscp=48, pcp=7, queue=3)


def test_rewrite_rules_of_priority_bits() -> None:
    config = parse(
        COS + "forwarding-classes queue 4 gold",
        COS + "rewrite-rules ieee-802.1 R forwarding-class gold loss-priority low code-point 101",
        COS + "rewrite-rules ieee-802.1 R import default",
        COS + "interfaces ge-0/0/1 unit 0 rewrite-rules ieee-802.1 R",
    )
    assert classes(config, "rewrite ieee-802.1 R")["gold low"].marker == Marker(pcp=5)
    assert [(one.kind, one.entries) for one in config.qos_maps] == [("class-to-pcp", ((4, 5),))]


def test_pause_by_code_point() -> None:
    config = parse(
        COS + "congestion-notification-profile N input dscp code-point 011010 pfc",
        COS + "congestion-notification-profile N output ieee-802.1 code-point 011 flow-control-queue [ 3 4 ]",
        COS + "congestion-notification-profile N pfc-watchdog",
        COS + "interfaces et-0/0/5 congestion-notification-profile N",
    )
    (port,) = config.losslessness
    assert (port.interface, port.enabled, port.priorities, port.watchdog) == ("et-0/0/5", True, {3}, True)
    assert [(one.kind, one.entries) for one in config.qos_maps] == [("pfc-priority-to-queue", ((3, 3), (3, 4)))]


@pytest.mark.parametrize(
    "line", ["code-point-aliases dscp x 12", "classifiers dscp C forwarding-class f loss-priority low code-points zz"]
)
def test_a_code_point_that_is_none_is_unparsed(line: str) -> None:
    assert [unparsed.line for unparsed in VENDOR.parse(f"{COS}{line}\n").unparsed] == [1]


# operands, NAT, interfaces


def test_applications_with_rpc_icmp_or_an_unknown_word() -> None:
    text = (
        "set applications application rpc protocol tcp\nset applications application rpc rpc-program-number 100000\n"
        "set applications application six icmp6-type 128\nset applications application code protocol icmp\n"
        "set applications application code icmp-code 4\nset applications application odd quux 7\n"
    )
    config = VENDOR.parse(text)
    found = {one.name: [service(part) for part in one.services] for one in config.services}
    assert (found["rpc"], found["six"], found["odd"]) == ([], ["icmp6 128"], [])
    assert found["code"][0].startswith("icmp 0:4,1:4,")
    assert [unparsed.line for unparsed in config.unparsed] == [6]


def test_addresses_that_are_none_or_too_scattered() -> None:
    text = (
        "set security address-book global address bad 10.0.0.300\n"
        "set security address-book global address far wildcard-address 10.0.0.1/0.255.0.255\n"
        "set security address-book global address some ip-prefix 10.0.0.0/24\n"
    )
    config = VENDOR.parse(text)
    assert {one.name: one.addresses for one in config.addresses} == {
        "bad": None, "far": None, "some": AddressSet.of("10.0.0.0/24"),
    }  # fmt: skip
    assert {unparsed.line for unparsed in config.unparsed} == {1, 2}


def test_schedulers_with_dates_expire() -> None:
    config = parse(
        "set schedulers scheduler trip start-date 2026-07-01.06:00 stop-date 2026-07-14.20:00",
        "set schedulers scheduler trip description x",
    )
    assert [(one.name, one.text, one.expires) for one in config.schedules] == [
        ("trip", "start-date 2026-07-01.06:00 stop-date 2026-07-14.20:00", "2026-07-14T20:00")
    ]


def test_nat_by_application_ports_and_protocol() -> None:
    words = "set security nat destination rule-set R "
    pool = "set security nat destination pool P address 10.0.0.5/32 port 8080"
    then = words + "rule r then destination-nat pool P"
    by_name = nat(pool, words + "from zone u", words + "rule r match application junos-http", then)
    assert [service(one) for one in by_name.match.services] == ["tcp 80"]
    assert (by_name.translated_destination, by_name.translated_service) == ("P", "8080")
    assert by_name.notes == ("pool P: 10.0.0.5/32 port 8080",)
    by_port = nat(pool, words + "rule r match protocol tcp", words + "rule r match destination-port 100 to 200", then)
    assert [service(one) for one in by_port.match.services] == ["tcp 100-200"]
    unknown = nat(pool, words + "rule r match application gone", words + "rule r match destination-address-name x", then)
    assert (unknown.match.unresolved, unknown.match.services[0].is_any) == (("x", "gone"), True)


def test_pools_that_are_elsewhere_and_addresses_that_persist() -> None:
    words = "set security nat source rule-set R "
    rule = nat(
        words + "from interface ge-0/0/1.0", words + "to routing-instance red", words + "rule r match source-address 0.0.0.0/0",
        words + "rule r then source-nat pool P", words + "rule r then source-nat pool persistent-nat permit any-remote-host",
    )  # fmt: skip
    assert rule.translated_source == "P"
    assert rule.match.conditions == ("from interface ge-0/0/1.0", "to routing-instance red")
    assert rule.notes == ("pool P: not in this text", "persistent-nat permit any-remote-host")


def test_static_nat_by_name_with_ports_and_between_families() -> None:
    words = "set security nat static rule-set R rule r "
    named = nat(
        words + "match destination-address 203.0.113.9/32", words + "then static-nat prefix-name web mapped-port 80 to 90"
    )
    assert (named.translated_destination, named.translated_service, named.references) == ("web", "80-90", ("web",))
    across = nat(words + "match destination-address 64:ff9b::/96", words + "then static-nat inet")
    assert across.translated_destination == "inet"


def test_interface_ranges_and_static_routes_of_instances() -> None:
    config = parse(
        "set interfaces interface-range R member ge-0/0/[0-1]",
        "set interfaces interface-range R member-range ge-0/1/0 to ge-0/1/1",
        "set interfaces interface-range R mtu 9000",
        "set interfaces ge-0/0/0 ether-options speed 10g",
        "set interfaces ge-0/0/1 disable",
        "set routing-instances red interface ge-0/0/0.5",
        "set interfaces ge-0/0/0 unit 5 family inet address 10.0.0.1/24",
        "set routing-instances red routing-options static route 10.9.0.0/16 next-table inet.0",
        "set routing-options rib inet6.0 static route ::/0 next-hop 2001:db8::1",
        "set routing-options static route 10.8.0.0/16 qualified-next-hop 10.0.0.7 preference 9",
        "set routing-options static route 10.7.0.0/16 reject",
        "set routing-options static route 10.6.0.0/16 next-hop st0.1",
    )
    ports = {port.name: port for port in config.interfaces}
    assert {name: port.mtu for name, port in ports.items() if port.mtu} == dict.fromkeys(
        ("ge-0/0/0", "ge-0/0/1", "ge-0/1/0", "ge-0/1/1"), 9000
    )
    assert (ports["ge-0/0/0"].speed_bps, ports["ge-0/0/1"].enabled, ports["ge-0/0/0.5"].vrf) == (10_000_000_000, False, "red")
    routes = {
        route.prefix: (route.next_hop, route.interface, route.vrf, route.distance, route.discard) for route in config.routes
    }
    assert routes == {
        "10.9.0.0/16": ("inet.0", "", "red", None, False),
        "::/0": ("2001:db8::1", "", "", None, False),
        "10.8.0.0/16": ("10.0.0.7", "", "", 9, False),
        "10.7.0.0/16": ("", "", "", None, True),
        "10.6.0.0/16": ("", "st0.1", "", None, False),
    }
