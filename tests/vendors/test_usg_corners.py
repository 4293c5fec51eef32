"""Huawei USG: the smallest texts that decide a field: operands of rules and sets, lists and their uses, translations."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from policyhub.domain.rules import Action, Rule
from policyhub.vendorkit.registry import REGISTRY
from policyhub.vendorkit.vrp_acl import AUTO_NOTE
from tests.vendors.corners import each_odd, reasons, whole
from tests.vendors.model_json import readable, service

VENDOR = REGISTRY.get("huawei_usg")
parse = partial(whole, VENDOR)
odd = partial(reasons, VENDOR)


def rule(*lines: str, before: str = "") -> Rule:
    below = "".join(f"  {line}\n" for line in lines)
    return next(
        p for p in parse(f"{before}security-policy\n rule name r\n{below}").policies if p.name == "security-policy"
    ).rules[0]


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("10.0.0.1 mask 255.255.255.0", "10.0.0.0/24"), ("10.0.0.1 mask 24", "10.0.0.0/24"), ("10.0.0.1 24", "10.0.0.0/24"),
        ("10.0.0.1 32", "10.0.0.1/32"), ("10.0.0.1 0", "10.0.0.1/32"), ("0.0.0.0 0", "any"), ("10.0.0.0 0.0.0.3", "10.0.0.0/30"),
        ("10.0.0.0 255.255.255.252", "10.0.0.0/30"), ("10.0.0.1", "10.0.0.1/32"), ("10.0.0.0/25", "10.0.0.0/25"),
        ("range 10.0.0.1 10.0.0.2", "10.0.0.1/32, 10.0.0.2/32"), ("2001:db8::/64", "2001:db8::/64"), ("any", "any"),
        ("ipv6 2001:db8::1 128", "2001:db8::1/128"), ("range 2001:db8:: 2001:db8::1", "2001:db8::/127"),
        ("10.0.0.1 32 description the first", "10.0.0.1/32"),
    ],
)  # fmt: skip
def test_forms_of_an_address(address: str, expected: str) -> None:
    assert str(rule(f"source-address {address}").match.source) == expected
    assert str(rule(f"destination-address {address}").match.destination) == expected


@pytest.mark.parametrize(
    ("address", "unresolved"),
    [
        ("address-set nobody", ("nobody",)),
        ("geo-location China", ("geo-location China",)),
        ("domain-set d e", ("domain-set d", "domain-set e")),
        ("0011-2233-4455", ("mac-address 0011-2233-4455",)),
    ],
)
def test_addresses_that_only_the_device_knows(address: str, unresolved: tuple[str, ...]) -> None:
    found = rule(f"source-address {address}")
    assert found.match.unresolved == unresolved and found.match.source.is_any


def test_what_is_excluded_is_taken_out_and_stays_a_condition_when_it_is_not_known() -> None:
    half = rule("source-address 10.0.0.0 24", "source-address-exclude 10.0.0.0 25").match
    assert (str(half.source), half.conditions) == ("10.0.0.128/25", ())
    unknown = rule("source-address 10.0.0.0 24", "source-address-exclude address-set nobody").match
    assert (str(unknown.source), unknown.conditions) == ("10.0.0.0/24", ("source-address-exclude address-set nobody",))
    scattered = rule("destination-address 10.0.0.0 2.170.170.170").match
    assert scattered.destination.is_any and scattered.unresolved == ("destination-address 10.0.0.0 2.170.170.170",)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("tcp", "tcp"), ("tcp destination-port 80", "tcp 80"),
        ("udp source-port 0 to 65535 destination-port 53 67 to 68", "udp 53,67-68"),
        ("tcp source-port 1024 to 65535 destination-port 22", "tcp from 1024-65535 to 22"),
        ("tcp destination-port 9 to 7", "tcp 7-9"),
        ("icmp", "icmp"), ("icmp icmp-type 8", "icmp 8"), ("icmp icmp-type 3 1", "icmp 3:1"),
        ("icmp icmp-type 3 code 1 to 3", "icmp 769-771"),
        ("icmp icmp-type echo", "icmp 8:0"), ("icmpv6 icmp6-type 128 0", "icmp6 128:0"), ("89", "proto 89"),
        ("tcp description web", "tcp"),
        ("sctp destination-port 80", "sctp 80"),
    ],
)  # fmt: skip
def test_forms_of_a_service(words: str, expected: str) -> None:
    assert [service(one) for one in rule(f"service protocol {words}").match.services] == [expected]


def test_services_by_their_names() -> None:
    own = "ip service-set web type object\n service 0 protocol tcp destination-port 8080\n"
    group = own + "ip service-set both type group\n service 0 service-set web\n service 1 service-set dns\n"
    assert readable(rule("service web", before=own).match.services) == ["tcp 8080"]
    assert readable(rule("service both", before=group).match.services) == ["tcp 53,8080", "udp 53"]
    assert rule("service nobody").match.unresolved == ("nobody",)
    assert rule("service service-set https").match.services == rule("service https").match.services
    assert rule("service https", before=own).references == () and rule("service web", before=own).references == ("web",)


def test_sets_say_what_they_are() -> None:
    config = parse(
        "ip address-set hosts type object\n description two of them\n address 0 10.0.0.1 mask 32\n address 10.0.0.2 0\n"
        "ip address-set all type group\n address 0 address-set hosts\n address 1 10.9.0.0 mask 16\n"
        "ip service-set web type object\n description of the web\n service protocol tcp destination-port 80\n"
        "ip service-set none type object\ndomain-set name d\n description of d\n add domain www.example.com\n"
        "geo-location user-defined lab\n add address 10.3.0.0 mask 16\n"
    )
    domains, region, hosts = config.addresses
    assert (hosts.name, str(hosts.addresses), hosts.text) == ("hosts", "10.0.0.1/32, 10.0.0.2/32", "two of them")
    assert (domains.kind, domains.text, domains.addresses) == ("fqdn", "www.example.com", None)
    assert (region.kind, region.text) == ("geo", "address 10.3.0.0 mask 16")
    assert [(one.name, readable(one.services)) for one in config.services] == [("web", ["tcp 80"]), ("none", [])]
    assert [(one.name, one.kind, one.members) for one in config.groups] == [("all", "network", ("hosts", "10.9.0.0 mask 16"))]


ACLS = """sysname FW
acl number 2001 match-order auto
 description managers
 rule 5 permit source 10.0.0.0 0.0.0.255
