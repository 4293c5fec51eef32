"""The forms of PAN-OS text beside each other, and what only Panorama, pushed policies and running policies have."""

from __future__ import annotations

import pytest

from policyhub.domain.evaluation import StageKind
from policyhub.domain.nat import NatKind
from policyhub.domain.rules import Action
from policyhub.vendors.paloalto_panos import VENDOR
from tests.vendors.model_json import readable

XML = """<?xml version="1.0"?>
<config version="10.1.0" urldb="paloaltonetworks">
 <devices><entry name="localhost.localdomain">
  <deviceconfig><system><hostname>fw</hostname></system></deviceconfig>
  <vsys><entry name="vsys1">
   <address><entry name="web server"><ip-netmask>10.0.0.5</ip-netmask></entry></address>
   <rulebase><security><rules><entry name="in">
    <from><member>untrust</member></from><to><member>dmz</member></to>
    <source><member>any</member></source><destination><member>web server</member></destination>
    <application><member>any</member></application><service><member>service-https</member></service>
    <action>allow</action><log-end>no</log-end>
   </entry></rules></security></rulebase>
  </entry></vsys>
 </entry></devices>
</config>
"""
SET = """set deviceconfig system hostname fw
set address "web server" ip-netmask 10.0.0.5
set rulebase security rules in from untrust
set rulebase security rules in to dmz
set rulebase security rules in source any
set rulebase security rules in destination "web server"
set rulebase security rules in application any
set rulebase security rules in service service-https
set rulebase security rules in action allow
set rulebase security rules in log-end no
"""
BRACES = """config {
  devices {
    localhost.localdomain {
      deviceconfig {
        system {
          hostname fw;
        }
      }
      vsys {
        vsys1 {
          address {
            "web server" {
              ip-netmask 10.0.0.5;
            }
          }
          rulebase {
            security {
              rules {
                in {
                  from untrust;
                  to dmz;
                  source any;
                  destination "web server";
                  application any;
                  service service-https;
                  action allow;
                  log-end no;
                }
              }
            }
          }
        }
      }
    }
  }
}
"""


