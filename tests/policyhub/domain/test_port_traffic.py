"""Frames and octets of a port by whatever its device counts; what is not counted is None, never 0."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from policyhub.domain.counter_series import CounterSeries
from policyhub.domain.errors import BadInput
from policyhub.domain.mirroring import Copied
from policyhub.domain.port_traffic import port_named, traffic_of
from policyhub.vendorkit.registry import REGISTRY

NOW = datetime(2026, 11, 30, 8, tzinfo=UTC)
Counted = tuple[int, int | None] | None


def counted(rows: list[CounterSeries], copied: Copied) -> Counted:
    found = traffic_of(rows, copied, NOW)
    return None if found is None else (found.packets, found.octets)


def row(name: str, value: float | None, unit: str = "packets", queue: str = "", source: str = "") -> CounterSeries:
    return CounterSeries("p", queue, name, value, unit, NOW, source)


NXOS = """
--------------------------------------------------------------------------------
Port                                     InOctets                      InUcastPkts
--------------------------------------------------------------------------------
mgmt0                                        10                               1
Eth1/1                                  1000000                             900

--------------------------------------------------------------------------------
Port                                  InMcastPkts                      InBcastPkts
--------------------------------------------------------------------------------
mgmt0                                          0                               0
Eth1/1                                        60                              40

Port                                    OutOctets                     OutUcastPkts
Eth1/1                                    500000                             450
Eth1/2                                        --                              --
"""
EOS = """Port            InOctets     InUcastPkts     InMcastPkts     InBcastPkts
Et1                 1000               7               2               1

