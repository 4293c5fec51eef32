"""Counters of queues and ports as the platforms print them; outputs as in the vendors' command references, shortened."""

from __future__ import annotations

import pytest

from policyhub.domain.counter_series import CounterText
from policyhub.vendorkit.registry import REGISTRY

Row = tuple[str, str, str, float | None, str]

IOS = """ GigabitEthernet0/0/1

  Service-policy output: QOS-OUT

    queue stats for all priority classes:
      Queueing
      priority level 1
      queue limit 512 packets
      (queue depth/total drops/no-buffer drops) 3/40/0
      (pkts output/bytes output) 1200/96000

    Class-map: VOICE (match-any)
      1240 packets, 99200 bytes
      30 second offered rate 8000 bps, drop rate 0000 bps
      Match:  dscp ef (46)
        1240 packets, 99200 bytes
        30 second rate 8000 bps
      Priority: 30% (300000 kbps), burst bytes 7500000, b/w exceed drops: 7
      Priority Level: 1

    Class-map: class-default (match-any)
      500 packets, 750000 bytes
      30 second offered rate 0000 bps, drop rate 0000 bps
      Match: any
      (queue depth/total drops/no-buffer drops/flowdrops) 65/9/0/2
      (pkts output/bytes output) 491/736500
        Exp-weight-constant: 9 (1/512)
        Mean queue depth: 65 packets
        dscp       Transmitted      Random drop      Tail/Flow drop Minimum Maximum Mark
                    pkts/bytes       pkts/bytes      pkts/bytes   thresh  thresh  prob
        af31        400/600000         4/6000           5/7500           32            64  1/10
      police:
          cir 8000 bps, bc 1500 bytes
        conformed 480 packets, 720000 bytes; actions:
          transmit
        exceeded 20 packets, 30000 bytes; actions:
          set-dscp-transmit cs1
        conformed 8000 bps, exceeded 100 bps
      QoS Set
        dscp af41
          Packets marked 11
 GigabitEthernet0/0/2

  Service-policy input: MARK

    Class-map: class-default (match-any)
      17 packets
      Widgets lost 4
"""


def read(platform: str, text: str) -> CounterText:
    series = REGISTRY.get(platform).series
    assert series is not None
    return series(text, None)


def rows(platform: str, text: str) -> list[Row]:
    return [(one.interface, one.queue, one.name, one.value, one.unit) for one in read(platform, text).rows]


def test_ios_counts_classes_priority_queues_policers_and_wred() -> None:
    found = rows("cisco_ios", IOS)
    port, priority, best = "GigabitEthernet0/0/1", "QOS-OUT output all priority classes level 1", "QOS-OUT output class-default"
    assert [row for row in found if row[1] == priority] == [
        (port, priority, "queue depth", 3.0, "packets"),
        (port, priority, "total drops", 40.0, "packets"),
        (port, priority, "no-buffer drops", 0.0, "packets"),
        (port, priority, "pkts output", 1200.0, "packets"),
        (port, priority, "bytes output", 96000.0, "bytes"),
    ]
    assert [row[2:] for row in found if row[1] == "QOS-OUT output VOICE"] == [
        ("Matched", 1240.0, "packets"),
        ("Matched", 99200.0, "bytes"),
        ("b/w exceed drops", 7.0, "packets"),
    ]
    assert [row[2:] for row in found if row[1] == best] == [
        ("Matched", 500.0, "packets"),
        ("Matched", 750000.0, "bytes"),
        ("queue depth", 65.0, "packets"),
        ("total drops", 9.0, "packets"),
        ("no-buffer drops", 0.0, "packets"),
        ("flowdrops", 2.0, "packets"),
        ("pkts output", 491.0, "packets"),
        ("bytes output", 736500.0, "bytes"),
        ("Mean queue depth", 65.0, "packets"),
        ("Transmitted af31", 400.0, "packets"),
        ("Transmitted af31", 600000.0, "bytes"),
        ("Random drop af31", 4.0, "packets"),
        ("Random drop af31", 6000.0, "bytes"),
        ("Tail drop af31", 5.0, "packets"),
        ("Tail drop af31", 7500.0, "bytes"),
        ("conformed", 480.0, "packets"),
        ("conformed", 720000.0, "bytes"),
        ("exceeded", 20.0, "packets"),
        ("exceeded", 30000.0, "bytes"),
        ("Packets marked", 11.0, "packets"),
    ]
    assert found[-1] == ("GigabitEthernet0/0/2", "MARK input class-default", "Matched", 17.0, "packets")


