"""IOS XR: the smallest texts that decide a field: who may reach the device, lists and their places, QoS, route policies."""

from __future__ import annotations

from functools import partial

import pytest

from policyhub.domain.rules import Action
from policyhub.vendorkit.registry import REGISTRY
from tests.vendors.corners import each_odd, reasons, whole
from tests.vendors.model_json import readable

VENDOR = REGISTRY.get("cisco_iosxr")
parse = partial(whole, VENDOR)
odd = partial(reasons, VENDOR)
LISTS = (
    "ipv4 access-list A\n 10 permit ipv4 10.0.0.0 0.0.0.255 any\nipv6 access-list A\n 10 permit ipv6 any any\n"
    "ipv4 access-list B\n 10 deny ipv4 any any\n"
)


def bound(text: str) -> list[tuple[str, int, str, str]]:
    """(list, family, place, direction) of every binding."""
    policies = parse(LISTS + text).policies
    return [(p.name, p.family, b.interface, b.direction) for p in policies for b in p.bindings]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("ssh server vrf M ipv4 access-list A ipv6 access-list A", [("A", 4, "ssh vrf M", "local"),
        ("A", 6, "ssh vrf M", "local")]),
        ("telnet vrf default ipv4 server max-servers 5 access-list A", [("A", 4, "telnet vrf default", "local")]),
        ("http server access-group A", [("A", 4, "http", "local")]),
        ("snmp-server community C RO IPv4 A", [("A", 4, "snmp", "local")]),
        ("snmp-server community C RO IPv6 A", [("A", 6, "snmp", "local")]),
        ("snmp-server community C RW SystemOwner A", [("A", 4, "snmp", "local")]),
        ("snmp-server community C RO", []),
        ("snmp-server group G v3 priv IPv4 A", [("A", 4, "snmp", "local")]),
        ("ntp access-group peer A", [("A", 4, "ntp peer", "local")]),
        ("ntp\n access-group vrf M ipv6 serve A\n server 10.0.0.9", [("A", 6, "ntp serve vrf M", "local")]),
        ("line default\n access-class ingress A\n ipv6 access-class egress A", [("A", 4, "line default", "local"),
        ("A", 6, "line default", "out")]),
        ("line template X\n access-class ipv6 ingress A", [("A", 6, "line template X", "local")]),
    ],
)  # fmt: skip
def test_lists_that_guard_the_device(line: str, expected: list[tuple[str, int, str, str]]) -> None:
    assert bound(f"{line}\n") == expected


@pytest.mark.parametrize(
    ("line", "expected", "stages"),
    [
        ("ipv4 access-group A ingress", [("A", 4, "TenGigE0/0/0/0", "in")], 0),
        ("ipv4 access-group A egress hardware-count interface-statistics", [("A", 4, "TenGigE0/0/0/0", "out")], 0),
        ("ipv6 access-group A ingress compress level 3", [("A", 6, "TenGigE0/0/0/0", "in")], 0),
        ("ipv4 access-group common A B ingress", [("A", 4, "TenGigE0/0/0/0", "in"), ("B", 4, "TenGigE0/0/0/0", "in")], 1),
        ("ipv4 access-group common A ingress", [("A", 4, "TenGigE0/0/0/0", "in")], 0),
    ],
)
def test_lists_at_a_port(line: str, expected: list[tuple[str, int, str, str]], stages: int) -> None:
    text = f"interface TenGigE0/0/0/0\n {line}\n"
    assert bound(text) == expected
    assert len(parse(LISTS + text).evaluation) == stages


def test_the_management_plane_lets_in_what_it_names() -> None:
    (first, second) = parse(
        "control-plane\n management-plane\n  inband\n   interface TenGigE0/0/0/0\n    allow SSH peer\n"
        "     address ipv4 10.0.0.0/8\n"
        "     address ipv6 2001:db8::1\n    allow all\n    allow odd\n   interface all\n    allow SNMP\n"
    ).policies
    assert (first.name, first.default, first.purpose) == ("management-plane inband", Action.DENY, "management-plane")
    assert [(r.name, r.action, readable(r.match)) for r in first.rules] == [
        ("management-plane inband 1", Action.PERMIT, {"source": "10.0.0.0/8, 2001:db8::1/128", "services": ["tcp 22"]}),
        ("management-plane inband 2", Action.PERMIT, {}),
        ("management-plane inband 3", Action.PERMIT, {"conditions": ["allow odd"]}),
    ]
    assert (second.name, [b.interface for b in second.bindings]) == ("management-plane inband all", ["all"])
    assert readable(second.rules[0].match.services) == ["udp 161"]


