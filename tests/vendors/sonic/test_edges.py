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