def test_a_line_of_ios_with_an_unknown_number_is_counted() -> None:
    text = read("cisco_ios", IOS)
    assert [IOS.splitlines()[number - 1].strip() for number in text.unread] == ["Widgets lost 4"]
    assert text.rows[0].line == 9 and text.rows[0].source == "show policy-map interface"


def test_classes_of_a_nested_policy_are_told_apart() -> None:
    text = """ Gi0/1
  Service-policy output: TOP
    Class-map: A (match-all)
      1 packets, 100 bytes
      Service-policy : INNER
        Class-map: B (match-all)
          2 packets, 200 bytes
    Class-map: C (match-all)
      3 packets, 300 bytes
"""
    assert [row[1:4] for row in rows("cisco_ios", text) if row[4] == "packets"] == [
        ("TOP output A", "Matched", 1.0),
        ("TOP output A INNER B", "Matched", 2.0),
        ("TOP output C", "Matched", 3.0),
    ]


ASA = """Global policy:
  Service-policy: global_policy
    Class-map: inspection_default
      Inspect: dns preset_dns_map, packet 47, lock fail 0, drop 2, reset-drop 1, 5-min-pkt-rate 0 pkts/sec
        tcp-proxy: bytes in buffer 0, bytes dropped 5

Interface outside:
  Service-policy: qos
    Class-map: browse
      police Interface outside:
        cir 56000 bps, bc 10500 bytes
        conformed 10065 packets, 12621510 bytes; actions:  transmit
        exceeded 499 packets, 625146 bytes; actions:  drop
        conformed 5600 bps, exceed 5016 bps
    Class-map: cmap2
      Priority:
        Interface outside: aggregate drop 3, aggregate transmit 5207048
"""


def test_asa_counts_policers_priority_queues_and_inspections() -> None:
    assert rows("cisco_asa", ASA) == [
        ("", "global_policy inspection_default inspect dns preset_dns_map", "packet", 47.0, "packets"),
        ("", "global_policy inspection_default inspect dns preset_dns_map", "drop", 2.0, "packets"),
        ("", "global_policy inspection_default inspect dns preset_dns_map", "reset-drop", 1.0, "packets"),
        ("", "global_policy inspection_default", "bytes in buffer", 0.0, "bytes"),
        ("", "global_policy inspection_default", "bytes dropped", 5.0, "bytes"),
        ("outside", "qos browse", "conformed", 10065.0, "packets"),
        ("outside", "qos browse", "conformed", 12621510.0, "bytes"),
        ("outside", "qos browse", "exceeded", 499.0, "packets"),
        ("outside", "qos browse", "exceeded", 625146.0, "bytes"),
        ("outside", "qos cmap2", "aggregate drop", 3.0, "packets"),
        ("outside", "qos cmap2", "aggregate transmit", 5207048.0, "packets"),
    ]
    assert read("cisco_asa", ASA).unread == ()


VRP_LIST = """<AR> display qos queue statistics interface GigabitEthernet 0/0/1
------------------------------------------------------------
  Queue ID          : 5
  CIR(kbps)         : 100,000
  PIR(kbps)         : 100,000
  Passed Packets    : 48,140
  Passed Rate(pps)  : 0
  Passed Bytes      : 9,940,984
  Passed Rate(bps)  : 24
  Dropped Packets   : 12
  Dropped Rate(pps) : 0
  Dropped Bytes     : -
  Dropped Rate(bps) : 0
"""
VRP_TABLE = """[~DeviceB] display qos queue statistics interface 100ge 1/0/2
 Queue   CIR/PIR              Passed     Pass Rate             Dropped     Drop Rate  Drop Time
     (% or kbps)   (Packets/Bytes)    (pps/bps)      (Packets/Bytes)    (pps/bps)
 ----------------------------------------------------------------------------------------------
  2      2000               54584             0                   6             0          2026-11-30 01:12:09
         3000             5676736             0                 600             0
"""
VRP_PFC = """Interface         Queue         Received(Frames)        ReceivedRate(pps)     DeadlockNum
                             Transmitted(Frames)     TransmittedRate(pps)     RecoveryNum
100GE1/0/2            3                 8029111                       80               1
                                         4674233                      46               2
"""


