"""undefined-reference and undefined-qos-reference, over texts of several platforms."""

from __future__ import annotations

import pytest

from policyhub.checks.context import Context
from policyhub.checks.registry import run_checks, select
from policyhub.checks.undefined_reference import BOUND
from policyhub.domain.finding import Finding, Severity
from policyhub.domain.rules import UNDEFINED
from policyhub.vendorkit.registry import REGISTRY

CHECKS = ("undefined-reference", "undefined-qos-reference")
ASA = "hostname fw\ninterface G0/0\n nameif outside\n ip address 198.51.100.1 255.255.255.0\n"
FORTI = """config firewall address
    edit "a"
        set subnet 10.0.0.0 255.0.0.0
    next
    edit "web"
        set type fqdn
        set fqdn "www.example.net"
    next
end
config firewall policy
    edit 1
        set srcintf "p1"
        set dstintf "p2"
        set action accept
        set srcaddr %s
        set dstaddr "a"
        set schedule "always"
        set service "ALL"
    next
end
"""
JUNOS = """set security policies from-zone a to-zone b policy p match source-address %s
set security policies from-zone a to-zone b policy p match destination-address any
set security policies from-zone a to-zone b policy p match application any
set security policies from-zone a to-zone b policy p then permit
set security zones security-zone a address-book address HERE 10.0.0.0/8
"""
NFT = "table ip f {\n set here { type ipv4_addr; }\n chain c { drop; }\n chain i {\n"
NFT += "  type filter hook input priority 0;\n  %s\n }\n}\n"
IPTABLES = "*filter\n:INPUT DROP [0:0]\n:KNOWN - [0:0]\n-A INPUT -j %s\nCOMMIT\n"


def found(platform: str, text: str) -> list[Finding]:
    return list(run_checks(Context(REGISTRY.get(platform).parse(text)), select(CHECKS)))


@pytest.mark.parametrize(
    ("platform", "text", "severity", "words"),
    [
        (
            "cisco_ios",
            "interface Gi0/1\n ip access-group GONE in\n",
            Severity.HIGH,
            "Gi0/1 in and defined nowhere: the device lets",
        ),
        ("cisco_ios", "line vty 0 4\n access-class GONE in\n", Severity.HIGH, "vty 0 4 local"),
        ("cisco_iosxr", "interface G0/0/0/1\n ipv4 access-group GONE ingress\n", Severity.HIGH, "lets everything through"),
        ("cisco_nxos", "interface Ethernet1/1\n  ip access-group GONE in\n", Severity.HIGH, "lets everything through"),
        ("cisco_nxos", "line vty\n  access-class GONE in\n", Severity.MEDIUM, "the vendor does not document"),
        ("arista_eos", "interface Ethernet1\n   ip access-group GONE in\n", Severity.MEDIUM, "the vendor does not document"),
        (
            "huawei_vrp",
            "interface GigabitEthernet0/0/1\n traffic-filter inbound acl 3999\n",
            Severity.MEDIUM,
            "does not document",
        ),
        ("h3c_comware", "interface GigabitEthernet1/0/1\n packet-filter 3999 inbound\n", Severity.MEDIUM, "does not document"),
        ("cisco_asa", f"{ASA}access-group GONE in interface outside\n", Severity.INFO, "the device refuses that"),
    ],
)
def test_a_list_that_is_bound_and_defined_nowhere_says_what_the_device_does(platform, text, severity, words):
    (one,) = found(platform, text)
    assert (one.code, one.severity, one.rule) == ("PH011", severity, "")
    assert words in one.message
    assert one.lines


@pytest.mark.parametrize(
    ("platform", "text", "names", "rules"),
    [
        ("cisco_asa", f"{ASA}access-list A extended permit tcp any object-group GONE eq 443\n", ["GONE"], ("A line 1",)),
        ("cisco_asa", f"{ASA}access-list A extended permit object-group GS object GO any\n", ["GS", "GO"], ("A line 1",)),
        ("cisco_nxos", "ip access-list A\n  10 permit ip addrgroup GONE any\n", ["GONE"], ("A 10",)),
        ("fortinet_fortios", FORTI % '"GONE"', ["GONE"], ("1",)),
        ("juniper_junos", JUNOS % "GONE", ["GONE"], ("p",)),
        ("linux_nftables", NFT % "jump gone", ["ip f gone"], ("ip f i rule 1",)),
        ("linux_iptables", IPTABLES % "GONE", ["chain GONE"], ("ip filter INPUT rule 1",)),
        ("huawei_vrp", "acl number 3000\n rule 5 permit ip source address-set GONE\n", ["GONE"], ("3000 5",)),
    ],
)
def test_names_in_rules_are_told_once_for_the_list(platform, text, names, rules):
    (one,) = found(platform, text)
    assert (one.evidence["undefined"], one.by) == (names, rules)
    assert one.severity in (Severity.LOW, Severity.INFO)
    assert ", ".join(names) in one.message


