"""Comware: the smallest texts that decide a field: operands, lists and where they are asked, translations, queues, outputs."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from policyhub.domain.rules import Action, Rule
from policyhub.vendorkit.registry import REGISTRY
from tests.vendors.corners import whole
from tests.vendors.model_json import readable, service

VENDOR = REGISTRY.get("h3c_comware")
parse = partial(whole, VENDOR)
PORT = "interface GigabitEthernet1/0/1\n "


def rule(*lines: str, before: str = "", policy: str = "security-policy ip") -> Rule:
    config = parse(f"{before}{policy}\n rule 0 name r\n" + "".join(f"  {line}\n" for line in lines))
    return next(one for one in config.policies if one.name == policy).rules[0]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("source-ip-host 10.0.0.5", "10.0.0.5/32"), ("source-ip-subnet 10.0.0.0 255.255.255.0", "10.0.0.0/24"),
        ("source-ip-subnet 10.0.0.0 24", "10.0.0.0/24"), ("source-ip-subnet 10.0.0.0/25", "10.0.0.0/25"),
        ("source-ip-subnet 10.0.0.0 wildcard 0.0.0.3", "10.0.0.0/30"),
        ("source-ip-range 10.0.0.1 10.0.0.2", "10.0.0.1/32, 10.0.0.2/32"),
        ("source-ip any", "any4"), ("source-ip host 10.0.0.5", "10.0.0.5/32"),
    ],
)  # fmt: skip
def test_forms_of_an_address(line: str, expected: str) -> None:
    assert readable(rule(line, "action pass").match).get("source") == expected
    other = line.replace("source", "destination")
    assert readable(rule(other, "action pass").match).get("destination") == expected


@pytest.mark.parametrize(
    ("line", "unresolved"),
    [
        ("source-location China", ("source-location China",)),
        ("destination-ip nobody", ("nobody",)),
        ("source-mac 0011-2233-4455", ("source-mac 0011-2233-4455",)),
        ("source-ip-subnet 10.0.0.0 wildcard 85.85.85.4", ("source-ip-subnet 10.0.0.0 wildcard 85.85.85.4",)),
        ("service nothing", ("nothing",)),
    ],
)
def test_operands_that_only_the_device_knows(line: str, unresolved: tuple[str, ...]) -> None:
    assert rule(line, "action pass").match.unresolved == unresolved


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("tcp", "tcp"), ("tcp destination eq 80", "tcp 80"),
        ("tcp source gt 1023 destination range 80 81", "tcp from 1024-65535 to 80-81"),
        ("udp source eq 53", "udp from 53"), ("icmp", "icmp"), ("icmp 8 0", "icmp 8:0"), ("icmp 3", "icmp 3"),
        ("icmpv6 128 0", "icmp6 128:0"),
        ("89", "proto 89"),
    ],
)  # fmt: skip
def test_forms_of_a_service(words: str, expected: str) -> None:
    assert [service(one) for one in rule(f"service-port {words}", "action pass").match.services] == [expected]


def test_settings_of_a_rule() -> None:
    found = rule(
        "description of it", "action pass", "source-zone Trust", "source-zone any", "destination-zone Local", "time-range night",
        "logging enable", "counting enable", "disable", "vrf red", "parent-group g", "profile x", "session aging-time 60",
    )  # fmt: skip
    assert (found.comment, found.schedule, found.logged, found.enabled) == ("of it", "night", True, False)
    assert (found.match.source_zones, found.match.destination_zones) == (("Trust",), ("Local",))
    assert found.match.conditions == ("time-range night", "vrf red")
    assert rule("logging disable", "action drop").logged is False and rule("enable", "action drop").enabled
    assert [rule(f"action {word}").action for word in ("pass", "drop")] == [Action.PERMIT, Action.DENY]
    assert [rule(policy=policy).action for policy in ("security-policy ip", "security-policy")] == [Action.DENY, Action.CONTINUE]


def test_groups_moves_and_the_default_of_a_policy() -> None:
    config = VENDOR.parse(
        "security-policy ip\n default rule action pass\n group name g\n group h\n rule 1 name a\n  action pass\n"
        "  parent-group g\n"
        " rule 2 name b\n  action pass\n rule 3\n  action drop\n move rule 3 before 1\n move rule 1 after 2\n"
        " move rule 1 after 9\n"
        " move rule 1 before 1\n move rule 1 over 2\n"
    )
    (policy,) = config.policies
    assert [one.name for one in policy.rules] == ["3", "b", "a"]
    assert (policy.default, policy.notes) == (Action.PERMIT, ("group g: 1 rules", "group h: 0 rules"))
    assert [one.line for one in config.unparsed] == [14, 15, 16]


def test_members_of_groups() -> None:
    config = parse(
        "object-group ip address hosts\n description of hosts\n security-zone Trust\n 0 network host address 10.0.0.1\n"
        " 10 network subnet 10.1.0.0 255.255.0.0 exclude 10.1.0.7\n 20 network range 10.0.0.8 10.0.0.9\n"
        " network exclude 10.0.0.9\n"
        "object-group ip address all\n 0 network group-object hosts\n"
        "object-group ip address names\n 0 network host name www.example.com\n"
        "object-group ip address users\n 0 network user ann\n"
        "object-group service web\n description of web\n 0 service tcp destination eq 8080\n 10 service group-object https\n"
        "object-group port high\n 0 port gt 1023\n"
        "security-policy ip\n rule 0 name r\n  source-ip all\n  service web\n  action pass\n rule 1 name s\n"
        "  source-ip names\n  service high\n"
        " rule 2 name t\n  destination-ip users\n"
    )
    first, second, third = config.policies[0].rules
    source = first.match.source
    assert source.size == 1 + 65_536 - 1 + 1
    assert readable(first.match.services) == ["tcp 443,8080"]
    assert (first.references, second.match.unresolved) == (("all", "web"), ("host name www.example.com",))
    assert readable(second.match.services) == ["any 1024-65535"]
    assert third.match.unresolved == ("user ann",)
    hosts = config.groups[0]
    assert (hosts.name, hosts.members, hosts.excluded) == (
        "hosts", ("host address 10.0.0.1", "subnet 10.1.0.0 255.255.0.0", "range 10.0.0.8 10.0.0.9"), ("10.1.0.7", "10.0.0.9"),
    )  # fmt: skip


def test_rules_of_object_policies_and_their_pairs() -> None:
    config = parse(
        "object-policy ip p\n description of p\n rule 0 pass source-ip any service https counting\n rule 0 comment the web\n"
        " rule inspect x vrf red application y logging disable time-range night\n rule 5 drop parameter-profile q\n"
        "object-policy ip q\n rule pass\nobject-policy ipv6 p\n rule pass source-ip any\n"
        "acl advanced 3001\n rule 5 permit ip\n"
        "zone-pair security source Trust destination Untrust\n object-policy apply ip p\n packet-filter 3001\n"
        " description of it\n"
    )
    found = {policy.name: policy for policy in config.policies}
    policy = found["object-policy ip p"]
    told = [(r.name, r.action, r.comment, r.match.conditions, r.enabled, r.logged, r.schedule) for r in policy.rules]
    assert told == [
        ("0", Action.PERMIT, "the web", (), True, False, ""),
        ("1", Action.PERMIT, "", ("vrf red", "application y", "time-range night"), False, True, "night"),
        ("5", Action.DENY, "", (), True, False, ""),
    ]
    assert (policy.default, [(b.interface, b.direction) for b in policy.bindings]) == (
        Action.DENY,
        [("Trust > Untrust", "zone-pair")],
    )
    assert (found["object-policy ip q"].default, found["object-policy ipv6 p"].family) == (None, 6)
    assert [(b.interface, b.direction) for b in found["3001"].bindings] == [("Trust > Untrust", "zone-pair")]
    assert (found["3001"].default, config.evaluation[1].policies) == (Action.DENY, ("object-policy ip p",))


ACLS = """acl number 2001 name MANAGERS match-order auto
 rule 0 permit source 10.0.0.0 0.0.0.255