acl name INNER 3999
 rule 10 deny tcp destination-port eq 22
acl name PLAIN basic
 rule 5 permit source 10.1.0.0 0.0.255.255
acl name WIDE
 rule 5 permit ip destination 10.2.0.0 0.0.255.255
acl ipv6 number 3001
 rule 0 permit tcp destination 2001:DB8::/64 destination-port eq 22
acl number 3002 vpn-instance red
 rule 5 permit ip
acl number 4001
 rule 5 deny source-mac 0011-2233-4455
acl number 3003
 rule 5 permit udp
traffic classifier c1
 if-match acl 3003
traffic behavior b1
 remark dscp ef
traffic policy p1
 classifier c1 behavior b1
ipsec policy m1 1 isakmp
 security acl 3002
 respond-time 3
user-interface vty 0 4
 acl 2001 inbound
 acl ipv6 3001 outbound
snmp-agent acl PLAIN
telnet server acl 3999
interface GigabitEthernet1/0/1
 traffic-policy p1 outbound
"""


def test_lists_say_what_they_are_asked_for() -> None:
    config = parse(ACLS)
    told = {
        p.name: (p.family, p.purpose, p.default, [(b.interface, b.direction) for b in p.bindings], p.notes)
        for p in config.policies
    }
    assert told == {
        "2001": (4, "filter", Action.DENY, [("user-interface vty 0 4", "local")], (AUTO_NOTE,)),
        "INNER": (4, "filter", Action.DENY, [("telnet", "local")], ()),
        "PLAIN": (4, "filter", Action.DENY, [("snmp-agent", "local")], ()),
        "WIDE": (4, "filter", None, [], ()),
        "3001": (6, "filter", Action.DENY, [("user-interface vty 0 4", "out")], ()),
        "3002": (4, "match", None, [], ("selects packets for ipsec",)),
        "4001": (0, "mac", None, [], ()),
        "3003": (4, "match", None, [], ("classifies for c1: a packet that one of its deny rules matches is dropped",)),
    }
    rules = {p.name: readable(p.rules[0].match) for p in config.policies}
    assert rules["2001"] == {"source": "10.0.0.0/24", "destination": "any4"}
    assert rules["INNER"] == {"source": "any4", "destination": "any4", "services": ["tcp 22"]}
    assert rules["PLAIN"] == {"source": "10.1.0.0/16", "destination": "any4"}
    assert rules["WIDE"] == {"source": "any4", "destination": "10.2.0.0/16"}
    assert rules["3001"] == {"source": "any6", "destination": "2001:db8::/64", "services": ["tcp 22"]}
    (policy,) = config.qos_policies
    assert [(a.interface, a.direction) for a in policy.attachments] == [("GigabitEthernet1/0/1", "out")]


def test_lines_of_an_interface() -> None:
    config = parse(
        "interface GigabitEthernet1/0/1\n alias outside\n description the provider\n nat enable\n bandwidth ingress 100000\n"
        " ipsec policy m1\n ip address 192.0.2.1 255.255.255.0\n service-manage enable\n service-manage ping permit\n"
        " service-manage all deny\n service-manage odd permit\n"
        "interface GigabitEthernet1/0/2\n alias inside\nfirewall zone trust\n set priority 85\n description lab\n"
        " add interface GigabitEthernet1/0/2\nfirewall zone name dmz2 id 5\n set priority 60\n"
        " add interface GigabitEthernet1/0/1\n"
    )
    first, second = config.interfaces
    assert (first.description, second.description) == ("the provider", "inside")
    assert (first.zone, second.zone) == ("dmz2", "trust")
    assert [(zone.name, zone.interfaces) for zone in config.zones] == [
        ("trust", ("GigabitEthernet1/0/2",)), ("dmz2", ("GigabitEthernet1/0/1",)),
    ]  # fmt: skip
    (local,) = config.policies
    assert (local.name, local.purpose, local.default) == ("service-manage GigabitEthernet1/0/1", "local", None)
    assert [(r.name, r.action, readable(r.match)) for r in local.rules] == [
        ("ping", Action.PERMIT, {"services": ["icmp 8"]}), ("all", Action.DENY, {}),
        ("odd", Action.PERMIT, {"unresolved": ["odd"]}),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("0 protocol tcp global 203.0.113.5 www inside 10.0.0.5 8080",
         ("destination", "203.0.113.5/32", ["tcp 80"], "10.0.0.5", "8080", ("answers go out with the same address",))),
        ("protocol tcp global 203.0.113.5 7000 7010 inside 10.0.0.5 7000 7010 no-reverse",
         ("destination", "203.0.113.5/32", ["tcp 7000-7010"], "10.0.0.5", "7000-7010", ())),
        ("global 203.0.113.5 inside host 10.0.0.5 no-reverse disable",
         ("destination", "203.0.113.5/32", [], "10.0.0.5", "", ("disable",))),
        ("zone untrust global 203.0.113.5 203.0.113.6 inside 10.0.0.5 10.0.0.6 no-reverse",
         ("destination", "203.0.113.5/32, 203.0.113.6/32", [], "10.0.0.5-10.0.0.6", "", ())),
        ("protocol udp global 203.0.113.5 any inside 10.0.0.5 no-reverse",
         ("destination", "203.0.113.5/32", ["udp"], "10.0.0.5", "", ())),
    ],
)  # fmt: skip
def test_servers_behind_an_address(words: str, expected: tuple[Any, ...]) -> None:
    (found,) = parse(f"nat server s {words}\n").nat_rules
    told = (
        found.kind.value, str(found.match.destination),
         readable(found.match.services) if not found.match.services[0].is_any else [],
        found.translated_destination, found.translated_service,
    )  # fmt: skip
    assert told == expected[:5]
    assert (found.notes == expected[5]) or (expected[5] and len(found.notes) == 1)
    assert found.match.source_zones == (("untrust",) if "zone untrust" in words else ())


def test_more_words_of_a_server() -> None:
    both = parse("nat server s global 203.0.113.5 inside 10.0.0.5 vrrp 3 description the web\n").nat_rules[0]
    assert (both.kind.value, both.comment, both.match.conditions) == ("static", "the web", ())
    listed = parse("nat server s protocol tcp global interface GigabitEthernet1/0/1 80 inside 10.0.0.5 80 acl 3000\n").nat_rules[
        0
    ]
    assert listed.match.unresolved == ("interface GigabitEthernet1/0/1",) and listed.match.destination.is_any
    assert (listed.match.conditions, readable(listed.match.services)) == (("acl 3000",), ["tcp 80"])


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        ("source-nat easy-ip", ("source", "interface", "", "", (), ())),
        ("source-nat address-group g no-pat", ("source", "g", "", "", ("no-pat",), ("g",))),
        ("nat address-group g pat", ("source", "g", "", "", (), ("g",))),
        ("no-nat", ("exempt", "", "", "", (), ())),
        ("destination-nat address 10.0.0.5 8080", ("destination", "", "10.0.0.5", "8080", (), ())),
        ("destination-nat address 10.0.0.5", ("destination", "", "10.0.0.5", "", (), ())),
        ("destination-nat static address-to-address address-group d 80 to 90",
         ("destination", "", "static address-to-address address-group d 80 to 90", "", (), ("d",))),
        ("destination-nat static port-to-port 8080 to 8090", ("destination", "", "static", "8080-8090", (), ())),
    ],
)  # fmt: skip
def test_actions_of_nat_rules(action: str, expected: tuple[object, ...]) -> None:
    (found,) = parse(f"nat-policy\n rule name n\n  source-zone trust\n  action {action}\n").nat_rules
    told = (
        found.kind.value, found.translated_source, found.translated_destination, found.translated_service, found.notes,
        found.references,
    )  # fmt: skip
    assert told == expected


def test_sections_of_address_groups() -> None:
    config = VENDOR.parse(
        "nat address-group g 0\n mode pat\n section 0 203.0.113.1 203.0.113.2\n section 203.0.113.9\n route enable\n"
        "destination-nat address-group d 1\n section 10.0.0.1 10.0.0.2\n section 1 odd\n"
    )
    assert [(one.name, str(one.addresses), one.text) for one in config.addresses] == [
        ("g", "203.0.113.1/32, 203.0.113.2/32, 203.0.113.9/32", "nat address-group"),
        ("d", "10.0.0.1/32, 10.0.0.2/32", "destination-nat address-group"),
    ]
    assert [unparsed.line for unparsed in config.unparsed] == [8]


def test_groups_and_defaults_of_the_policy() -> None:
    config = parse(
        "security-policy\n default action permit\n default policy logging\n rule name a\n  action permit\n  parent-group g\n"
        " rule name b\n  action deny\n  parent-group h\n  policy logging\n rule name c\n  session aging-time 60\n  disable\n"
        " group name g disable\n  description off\n group name h\n  description on\n  enable\n group name i\n  disable\n"
    )
    (policy,) = config.policies
    assert policy.default is Action.PERMIT
    assert [(r.name, r.action, r.enabled, r.logged) for r in policy.rules] == [
        ("a", Action.PERMIT, False, False), ("b", Action.DENY, True, True), ("c", Action.CONTINUE, False, False),
    ]  # fmt: skip
    assert policy.notes == ("group g (disabled): 1 rules", "group h: 1 rules", "group i (disabled): 0 rules")


def test_a_virtual_system_has_interfaces_and_names_of_its_own() -> None:
    config = parse(
        "!Software Version V500R005C20SPC500\nsysname FW\nvsys enable\nvsys name red 1\n description lab\n"
        " assign interface GigabitEthernet1/0/3\n"
        "ip route-static default-preference 30\nip route-static 0.0.0.0 0.0.0.0 192.0.2.254\n"
        "interface GigabitEthernet1/0/3\n ip address 10.3.0.1 24\ntime-range night\n period-range 20:00:00 to 23:59:59 daily\n"
        " absolute-range 00:00:00 2026/1/1 to 23:59:59 2026/12/31\n"
        "switch vsys red\nip address-set h type object\n address 0 10.3.0.9 mask 32\nsecurity-policy\n rule name r\n"
        "  source-address address-set h\n  action permit\n"
    )
    assert (config.version, config.hostname) == ("V500R005C20SPC500", "FW")
    assert [(one.name, one.context) for one in config.interfaces] == [("GigabitEthernet1/0/3", "red")]
    assert [(str(one.prefix), one.context) for one in config.routes] == [("0.0.0.0/0", "")]
    (policy,) = config.policies
    assert (policy.name, policy.context, str(policy.rules[0].match.source)) == ("red/security-policy", "red", "10.3.0.9/32")
    (night,) = config.schedules
    assert night.expires and night.expires.startswith("2026-12-31")


def test_lists_that_are_asked_for_something_else() -> None:
    config = parse(
        "policy-based-route\n rule name p 1\n  source-zone trust\n  action pbr next-hop 10.0.0.1\n"
        "nat-policy\n description x\n rule name a\n  action no-nat\n rule name b\n  action no-nat\n"
    )
    (policy,) = config.policies
    assert (policy.name, policy.purpose, [one.name for one in policy.rules]) == ("policy-based-route", "route", ["p"])
    assert [one.name for one in config.nat_rules] == ["a", "b"]


def test_the_default_of_old_packet_filters() -> None:
    head = "firewall packet-filter default"
    config = parse(
        f"{head} permit interzone trust untrust direction outbound\n{head} deny interzone trust dmz\n{head} permit all\n"
    )
    (policy,) = config.policies
    assert [(one.name, one.action) for one in policy.rules] == [
        ("trust > untrust", Action.PERMIT), ("trust > dmz", Action.DENY), ("dmz > trust", Action.DENY), ("all", Action.PERMIT),
    ]  # fmt: skip


def test_a_table_of_translations_is_told_by_its_actions() -> None:
    table = "RULE ID  RULE NAME   STATE    ACTION   HITS\n1        web         enable   no-nat   27\n"
    table += "0        default     enable   no-nat   0\n"
    found = VENDOR.counters(table, None)
    assert found is not None
    assert [(hit.policy, hit.key, hit.hits) for hit in found.hits] == [("nat-policy", "web", 27), ("nat-policy", "default", 0)]
    mixed = VENDOR.counters(table.replace("0        default     enable   no-nat", "0        default     enable   permit"), None)
    assert mixed is not None and {hit.policy for hit in mixed.hits} == {"nat-policy"}


def test_uses_of_a_rule_span_all_its_logs() -> None:
    head = "FW-1 %%01POLICY/6/POLICYPERMIT(l):vsys=public, rule-name=web.\n"
    (use,) = (
        VENDOR.rule_uses(f"May 14 2026 07:04:08 {head}May 13 2026 07:04:08 {head}May 15 2026 07:04:08 {head}")
        if VENDOR.rule_uses
        else ()
    )
    assert (use.sessions, use.first_at and use.first_at.day, use.last_at and use.last_at.day) == (3, 13, 15)


S = "security-policy\n rule name r\n  "
ODD = [
    (f"{S}action maybe", "3 'maybe' is not permit or deny"),
    (f"{S}odd", "3 'odd' is not understood in a rule"),
    (f"{S}source-address 10.0.0.300", "3 '10.0.0.300' is not an address"),
    (f"{S}service protocol tcp destination-port x", "3 'x' is not a port"),
    (f"{S}service protocol tcp odd 1", "3 'odd' is not understood in a service"),
    (f"{S}service protocol icmp icmp-type 300", "3 '300' is not an ICMP type"),
    (f"{S}service protocol icmp icmp-type 3 256", "3 '256' is not an ICMP code (0..255)"),
    ("security-policy\n rule odd", "2 rule name is expected"),
    ("nat-policy\n rule name n\n  action odd", "3 'odd' is not a NAT action"),
    ("nat-policy\n rule name n\n  action source-nat odd", "3 'odd' is not easy-ip or address-group"),
    ("nat-policy\n rule name n\n  action destination-nat address", "3 a destination is expected"),
    ("nat-policy\n rule name n\n  odd", "3 'odd' is not understood in a NAT rule"),
    ("nat server s odd", "1 'odd' is not understood in a NAT server"),
    ("nat server s global odd inside 10.0.0.1", "1 'odd' is not an address"),
    ("nat server s global 10.0.0.2 inside odd", "1 'odd' is not an address"),
    ("interface GigabitEthernet1/0/1\n service-manage ping maybe", "2 'maybe' is not permit or deny"),
    ("interface GigabitEthernet1/0/1\n firewall packet-filter 3000 inbound", "2 firewall at an interface is not modelled"),
    ("interface GigabitEthernet1/0/1\n odd acl 3000", "2 odd at an interface is not modelled"),
    ("acl number 3000 odd", "1 'odd' is not understood here"),
    ("ip address-set a type object\n address 0 odd", "2 'odd' is not an address"),
    ("switch odd", "1 switch vsys is expected"),
]


@each_odd(ODD)
def test_what_is_not_understood_is_told_with_its_reason(text: str, told: str) -> None:
    assert odd(text + "\n") == [told]


def test_a_set_with_a_line_that_is_not_understood_is_left_open() -> None:
    text = "ip address-set a type object\n address 0 10.0.0.1 mask 32\n address 1 odd\nsecurity-policy\n rule name r\n"
    (found,) = VENDOR.parse(f"{text}  source-address address-set a\n").policies[0].rules
    assert found.match.source.is_any and found.match.unresolved == ("a: line 3",)


def test_lost_indentation_is_told_by_the_words() -> None:
    config = parse(
        "security-policy\nrule name r\nsource-zone trust\naction permit\nip address-set a type object\n"
        "address 0 10.0.0.1 mask 32\n"
        "domain-set name d\nadd domain x.example\nfirewall zone trust\nset priority 85\nadd interface GigabitEthernet1/0/1\n"
    )
    (found,) = config.policies[0].rules
    assert (found.action, found.match.source_zones) == (Action.PERMIT, ("trust",))
    assert [(one.name, one.text or str(one.addresses)) for one in config.addresses] == [("d", "x.example"), ("a", "10.0.0.1/32")]
    assert config.zones[0].interfaces == ("GigabitEthernet1/0/1",)
