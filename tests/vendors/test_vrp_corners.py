"""Huawei VRP: the smallest texts that decide a field: lists, their places, translations, queues, pauses, statistics, segments."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from policyhub.domain.rules import Action
from policyhub.vendorkit.registry import REGISTRY
from policyhub.vendorkit.vrp_acl import AUTO_NOTE
from tests.vendors.corners import each_odd, reasons, whole
from tests.vendors.model_json import readable

VENDOR = REGISTRY.get("huawei_vrp")
parse = partial(whole, VENDOR)
PORT = "interface GigabitEthernet0/0/1\n "


ACLS = """acl number 2001 match-order auto
 rule 5 permit source 10.0.0.0 0.0.0.255
acl name NAMED 3999
 rule 5 deny tcp destination-port eq 22
acl name PLAIN basic
 rule 5 permit source 10.1.0.0 0.0.255.255
acl name WIDE advance
 rule 5 permit ip
acl ipv6 number 3001
 rule 5 permit ipv6
acl number 4000 smart
 rule 5 deny
acl 3005
 rule 5 permit udp
acl number 3006 name SIX
 rule 5 permit ip
acl number 3007
 rule 5 permit ip
acl number 3008
 rule 5 permit ip
user-interface vty 0 4
 idle-timeout 5
 acl 2001 inbound
 acl ipv6 3001 outbound
telnet server acl 3999
snmp-agent community read cipher X acl PLAIN
interface GigabitEthernet0/0/1
 traffic-filter inbound acl 3005 rule 5
 traffic-filter outbound acl name WIDE
 traffic-filter vlan 7 inbound acl 3006
vlan 10
 traffic-filter inbound acl 3005
traffic-filter global outbound acl 3999
ipsec policy m 1 isakmp
 security acl 3007
 proposal x
traffic classifier c
 if-match acl 3008
