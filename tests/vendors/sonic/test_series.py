"""Counters of queues and ports from the command line, as sonic-utilities prints them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from policyhub.domain.counter_series import CounterSeries
from policyhub.vendorkit.registry import REGISTRY

READ_AT = datetime(2026, 1, 1, tzinfo=UTC)
QUEUES = """For namespace :
     Port    TxQ    Counter/pkts    Counter/bytes    Drop/pkts    Drop/bytes
---------  -----  --------------  ---------------  -----------  ------------
Ethernet0    UC1           1,060               43            0             1
Ethernet0  ALL20             N/A              N/A          N/A           N/A
"""
PFC = """  Port Rx    PFC0    PFC3
---------  ------  ------
Ethernet0       0   1,203

  Port Tx    PFC0    PFC3
---------  ------  ------
Ethernet0       0      15
"""
GROUPS = """Ingress PG dropped packets:
     Port    PG0    PG3
---------  -----  -----
Ethernet4    400    N/A
"""
WATCHDOG = """      QUEUE       STATUS    STORM DETECTED/RESTORED    TX OK/DROP
-----------  -----------  -------------------------  ------------
Ethernet0:3      stormed                        3/2       100/300
"""
PORTS = """    IFACE    STATE    RX_OK        RX_BPS    RX_UTIL    RX_ERR
---------  -------  -------  ------------  ---------  --------
Ethernet0        U        8  2000.00 MB/s     64.00%       N/A
"""
JSON = """{
  "Ethernet0": {
    "UC0": {
      "dropbytes": "N/A",
      "totalpacket": "1,060"
    }
  }
}
"""


def read(text: str) -> list[tuple[str, str, str, float | None, str]]:
    vendor = REGISTRY.get("sonic")
    assert vendor.series is not None
    return [(s.interface, s.queue, s.name, s.value, s.unit) for s in vendor.series(text, READ_AT).rows]


def test_queue_counters_keep_what_is_not_counted_apart_from_zero() -> None:
    assert read(QUEUES) == [
        ("Ethernet0", "UC1", "Counter/pkts", 1060.0, "packets"),
        ("Ethernet0", "UC1", "Counter/bytes", 43.0, "bytes"),
        ("Ethernet0", "UC1", "Drop/pkts", 0.0, "packets"),
        ("Ethernet0", "UC1", "Drop/bytes", 1.0, "bytes"),
        ("Ethernet0", "ALL20", "Counter/pkts", None, "packets"),
        ("Ethernet0", "ALL20", "Counter/bytes", None, "bytes"),
        ("Ethernet0", "ALL20", "Drop/pkts", None, "packets"),
        ("Ethernet0", "ALL20", "Drop/bytes", None, "bytes"),
    ]


def test_pauses_received_and_sent_are_told_apart() -> None:
    assert read(PFC) == [
        ("Ethernet0", "PFC0", "Rx PFC frames", 0.0, "packets"),
        ("Ethernet0", "PFC3", "Rx PFC frames", 1203.0, "packets"),
        ("Ethernet0", "PFC0", "Tx PFC frames", 0.0, "packets"),
        ("Ethernet0", "PFC3", "Tx PFC frames", 15.0, "packets"),
    ]


def test_drops_of_priority_groups_have_the_title_above_the_table() -> None:
    assert read(GROUPS) == [
        ("Ethernet4", "PG0", "Ingress PG dropped packets", 400.0, "packets"),
        ("Ethernet4", "PG3", "Ingress PG dropped packets", None, "packets"),
    ]


def test_the_watchdog_counts_storms_and_packets_of_a_queue() -> None:
    assert read(WATCHDOG) == [
        ("Ethernet0", "3", "STORM DETECTED", 3.0, ""),
        ("Ethernet0", "3", "STORM RESTORED", 2.0, ""),
        ("Ethernet0", "3", "TX OK", 100.0, ""),
        ("Ethernet0", "3", "TX DROP", 300.0, ""),
    ]


def test_rates_have_their_unit() -> None:
    assert read(PORTS) == [
        ("Ethernet0", "", "RX_OK", 8.0, "packets"),
        ("Ethernet0", "", "RX_BPS", 2000.0 * 1024**2, "bytes/s"),
        ("Ethernet0", "", "RX_UTIL", 64.0, "percent"),
        ("Ethernet0", "", "RX_ERR", None, "packets"),
    ]


def test_json_of_queuestat_is_read_too() -> None:
    assert read(JSON) == [
        ("Ethernet0", "UC0", "dropbytes", None, "bytes"),
        ("Ethernet0", "UC0", "totalpacket", 1060.0, "packets"),
    ]


def test_a_number_says_when_and_where_it_was_read() -> None:
    vendor = REGISTRY.get("sonic")
    assert vendor.series is not None
    first = vendor.series(QUEUES, READ_AT).rows[0]
    assert first == CounterSeries("Ethernet0", "UC1", "Counter/pkts", 1060.0, "packets", READ_AT, "For namespace", 4)


@pytest.mark.parametrize("text", ["", "{", "----  ---\n", '{"ACL_TABLE": {"T": {"type": "L3"}}}'])
def test_texts_without_counters_give_none(text: str) -> None:
    assert read(text) == []


def test_counters_of_json_that_are_no_numbers_do_not_hide_the_next() -> None:
    text = '{"Ethernet0": {"UC0": {"time": "t", "totalpacket": "many", "totalbytes": "7"}}}'
    assert read(text) == [("Ethernet0", "UC0", "totalbytes", 7.0, "bytes")]


def test_a_row_without_a_port_does_not_hide_the_next() -> None:
    rows = QUEUES.replace("Ethernet0    UC1", "wrapped      UC0")
    assert [found[:2] for found in read(rows)] == [("Ethernet0", "ALL20")] * 4


def test_tables_go_on_behind_a_blank_line_between_ports() -> None:
    text = "  Port Rx    PFC0\n---------  ------\nEthernet0       1\n\nEthernet4       2\n\nEthernet8       3"
    assert [found[3] for found in read(text)] == [1.0, 2.0, 3.0]


def test_lists_of_thresholds_between_dashes_are_no_counters_and_end_where_the_next_begins() -> None:
    text = "Pool: a\n----  -----\nmode  static\n----  -----\n\nPool: b\n----  -----\nmode  dynamic\n----  -----\n\n" + GROUPS
    assert [found[3] for found in read(text)] == [400.0, None]
