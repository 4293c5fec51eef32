"""Corners of NVUE commands and of qos_features.conf that a golden case is too large for."""

from __future__ import annotations

import pytest

from policyhub.vendorkit.registry import REGISTRY

VENDOR = REGISTRY.get("nvidia_cumulus")


@pytest.mark.parametrize(
    "line",
    [
        "pfc.mine.colour = 3",
        "pfc.mine = 3",
        "egress_sched.mine.egr_queue_0.colour = 3",
        "egress_sched.mine.queue_0.mode = dwrr",
        "egress_sched.mine.egr_queue_0 = 3",
        "ecn_red.mine.colour = true",
        "shaping.mine.egr_queue_0.shaper = [1]",
        "nothing.mine.port_set = swp1",
    ],
)
def test_settings_that_the_switch_does_not_have_are_not_understood(line: str) -> None:
    config = VENDOR.parse(f"pfc.port_group_list = [mine]\npfc.mine.port_set = swp1\npfc.mine.cos_list = [3]\n{line}\n")
    assert [odd.text for odd in config.unparsed] == [line]


@pytest.mark.parametrize(("mtu", "read"), [("9216", 9216), ("65535", 65535), ("100000", None), ("big", None)])
def test_no_port_carries_a_hundred_thousand_bytes(mtu: str, read: int | None) -> None:
    (port,) = VENDOR.parse(f"nv set interface swp1 link mtu {mtu}\nnv set interface swp1 description x\n").interfaces
    assert (port.mtu, port.description) == (read, "x")


TABLE = """cumulus@leaf1:~$ nv show interface swp1 acl EX statistics
Rule  In Packet  In Byte   Out Packet  Out Byte
----  ---------  --------  ----------  --------
10    1,203      90 KB     2           1 Bytes
20    N/A                              0 Bytes
"""


def test_counters_without_a_summary_are_of_both_directions() -> None:
    sample = VENDOR.counters(TABLE, None)
    assert sample is not None and sample.hostname == "leaf1"
    assert [(hit.key, hit.hits, hit.bytes) for hit in sample.hits] == [("10", 1205, 90 * 1024 + 1), ("20", None, 0)]