def test_vrp_lists_and_tables_and_pauses_are_read() -> None:
    assert rows("huawei_vrp", VRP_LIST) == [
        ("GigabitEthernet0/0/1", "5", "Passed", 48140.0, "packets"),
        ("GigabitEthernet0/0/1", "5", "Passed", 9940984.0, "bytes"),
        ("GigabitEthernet0/0/1", "5", "Dropped", 12.0, "packets"),
        ("GigabitEthernet0/0/1", "5", "Dropped", None, "bytes"),
    ]
    assert rows("huawei_vrp", VRP_TABLE) == [
        ("100ge1/0/2", "2", "Passed", 54584.0, "packets"),
        ("100ge1/0/2", "2", "Dropped", 6.0, "packets"),
        ("100ge1/0/2", "2", "Passed", 5676736.0, "bytes"),
        ("100ge1/0/2", "2", "Dropped", 600.0, "bytes"),
    ]
    assert rows("huawei_vrp", VRP_PFC) == [
        ("100GE1/0/2", "PFC3", "Rx PFC frames", 8029111.0, "packets"),
        ("100GE1/0/2", "PFC3", "PFC deadlocks", 1.0, "events"),
        ("100GE1/0/2", "PFC3", "Tx PFC frames", 4674233.0, "packets"),
        ("100GE1/0/2", "PFC3", "PFC recoveries", 2.0, "events"),
    ]
    assert [read("huawei_vrp", text).unread for text in (VRP_LIST, VRP_TABLE, VRP_PFC)] == [(), (), ()]


COMWARE = """Interface: GigabitEthernet1/0/1
 Direction: outbound
 Forwarded: 18 packets, 1200 bytes
 Dropped: 2 packets, 128 bytes
 Queue 0
  Forwarded: 17 packets, 1138 bytes, 0 pps, 0 bps
  Dropped: 0 packets, 0 bytes
  Current queue length: 4 packets
"""


def test_comware_counts_ports_and_queues() -> None:
    port = "GigabitEthernet1/0/1"
    assert rows("h3c_comware", COMWARE) == [
        (port, "", "Forwarded", 18.0, "packets"),
        (port, "", "Forwarded", 1200.0, "bytes"),
        (port, "", "Dropped", 2.0, "packets"),
        (port, "", "Dropped", 128.0, "bytes"),
        (port, "0", "Forwarded", 17.0, "packets"),
        (port, "0", "Forwarded", 1138.0, "bytes"),
        (port, "0", "Dropped", 0.0, "packets"),
        (port, "0", "Dropped", 0.0, "bytes"),
        (port, "0", "Current queue length", 4.0, "packets"),
    ]
    assert read("h3c_comware", COMWARE).unread == ()


JUNOS = """Physical interface: et-0/0/0, Enabled, Physical link is Up
  Interface index: 158, SNMP ifIndex: 534
Forwarding classes: 16 supported, 6 in use
Egress queues: 8 supported, 6 in use
Queue: 0, Forwarding classes: BEST-EFFORT
  Queued:
    Packets              :          134671505681             132068620 pps
    Bytes                :        75562459379016          627097108480 bps
  Transmitted:
    Packets              :          109413590220              81493768 pps
    Bytes                :        60570127525651          386967339008 bps
    Tail-dropped packets :                     0                     0 pps
    RL-dropped packets   : Not Available
    RED-dropped packets  :           25257915461              50574852 pps
     Low                 :           25257915461              50574852 pps
    RED-dropped bytes    :        14992331853365          240129769472 bps
    ECN-CE packets       :                    31                     0 pps
  Queue-depth bytes      :
    Peak                 :            1234426636
"""


