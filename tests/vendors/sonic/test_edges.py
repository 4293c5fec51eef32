"""Corners of SONiC's tables that a golden case is too large for."""

from __future__ import annotations

import json

import pytest

from policyhub.domain.device_config import DeviceConfig
from policyhub.vendorkit.registry import REGISTRY
from tests.vendors.model_json import addresses, service

VENDOR = REGISTRY.get("sonic")


def parse(**tables: object) -> DeviceConfig:
    return VENDOR.parse(json.dumps(tables, indent=1))


def rule(**fields: str) -> DeviceConfig:
    return parse(ACL_RULE={"T|R": {"PRIORITY": "1", "PACKET_ACTION": "DROP", **fields}})


def test_two_rows_of_one_queue_add_up() -> None:
    config = parse(
        SCHEDULER={"s": {"type": "DWRR", "weight": "7"}, "t": {"type": "STRICT", "pir": "1000"}},
        WRED_PROFILE={"w": {"ecn": "ecn_all", "green_min_threshold": "10", "green_max_threshold": "20"}},
        QUEUE={"Ethernet0|3-4": {"scheduler": "s"}, "Ethernet0|3": {"wred_profile": "w"}, "Ethernet0|4": {"scheduler": "t"}},
    )
    third, fourth = (made.queue for made in config.qos_policies[0].classes)
    assert third is not None and fourth is not None
    assert (third.remaining_weight, third.ecn, third.drop_max_bytes) == (7, True, 20)
    assert (fourth.is_strict_priority, fourth.ceiling_bps) == (True, 8000)


def test_ports_that_classify_by_two_maps_leave_queues_without_code_points() -> None:
    maps = {"A": {"46": "5"}, "B": {"46": "6"}}
    ports = {f"Ethernet{n}": {"dscp_to_tc_map": name, "tc_to_queue_map": "Q"} for n, name in enumerate("AB")}
    config = parse(
        DSCP_TO_TC_MAP=maps,
        TC_TO_QUEUE_MAP={"Q": {"5": "5", "6": "6"}},
        PORT_QOS_MAP=ports,
        QUEUE={"Ethernet0|5": {"scheduler": "s"}},
    )
    assert config.qos_policies[0].classes[0].match.dscp is None


def test_a_map_that_is_not_in_the_text_leaves_queues_without_code_points() -> None:
    config = parse(
        TC_TO_QUEUE_MAP={"Q": {"5": "5"}},
        PORT_QOS_MAP={"Ethernet0": {"dscp_to_tc_map": "A", "tc_to_queue_map": "Q"}},
        QUEUE={"Ethernet0|5": {"scheduler": "s"}},
    )
    assert config.qos_policies[0].classes[0].match.dscp is None


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"IP_PROTOCOL": "ICMPV6", "ICMPV6_TYPE": "128"}, "icmp6 128"),
        ({"IP_PROTOCOL": "gre"}, "proto 47"),
        ({"IP_PROTOCOL": "0x2f"}, ""),
        ({"IP_PROTOCOL": "256"}, ""),
        ({"L4_DST_PORT": "65535"}, "tcp+udp 65535"),
        ({"L4_DST_PORT": "65536"}, ""),
        ({"ICMP_TYPE": "255", "ICMP_CODE": "255"}, "icmp 255:255"),
        ({"ICMP_TYPE": "256"}, ""),
    ],
)
def test_services(fields: dict[str, str], expected: str) -> None:
    config = rule(**fields)
    found = config.policies[0].rules[0]
    assert (service(found.match.services[0]) if found.enabled else "") == expected
    assert bool(config.unparsed) is not found.enabled


@pytest.mark.parametrize(("kind", "source"), [("IP", "any"), ("IPV4", "any4"), ("IPV6ANY", "any6"), ("NON_IPV4", "any")])
def test_ip_types(kind: str, source: str) -> None:
    found = rule(IP_TYPE=kind).policies[0].rules[0]
    assert addresses(found.match.source) == source
    assert found.match.conditions == (("IP_TYPE NON_IPV4",) if kind == "NON_IPV4" else ())


def test_an_icmp_code_alone_is_a_condition() -> None:
    assert rule(ICMP_CODE="3").policies[0].rules[0].match.conditions == ("ICMP code 3",)


def test_nested_objects_of_one_name_are_put_together() -> None:
    text = '{"ACL_RULE": {"T|A": {"PRIORITY": "1"}}, "ACL_RULE": {"T|B": {"PRIORITY": "2"}}}'
    assert [found.name for found in VENDOR.parse(text).policies[0].rules] == ["B", "A"]


@pytest.mark.parametrize(
    ("text", "reasons"),
    [
        ('{"a": 1\n"b" }', ["a name without a value"]),
        ('{"ACL_TABLE": {}}\n}', ["nothing is open that } closes"]),
        ('{"ACL_RULE": {"T|A": {"PRIORITY": "1"]\n}', ["nothing is open that ] closes"]),
        ('[{"ACL_RULE_TABLE:T:R": {"PRIORITY": "1"]', ["] closes what something else opened"]),
        ('[\n{"ACL_RULE_TABLE:T:R": {"PRIORITY": "1"}, "OP": "SET"}\n: ', ["a colon without a name"]),
        ("{\nx: 1\n}", ["not JSON"]),
    ],
)
def test_damaged_json_says_what_is_odd(text: str, reasons: list[str]) -> None:
    found = [line.reason for line in VENDOR.parse(text).unparsed]
    assert any(reason in found for reason in reasons), found


