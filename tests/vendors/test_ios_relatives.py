"""NX-OS, EOS and IOS-XR: told apart by content, counters of queues and ports, texts that golden cases do not hold."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from policyhub.domain.device_config import DeviceConfig
from policyhub.domain.rules import Action
from policyhub.vendorkit.registry import REGISTRY

READ_AT = datetime(2026, 11, 30, 12, tzinfo=UTC)
QUEUING = """slot  1
Egress Queuing for Ethernet1/51 [System]
------------------------------------------------------------------------------
+-------------------------------------------------------------+
|                              QOS GROUP 3                    |
+-------------------------------------------------------------+
|                           |  Unicast       |Multicast       |
+-------------------------------------------------------------+
|                    Tx Pkts |      284960626|               0|
|                    Tx Byts |   299208657300|               0|
|  WRED/AFD & Tail Drop Pkts |          28498|               7|
+-------------------------------------------------------------+
PFC Statistics
TxPPP:                 4341,   RxPPP:                 3584
PFC_COS QOS_Group   TxPause             TxCount   RxPause             RxCount
      3         3  Inactive                4341  Inactive                3584
"""
PFC_DETAIL = """Ethernet1/3
    Admin Mode: On
    Oper Mode: On
    VL bitmap: (8)
    Total Rx PFC Frames: 571869
    Total Tx PFC Frames: 0
        |  Priority0  |  Priority1  |  Priority2  |  Priority3  |
    Rx  |0            |0            |0            |571869       |
"""
PFC_BRIEF = """Port               Mode Oper(VL bmap)  RxPPP      TxPPP
Ethernet1/1        Auto Off           0          0
Ethernet1/2        On   On  (8)       12         34
"""
EOS_PFC = """Port        RxPfc        TxPfc
Et1            5           17
Po10           0            0
"""
XR_CLASSES = """TenGigE0/2/0/3 output: cap

Class cap
  Classification statistics          (packets/bytes)     (rate - kbps)
    Matched             :                 638/42108                10
    Transmitted         : N/A
  Queueing statistics
    High watermark  (bytes)/(ms)         : 5/6
    Taildropped(packets/bytes)           : 3/300