acl basic 2002
 rule 0 permit
acl advanced name A
 rule 0 permit tcp destination-port eq 22 counting
acl ipv6 advanced 3001
 rule 0 permit ipv6
acl mac 4000
 rule 0 deny
acl number 3005
 rule 0 permit ip
acl number 3999
 rule 0 permit ip
acl logging interval 10
line vty 0 63
 acl 2001 inbound
 acl ipv6 3001 outbound
 idle-timeout 5
snmp-agent acl 2002
ip https acl name A
vlan 10
 packet-filter 3005 inbound
 name x
packet-filter 3999 global inbound hardware-count
packet-filter default deny
ipsec policy m 1 isakmp
 security acl 3006
acl number 3006
 rule 0 permit ip
"""


def test_lists_and_where_they_are_asked() -> None:
    config = parse(ACLS)
    told = {
        p.name: (p.family, p.purpose, p.default, [(b.interface, b.direction) for b in p.bindings], p.notes)
        for p in config.policies
    }
    assert [note.partition(":")[0] for note in told["MANAGERS"][4]] == ["match-order auto"]
    assert told["MANAGERS"][:4] == (4, "filter", Action.DENY, [("line vty 0 63", "local")])
    assert told["2002"] == (4, "filter", Action.DENY, [("snmp-agent", "local")], ())
    assert told["A"] == (4, "filter", Action.DENY, [("ip https", "local")], ())
    assert told["3001"] == (6, "filter", Action.DENY, [("line vty 0 63", "out")], ())
    assert told["4000"][:4] == (0, "mac", None, [])
    assert told["3005"] == (4, "filter", Action.DENY, [("vlan 10", "in")], ("no hardware-count: vlan 10 in",))
    assert told["3999"] == (4, "filter", Action.DENY, [("global", "in")], ())
    assert told["3006"] == (4, "match", None, [], ("selects packets for ipsec",))


def test_lists_of_a_display() -> None:
    config = VENDOR.parse(
        "<SW>display acl all\nBasic IPv4 ACL 2000, named -none-, 1 rule,\nThis is a basic IPv4 ACL\n"
        "ACL's step is 10, start ID is 5\n"
        " rule permit source 10.0.0.0 0.0.0.255 (3 times matched)\n rule permit source 10.1.0.0 0.0.0.255\n"
        "Advanced IPv6 ACL 3000, named SIX, 1 rule,\n ACL's step is 5\n rule 0 permit ipv6\n"
    )
    told = [(p.name, p.family, [one.name for one in p.rules]) for p in config.policies]
    assert [(name, family) for name, family, _ in told] == [("2000", 4), ("SIX", 6)]
    assert [names for _, _, names in told] == [["2000 0", "2000 10"], ["SIX 0"]]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("nat outbound", ("nat outbound", "source", "", "interface", "", True, (), ())),
        ("nat outbound 3001 address-group 1 no-pat", ("nat outbound 3001", "source", "", "1", "", True, ("3001", "1"),
        ("no-pat",))),
        ("nat outbound name L address-group name g rule r disable", ("r", "source", "", "g", "", False, ("L", "g"), ())),
        ("nat outbound 3001 vpn-instance red priority 3 counting port-preserved",
         ("nat outbound 3001", "source", "", "interface", "", True, ("3001",), ("port-preserved",))),
        ("nat server protocol tcp global 203.0.113.5 80 inside 10.0.0.5 8080",
         ("nat server 203.0.113.5 80", "destination", "10.0.0.5", "", "8080", True, (), ())),
        ("nat server protocol tcp global current-interface 7000 7010 inside 10.0.0.5 10.0.0.6 7000 7010"
         " rule r reversible disable",
         ("r", "destination", "10.0.0.5-10.0.0.6", "", "7000-7010", False, (), ("reversible",))),
        ("nat server global 203.0.113.5 203.0.113.6 inside 10.0.0.5 acl 3001 vrrp 1 counting",
         ("nat server 203.0.113.5 203.0.113.6", "destination", "10.0.0.5", "", "", True, (), ())),
    ],
)  # fmt: skip
def test_translations_of_a_port(line: str, expected: tuple[Any, ...]) -> None:
    (found,) = parse(f"{PORT}{line}\n").nat_rules
    told = (
        found.name, found.kind.value, found.translated_destination, found.translated_source, found.translated_service,
        found.enabled, found.references, found.notes,
    )  # fmt: skip
    assert told == expected
    assert any(condition.endswith("gress-interface GigabitEthernet1/0/1") for condition in found.match.conditions)


def test_what_servers_are_asked_for() -> None:
    first, second, third = parse(
        f"{PORT}nat server protocol tcp global 203.0.113.5 80 inside 10.0.0.5\n"
        f" nat server global interface LoopBack0 inside 10.0.0.6\n"
        " nat server protocol udp global 203.0.113.5 any inside 10.0.0.5 acl 3001\n nat static enable\n"
    ).nat_rules
    assert (str(first.match.destination), readable(first.match.services)) == ("203.0.113.5/32", ["tcp 80"])
    assert second.match.unresolved == ("interface LoopBack0",) and second.match.services[0].is_any
    assert readable(third.match.services) == ["udp"] and "acl 3001" in third.match.conditions


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("outbound 10.0.0.5 203.0.113.5", ("nat static outbound 10.0.0.5", "10.0.0.5/32", "203.0.113.5", True, ())),
        ("inbound 203.0.113.5 vpn-instance red 10.0.0.5 reversible disable",
         ("nat static inbound 203.0.113.5", "203.0.113.5/32", "10.0.0.5", False, ("reversible",))),
        ("outbound net-to-net 10.0.0.0 10.0.0.1 global 203.0.113.0 24 rule r acl 3001 counting",
         ("r", "10.0.0.0/31", "203.0.113.0 24", True, ("acl 3001",))),
    ],
)  # fmt: skip
def test_static_translations(line: str, expected: tuple[object, ...]) -> None:
    (found,) = parse(f"nat static {line}\n").nat_rules
    assert (found.name, str(found.match.source), found.translated_source, found.enabled, found.notes) == expected


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        (["snat easy-ip"], ("source", "interface", "", "")),
        (["snat address-group name g"], ("source", "g", "", "")),
        (["snat static ip-address 203.0.113.5"], ("static", "203.0.113.5", "", "")),
        (["snat object-group g"], ("source", "g", "", "")),
        (["snat no-nat"], ("exempt", "", "", "")),
        (["dnat ip-address 10.0.0.5 local-port 8080"], ("destination", "", "10.0.0.5", "8080")),
        (["dnat no-nat"], ("exempt", "", "", "")),
        (["snat easy-ip", "dnat ip-address 10.0.0.5"], ("destination", "interface", "10.0.0.5", "")),
    ],
)
def test_actions_of_the_global_policy(action: list[str], expected: tuple[str, ...]) -> None:
    lines = "".join(f"  action {one}\n" for one in action)
    (found,) = parse(f"nat global-policy\n rule name n\n  source-ip host 10.0.0.1\n{lines}").nat_rules
    told = found.kind.value, found.translated_source, found.translated_destination, found.translated_service
    assert (told, str(found.match.source)) == (expected, "10.0.0.1/32")


def test_address_groups_of_translations() -> None:
    config = VENDOR.parse(
        "nat address-group 1 name g\n address 203.0.113.1 203.0.113.2\n address interface GigabitEthernet1/0/1\n"
        " port-range 1024 65535\n"
        "nat address-group 2 203.0.113.8 203.0.113.9\nnat address-group 3\n address odd x\n"
    )
    assert [(one.name, str(one.addresses)) for one in config.addresses] == [
        ("g", "203.0.113.1/32, 203.0.113.2/32"), ("2", "203.0.113.8/31"), ("3", "none"),
    ]  # fmt: skip
    assert [one.line for one in config.unparsed] == [7]


QUEUES = """interface GigabitEthernet1/0/1
 qos trust dscp
 qos wrr weight
 qos wrr ef group sp
 qos wrr 3 group 1 weight 7
 qos wrr af1 group 1 byte-count 9
 qos bandwidth queue 3 min 1000
 qos gts queue 3 cir 2000 cbs 65536 ebs 0
 qos lr outbound cir 100000 cbs 1024
 qos wred apply t
 qos priority 3