def test_deep_nesting_is_no_endless_stack() -> None:
    config = VENDOR.parse('{"ACL_RULE": ' + '{"a": ' * 5_000)
    assert config.lines == 1


@pytest.mark.parametrize("action", ["REDIRECT", "FOO:Ethernet0"])
def test_an_action_that_sonic_refuses_switches_the_rule_off(action: str) -> None:
    config = rule(PACKET_ACTION=action)
    found = config.policies[0].rules[0]
    assert (found.enabled, found.match.unresolved, len(config.unparsed)) == (False, (f"PACKET_ACTION {action}",), 1)


def test_a_rule_keeps_what_it_says() -> None:
    assert rule(SRC_IP="10.0.0.0/8").policies[0].rules[0].text == "PRIORITY 1, PACKET_ACTION DROP, SRC_IP 10.0.0.0/8"


def test_any_ip_type_asks_for_nothing() -> None:
    found = rule(IP_TYPE="ANY", IP_PROTOCOL="6").policies[0].rules[0].match
    assert (addresses(found.source), addresses(found.destination), found.conditions) == ("any", "any", ())


def openconfig(*entries: dict[str, object]) -> DeviceConfig:
    """As acl-loader takes it: openconfig-acl.yang."""
    rows = {
        str(n): {"config": {"sequence-id": str(n)}, "actions": {"config": {"forwarding-action": "ACCEPT"}}, **entry}
        for n, entry in enumerate(entries, 1)
    }
    return VENDOR.parse(json.dumps({"acl": {"acl-sets": {"acl-set": {"T": {"acl-entries": {"acl-entry": rows}}}}}}, indent=1))


def test_messages_of_openconfig_are_those_of_their_protocol() -> None:
    four = {"ip": {"config": {"protocol": "1"}}, "icmp": {"config": {"type": "8", "code": "0"}}}
    six = {"ip": {"config": {"protocol": "58"}}, "icmp": {"config": {"type": "128"}}}
    config = openconfig(four, six)
    assert not config.unparsed
    assert [service(found.match.services[0]) for found in config.policies[0].rules] == ["icmp 8:0", "icmp6 128"]


def test_flags_of_openconfig_belong_to_tcp() -> None:
    flags = {"config": {"tcp-flags": ["TCP_SYN"]}}
    config = openconfig(
        {"ip": {"config": {"protocol": "6"}}, "transport": flags},
        {"transport": flags},
        {"ip": {"config": {"protocol": "17"}}, "transport": flags},
    )
    assert [(found.enabled, found.match.conditions) for found in config.policies[0].rules] == [
        (True, ("tcp-flags TCP_SYN",)),
        (True, ("tcp-flags TCP_SYN",)),
        (False, ()),
    ]
    assert [line.reason for line in config.unparsed] == ["TCP flags are given for another protocol"]


def test_ethertypes_and_descriptions_of_openconfig() -> None:
    config = openconfig(
        {"l2": {"config": {"ethertype": "ETHERTYPE_IPV4"}}, "config": {"sequence-id": "1", "description": "web"}},
        {"l2": {"config": {"ethertype": "ETHERTYPE_IPV6"}}},
        {"l2": {"config": {"ethertype": "0x0806"}}},
    )
    assert not config.unparsed
    four, six, arp = config.policies[0].rules
    assert (addresses(four.match.source), four.comment, addresses(six.match.source)) == ("any4", "web", "any6")
    assert arp.match.conditions != ()


def test_mirrors_of_show_acl_rule() -> None:
    text = (
        "Table    Rule      Priority  Action                     Match\n"
        "-------  ------  ----------  -------------------------  ---------------\n"
        "EF       RULE_1        9999  MIRROR INGRESS: everflow0  SRC_IP: 10.0.0.0/8\n"
        "EF       RULE_2        9998  DROP                       DSCP: 8\n"
    )
    first, second = VENDOR.parse(text).policies[0].rules
    assert (first.references, second.references, second.action.value) == (("everflow0",), (), "deny")


def test_the_name_of_a_rule_in_an_operation_may_hold_colons() -> None:
    text = '[{"ACL_RULE_TABLE:T:R:1": {"PRIORITY": "1", "PACKET_ACTION": "DROP"}, "OP": "SET"}]'
    assert [found.name for found in VENDOR.parse(text).policies[0].rules] == ["R:1"]


def test_a_queue_without_a_static_buffer_does_not_hide_the_next() -> None:
    config = parse(
        BUFFER_PROFILE={"d": {"dynamic_th": "1", "size": "0"}, "s": {"static_th": "1000", "size": "24"}},
        BUFFER_QUEUE={"Ethernet0|0": {"profile": "d"}, "Ethernet0|1": {"profile": "s"}},
        QUEUE={"Ethernet0|0-1": {"scheduler": "x"}},
        SCHEDULER={"x": {"type": "DWRR", "weight": "1"}},
    )
    assert [made.queue.limit_bytes for made in config.qos_policies[0].classes if made.queue] == [None, 1024]


def test_code_points_of_a_map_end_at_63() -> None:
    config = parse(DSCP_TO_TC_MAP={"A": {"63": "1", "64": "2"}})
    assert [line.text for line in config.unparsed] == ['"64": "2"'] and config.dscp_maps[0].level == ((63, 1),)
