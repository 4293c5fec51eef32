"""USG and Comware: what golden cases do not show: logs, standby members, counters that are switched off, old releases."""

from __future__ import annotations

from datetime import datetime

from policyhub.domain.hits import RuleUse
from policyhub.domain.rules import Action
from policyhub.vendorkit.registry import REGISTRY

at = datetime.fromisoformat
USG, COMWARE = REGISTRY.get("huawei_usg"), REGISTRY.get("h3c_comware")
TABLE = """RULE ID  RULE NAME                         STATE      ACTION       HITS
-------------------------------------------------------------------------------
1        web out                           enable     permit       0
0        default                           enable     deny         12
"""


def test_a_member_of_a_pair_says_so_and_alone_proves_nothing() -> None:
    active = USG.counters(f"HRP_M<FW1>display security-policy rule all\n{TABLE}", None)
    standby = USG.counters(f"HRP_S<FW2>display security-policy rule all\n{TABLE}", None)
    assert active is not None and standby is not None
    assert (active.role, active.hostname) == ("active", "FW1")
    assert (standby.role, standby.hostname) == ("standby", "FW2")
    assert [(hit.policy, hit.key, hit.hits) for hit in active.hits] == [
        ("security-policy", "web out", 0),
        ("security-policy", "default", 12),
    ]


def test_two_tables_of_one_file_are_told_apart_by_their_commands() -> None:
    nat = TABLE.replace("permit ", "no-nat ").replace("deny ", "no-nat ")
    found = USG.counters(f"<FW>display security-policy rule all\n{TABLE}<FW>display nat-policy rule all\n{nat}", None)
    assert found is not None
    assert [hit.policy for hit in found.hits] == ["security-policy"] * 2 + ["nat-policy"] * 2


def test_policy_logs_of_usg_become_uses_of_rules() -> None:
    text = (
        "May 13 2026 07:04:08 FW-1 %%01POLICY/6/POLICYPERMIT(l):vsys=public, protocol=17, source-ip=10.0.0.1, source-port=5, "
        "destination-ip=10.0.0.2, destination-port=443, time=May 13 2026 14:04:08, source-zone=a, destination-zone=b, "
        "application-name=, rule-name=to internet.\n"
        "<190>2026-05-13 07:05:08 FW-1 %%01POLICY/6/POLICYDENY(l):CID=0x814f041e;vsys=v1, protocol=6, rule-name=no.\n"
        "May 14 2026 07:04:08 FW-1 %%01POLICY/6/POLICYPERMIT(l):vsys=public, rule-name=to internet.\n"
        "May 14 2026 07:04:08 FW-1 %%01SSH/4/SSHFAIL(l):user=x.\n"
    )
    assert USG.rule_uses is not None
    assert USG.rule_uses(text) == (
        RuleUse("security-policy", "to internet", 2, at("2026-05-13T14:04:08"), at("2026-05-14T07:04:08"), "FW-1"),
        RuleUse("v1/security-policy", "no", 1, at("2026-05-13T07:05:08"), at("2026-05-13T07:05:08"), "FW-1"),
    )


def test_filter_logs_of_comware_are_summed_over_their_match_counts() -> None:
    line = (
        "<190>Mar 26 14:41:42 2020 FW %%10FILTER/6/FILTER_ZONE_IPV4_EXECUTION: SrcZoneName(1025)=Trust;DstZoneName(1035)=Untrust;"
        "Type(1067)=ACL;{}(1072)={};RuleID(1078)=4;Protocol(1001)=UDP;MatchCount(1069)={};Event(1048)=Permit;\n"
    )
    text = line.format("SecurityPolicy", "out", 5) + line.format("SecurityPolicy", "out", 2)
    text += line.format("ObjectPolicy", "Trust-Untrust", 1)
    when = at("2020-03-26T14:41:42")
    assert COMWARE.rule_uses is not None
    assert COMWARE.rule_uses(text) == (
        RuleUse("security-policy ip", "out", 7, when, when, "FW"),
        RuleUse("object-policy ip Trust-Untrust", "4", 1, when, when, "FW"),
    )


def test_a_comware_rule_without_counting_has_no_number() -> None:
    text = (
        "#\nsysname F\n#\nsecurity-policy ip\n rule 0 name counted\n  action pass\n  counting enable\n"
        " rule 1 name silent\n  action pass\n#\n"
        "<F>display security-policy statistics ip\nIPv4 security policy rule: counted\n  Action: pass (5 packets, 1000 bytes)\n"
    )
    found = COMWARE.counters(text, None)
    assert found is not None and found.counts == "packets"
    assert {hit.key: (hit.hits, hit.bytes) for hit in found.hits} == {"counted": (5, 1000), "silent": (None, None)}


def test_interzone_policies_of_old_releases() -> None:
    config = USG.parse(
        "sysname old\n#\npolicy interzone trust untrust outbound\n policy 1\n  action permit\n"
        "  policy source 10.1.0.0 0.0.255.255\n  policy service service-set http\n policy 2\n  action deny\n#\n"
        "firewall packet-filter default deny interzone trust untrust direction inbound\n"
    )
    asked, default = config.policies
    assert not config.unparsed
    assert [(rule.name, rule.action, str(rule.match.source)) for rule in asked.rules] == [
        ("1", Action.PERMIT, "10.1.0.0/16"),
        ("2", Action.DENY, "any"),
    ]
    assert (asked.rules[0].match.source_zones, asked.rules[0].match.destination_zones) == (("trust",), ("untrust",))
    assert asked.default is None  # the default packet filter decides
    assert (default.rules[0].match.source_zones, default.rules[0].action) == (("untrust",), Action.DENY)


def test_a_bare_zero_behind_an_address_is_one_host() -> None:
    config = USG.parse("ip address-set a type object\n address 0 10.0.0.5 0\n address 1 0.0.0.0 0\n")
    assert str(config.addresses[0].addresses) == "any"
    config = USG.parse("ip address-set a type object\n address 0 10.0.0.5 0\n")
    assert str(config.addresses[0].addresses) == "10.0.0.5/32"


def test_rules_of_a_script_are_moved() -> None:
    config = COMWARE.parse(
        "security-policy ip\n rule 0 name a\n  action pass\n rule 1 name b\n  action drop\n move rule 1 before 0\n"
    )
    assert [rule.name for rule in config.policies[0].rules] == ["b", "a"]


def test_firewalls_are_not_taken_for_switches() -> None:
    usg = "sysname FW\n#\nacl number 2000\n rule 5 permit\n#\nsecurity-policy\n#\nfirewall zone name x id 4\n"
    switch = "sysname SW\n#\nacl number 2000\n rule 5 permit source 10.0.0.0 0.0.0.255\n#\ninterface Vlanif1\n"
    comware = " version 7.1.064\n#\n sysname SW\n#\nacl basic 2000\n rule 0 permit\n#\ninterface Vlan-interface1\n"
    for text, name in ((usg, "huawei_usg"), (switch, "huawei_vrp"), (comware, "h3c_comware")):
        found = REGISTRY.detect(text)
        assert found is not None and found.name == name