def without_lines(value: object) -> object:
    if isinstance(value, dict):
        return {key: without_lines(item) for key, item in value.items() if key not in ("lines", "version")}
    return [without_lines(item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize(
    "text", [SET, BRACES, XML.replace("\n", "\r\n"), "\ufeff" + XML, "admin@PA-1> show config running\n" + XML]
)
def test_all_forms_give_one_model(text: str) -> None:
    config = VENDOR.parse(text)
    assert not config.unparsed
    expected, found = readable(VENDOR.parse(XML)), readable(config)
    assert without_lines(found) == without_lines(expected)


def test_braces_that_do_not_close_are_told() -> None:
    text = BRACES[: BRACES.index("service service-https")]
    config = VENDOR.parse(text)
    assert config.rule_count == 1
    assert config.unparsed[-1].reason == "the text ends inside 9 open braces"


def test_a_statement_without_its_end_is_unparsed() -> None:
    config = VENDOR.parse(BRACES.replace("  to dmz;\n", "  to dmz\n"))
    assert [unparsed.text for unparsed in config.unparsed] == ["to dmz"]
    assert config.policies[0].rules[0].match.unresolved == ("to is missing",)


RUNNING = """admin@PA-1> show running security-policy

"web in; index: 1" {
        from [ untrust guest ];
        source any;
        source-region none;
        to dmz;
        destination [ 10.0.0.5 10.0.0.6-10.0.0.7 ];
        destination-region none;
        user any;
        category any;
        application/service [0:any/tcp/any/443 1:web-browsing/tcp/any/80 ];
        action drop;
        icmp-unreachable: no
        terminal yes;
}

"intrazone-default; index: 2" {
        from any;
        source any;
        source-region none;
        to any;
        destination any;
        destination-region none;
        user any;
        category any;
        application/service 0:any/any/any/any;
        action allow;
        icmp-unreachable: no
        terminal yes;
        type intrazone;
}
"""


def test_the_newer_running_policy() -> None:
    config = VENDOR.parse(RUNNING)
    assert not config.unparsed
    policy, defaults = config.policies
    (rule,) = policy.rules
    assert (policy.name, rule.name, rule.hit_key, rule.action) == ("security", "web in", "web in", Action.DENY)
    assert readable(rule.match.services) == ["tcp 80,443"]
    assert rule.match.source_zones == ("untrust", "guest")
    assert str(rule.match.destination) == "10.0.0.5/32, 10.0.0.6/31"
    assert rule.match.conditions == ("application web-browsing",)
    assert [found.match.conditions for found in defaults.rules] == [("rule-type intrazone",)]
    assert defaults.notes == ("interzone-default: other traffic is denied",)


def test_running_nat_with_both_translations() -> None:
    text = """"both; index: 3" {
        nat-type ipv4;
        from untrust;
        source any;
        to untrust;
        to-interface  ;
        destination 203.0.113.5;
        service 0:tcp/any/443;
        translate-to "src: 10.0.0.1 (dynamic-ip-and-port) (pool idx: 1), dst: 10.0.0.5:8443";
        terminal no;
}
"""
    (rule,) = VENDOR.parse(text).nat_rules
    assert (rule.name, rule.kind) == ("both", NatKind.DESTINATION)
    assert (rule.translated_source, rule.translated_destination, rule.translated_service) == ("10.0.0.1", "10.0.0.5", "8443")
    assert readable(rule.match.services) == ["tcp 443"]


def full(path: str, name: str) -> str:
    fields = ("from any", "to any", "source any", "destination any", "application any", "service any", "action deny")
    return "".join(f"set {path} security rules {name} {text}\n" for text in fields)


def test_pushed_rules_stand_around_the_local_ones() -> None:
    config = VENDOR.parse(
        full("rulebase", "local")
        + full("policy panorama post-rulebase", "after")
        + full("policy panorama pre-rulebase", "before")
    )
    policy = config.policies[0]
    assert [rule.name for rule in policy.rules] == ["before", "local", "after"]
    assert policy.notes == ("pushed by Panorama: before, after",)
    assert config.managed_by == "Panorama"
    assert [(stage.kind, stage.policies) for stage in config.evaluation] == [(StageKind.FILTER, ("security", "default-security"))]


def test_nat_of_panorama_is_in_the_order_firewalls_ask_it() -> None:
    places = ("shared post-rulebase", "device-group G post-rulebase", "device-group G pre-rulebase", "shared pre-rulebase")
    text = "".join(f"set {place} nat rules n{at} to any\n" for at, place in enumerate(places))
    config = VENDOR.parse(text)
    assert [rule.rule_set for rule in config.nat_rules] == ["shared/pre-nat", "G/pre-nat", "G/post-nat", "shared/post-nat"]


def test_a_template_has_a_context_of_its_own() -> None:
    base = "set template T config devices localhost.localdomain"
    text = "\n".join(
        [
            f"{base} network interface ethernet ethernet1/1 layer3 ip 192.0.2.1/24",
            f"{base} network virtual-router vr interface ethernet1/1",
            f"{base} network virtual-router vr routing-table ip static-route d destination 0.0.0.0/0",
            f"{base} vsys vsys1 zone outside network layer3 ethernet1/1",
            f"{base} vsys vsys2 zone inside network layer3 ethernet1/2",
            "set template-stack S templates T",
        ]
    )
    config = VENDOR.parse(text)
    assert not config.unparsed
    (interface,) = config.interfaces
    assert (interface.context, interface.zone, interface.vrf) == ("template:T", "outside", "vr")
    assert [(zone.name, zone.context) for zone in config.zones] == [("outside", "template:T"), ("inside", "template:T/vsys2")]
    assert [route.context for route in config.routes] == ["template:T"]


def test_lists_that_only_the_device_knows() -> None:
    text = "\n".join(
        [
            "set external-list bad type ip url https://lists.example/bad.txt",
            "set region office address [ 10.1.0.0/16 10.2.0.0/16 ]",
            full("rulebase", "r").strip(),
            "set rulebase security rules r source bad",
            "delete rulebase security rules r source any",
            full("rulebase", "s").strip(),
            "set rulebase security rules s source [ office CN ]",
            "delete rulebase security rules s source any",
            full("rulebase", "t").strip(),
            "set rulebase security rules t source office",
            "delete rulebase security rules t source any",
        ]
    )
    config = VENDOR.parse(text)
    assert not config.unparsed
    assert [(found.name, found.kind, found.text) for found in config.addresses] == [
        ("bad", "dynamic", "ip https://lists.example/bad.txt"),
        ("office", "geo", "10.1.0.0/16 10.2.0.0/16"),
    ]
    matches = [rule.match for rule in config.policies[0].rules]
    assert [match.unresolved for match in matches] == [("bad",), ("CN",), ()]
    assert str(matches[2].source) == "10.1.0.0/16, 10.2.0.0/16"


def test_rulebases_that_do_not_filter() -> None:
    text = "\n".join(
        [
            "set rulebase application-override rules o from any",
            "set rulebase application-override rules o protocol udp",
            "set rulebase application-override rules o port 5000-5010,6000",
            "set rulebase application-override rules o application own",
            "set rulebase decryption rules d category gambling",
            "set rulebase decryption rules d action no-decrypt",
            "set rulebase dos rules x from zone untrust",
            "set rulebase dos rules x action deny",
            "set rulebase pbf rules p from interface ethernet1/1",
            "set rulebase pbf rules p action discard",
        ]
    )
    config = VENDOR.parse(text)
    assert not config.unparsed
    found = {policy.purpose: policy.rules[0] for policy in config.policies}
    assert readable(found["application-override"].match.services) == ["udp 5000-5010,6000"]
    assert found["decryption"].match.conditions == ("category gambling",)
    assert found["dos"].match.source_zones == ("untrust",)
    assert found["pbf"].match.conditions == ("from-interface ethernet1/1",)
    actions = {purpose: rule.action for purpose, rule in found.items()}
    assert actions == {
        "application-override": Action.CONTINUE,
        "decryption": Action.CONTINUE,
        "dos": Action.DENY,
        "pbf": Action.DENY,
    }


def test_a_zone_may_be_called_zone() -> None:
    text = full("rulebase", "r").replace("from any", "from zone").replace("to any", "to interface")
    (rule,) = VENDOR.parse(text).policies[0].rules
    assert (rule.match.source_zones, rule.match.destination_zones) == (("zone",), ("interface",))
    assert rule.match.is_exact
