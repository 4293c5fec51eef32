"""EOS: the smallest texts that decide a field: translations, traffic policies, queues, and who may reach the switch."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from policyhub.domain.rules import Action
from policyhub.vendorkit.registry import REGISTRY
from tests.vendors.corners import each_odd, reasons, whole
from tests.vendors.model_json import readable

VENDOR = REGISTRY.get("arista_eos")
parse = partial(whole, VENDOR)
PORT = "interface Ethernet1\n   "
LISTS = "ip access-list A\n   10 permit ip 10.0.0.0/24 any\nipv6 access-list A\n   10 permit ipv6 any any\n"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("source static 10.0.0.5 203.0.113.5", ("static", "10.0.0.5/32", "any4", [], "203.0.113.5", "", "", ())),
        ("source static 10.0.0.5 80 203.0.113.5 8080 protocol tcp",
         ("static", "10.0.0.5/32", "any4", ["tcp from 80"], "203.0.113.5", "", "tcp 8080", ())),
        ("source static 10.0.0.5 203.0.113.5 protocol udp comment x y",
         ("static", "10.0.0.5/32", "any4", ["udp"], "203.0.113.5", "", "", ("comment x y",))),
        ("destination static 203.0.113.5 80 10.0.0.5 8080 group 7",
         ("destination", "any4", "203.0.113.5/32", ["tcp+udp 80"], "", "10.0.0.5", "8080", ("group 7",))),
        ("source static 10.0.0.5 access-list A 203.0.113.5", ("static", "10.0.0.5/32", "any4", [], "203.0.113.5", "", "", ())),
        ("source dynamic access-list A pool P full-cone", ("source", "any4", "any4", [], "P", "", "", ("full-cone",))),
        ("source dynamic access-list A overload", ("source", "any4", "any4", [], "interface", "", "", ("overload",))),
        ("destination dynamic access-list A pool P", ("destination", "any4", "any4", [], "", "P", "", ())),
    ],
)  # fmt: skip
def test_what_a_translation_does(line: str, expected: tuple[Any, ...]) -> None:
    (found,) = parse(f"{PORT}ip nat {line}\n").nat_rules
    match = readable(found.match)
    services = match.get("services", [])
    told = (
        found.kind.value, match["source"], match["destination"],
        services, found.translated_source, found.translated_destination, found.translated_service, found.notes,
    )  # fmt: skip
    assert told == expected
    assert found.match.conditions == (("access-list A",) if "access-list" in line else ())


def test_pools_profiles_and_virtual_addresses() -> None:
    config = parse(
        "ip nat pool P prefix-length 24\n   range 203.0.113.1 203.0.113.2\n   range 203.0.113.9 203.0.113.9\n"
        "   port range 1024 65535\n"
        "ip nat profile F\n   vrf M\n   ip nat source static 10.0.0.5 203.0.113.5\nip nat translation address selection any\n"
        f"{PORT}ip nat service-profile F\nip address virtual source-nat vrf M address 10.9.0.1\n"
    )
    assert [(one.name, str(one.addresses), one.text) for one in config.addresses] == [
        ("P", "203.0.113.1/32, 203.0.113.2/32, 203.0.113.9/32", "port range 1024 65535"),
    ]
    profile, virtual = config.nat_rules
    assert (profile.rule_set, profile.notes) == ("profile F", ("interface Ethernet1",))
    assert (virtual.name, virtual.translated_source) == ("virtual source-nat vrf M", "10.9.0.1")
    assert virtual.match.conditions == ("vrf M", "sent by the switch itself")


def rule(*lines: str, family: str = "ipv4") -> Any:
    body = "".join(f"         {line}\n" for line in lines)
    config = parse(f"traffic-policies\n   traffic-policy T\n      match m {family}\n{body}")
    return next(policy for policy in config.policies if policy.name == "T").rules[0]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["source prefix 10.0.0.0/8"], {"source": "10.0.0.0/8", "destination": "any4"}),
        (["destination prefix 10.0.0.1 10.0.0.4-10.0.0.5"], {"source": "any4", "destination": "10.0.0.1/32, 10.0.0.4/31"}),
        (["protocol tcp destination port 80, 443"], {"source": "any4", "destination": "any4", "services": ["tcp 80,443"]}),
        (["protocol tcp source port 1024-65535 destination port 22"],
         {"source": "any4", "destination": "any4", "services": ["tcp from 1024-65535 to 22"]}),
        (["protocol udp source port all"], {"source": "any4", "destination": "any4", "services": ["udp"]}),
        (["protocol 10-12"], {"source": "any4", "destination": "any4", "services": ["proto 10-12"]}),
        (["protocol tcp", "protocol udp"], {"source": "any4", "destination": "any4", "services": ["tcp", "udp"]}),
        (["protocol icmp type echo code all"], {"source": "any4", "destination": "any4", "services": ["icmp 8"]}),
        (["protocol tcp flags established"], {"source": "any4", "destination": "any4", "services": ["tcp"],
         "conditions": ["flags established"]}),
        (["protocol neighbors bgp"], {"source": "any4", "destination": "any4", "conditions": ["protocol neighbors bgp"]}),
        (["dscp 0-7, ef"], {"source": "any4", "destination": "any4", "dscp": [0, 1, 2, 3, 4, 5, 6, 7, 46]}),
    ],
)  # fmt: skip
def test_what_a_match_asks_for(lines: list[str], expected: dict[str, Any]) -> None:
    assert readable(rule(*lines).match) == expected


def test_what_a_match_does() -> None:
    dropped = rule("actions", "   drop", "   log")
    assert (dropped.action, dropped.logged) == (Action.DENY, True)
    passed = rule("actions", "   count C")
    assert (passed.action, passed.logged) == (Action.PERMIT, False)
    config = parse(
        "traffic-policies\n   traffic-policy T\n      match m ipv4\n         actions\n            set dscp ef\n"
        "            set traffic class 5\n"
    )
    made = config.qos_policies[0].classes[0]
    assert made.marker and (made.marker.dscp, made.marker.queue) == (46, 5)


def test_sets_and_policies_that_are_taken_back() -> None:
    config = parse(
        "traffic-policies\n   field-set ipv4 prefix F\n      10.0.0.0/8 10.9.0.0/16\n   field-set l4-port P\n      80, 443-445\n"
        "   traffic-policy GONE\n      match m ipv4\n   no traffic-policy GONE\n   traffic-policy T\n      match m ipv4\n"
        "         source prefix field-set F\n         protocol tcp destination port field-set P\n"
    )
    assert [policy.name for policy in config.policies] == ["T"]
    assert readable(config.policies[0].rules[0].match) == {
        "source": "10.0.0.0/8", "destination": "any4", "services": ["tcp 80,443-445"],
    }  # fmt: skip
    assert config.policies[0].rules[0].references == ("F", "P")


@pytest.mark.parametrize(
    ("lines", "field", "value"),
    [
        ("priority strict", "is_strict_priority", True), ("no priority", "is_strict_priority", False),
        ("bandwidth percent 30", "remaining_percent", 30), ("bandwidth guaranteed percent 20", "guaranteed_percent", 20),
        ("bandwidth guaranteed rate 5 gbps", "guaranteed_bps", 5 * 10**9), ("bandwidth guaranteed 1000", "guaranteed_bps", 10**6),
        ("random-detect ecn minimum-threshold 100 kbytes maximum-threshold 2 mbytes max-mark-probability 50", "drop_max_bytes",
         2_000_000),
        ("random-detect ecn minimum-threshold 100 kbytes maximum-threshold 2 mbytes max-mark-probability 50",
         "drop_max_percent", 50),
        ("random-detect ecn minimum-threshold 100 kbytes maximum-threshold 2 mbytes", "ecn", True),
        ("random-detect ecn count", "ecn", True), ("random-detect ecn count", "early_drop", ""),
        ("random-detect drop minimum-threshold 1 kbytes maximum-threshold 2 kbytes weight 3", "early_drop", "wred"),
        ("random-detect ecn minimum-threshold 3 segments maximum-threshold 4 segments", "drop_min_bytes", None),
    ],
)  # fmt: skip
def test_queues_of_a_port(lines: str, field: str, value: object) -> None:
    config = parse(f"{PORT}tx-queue 3\n      {lines}\n      shape rate 100 mbps\n")
    queue = config.qos_policies[0].classes[0].queue
    assert (getattr(queue, field) if queue else False) == value
    shaper = config.qos_policies[0].classes[0].shaper
    assert shaper and shaper.rate_bps == 10**8


@pytest.mark.parametrize(
    ("rate", "expected"), [("7", (7000, None)), ("50 percent", (None, 50)), ("9 pps", (None, None)), ("1 gbps", (10**9, None))]
)
def test_rates_of_a_queue(rate: str, expected: tuple[int | None, float | None]) -> None:
    shaper = parse(f"{PORT}tx-queue 3\n      shape rate {rate}\n").qos_policies[0].classes[0].shaper
    assert shaper and (shaper.rate_bps, shaper.percent) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("management ssh\n   ip access-group A in\n", [("A", 4, "management ssh", "local")]),
        ("management ssh\n   ip access-group A vrf M in\n   ipv6 access-group A in\n",
         [("A", 4, "management ssh vrf M", "local"), ("A", 6, "management ssh", "local")]),
        ("management api http-commands\n   vrf M\n      ip access-group A\n", [("A", 4, "management api http-commands vrf M",
         "local")]),
        ("system control-plane\n   ip access-group A in\n", [("A", 4, "system control-plane", "local")]),
        ("snmp-server ipv4 access-list A\nsnmp-server ipv6 access-list A\n", [("A", 4, "snmp", "local"),
        ("A", 6, "snmp", "local")]),
        ("snmp-server community C ro A\n", [("A", 4, "snmp", "local")]),
        ("snmp-server community C view V rw ipv6 A A\n", [("A", 4, "snmp", "local"), ("A", 6, "snmp", "local")]),
        ("snmp-server community C ro\n", []),
        ("ntp serve vrf M ipv6 access-group A in\n", [("A", 6, "ntp vrf M", "local")]),
        (f"{PORT}ip access-group A in\n   ipv6 access-group A out\n", [("A", 4, "Ethernet1", "in"),
        ("A", 6, "Ethernet1", "out")]),
    ],
)  # fmt: skip
def test_lists_and_where_they_are_asked(text: str, expected: list[tuple[str, int, str, str]]) -> None:
    policies = VENDOR.parse(LISTS + text).policies
    assert [(p.name, p.family, b.interface, b.direction) for p in policies for b in p.bindings] == expected


def test_texts_and_certificates_hold_no_rules() -> None:
    config = VENDOR.parse("banner motd\nip access-list B\nEOF\nhostname sw\nip access-list A\n   10 permit ip any any\n")
    assert ([policy.name for policy in config.policies], config.hostname) == (["A"], "sw")
    endless = VENDOR.parse("hostname sw\nbanner motd\nip access-list A\n   10 permit ip any any\n")
    assert [policy.name for policy in endless.policies] == ["A"]


T = "traffic-policies\n   traffic-policy T\n      match m ipv4\n         "
ODD = [
    ("ip nat odd", "1 pool, profile or an option of the table is expected"),
    ("ip nat pool P prefix-length 24\n   odd", "2 range FIRST LAST is expected"),
    ("ip nat profile F\n   odd", "2 ip nat is expected"),
    (f"{PORT}ip nat odd", "2 source, destination or service-profile is expected"),
    (f"{PORT}ip nat source odd", "2 static or dynamic is expected"),
    (f"{PORT}ip nat source static odd 10.0.0.1", "2 'odd' is not an address"),
    (f"{PORT}ip nat source static 10.0.0.5 80 203.0.113.5", "2 two ports or none are expected"),
    (f"{PORT}ip nat source static 10.0.0.5 65536 203.0.113.5 1", "2 '65536' is not a port (1..65535)"),
    (f"{PORT}ip nat source static 10.0.0.5 203.0.113.5 odd", "2 'odd' is not understood in a translation"),
    (f"{PORT}ip nat source dynamic odd", "2 access-list is expected"),
    (f"{PORT}ip nat source dynamic access-list A odd", "2 pool or overload is expected"),
    (f"{T}odd 1", "4 'odd' is not understood here"),
    (f"{T}source prefix odd", "4 prefixes are expected"),
    (f"{T}protocol tcp odd", "4 'odd' is not understood here"),
    (f"{T}dscp 64", "4 '64' is not a dscp"),
    (f"{T}dscp 9-8", "4 '9-8' is no range"),
    (f"{T}actions\n            odd", "5 'odd' is not an action"),
    (f"{PORT}tx-queue 3\n      odd 1", "3 'odd' is not understood here"),
    (f"{PORT}tx-queue 3\n      bandwidth odd", "3 percent or guaranteed is expected"),
    (f"{PORT}tx-queue 3\n      shape rate odd", "3 'odd' is not a rate"),
    (f"{PORT}tx-queue 3\n      shape rate 101 percent", "3 '101' is not a percentage (0..100)"),
    (f"{PORT}tx-queue 3\n      random-detect ecn odd 1", "3 'odd' is not understood here"),
]


@each_odd(ODD)
def test_what_is_not_understood_is_told_with_its_reason(text: str, told: str) -> None:
    assert reasons(VENDOR, text + "\n") == [told]
