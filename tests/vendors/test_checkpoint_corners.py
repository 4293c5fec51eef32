"""Check Point: the smallest lines of clish, logs and answers that decide a field."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from policyhub.domain.device_config import DeviceConfig
from policyhub.vendorkit.registry import REGISTRY
from policyhub.vendors.checkpoint_gaia.objects import ports
from tests.vendors.corners import each_odd, reasons, whole

VENDOR = REGISTRY.get("checkpoint_gaia")


def parse(*lines: str) -> DeviceConfig:
    return whole(VENDOR, "\n".join(("set hostname gw", *lines)) + "\n")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("80", ((80, 80),)), ("1-9", ((1, 9),)), (">1023", ((1024, 65535),)), ("<1024", ((0, 1023),)), ("80, 443", ((80, 80),
        (443, 443))),
        ("0", ((0, 0),)), ("65535", ((65535, 65535),)), ("65536", None), ("9-8", None), ("x", None), ("1-x", None), ("<0", None),
        (">65535", None), ("123456", None), ("1-123456", None), ("1-65535", ((1, 65535),)), ("10000-20000", ((10000, 20000),)),
    ],
)  # fmt: skip
def test_ports_of_a_service(text: str, found: tuple[tuple[int, int], ...] | None) -> None:
    assert ports(text) == found


def test_lines_of_interfaces() -> None:
    config = parse(
        "set interface eth0 ipv4-address 10.0.0.1 mask-length 24", "set interface eth0 ipv6-address 2001:db8::1 mask-length 64",
        'set interface eth0 comments "to the lab"', "set interface eth0 state off", "set interface eth0 mtu 68",
        "set interface eth0 link-speed 10G/full", "add interface eth0 vlan 7", "add interface eth0 alias 10.9.0.1/24",
        "set interface eth0.7 ipv4-address 10.7.0.1 subnet-mask 255.255.255.0", "set interface eth1 mtu 65535",
         "set interface eth1 state on",
        "add bonding group 1", "add bonding group 1 interface eth2",
    )  # fmt: skip
    told = {
        one.name: (one.addresses, one.description, one.enabled, one.mtu, one.speed_bps, one.parent) for one in config.interfaces
    }
    assert told["eth0"] == (("10.0.0.1/24", "2001:db8::1/64", "10.9.0.1/24"), "to the lab", False, 68, 10**10, "")
    assert told["eth0.7"] == (("10.7.0.1/24",), "", True, None, None, "eth0")
    assert told["eth1"][2:4] == (True, 65535)
    assert told["eth2"][5] == "bond1" and "bond1" in told


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["default nexthop gateway address 192.0.2.1 on"], [("0.0.0.0/0", "192.0.2.1", "", None, False)]),
        (["10.0.0.0/8 nexthop gateway logical eth1 on"], [("10.0.0.0/8", "", "eth1", None, False)]),
        (["10.0.0.0/8 nexthop gateway address 192.0.2.1 priority 2 on"], [("10.0.0.0/8", "192.0.2.1", "", 2, False)]),
        (["10.0.0.0/8 nexthop blackhole"], [("10.0.0.0/8", "", "", None, True)]),
        (["10.0.0.0/8 nexthop gateway address 192.0.2.1 on", "10.0.0.0/8 rank 0"], [("10.0.0.0/8", "192.0.2.1", "", 0, False)]),
        (["10.0.0.0/8 nexthop gateway address 192.0.2.1 on", "10.0.0.0/8 rank 255"], [("10.0.0.0/8", "192.0.2.1", "", 255,
         False)]),
        (["10.0.0.0/8 nexthop gateway address 192.0.2.1 on", "10.0.0.0/8 nexthop gateway address 192.0.2.1 off"], []),
        (["10.0.0.0/8 nexthop gateway address 192.0.2.1 on", "10.0.0.0/8 off"], []),
        (["10.0.0.0/8 nexthop gateway address 192.0.2.1 on", '10.0.0.0/8 comment "x"'], [("10.0.0.0/8", "192.0.2.1", "", None,
         False)]),
        (["10.0.0.0/8 nexthop gateway address 192.0.2.1 on",
          "10.0.0.0/8 nexthop gateway address 192.0.2.1 monitored-ip 192.0.2.9 on"], [("10.0.0.0/8", "192.0.2.1", "", None,
           False)]),
        (["10.0.0.0/8 nexthop gateway address 192.0.2.1 on",
          "10.0.0.0/8 nexthop gateway address 192.0.2.1 monitored-ip 192.0.2.9 off"], [("10.0.0.0/8", "192.0.2.1", "", None,
           False)]),
        (["10.0.0.0/8 nexthop gateway address 192.0.2.7 monitored-ip 192.0.2.9 off"], []),
    ],
)  # fmt: skip
def test_static_routes(lines: list[str], expected: list[tuple[object, ...]]) -> None:
    config = parse(*(f"set static-route {line}" for line in lines))
    assert [(one.prefix, one.next_hop, one.interface, one.distance, one.discard) for one in config.routes] == expected


ODD = [
    ("set interface eth0 odd x", "'odd' is not understood in an interface"),
    ("set interface eth0 mtu 67", "'67' is not an MTU (68..65535)"),
    ("set interface eth0 mtu 65536", "'65536' is not an MTU (68..65535)"),
    ("set interface eth0 link-speed odd", "not a speed"),
    ("set interface eth0 ipv4-address 10.0.0.300 mask-length 24", "'10.0.0.300/24' is not an address with a mask"),
    ("set static-route odd nexthop blackhole", "'odd' is not a prefix"),
    ("set static-route 10.0.0.0/8 nexthop odd", "'odd' is not a next hop"),
    ("set static-route 10.0.0.0/8 nexthop gateway address 192.0.2.1 odd", "'odd' is not understood in a route"),
    ("set static-route 10.0.0.0/8 nexthop gateway address 192.0.2.1 priority 256 on", "'256' is not a priority (0..255)"),
    ("set static-route 10.0.0.0/8 rank 256", "'256' is not a rank (0..255)"),
]


@each_odd(ODD)
def test_what_is_not_understood_is_told_with_its_reason(text: str, told: str) -> None:
    assert reasons(VENDOR, f"set hostname gw\n{text}\n") == [f"2 {told}"]


@pytest.mark.parametrize(
    ("stamp", "at"),
    [
        ("time=999999999", datetime.fromtimestamp(999_999_999, UTC)),
        ("time=1790000000", datetime.fromtimestamp(1_790_000_000, UTC)),
        ("rt=1790000000123", datetime.fromtimestamp(1_790_000_000, UTC)),
        ("time=17900000001", None),
        ("time=12345678", None),
    ],
)
def test_times_of_logs(stamp: str, at: datetime | None) -> None:
    (use,) = VENDOR.rule_uses(f"{stamp} rule_uid=R1\n") if VENDOR.rule_uses else ()
    assert (use.key, use.sessions, use.first_at, use.last_at) == ("R1", 1, at, at)


@pytest.mark.parametrize(
    ("posix", "at"),
    [
        (1, datetime.fromtimestamp(0, UTC)),
        (0, None),
        (-1, None),
        (10**14, None),
        (1_790_000_000_999, datetime.fromtimestamp(1_790_000_000, UTC)),
    ],
)
def test_times_of_hits(posix: int, at: datetime | None) -> None:
    rule = {"uid": "R1", "type": "access-rule", "rule-number": 1, "hits": {"value": 3, "last-date": {"posix": posix}}}
    sample = VENDOR.counters(json.dumps({"uid": "L", "name": "Network", "rulebase": [rule]}), None)
    assert sample is not None
    assert [(hit.policy, hit.key, hit.hits, hit.last_hit_at) for hit in sample.hits] == [("Network", "R1", 3, at)]


def test_words_behind_an_answer_are_told() -> None:
    answer = json.dumps({"uid": "L", "name": "Network", "rulebase": []})
    assert [one.reason for one in VENDOR.parse(answer + " odd\n").unparsed] == ["something stands behind the end of the answer"]


def layer(*rules: dict[str, object], objects: tuple[dict[str, object], ...] = ()) -> str:
    return json.dumps({"uid": "L", "name": "Network", "rulebase": rules, "objects-dictionary": objects}, indent=1)


def row(number: object, uid: str, **more: object) -> dict[str, object]:
    return {"uid": uid, "type": "access-rule", "rule-number": number, "name": uid, **more}


@pytest.mark.parametrize(
    ("numbers", "order"),
    [((2, 1, 3), "bac"), ((1, 1, 2), "abc"), ((3, None, 1), "abc"), ((10, 9, 8), "cba")],
)
def test_rules_stand_by_their_numbers_when_all_have_one(numbers: tuple[int | None, ...], order: str) -> None:
    rules = [row(number, uid) for number, uid in zip(numbers, "abc", strict=True)]
    (policy,) = [one for one in VENDOR.parse(layer(*rules)).policies if one.rules]
    assert "".join(rule.name for rule in policy.rules) == order


@pytest.mark.parametrize("text", ['{"uid" odd\n', '[\n{"uid": \n', "{odd}\n"])
def test_an_answer_without_a_whole_value_is_told(text: str) -> None:
    config = VENDOR.parse(text)
    assert config.unparsed and all("JSON" in one.reason for one in config.unparsed)


def test_rules_in_front_of_a_damage_know_their_lines() -> None:
    whole = layer(row(1, "a"), row(2, "b"))
    cut = "mgmt_cli show access-rulebase\n" * 3 + whole[: whole.index('"name": "b"')]
    (policy,) = [one for one in VENDOR.parse(cut).policies if one.rules]
    assert policy.rules[0].lines[0] == 3 + whole[: whole.index('"uid": "a"')].count("\n")


def test_lines_whose_rule_is_cut_off_are_unread() -> None:
    assert VENDOR.unread_hits
    text = "".join(f"time=1790000000 rule_uid={uid} x=1\n" for uid in ('"R1"', "R2", '""', "{}"))
    assert [one.line for one in VENDOR.unread_hits(text)] == [3, 4]