interface GigabitEthernet1/0/2
 qos sp
 qos wred queue 7 ecn
 qos wred queue 7 drop-level 0 low-limit 10 high-limit 20 discard-probability 30
 qos wred queue 7 drop-level 1 low-limit 10 high-limit 20 discard-probability 40
 qos wred queue 7 weighting-constant 9
interface GigabitEthernet1/0/3
 qos wred enable
 qos gts any cir 5000
 qos car inbound any cir 1000 cbs 2000
 qos car outbound acl 3001 cir 1000
 qos car inbound carl 1 cir 1000
qos wred queue table t
 queue 2 drop-level 0 low-limit 1 high-limit 2 discard-probability 5
 queue 2 ecn
qos wred queue table u
 queue 1 ecn
"""


def test_queues_of_ports() -> None:
    config = parse(QUEUES)
    found = {policy.name: {made.name: made for made in policy.classes} for policy in config.qos_policies}
    first = found["queues GigabitEthernet1/0/1"]
    assert sorted(first) == ["port", *(f"queue {n}" for n in range(8))]
    kept = {name: made.queue for name, made in first.items() if made.queue}
    assert [n for n in range(8) if kept[f"queue {n}"].is_strict_priority] == [5]
    assert (kept["queue 3"].remaining_weight, kept["queue 3"].guaranteed_bps, kept["queue 1"].remaining_weight) == (
        7,
        1_000_000,
        9,
    )
    shapers = {name: (made.shaper.rate_bps, made.shaper.burst_bytes) for name, made in first.items() if made.shaper}
    assert shapers == {"queue 3": (2_000_000, 65_536), "port": (100_000_000, 1024)}
    assert (kept["queue 2"].early_drop, kept["queue 2"].ecn, kept["queue 2"].drop_max_percent) == ("t", True, 5)
    second = found["queues GigabitEthernet1/0/2"]
    assert all(made.queue and made.queue.is_strict_priority for made in second.values())
    seven = second["queue 7"].queue
    assert seven and (seven.early_drop, seven.ecn, seven.drop_max_percent) == ("port", True, 30)
    third = found["queues GigabitEthernet1/0/3"]
    assert {made.queue.early_drop for made in third.values() if made.queue} == {"port"}
    cars = [name for name in found if name.startswith("car")]
    assert cars == ["car GigabitEthernet1/0/3 in", "car GigabitEthernet1/0/3 out"]
    assert [trust.interface for trust in config.trusts] == ["GigabitEthernet1/0/1"]


def test_maps_policies_and_pauses() -> None:
    config = parse(
        "traffic classifier c\n if-match acl 3001\ntraffic behavior b\n remark dscp ef\nqos policy p\n classifier c behavior b\n"
        "qos apply policy p global inbound\nqos vlan-policy p vlan 10 20 inbound\n"
        f"{PORT}qos apply policy p outbound\n priority-flow-control enable\n priority-flow-control no-drop dot1p 3-4\n"
        " priority-flow-control no-drop dot1p 6\n priority-flow-control deadlock enable\n priority-flow-control headroom 9\n"
        "interface GigabitEthernet1/0/2\n priority-flow-control auto\n priority-flow-control no-drop dot1p 0 to 1\n"
        "qos map-table dscp-lp\n import 0 to 7 export 1\n import 63 export 7\nqos map-table dot1p-lp\n import 3 export 6\n"
        "acl advanced 3001\n rule 0 permit ip\n"
    )
    (policy,) = [one for one in config.qos_policies if one.name == "p"]
    assert [(a.interface, a.direction) for a in policy.attachments] == [
        ("", "in"), ("vlan 10 20", "in"), ("GigabitEthernet1/0/1", "out"),
    ]  # fmt: skip
    told = {one.interface: (one.enabled, sorted(one.priorities or ()), one.watchdog) for one in config.losslessness}
    assert told["GigabitEthernet1/0/1"][:2] == (True, [3, 4, 6]) and told["GigabitEthernet1/0/1"][2] is True
    assert told["GigabitEthernet1/0/2"][:2] == (None, [0, 1])
    levels = dict(config.dscp_maps[0].level)
    assert ([levels[mark] for mark in (0, 7, 8, 63)], config.dscp_maps[0].is_default) == ([1, 1, 1, 7], False)
    assert [(one.name, one.entries) for one in config.qos_maps] == [("dot1p-lp", ((3, 6),))]


def test_filters_of_routes_and_nodes() -> None:
    config = parse(
        "ip prefix-list p index 10 permit 10.0.0.0 8 less-equal 24\nipv6 prefix-list q deny 2001:db8:: 32\n"
        "route-policy r deny node 10\n if-match ip address prefix-list p\n description x\n apply cost 5\n"
        "policy-based-route b permit node 5\n if-match acl 3001\n apply next-hop 10.0.0.1\n"
        "ipv6 policy-based-route s deny node 5\n"
        "acl advanced 3001\n rule 0 permit ip\n"
    )
    told = {
        p.name: (p.purpose, p.family, p.default, [(r.name, r.action, r.match.conditions, r.comment) for r in p.rules])
        for p in config.policies
    }
    assert told["prefix-list p"] == (
        "route-filter", 4, Action.DENY, [("10", Action.PERMIT, ("route 10.0.0.0/8 less-equal 24",), "")],
    )  # fmt: skip
    assert told["prefix-list q"][1:3] == (6, Action.DENY)
    assert told["route-policy r"] == (
        "route-filter", 0, Action.DENY, [("10", Action.DENY, ("if-match ip address prefix-list p",), "apply cost 5")],
    )  # fmt: skip
    assert told["policy-based-route b"] == (
        "route", 0, None, [("5", Action.CONTINUE, ("if-match acl 3001",), "apply next-hop 10.0.0.1")],
    )  # fmt: skip
    assert told["3001"][0] == "match" and "policy-based-route s" in told


def test_the_device_itself() -> None:
    config = parse(
        " version 7.1.064, Release 9660P35\n sysname FW\ncontext red id 2\n allocate interface GigabitEthernet1/0/7 share\n"
        " allocate vlan 10\nip route-static default-preference 30\nip route-static 0.0.0.0 0 192.0.2.254\n"
        "interface GigabitEthernet1/0/7\n manage ssh inbound\n manage https inbound\n manage ping outbound\n"
        " ip address 10.0.0.1 24\n"
        "security-zone name Trust\n import interface GigabitEthernet1/0/7\n import ip 10.0.0.0 24\n"
    )
    assert (config.version, config.hostname) == ("7.1.064, Release 9660P35", "FW")
    (port,) = config.interfaces
    assert (port.context, port.zone, port.speed_bps) == ("red", "Trust", 10**9)
    assert [(zone.name, zone.interfaces) for zone in config.zones] == [("Trust", ("GigabitEthernet1/0/7",))]
    (local,) = config.policies
    assert (local.name, local.purpose) == ("manage GigabitEthernet1/0/7", "local")
    assert [(one.name, one.action, readable(one.match.services)) for one in local.rules] == [
        ("ssh", Action.PERMIT, ["tcp 22"]), ("https", Action.PERMIT, ["tcp 443"]),
    ]  # fmt: skip


def test_interfaces_of_a_display() -> None:
    config = VENDOR.parse(
        "sysname SW\n#\nGigabitEthernet1/0/1\nCurrent state: Administratively DOWN\nDescription: to the lab\n"
        "Bandwidth: 1000000 kbps\n"
        "Maximum transmission unit: 1500\nInternet address: 10.0.0.1/24 (primary)\nAllow jumbo frames to pass\n"
        "GigabitEthernet1/0/2 current state: UP\nThe Maximum Transmit Unit is 9000\n"
    )
    told = [(one.name, one.enabled, one.description, one.speed_bps, one.mtu, one.addresses) for one in config.interfaces]
    assert told == [
        ("GigabitEthernet1/0/1", False, "to the lab", 10**9, 1500, ("10.0.0.1/24",)),
        ("GigabitEthernet1/0/2", True, "", None, 9000, ()),
    ]
    assert not config.unparsed


def test_hits_of_one_list_at_two_ports_are_summed() -> None:
    port = (
        "Interface: GigabitEthernet1/0/{}\n In-bound policy:\n  IPv4 ACL 3001, Hardware-count\n   From 2026-11-30 to 2026-11-30\n"
    )
    rule_of = "    rule 0 permit ip ({} packets)\n    rule 5 deny tcp\n"
    found = VENDOR.counters(port.format(1) + rule_of.format(3) + port.format(2) + rule_of.format(4), None)
    assert found is not None and found.counts == "packets"
    assert {hit.key: hit.hits for hit in found.hits} == {"3001 0": 7, "3001 5": None}


def test_hits_of_a_table_are_those_of_its_family() -> None:
    text = "<FW>display security-policy hit-count ipv6\n"
    text += "ID   Name    Action   Hits\n0    web     pass     7\n1    rest    drop     0\n"
    found = VENDOR.counters(text, None)
    assert found is not None and found.hostname == "FW"
    assert [(hit.policy, hit.key, hit.hits) for hit in found.hits] == [
        ("security-policy ipv6", "web", 7), ("security-policy ipv6", "rest", 0),
    ]  # fmt: skip