"""


def test_lists_and_where_they_are_asked() -> None:
    config = VENDOR.parse(ACLS)
    told = {
        p.name: (p.family, p.purpose, p.default, [(b.interface, b.direction) for b in p.bindings], p.notes)
        for p in config.policies
    }
    assert told == {
        "2001": (4, "filter", Action.DENY, [("user-interface vty 0 4", "local")], (AUTO_NOTE,)),
        "NAMED": (
            4, "filter", None, [("telnet", "local"), ("global", "out")],
            ("bound in places that treat packets without a match differently",),
        ),
        "PLAIN": (4, "filter", Action.DENY, [("snmp-agent", "local")], ()),
        "WIDE": (4, "filter", Action.PERMIT, [("GigabitEthernet0/0/1", "out")], ()),
        "3001": (6, "filter", Action.DENY, [("user-interface vty 0 4", "out")], ()),
        "4000": (0, "mac", None, [], ()),
        "3005": (4, "filter", Action.PERMIT, [("GigabitEthernet0/0/1", "in"), ("vlan 10", "in")], ()),
        "SIX": (4, "filter", Action.PERMIT, [("vlan 7", "in")], ()),
        "3007": (4, "match", None, [], ("selects packets for ipsec",)),
        "3008": (4, "match", None, [], ("classifies for c: a packet that one of its deny rules matches is dropped",)),
    }  # fmt: skip
    assert readable(config.policies[0].rules[0].match)["source"] == "10.0.0.0/24"


def test_packet_filters_between_zones_and_of_a_display() -> None:
    config = VENDOR.parse(
        "firewall interzone trust untrust\n packet-filter 3001 inbound\nacl 3001\n rule 5 permit ip\n"
        "Advanced ACL 3002, 2 rules\nAcl's step is 10\n rule 5 permit ip (3 matches)\n rule 15 deny tcp\n"
        "Basic IPv6 ACL 2005, 1 rule\n rule 5 permit\n"
    )
    told = [
        (p.name, p.family, [(b.interface, b.direction) for b in p.bindings], [r.name for r in p.rules]) for p in config.policies
    ]
    assert told[:2] == [
        ("3001", 4, [("trust > untrust", "in")], ["3001 5"]), ("3002", 4, [], ["3002 5", "3002 15"]),
    ]  # fmt: skip
    assert told[2][:2] == ("2005", 6)


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("description to the lab", {"description": "to the lab"}),
        ("shutdown", {"enabled": False}),
        ("undo shutdown", {"enabled": True}),
        ("speed auto 100", {"speed_bps": 10**8}),
        ("speed 10000", {"speed_bps": 10**10}),
        ("mtu 9000", {"mtu": 9000}),
        ("ip address 10.0.0.1 255.255.255.0", {"addresses": ("10.0.0.1/24",)}),
        ("ip address 10.0.0.1 24\n ip address 10.1.0.1 255.255.0.0 sub", {"addresses": ("10.0.0.1/24", "10.1.0.1/16")}),
        ("ipv6 address 2001:DB8::1 64", {"addresses": ("2001:db8::1/64",)}),
        ("ipv6 address 2001:DB8::1/64 eui-64", {"addresses": ("2001:db8::1/64",)}),
        ("ip address dhcp-alloc", {"addresses": ()}),
        ("ip binding vpn-instance red", {"vrf": "red"}),
        ("zone trust", {"zone": "trust"}),
    ],
)
def test_lines_of_an_interface(lines: str, expected: dict[str, Any]) -> None:
    (found,) = parse(f"{PORT}{lines}\n").interfaces
    assert {name: getattr(found, name) for name in expected} == expected


@pytest.mark.parametrize(
    ("line", "place"),
    [
        ("traffic-policy p inbound", ("GigabitEthernet0/0/1", "in")),
        ("traffic-policy p outbound slot 3", ("GigabitEthernet0/0/1 slot 3", "out")),
        ("traffic-policy p vlan 7 inbound", ("vlan 7", "in")),
        ("traffic-policy p global slot 2 inbound", ("global slot 2", "in")),
    ],
)
def test_places_of_a_policy(line: str, place: tuple[str, str]) -> None:
    text = "traffic classifier c\n if-match dscp ef\ntraffic behavior b\n remark dscp 0\n"
    text += f"traffic policy p\n classifier c behavior b\n{PORT}{line}\n"
    (policy,) = parse(text).qos_policies
    assert [(a.interface, a.direction) for a in policy.attachments] == [place]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("nat outbound 2000", ("source", "interface", "", "", ("2000",), (), ("acl 2000",))),
        ("nat outbound acl 2000 address-group g no-pat", ("source", "g", "", "", ("2000", "g"), ("no-pat",), ("acl 2000",))),
        ("nat outbound any interface LoopBack0", ("source", "interface", "", "", (), ("interface LoopBack0",), ())),
        ("nat server protocol tcp global 203.0.113.5 www inside 10.0.0.5 8080",
         ("destination", "", "10.0.0.5", "tcp 8080", (), (), ())),
        ("nat server protocol tcp global current-interface 7000 to 7010 inside 10.0.0.5 7000 to 7010 acl 2000",
         ("destination", "", "10.0.0.5", "tcp 7000-7010", ("2000",), (), ("acl 2000",))),
        ("nat server global 203.0.113.5 inside 10.0.0.5", ("destination", "", "10.0.0.5", "", (), (), ())),
        ("nat static global 203.0.113.0 inside 10.0.0.0 netmask 255.255.255.0", ("static", "203.0.113.0", "", "", (), (), ())),
        ("nat static protocol udp global 203.0.113.5 5000 inside 10.0.0.5 53", ("static", "203.0.113.5", "", "udp 5000", (),
        (), ())),
    ],
)  # fmt: skip
def test_translations_of_a_port(line: str, expected: tuple[Any, ...]) -> None:
    (found,) = parse(f"{PORT}{line}\n").nat_rules
    told = (
        found.kind.value, found.translated_source, found.translated_destination, found.translated_service, found.references,
        found.notes, found.match.conditions,
    )  # fmt: skip
    assert told == expected


def test_what_a_server_and_a_static_one_take() -> None:
    server, span, static, host = parse(
        f"{PORT}nat server protocol tcp global 203.0.113.5 80 inside 10.0.0.5\n"
        " nat server protocol tcp global current-interface 7000 to 7010 inside 10.0.0.5 7000 to 7010\n"
        " nat static global 203.0.113.0 inside 10.0.0.0 netmask 255.255.255.0\n"
        " nat static protocol udp global 203.0.113.5 5000 inside 10.0.0.5 53\n"
    ).nat_rules
    assert (str(server.match.destination), readable(server.match.services)) == ("203.0.113.5/32", ["tcp 80"])
    assert (span.match.unresolved, readable(span.match.services)) == (("current-interface",), ["tcp 7000-7010"])
    assert (str(static.match.source), static.match.services[0].is_any) == ("10.0.0.0/24", True)
    assert (str(host.match.source), readable(host.match.services)) == ("10.0.0.5/32", ["udp from 53"])


def test_pools_and_instances() -> None:
    config = parse(
        "nat address-group 1 203.0.113.1 203.0.113.2\nnat address-group 2 203.0.113.8 mask 255.255.255.252\n"
        "nat address-group g3\n section 0 203.0.113.20 203.0.113.21\n section 1 203.0.113.30\n"
        "nat instance i id 1\n port-range 256\n nat address-group p group-id 1 203.0.113.40 mask 30\n"
        " nat outbound 2000 address-group p\n"
        "nat instance j id 2\n nat address-group q group-id 2 unnumbered interface LoopBack1\n nat outbound any address-group q\n"
        f"{PORT}nat bind acl 2001 instance i precedence 3\n"
    )
    told = [(one.name, one.kind, str(one.addresses), one.text, one.context) for one in config.addresses]
    assert ("1", "pool", "203.0.113.1/32, 203.0.113.2/32", "", "") in told
    assert ("2", "pool", "203.0.113.8/30", "", "") in told
    assert ("g3", "pool", "203.0.113.20/31, 203.0.113.30/32", "", "") in told
    assert ("p", "pool", "203.0.113.40/30", "", "i") in told
    assert ("q", "dynamic", "None", "interface LoopBack1", "j") in told
    first, second = config.nat_rules
    assert (first.translated_source, first.notes) == ("p", ("port-range 256", "takes acl 2001 at GigabitEthernet0/0/1"))
    assert (second.translated_source, second.match.conditions, second.notes) == ("q", (), ())


QUEUES = """interface GigabitEthernet0/0/1
 trust dscp
 qos pq 6 to 7 drr 0 to 5
 qos queue 3 drr weight 7
 qos queue 4 wrr weight 0
 qos queue 5 wfq weight 0
 qos queue 2 shaping cir 1000 pir 2000 cbs 4000 pbs 8000
 qos queue 2 wred w
 qos queue 2 ecn
 qos queue 1 length 1000 bytes
 qos lr outbound cir 100000 cbs 1024