@pytest.mark.parametrize(
    ("line", "shaped"),
    [
        ("shape average 10 mbps", (10_000_000, None, None)),
        ("shape average percent 25", (None, 25, None)),
        ("shape average 10 mbps 20 kbytes", (10_000_000, None, 20_000)),
        ("shape average 10 mbps 2000", (10_000_000, None, 2000)),
        ("shape average 8 mbps 4 ms", (8_000_000, None, 4000)),
        ("shape average 8 mbps 500 us", (8_000_000, None, 500)),
        ("shape average 8 mbps 9 packets", (8_000_000, None, None)),
        ("shape average percent 25 4 ms", (None, 25, None)),
    ],
)
def test_rates_and_bursts_of_shapers(line: str, shaped: tuple[int | None, float | None, int | None]) -> None:
    shaper = parse(f"policy-map P\n class class-default\n  {line}\n").qos_policies[0].classes[0].shaper
    assert shaper and (shaper.rate_bps, shaper.percent, shaper.burst_bytes) == shaped


def test_thresholds_of_early_drops() -> None:
    def queue(line: str) -> tuple[object, ...]:
        made = parse(f"policy-map P\n class class-default\n  {line}\n").qos_policies[0].classes[0].queue
        return (made.early_drop, made.drop_min_bytes, made.drop_max_bytes) if made else ()

    assert queue("random-detect 10 kbytes 2 mbytes") == ("wred", 10_000, 2_000_000)
    assert queue("random-detect 10 ms 20 ms")[1:] == (None, None)


def test_pauses_of_a_line_card() -> None:
    card = "hw-module profile priority-flow-control location 0/1/CPU0\n buffer-internal traffic-class 3 pause-threshold 1\n"
    card += " traffic-class 0\n buffer-extended traffic-class 7\n"
    port = "interface HundredGigE{}\n priority-flow-control mode {}\n"
    config = parse(card + port.format("0/1/0/5", "on") + port.format("0/2/0/5", "on") + port.format("0/1/0/6", "off"))
    told = {one.interface: (one.enabled, one.priorities) for one in config.losslessness}
    assert told == {
        "HundredGigE0/1/0/5": (True, frozenset({0, 3, 7})), "HundredGigE0/2/0/5": (True, None), "HundredGigE0/1/0/6": (False,
         None),
    }  # fmt: skip
    assert odd(card.replace("class 7", "class 8")) == ["4 '8' is not a traffic class (0..7)"]


def test_what_may_reach_the_route_processor() -> None:
    (policy,) = parse(
        "lpts pifib hardware police location 0/0/CPU0\n flow ssh known rate 300\n flow icmp local rate 500\n"
    ).qos_policies
    assert (policy.name, [(a.interface, a.direction) for a in policy.attachments]) == (
        "lpts location 0/0/CPU0", [("control-plane", "in")],
    )  # fmt: skip
    assert [(made.name, made.match.other, made.notes) for made in policy.classes] == [
        ("ssh known", ("flow ssh known",), ("rate 300",)), ("icmp local", ("flow icmp local",), ("rate 500",)),
    ]  # fmt: skip


def test_policies_of_flows_and_of_ports_are_attached() -> None:
    config = parse(
        "policy-map P\n class class-default\n  police rate 10 mbps\n !\n end-policy-map\npolicy-map type pbr Q\n"
        " class class-default\n  drop\n"
        "interface TenGigE0/0/0/0\n service-policy output P\nflowspec\n address-family ipv4\n  service-policy type pbr Q\n"
    )
    told = {policy.name: [(a.interface, a.direction) for a in policy.attachments] for policy in config.qos_policies}
    assert told == {"P": [("TenGigE0/0/0/0", "out")], "Q": [("flowspec", "in")]}


def test_lists_that_only_pick_routes_are_no_filters() -> None:
    def purposes(text: str) -> dict[str, str]:
        return {policy.name: policy.purpose for policy in parse(LISTS + text).policies if policy.family == 4}

    assert purposes("") == {"A": "filter", "B": "filter"}
    assert purposes("router ospf 1\n distribute-list A in\n") == {"A": "match", "B": "filter"}
    assert purposes("mpls ldp\n label\n  advertise-to A\n") == {"A": "match", "B": "filter"}


def test_routes_know_their_vrf() -> None:
    config = parse(
        "router static\n address-family ipv4 unicast\n  0.0.0.0/0 192.0.2.1\n vrf M\n  address-family ipv4 unicast\n"
        "   10.0.0.0/8 TenGigE0/0/0/0 10.1.1.1 200\n"
        " address-family ipv6 unicast\n  ::/0 Null0\n"
    )
    assert [(r.prefix, r.next_hop, r.interface, r.vrf, r.distance) for r in config.routes] == [
        ("0.0.0.0/0", "192.0.2.1", "", "", None), ("10.0.0.0/8", "10.1.1.1", "TenGigE0/0/0/0", "M", 200),
        ("::/0", "", "Null0", "", None),
    ]  # fmt: skip


def test_version_name_and_what_a_route_policy_holds() -> None:
    config = parse(
        "!! IOS XR Configuration version = 7.3.2\nhostname R\nroute-policy P\n  if destination in S then\n    pass\n"
        "  endif\nend-policy\n"
        "prefix-set S\n  10.0.0.0/8\nend-set\nipv4 access-list A\n 10 permit ipv4 any any\n"
    )
    assert (config.version, config.hostname) == ("7.3.2", "R")
    assert [policy.name for policy in config.policies] == ["A"]
    assert parse("hostname R\n").version == ""