Port           OutOctets    OutUcastPkts    OutMcastPkts    OutBcastPkts
Et1                 2000              10               5               5
"""
SONIC = """    IFACE    STATE    RX_OK    RX_BPS    RX_UTIL    RX_ERR    RX_DRP    RX_OVR    TX_OK    TX_BPS    TX_UTIL    TX_ERR    TX_DRP    TX_OVR
---------  -------  -------  --------  ---------  --------  --------  --------  -------  --------  ---------  --------  --------  --------
Ethernet0        U    1,234  0.00 B/s      0.00%         0         5         0    4,321  0.00 B/s      0.00%         0         1         0
"""  # noqa: E501
SONIC_QUEUES = """     Port    TxQ    Counter/pkts    Counter/bytes    Drop/pkts    Drop/bytes
---------  -----  --------------  ---------------  -----------  ------------
Ethernet0    UC0              10             1000            7           700
Ethernet0    UC3              20             3000            0             0
Ethernet0    MC8             N/A              N/A          N/A           N/A
"""


def read(platform: str, text: str, port: str) -> list[CounterSeries]:
    series = REGISTRY.get(platform).series
    assert series is not None
    return [each for each in series(text, NOW).rows if each.interface == port]


@pytest.mark.parametrize("platform", ["cisco_nxos", "cisco_ios", "arista_eos"])
def test_the_table_of_ports_is_read_where_ios_and_its_relatives_print_it(platform: str) -> None:
    rows = read(platform, NXOS, "Eth1/1")
    assert (counted(rows, Copied.RX), counted(rows, Copied.TX)) == ((1000, 1_000_000), None)  # multicast sent is not told
    rows = read(platform, EOS, "Et1")
    assert [counted(rows, way) for way in Copied] == [(10, 1000), (20, 2000), (30, 3000)]
    series = REGISTRY.get(platform).series
    assert series is not None and series(NXOS + EOS, NOW).unread == ()
    silent = read(platform, NXOS, "Eth1/2")
    assert [(each.name, each.value, each.source) for each in silent] == [
        ("OutOctets", None, "show interfaces counters"), ("OutUcastPkts", None, "show interfaces counters"),
    ]  # fmt: skip


def test_rows_of_another_width_or_below_another_text_are_no_rows_of_the_table() -> None:
    odd = EOS.replace("Et1                 1000               7", "Et1                 1000         7")
    assert counted(read("arista_eos", odd, "Et1"), Copied.RX) == (10, 1000)
    short = "Port   InOctets   InUcastPkts\nEt1  5\nEt1  5  6\nwords\nEt2  5  6\n"
    assert read("arista_eos", short, "Et1") == [] and read("arista_eos", short, "Et2") == []
    series = REGISTRY.get("arista_eos").series
    assert series is not None and series(short, NOW).unread == (2, 3, 5)


def test_sonic_and_cumulus_count_frames_of_ports_without_octets() -> None:
    assert [counted(read("sonic", SONIC, "Ethernet0"), way) for way in Copied] == [(1234, None), (4321, None), (5555, None)]


def test_what_queues_sent_is_what_the_port_sent_and_a_queue_that_is_silent_makes_it_unknown() -> None:
    assert counted(read("sonic", SONIC_QUEUES, "Ethernet0"), Copied.TX) is None
    whole = SONIC_QUEUES.replace(
        "N/A              N/A          N/A           N/A", "1                5            0             0"
    )
    assert counted(read("sonic", whole, "Ethernet0"), Copied.TX) == (31, 4005)
    assert (
        counted(read("sonic", whole, "Ethernet0"), Copied.RX) is None
        and counted(read("sonic", whole, "Ethernet0"), Copied.BOTH) is None
    )


@pytest.mark.parametrize(
    ("rows", "sent"),
    [
        ([row("Tx Pkts Unicast", 5, queue="QG0", source="show queuing interface"),
          row("Tx Pkts Multicast", 2, queue="QG0", source="show queuing interface"),
          row("Tx Byts Unicast", 500, "bytes", "QG0", "show queuing interface")], (7, 500)),
        ([row("Transmitted", 5, queue="0 be", source="show interfaces queue"),
          row("Queued", 9, queue="0 be", source="show interfaces queue"),
          row("Transmitted", 7, queue="in 0 be", source="show interfaces queue")], (5, None)),
        ([row("Passed", 5, queue="0", source="display qos queue statistics"),
          row("Passed", 6, queue="1", source="display qos queue statistics")], (11, None)),
        ([row("sent", 5, queue="htb 1:", source="tc -s qdisc show"),
          row("sent", 5, queue="fq 2: of 1:1", source="tc -s qdisc show")], (5, None)),
        ([row("Forwarded", 5), row("Forwarded", 500, "bytes"), row("Forwarded", 4, queue="0")], (5, 500)),
        ([row("Transmitted", 5, queue="P output C", source="show policy-map interface")], None),
        ([row("RX_OK", 5)], None),
        ([], None),
    ],
)  # fmt: skip
def test_each_commands_own_words_count(rows: list[CounterSeries], sent: Counted) -> None:
    assert counted(rows, Copied.TX) == sent and (rows[:1] == [row("RX_OK", 5)] or counted(rows, Copied.RX) is None)


def test_a_port_goes_by_its_long_or_short_name() -> None:
    known = ["Gi1/0/1", "Gi1/0/11", "Te1/0/1", "Ethernet4"]
    assert port_named("GigabitEthernet1/0/1", known) == "Gi1/0/1"
    assert port_named("gi1/0/11", known) == "Gi1/0/11"
    assert port_named("Eth4", known) == "Ethernet4"
    assert port_named("Ethernet4", [*known, "Et4"]) == "Ethernet4"
    for wrong in ("Gi1/0/2", "T1/0/1", "1/0/1", "GigabitEthernet", ""):
        with pytest.raises(
            BadInput, match=r"no counters of port .*\. There are those of: Gi1/0/1, Gi1/0/11, Te1/0/1, Ethernet4$"
        ):
            port_named(wrong, known)
    with pytest.raises(BadInput, match=r"nor of any other\. Read"):
        port_named("x1", [])
    with pytest.raises(BadInput):
        port_named("Et4", ["Ethernet4", "Eth4"])  # both would fit