interface GigabitEthernet0/0/2
 qos pq 5 to 7 wrr 0 to 4
 qos lr pct 50 outbound
interface GigabitEthernet0/0/3
 qos drr
 qos queue-profile s
interface GigabitEthernet0/0/4
 port-queue af3 wfq weight 30 shaping 100 outbound
 port-queue ef pq shaping-percentage 10 port-wred w outbound
interface GigabitEthernet0/0/5
 trust 8021p
 dcb ets enable e
qos queue-profile s
 queue 6 drr weight 5
 pq 7
drop-profile w
 color green low-limit 10 high-limit 20 discard-percentage 30
 ecn low-limit 40 kbytes high-limit 50 kbytes discard-percentage 60
dcb ets-profile e
 priority-group 0 queue 0 to 2
 priority-group 15 queue 7
 priority-group 0 drr 60
"""


def test_queues_of_ports() -> None:
    config = parse(QUEUES)
    found = {policy.name: {made.name: made for made in policy.classes} for policy in config.qos_policies}
    first = found["queues GigabitEthernet0/0/1"]
    kept = {name: made.queue for name, made in first.items() if made.queue}
    assert [n for n in range(8) if kept[f"queue {n}"].is_strict_priority] == [4, 6, 7]
    assert [kept[f"queue {n}"].remaining_weight for n in (3, 4, 5)] == [7, None, None]
    assert (kept["queue 2"].guaranteed_bps, kept["queue 2"].early_drop, kept["queue 2"].ecn) == (1_000_000, "w", True)
    assert (kept["queue 2"].drop_min_bytes, kept["queue 2"].drop_max_bytes, kept["queue 2"].drop_max_percent) == (
        40_000,
        50_000,
        60,
    )
    assert kept["queue 1"].limit_bytes == 1000
    shapers = {name: (made.shaper.rate_bps, made.shaper.burst_bytes) for name, made in first.items() if made.shaper}
    assert shapers == {"queue 2": (2_000_000, 4000), "port": (100_000_000, 1024)}
    second = found["queues GigabitEthernet0/0/2"]
    assert [n for n in range(8) if second[f"queue {n}"].queue and second[f"queue {n}"].queue.is_strict_priority] == [5, 6, 7]
    assert second["port"].shaper and second["port"].shaper.percent == 50
    third = found["queues GigabitEthernet0/0/3"]
    assert third["queue 6"].queue and third["queue 6"].queue.remaining_weight == 5
    assert [n for n in range(8) if third[f"queue {n}"].queue and third[f"queue {n}"].queue.is_strict_priority] == [7]
    fourth = found["queues GigabitEthernet0/0/4"]
    assert fourth["queue 3"].queue and fourth["queue 3"].queue.remaining_weight == 30
    assert fourth["queue 3"].shaper and fourth["queue 3"].shaper.rate_bps == 100_000_000
    assert fourth["queue 5"].shaper and fourth["queue 5"].shaper.percent == 10
    assert fourth["queue 5"].queue and (fourth["queue 5"].queue.is_strict_priority, fourth["queue 5"].queue.early_drop) == (
        True,
        "w",
    )
    fifth = found["queues GigabitEthernet0/0/5"]
    assert sorted(fifth) == ["queue 0", "queue 1", "queue 2", "queue 7"]
    assert fifth["queue 7"].queue and fifth["queue 7"].queue.is_strict_priority
    assert fifth["queue 1"].notes == ("priority-group 0 drr 60",)
    assert [(trust.interface, trust.mode) for trust in config.trusts] == [
        ("GigabitEthernet0/0/1", "dscp"), ("GigabitEthernet0/0/5", "pcp"),
    ]  # fmt: skip


def test_domains_profiles_and_pauses() -> None:
    config = parse(
        "diffserv domain d\n ip-dscp-inbound 24 phb ef green\n 8021p-inbound 3 phb af1\n"
        f"{PORT}trust upstream d\n qos-profile q inbound\n dcb pfc enable p mode auto\n"
        "interface GigabitEthernet0/0/2\n dcb pfc enable\ninterface GigabitEthernet0/0/3\n undo dcb pfc enable\n"
        "qos-profile q\n car cir 1000\n user-queue cir 2000 pir 3000\n description x\n"
        "dcb pfc p\n priority 3 to 4\n priority 6\ndcb pfc\n priority 1\ndcb pfc deadlock-detect timer 9\n"
        "dcb pfc uplink group u\n adjust original-dscp 26 to priority 3 dscp 24\n"
        "cpu-defend policy c\n car packet-type ssh cir 64\n deny packet-type telnet\n blacklist 1 acl 2001\n"
        "cpu-defend-policy c global\n"
    )
    domain = next(one for one in config.dscp_maps if one.name == "d")
    assert (dict(domain.level)[24], domain.interfaces, domain.is_default) == (5, ("GigabitEthernet0/0/1",), False)
    assert next(one for one in config.dscp_maps if one.name == "default").is_default
    told = {one.interface: (one.enabled, one.priorities, one.watchdog) for one in config.losslessness}
    assert told == {
        "GigabitEthernet0/0/1": (None, frozenset({3, 4, 6}), True), "GigabitEthernet0/0/2": (True, frozenset({1}), True),
        "GigabitEthernet0/0/3": (False, None, None),
    }  # fmt: skip
    found = {policy.name: policy for policy in config.qos_policies}
    (whole,) = found["qos-profile q"].classes
    assert whole.shaper and whole.policer and (whole.shaper.rate_bps, whole.policer.rate_bps) == (3_000_000, 1_000_000)
    defence = found["cpu-defend c"]
    assert [(a.interface, a.direction) for a in defence.attachments] == [("control plane global", "in")]
    assert [(made.name, made.policer and made.policer.rate_bps, made.match.acls) for made in defence.classes] == [
        ("ssh", 64_000, ()), ("telnet", 0, ()), ("blacklist", None, ("2001",)),
    ]  # fmt: skip
    assert [(one.name, one.entries) for one in config.qos_maps] == [("uplink group u", ((26, 24),)), ("d", ((3, 1),))]


def test_pairs_of_segments() -> None:
    config = parse(
        "segment classifier C\n rule 1 permit source-segment 1 destination-segment 2\n"
        " rule 2 deny source-segment 3 destination-segment 4\n"
        "segment behavior B\n deny\nsegment behavior A\n permit\nsegment policy P\n classifier C behavior A\n"
        " classifier C behavior B\n"
        "segment-policy P\ntraffic-segment enable\n"
    )
    (policy,) = config.policies
    assert [(r.name, r.action) for r in policy.rules] == [
        ("segment C 1", Action.PERMIT), ("segment C 2", Action.DENY), ("segment C 1", Action.DENY), ("segment C 2", Action.DENY),
    ]  # fmt: skip
    assert ([b.direction for b in policy.bindings], policy.notes) == (["forward"], ("traffic-segment enable",))


def test_hits_of_lists_and_of_statistics() -> None:
    shown = VENDOR.counters(
        "sysname SW\n<SW>display acl 3001\nAdvanced ACL 3001, 2 rules\n rule 5 permit ip (7 matches)\n rule 10 deny ip\n", None
    )
    assert shown is not None and (shown.counts, shown.zero_is_printed, shown.hostname) == ("matches", False, "SW")
    assert [(hit.key, hit.hits) for hit in shown.hits] == [("3001 5", 7), ("3001 10", None)]
    zero = VENDOR.counters("Advanced ACL 3001, 1 rule\n rule 5 permit ip (0 matches)\n", None)
    assert zero is not None and zero.zero_is_printed and zero.hits[0].hits == 0
    assert VENDOR.counters("acl 3001\n rule 5 permit ip\n", None) is None


P = PORT
ODD = [
    ("acl ip-pool x", "1 pools of addresses and ports are not modelled"),
    ("acl number 3000 odd", "1 'odd' is not understood here"),
    (f"{P}ip address odd", "2 'odd' is not an address"),
    (f"{P}ip address 10.0.0.1 odd", "2 'odd' is not a mask"),
    (f"{P}trust odd", "2 trust 'odd' is not modelled"),
    (f"{P}traffic-policy p odd inbound", "2 'odd' is not understood here"),
    (f"{P}nat outbound 2000 odd", "2 'odd' is not understood in a translation"),
    (f"{P}nat server protocol tcp odd", "2 global is expected"),
    (f"{P}nat server protocol tcp global 203.0.113.5 80 odd", "2 inside is expected"),
    (f"{P}nat server protocol tcp global 203.0.113.5 9 to 7 inside 10.0.0.1 9 to 7", "2 '9 to 7' is not a range of ports"),
    (f"{P}nat bind odd", "2 acl is expected"),
    (f"{P}nat bind acl 2000 odd", "2 instance is expected"),
    ("nat address-group 1 odd", "1 'odd' is not understood in a group of addresses"),
    ("nat address-group 1\n section 0 odd", "1 'odd' begins no range of addresses"),
    ("qos map-table odd", "1 qos map-table odd is not modelled"),
    (f"{P}qos odd", "2 qos 'odd' is not modelled"),
    (f"{P}qos lr cir 1000 inbound", "2 qos lr inbound is not modelled"),
    (f"{P}qos queue odd", "2 qos queue needs a number"),
    (f"{P}qos queue 3 odd", "2 qos queue 'odd' is not modelled"),
    (f"{P}qos queue 8 ecn", "2 '8' is not a queue (0..7)"),
    (f"{P}qos queue 3 shaping cir 1000 odd 1", "2 'odd' is not understood in a shaper"),
    (f"{P}qos queue-profile nobody", "2 profile 'nobody' is not defined here"),
    (f"{P}port-queue af3 odd", "2 port-queue 'odd' is not modelled"),
    (f"{P}port-queue af3 wfq odd", "2 'odd' is not understood in a port-queue"),
    (f"{P}port-queue af3 pq shaping-percentage 101", "2 '101' is not a percentage (0..100)"),
    ("diffserv domain d\n ip-dscp-inbound 64 phb ef", "2 DSCP 64 is not in 0..63"),
    ("diffserv domain d\n ip-dscp-inbound 6 phb odd", "2 'odd' is not a class"),
    ("diffserv domain d\n odd 6", "2 'odd' is not understood in a DiffServ domain"),
    ("qos-profile q\n odd", "2 not modelled in a QoS profile"),
    ("dcb pfc uplink group u\n adjust odd", "2 original-dscp is expected"),
]


@each_odd(ODD)
def test_what_is_not_understood_is_told_with_its_reason(text: str, told: str) -> None:
    assert reasons(VENDOR, text + "\n") == [told]