"""


def series(platform: str, text: str) -> list[tuple[str, str, str, float | None, str]]:
    vendor = REGISTRY.get(platform)
    assert vendor.series is not None
    return [(row.interface, row.queue, row.name, row.value, row.unit) for row in vendor.series(text, READ_AT).rows]


def parsed(platform: str, text: str) -> DeviceConfig:
    return REGISTRY.get(platform).parse(text)


def test_queues_of_nxos_are_read_with_packets_and_bytes() -> None:
    found = series("cisco_nxos", QUEUING)
    assert ("Ethernet1/51", "QG3", "Tx Pkts Unicast", 284960626.0, "packets") in found
    assert ("Ethernet1/51", "QG3", "Tx Byts Unicast", 299208657300.0, "bytes") in found
    assert ("Ethernet1/51", "QG3", "WRED/AFD & Tail Drop Pkts Multicast", 7.0, "packets") in found
    assert ("Ethernet1/51", "PFC3", "Tx PFC frames", 4341.0, "packets") in found
    assert ("Ethernet1/51", "PFC3", "Rx PFC frames", 3584.0, "packets") in found
    assert len(found) == 8


def test_pauses_of_nxos_are_read_per_port_and_priority() -> None:
    found = series("cisco_nxos", PFC_DETAIL)
    assert found[0] == ("Ethernet1/3", "", "Rx PFC frames", 571869.0, "packets")
    assert ("Ethernet1/3", "PFC3", "Rx PFC frames", 571869.0, "packets") in found
    assert len(found) == 6
    assert series("cisco_nxos", PFC_BRIEF)[2:] == [
        ("Ethernet1/2", "", "Rx PFC frames", 12.0, "packets"),
        ("Ethernet1/2", "", "Tx PFC frames", 34.0, "packets"),
    ]


def test_pauses_of_eos_are_read_per_port() -> None:
    assert series("arista_eos", EOS_PFC)[:2] == [
        ("Et1", "", "Rx PFC frames", 5.0, "packets"),
        ("Et1", "", "Tx PFC frames", 17.0, "packets"),
    ]
    assert series("arista_eos", "Port        RxPfc        TxPfc\nEt1  link down\nEt2  1  2\n") == []


def test_classes_of_iosxr_are_read_with_packets_and_bytes() -> None:
    found = series("cisco_iosxr", XR_CLASSES)
    assert found[0] == ("TenGigE0/2/0/3", "cap output cap", "Matched", 638.0, "packets")
    assert found[1] == ("TenGigE0/2/0/3", "cap output cap", "Matched", 42108.0, "bytes")
    assert ("TenGigE0/2/0/3", "cap output cap", "High watermark", 6.0, "milliseconds") in found
    assert ("TenGigE0/2/0/3", "cap output cap", "Taildropped", 3.0, "packets") in found
    assert not [row for row in found if row[2] == "Transmitted"], "N/A is no number"


@pytest.mark.parametrize("platform", ["cisco_nxos", "arista_eos", "cisco_iosxr"])
def test_a_configuration_is_no_series(platform: str) -> None:
    assert series(platform, "hostname a\ninterface Ethernet1/1\n mtu 9216\n") == []


def test_the_age_of_a_hit_is_a_time_only_with_a_reading_time() -> None:
    text = "IP Access List A\n    counters per-entry\n    10 permit ip any any [match 3 packets, 1 day, 2:03:04 ago]\n"
    told = REGISTRY.get("arista_eos").counters(text, READ_AT)
    silent = REGISTRY.get("arista_eos").counters(text, None)
    assert told is not None and silent is not None
    assert told.hits[0].last_hit_at == READ_AT - timedelta(days=1, hours=2, minutes=3, seconds=4)
    assert silent.hits[0].last_hit_at is None


@pytest.mark.parametrize(
    ("platform", "text"),
    [
        ("cisco_nxos", "feature bgp\nip access-list A\n  10 permit ip any any\ninterface Ethernet1/1\n  ip access-group A in\n"),
        (
            "arista_eos",
            "vrf instance R\nip access-list A\n   10 permit ip any any\nmanagement api http-commands\n   no shutdown\n",
        ),
        ("cisco_iosxr", "ipv4 access-list A\n 10 permit ipv4 any any\ninterface TenGigE0/0/0/0\n ipv4 access-group A ingress\n"),
        (
            "cisco_ios",
            "version 15.1\nip access-list extended A\n permit ip any any\ninterface GigabitEthernet0/1\n ip access-group A in\n",
        ),
        (
            "cisco_asa",
            "ASA Version 9.8(2)\ninterface GigabitEthernet0/0\n nameif inside\naccess-list A extended permit ip any any\n",
        ),
    ],
)
def test_relatives_are_told_apart(platform: str, text: str) -> None:
    found = REGISTRY.detect(text)
    assert found is not None and found.name == platform


@pytest.mark.parametrize(
    ("platform", "kind"),
    [("cisco_nxos", "ip access-list"), ("arista_eos", "ip access-list"), ("cisco_iosxr", "ipv4 access-list")],
)
def test_a_removed_list_is_gone_with_its_lines(platform: str, kind: str) -> None:
    protocol = "ipv4" if platform == "cisco_iosxr" else "ip"
    config = parsed(platform, f"{kind} A\n 10 permit {protocol} any any\nno {kind} A\n{kind} A\n 20 deny {protocol} any any\n")
    assert [rule.name for rule in config.policies[0].rules] == ["A 20"]
    assert config.unparsed == ()


def test_a_priority_that_is_paused_needs_its_policy_to_be_attached() -> None:
    policy = "policy-map type network-qos L\n  class type network-qos c-8q-nq3\n    pause pfc-cos 3-4\n"
    port = "interface Ethernet1/1\n  priority-flow-control mode on\n"
    attached = parsed("cisco_nxos", policy + "system qos\n  service-policy type network-qos L\n" + port)
    alone = parsed("cisco_nxos", policy + port)
    assert {known.interface: known.priorities for known in attached.losslessness} == {"Ethernet1/1": {3, 4}, "": {3, 4}}
    assert [known.priorities for known in alone.losslessness] == [None]


def test_pause_no_drop_pauses_the_classes_of_service_of_its_class() -> None:
    text = (
        "class-map type network-qos N\n  match cos 4\n"
        "policy-map type network-qos L\n  class type network-qos N\n    pause no-drop\n"
        "system qos\n  service-policy type network-qos L\n"
    )
    assert [known.priorities for known in parsed("cisco_nxos", text).losslessness] == [{4}]


@pytest.mark.parametrize(
    ("line", "action"),
    [
        ("police cir 1 mbps bc 1 ms conform transmit violate drop", "drop"),
        ("police cir 1 mbps bc 1 ms conform transmit violate transmit", "transmit"),
        ("police cir 1 mbps pir 2 mbps conform transmit exceed set dscp 8 violate drop", "set dscp 8"),
        ("police cir 1 mbps", "drop"),
    ],
)
def test_what_exceeds_a_policer_of_nxos(line: str, action: str) -> None:
    config = parsed("cisco_nxos", f"policy-map type qos P\n  class class-default\n    {line}\n")
    policer = config.qos_policies[0].classes[0].policer
    assert policer is not None and policer.exceed_action == action


def test_an_unknown_field_set_widens_a_rule_to_everything() -> None:
    match = "         source prefix field-set GONE\n         actions\n            drop\n"
    text = f"traffic-policies\n   traffic-policy T\n      match m ipv4\n{match}"
    rule = parsed("arista_eos", text).policies[0].rules[0]
    assert rule.action is Action.DENY
    assert rule.match.source.is_any4 and rule.match.unresolved == ("GONE",)


def test_ports_with_a_protocol_that_has_none_are_said() -> None:
    text = "traffic-policies\n   traffic-policy T\n      match m ipv4\n         protocol icmp destination port 80\n"
    config = parsed("arista_eos", text)
    assert [unparsed.reason for unparsed in config.unparsed] == ["ports are given for a protocol that has none"]
    assert config.policies[0].rules[0].match.conditions == ("protocol icmp destination port 80",)


def test_a_hole_in_a_field_set_of_two_families_is_taken_away() -> None:
    text = "traffic-policies\n   field-set ipv4 prefix F\n      10.0.0.0/8\n      except 10.1.0.0/16\n"
    addresses = parsed("arista_eos", text).addresses[0].addresses
    assert addresses is not None and "10.1.0.0/16" not in addresses.prefixes()
    assert addresses.size == 2**24 - 2**16


def test_a_common_list_alone_keeps_its_final_deny() -> None:
    text = "ipv4 access-list C\n 10 permit tcp any any\ninterface TenGigE0/0/0/0\n ipv4 access-group common C ingress\n"
    config = parsed("cisco_iosxr", text)
    assert config.evaluation == () and config.policies[0].default is Action.DENY


def test_a_route_policy_that_never_ends_hides_nothing_behind_it() -> None:
    lists = "ipv4 access-list A\n 10 permit ipv4 any any\n"
    for end in ("", "prefix-set S\n 10.0.0.0/8\nend-set\n"):
        config = parsed("cisco_iosxr", f"route-policy P\n  pass\n{lists}{end}")
        assert [policy.name for policy in config.policies] == ["A"]
        assert config.policies[0].lines == (3, 4)


@pytest.mark.parametrize("platform", ["cisco_nxos", "arista_eos", "cisco_iosxr"])
def test_ten_thousand_entries_are_read(platform: str) -> None:
    kind, protocol = ("ipv4", "ipv4") if platform == "cisco_iosxr" else ("ip", "ip")
    entries = "".join(f" {n} permit {protocol} 10.{n >> 8 & 255}.{n & 255}.0/24 any\n" for n in range(1, 10_001))
    config = parsed(platform, f"{kind} access-list A\n{entries}")
    assert config.rule_count == 10_000 and config.unparsed == ()


def test_lists_for_arp_are_lists_of_their_own() -> None:
    text = "arp access-list R\n  10 permit ip host 10.0.0.1 mac any\nip arp inspection filter R vlan 10-11\n"
    policy = parsed("cisco_nxos", text).policies[0]
    assert (policy.purpose, policy.family, policy.bindings[0].interface) == ("arp", 0, "vlan 10-11")
    assert policy.rules[0].match.conditions == ("arp ip host 10.0.0.1 mac any",)


def test_a_class_of_the_control_plane_takes_any_of_its_lines() -> None:
    text = (
        "class-map type control-plane C\n  match access-group name A\n  match access-group name B\n"
        "policy-map type control-plane P\n  class C\nclass-map type qos D\n  match dscp 1\npolicy-map Q\n  class D\n"
    )
    taken, of_qos = (policy.classes[0].match for policy in parsed("cisco_nxos", text).qos_policies)
    assert taken.acls == ("A", "B") and not taken.match_all and of_qos.match_all


def test_buffers_of_a_chip_are_kept_in_its_words() -> None:
    text = "platform trident mmu queue profile R\n   ingress headroom 1000\n   egress unicast queue 3 threshold 1/4\n"
    policy = parsed("arista_eos", text).qos_policies[0]
    assert policy.name == "mmu-profile R"
    assert [(made.name, made.notes) for made in policy.classes] == [
        ("ingress", ("headroom 1000",)),
        ("egress unicast queue 3", ("threshold 1/4",)),
    ]


def test_who_may_ask_for_the_time_is_a_binding() -> None:
    config = parsed("arista_eos", "ip access-list N\n   10 permit ip any any\nntp serve ip access-group N vrf M in\n")
    assert [(binding.interface, binding.direction) for binding in config.policies[0].bindings] == [("ntp vrf M", "local")]


def test_a_port_of_iosxr_that_pauses_is_lossless() -> None:
    config = parsed("cisco_iosxr", "interface HundredGigE0/0/0/5\n priority-flow-control mode on\n")
    assert [(known.interface, known.enabled, known.priorities) for known in config.losslessness] == [
        ("HundredGigE0/0/0/5", True, None)
    ]


@pytest.mark.parametrize(
    ("line", "enabled"), [("shutdown", False), ("shutdown lan", True), ("autostate", True), ("no shutdown", True)]
)
def test_only_a_bare_shutdown_disables_a_port(line: str, enabled: bool) -> None:
    config = parsed("cisco_nxos", f"interface Ethernet1/1\n  {line}\n")
    assert config.interfaces[0].enabled is enabled


def test_a_row_of_pauses_shorter_than_its_header_gives_what_it_has() -> None:
    assert series("arista_eos", "Port RxPfc TxPfc\nEt1 5\n") == [("Et1", "", "Rx PFC frames", 5.0, "packets")]