@pytest.mark.parametrize(
    ("platform", "text"),
    [
        ("cisco_ios", "interface Gi0/1\n ip access-group A in\nip access-list extended A\n permit ip any any\n"),
        ("cisco_ios", "ip access-list extended A\n remark nothing yet\ninterface Gi0/1\n ip access-group A in\n"),
        (
            "cisco_asa",
            f"{ASA}object network w\n fqdn v4 www.example.net\naccess-list A extended permit ip object w any\n"
            "access-group A in interface outside\n",
        ),
        ("fortinet_fortios", FORTI % '"a"'),
        ("fortinet_fortios", FORTI % '"web"'),
        ("juniper_junos", JUNOS % "HERE"),
        ("juniper_junos", (JUNOS % "HERE").replace("application any", "application junos-not-in-our-table")),
        ("linux_nftables", NFT % "jump c"),
        ("linux_nftables", NFT % "ip saddr @here accept"),
        ("linux_iptables", IPTABLES % "KNOWN"),
        ("huawei_vrp", "acl number 6000\n rule 5 permit ip source user-group gold\n"),
        ("mikrotik", "/ip firewall filter\nadd action=accept chain=input src-address-list=filled_while_running\n"),
    ],
)
def test_what_is_defined_or_known_to_the_device_alone_is_no_finding(platform, text):
    assert found(platform, text) == []


def test_a_manager_holds_the_objects_that_a_device_shows_the_names_of():
    text = (
        "set rulebase security rules r from any\nset rulebase security rules r to any\n"
        "set rulebase security rules r source SHARED\n"
        "set rulebase security rules r destination any\nset rulebase security rules r application any\n"
        "set rulebase security rules r service any\nset rulebase security rules r action allow\n"
    )
    (one,) = found("paloalto_panos", text)
    assert one.severity is Severity.INFO
    managed = "set deviceconfig system panorama local-panorama panorama-server 10.1.1.1\n"
    assert REGISTRY.get("paloalto_panos").parse(managed + text).managed_by
    assert found("paloalto_panos", managed + text) == []


IOS_QOS = """class-map match-all C
 match access-group name {acl}
policy-map P
 class {used}
  set dscp ef
  service-policy {child}
policy-map CHILD
 class class-default
  set dscp af11
ip access-list extended A
 permit ip any any
"""


@pytest.mark.parametrize(
    ("acl", "used", "child", "names"),
    [
        ("GONE", "C", "CHILD", ["GONE"]),
        ("A", "GONE", "CHILD", ["class-map GONE"]),
        ("A", "C", "GONE", ["GONE"]),
        ("A", "C", "CHILD", []),
        ("A", "class-default", "CHILD", []),
    ],
)
def test_a_qos_policy_names_what_its_classes_miss(acl, used, child, names):
    text = IOS_QOS.format(acl=acl, used=used, child=child)
    told = found("cisco_ios", text)
    assert [one.evidence["undefined"] for one in told] == ([names] if names else [])
    assert all((one.code, one.severity) == ("PH205", Severity.LOW) for one in told)
    attached = found("cisco_ios", f"interface Gi0/1\n service-policy output P\n{text}")
    assert [one.severity for one in attached] == ([Severity.MEDIUM] if names else [])


@pytest.mark.parametrize(
    ("platform", "text"),
    [
        ("cisco_ios", "interface Gi0/1\n service-policy output GONE\n"),
        ("cisco_iosxr", "interface G0/0/0/1\n service-policy output GONE\n"),
        ("arista_eos", "interface Ethernet1\n   service-policy type qos input GONE\n"),
        ("huawei_vrp", "interface GigabitEthernet0/0/1\n traffic-policy GONE inbound\n"),
        ("h3c_comware", "interface GigabitEthernet1/0/1\n qos apply policy GONE inbound\n"),
    ],
)
def test_a_qos_policy_that_is_attached_and_defined_nowhere_serves_nothing(platform, text):
    (one,) = found(platform, text)
    assert (one.code, one.severity, one.policy) == ("PH205", Severity.MEDIUM, "GONE")


def test_the_policies_that_nxos_brings_along_are_defined():
    assert found("cisco_nxos", "system qos\n  service-policy type qos input default-in-policy\n") == []


def test_every_note_of_a_parser_has_words():
    assert set(BOUND) == set(UNDEFINED)