def test_a_list_without_its_indentation_is_whole_and_a_removed_one_is_gone() -> None:
    flat = parse("ipv4 access-list A\n10 permit tcp any any\n20 deny ipv4 any any\n")
    assert [rule.name for policy in flat.policies for rule in policy.rules] == ["A 10", "A 20"]
    gone = parse(
        "ipv4 access-list A\n 10 permit tcp any any\nno ipv4 access-list A\nethernet-services access-list M\n 10 deny any any\n"
    )
    assert [(p.name, p.family, p.purpose) for p in gone.policies] == [("M", 0, "mac")]


def test_matches_are_read_where_a_command_was_typed() -> None:
    text = "hostname R\nRP/0/RP0/CPU0:R#show access-lists ipv4 A\n"
    text += "ipv4 access-list A\n 10 permit tcp any any (7 matches)\n"
    text += " 20 deny ipv4 any any\n"
    sample = VENDOR.counters(text, None)
    assert sample is not None and (sample.counts, sample.zero_is_printed, sample.hostname) == ("matches", False, "R")
    assert [(hit.policy, hit.key, hit.hits, hit.line) for hit in sample.hits] == [("A", "A 10", 7, 4), ("A", "A 20", None, 5)]
    assert VENDOR.counters("ipv4 access-list A\n 10 permit tcp any any\n", None) is None


def told(text: str) -> tuple[list[str], tuple[int, ...]]:
    """(what is unparsed with its line, lines that are ignored)."""
    config = VENDOR.parse(text)
    return [f"{one.line} {one.text}" for one in config.unparsed], config.ignored


@pytest.mark.parametrize(
    "line", ["ssh server access-list", "snmp-server group G v3 priv", "snmp-server odd IPv4 A", "ipv4 odd 1", "odd access-list A"]
)
def test_a_line_that_names_no_list_guards_nothing(line: str) -> None:
    unparsed, ignored = told(f"{line}\n")
    assert unparsed == [f"1 {line}"] or ignored == (1,)
    assert VENDOR.parse(f"{LISTS}{line}\n").policies[0].bindings == ()


def test_what_is_not_understood_hides_nothing_behind_it() -> None:
    card = "hw-module profile priority-flow-control location 0/1/CPU0\n odd 1\n buffer-internal traffic-class 3\n"
    config = VENDOR.parse(f"{card}interface HundredGigE0/1/0/5\n priority-flow-control mode on\n")
    assert [one.line for one in config.unparsed] == [2]
    assert [one.priorities for one in config.losslessness] == [frozenset({3})]
    clock = VENDOR.parse(f"{LISTS}ntp\n access-group peer\n access-group serve A\n")
    assert [b.interface for p in clock.policies for b in p.bindings] == ["ntp serve"]
    lines = VENDOR.parse(f"{LISTS}line default\n access-class A\n exec-timeout 5\n access-class egress A\n")
    assert [(b.interface, b.direction) for p in lines.policies for b in p.bindings] == [("line default", "out")]
    plane = VENDOR.parse(
        "control-plane\n odd\n management-plane\n  inband\n   odd\n   interface all\n    allow odd\n    allow SSH\n"
    )
    (policy,) = plane.policies
    assert [readable(rule.match) for rule in policy.rules] == [{"conditions": ["allow odd"]}, {"services": ["tcp 22"]}]
    routes = VENDOR.parse("router static\n address-family ipv4 unicast\n  odd odd\n  10.0.0.0/8 192.0.2.1\n")
    assert [(one.prefix, one.next_hop) for one in routes.routes] == [("10.0.0.0/8", "192.0.2.1")]
    rates = VENDOR.parse("lpts pifib hardware police\n odd\n flow ssh known rate 300\n")
    assert [made.name for made in rates.qos_policies[0].classes] == ["ssh known"]


ODD = [
    ("control-plane\n management-plane\n  inband\n   interface all\n    odd", "5 allow is expected"),
    (
        "control-plane\n management-plane\n  inband\n   interface all\n    allow SSH peer\n     odd 10.0.0.1",
        "6 address is expected",
    ),
    ("line default\n access-class A", "2 ingress or egress, and a list are expected"),
    ("ntp\n access-group peer", "2 a kind and a list are expected"),
    ("lpts odd", "1 only lpts pifib hardware police is modelled"),
    ("lpts pifib hardware police\n odd", "2 flow .. rate N is expected"),
    ("policy-map P\n class class-default\n  shape odd", "3 average is expected"),
    ("object-group odd X", "1 only groups of networks and ports are modelled"),
    ("ipv4 access-list", "1 not an access list that is modelled"),
    ("apply-group G", "1 what a configuration group adds is not modelled"),
    ("interface TenGigE0/0/0/0\n ipv4 access-group A sideways", "2 'sideways' is not a direction"),
]


@each_odd(ODD)
def test_what_is_not_understood_is_told_with_its_reason(text: str, told: str) -> None:
    assert odd(text + "\n") == [told]