def test_junos_counts_what_is_queued_sent_dropped_and_marked() -> None:
    assert rows("juniper_junos", JUNOS) == [
        ("et-0/0/0", "0 BEST-EFFORT", name, value, unit)
        for name, value, unit in (
            ("Queued", 134671505681.0, "packets"),
            ("Queued", 75562459379016.0, "bytes"),
            ("Transmitted", 109413590220.0, "packets"),
            ("Transmitted", 60570127525651.0, "bytes"),
            ("Tail-dropped packets", 0.0, "packets"),
            ("RL-dropped packets", None, "packets"),
            ("RED-dropped packets", 25257915461.0, "packets"),
            ("RED-dropped bytes", 14992331853365.0, "bytes"),
            ("ECN-CE packets", 31.0, "packets"),
            ("Queue-depth Peak", 1234426636.0, "bytes"),
        )
    ]
    assert read("juniper_junos", JUNOS).unread == ()


def test_cumulus_counts_ports_by_the_columns_of_the_header() -> None:
    text = """Kernel Interface table
Iface      MTU    Met    RX_OK    RX_ERR    RX_DRP    RX_OVR    TX_OK    TX_ERR    TX_DRP    TX_OVR  Flg
-------  -----  -----  -------  --------  --------  --------  -------  --------  --------  --------  -----
swp1      1500      0       10         1         2         3       20         4         5         6  BMRU
swp2      1500      0       10         1
"""
    found = read("nvidia_cumulus", text)
    assert [(one.interface, one.name, one.value) for one in found.rows] == [
        ("swp1", "RX_OK", 10.0),
        ("swp1", "RX_ERR", 1.0),
        ("swp1", "RX_DRP", 2.0),
        ("swp1", "RX_OVR", 3.0),
        ("swp1", "TX_OK", 20.0),
        ("swp1", "TX_ERR", 4.0),
        ("swp1", "TX_DRP", 5.0),
        ("swp1", "TX_OVR", 6.0),
    ]
    assert found.unread == (5,)


TC = """qdisc htb 1: dev eth0 root refcnt 2 r2q 10 default 0x30 direct_packets_stat 0 direct_qlen 1000
 Sent 96000 bytes 1000 pkt (dropped 12, overlimits 300 requeues 1)
 backlog 3Kb 2p requeues 1
qdisc fq_codel 10: dev eth0 parent 1:10 limit 10240p flows 1024 quantum 1514 target 5ms interval 100ms memory_limit 32Mb ecn
 Sent 500 bytes 5 pkt (dropped 0, overlimits 0 requeues 0)
 backlog 0b 0p requeues 0
  maxpacket 1514 drop_overlimit 2 new_flow_count 12 ecn_mark 7
  new_flows_len 0 old_flows_len 1
"""


@pytest.mark.parametrize("platform", ["linux_nftables", "linux_iptables"])
def test_linux_counts_each_discipline(platform: str) -> None:
    found = rows(platform, TC)
    assert found[:7] == [
        ("eth0", "htb 1:", "sent", 96000.0, "bytes"),
        ("eth0", "htb 1:", "sent", 1000.0, "packets"),
        ("eth0", "htb 1:", "dropped", 12.0, "packets"),
        ("eth0", "htb 1:", "overlimits", 300.0, "events"),
        ("eth0", "htb 1:", "requeues", 1.0, "events"),
        ("eth0", "htb 1:", "backlog", 3072.0, "bytes"),
        ("eth0", "htb 1:", "backlog", 2.0, "packets"),
    ]
    assert ("eth0", "fq_codel 10: of 1:10", "ecn_mark", 7.0, "") in found and len(found) == 20
    assert read(platform, TC).unread == ()


@pytest.mark.parametrize("platform", [name for name in REGISTRY.names() if REGISTRY.get(name).series])
@pytest.mark.parametrize("text", ["", "\0\ufeff", "hostname a\n", "{", "-" * 9000 + "1", "1\n" * 50])
def test_any_text_gives_rows_or_lines_that_were_not_understood(platform: str, text: str) -> None:
    found = read(platform, text)
    assert found.rows == () and set(found.unread) <= set(range(1, text.count("\n") + 2))
    assert bool(found.unread) == any(char.isdigit() for char in text)
