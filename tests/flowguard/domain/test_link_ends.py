"""Two ends of a link that disagree are told apart, and nothing is made of three."""

from __future__ import annotations

import json
from typing import Any

import pytest

import native_capture
from flowguard.domain.link_ends import disagreements
from tests.support.capture_files import write_capture
from tests.support.lldp_frames import dcbx, lldp

NOTHING: list[bytes] = []
LEAF, NIC = ("02:00:00:00:00:01", "leaf-1", "Eth1/7"), ("02:00:00:00:00:02", "gpu-9", "mlx5_0")
GOOD: dict[str, Any] = {"percent": {0: 50, 3: 50}, "roce": 3, "marks": {26: 3}}


def told(folder, *said: list[bytes]) -> list[str]:
    names = [LEAF, NIC, ("02:00:00:00:00:03", "gpu-10", "mlx5_0")]
    frames = [(10**18 + at, lldp(*name, words)) for at, (name, words) in enumerate(zip(names, said, strict=False))]
    report = json.loads(native_capture.analyse([("p", write_capture(folder / "a.pcap", frames))]))
    return [str(found) for found in disagreements(report["points"][0]["lldp"])]


@pytest.mark.parametrize(
    ("leaf", "nic", "found"),
    [
        (dcbx([3], **GOOD), dcbx([3], willing=True, **GOOD), []),
        (NOTHING, NOTHING, []),
        (dcbx([3], **GOOD), dcbx([], **{**GOOD, "roce": None}),
         ["lossless priorities differ: 3 at leaf-1 Eth1/7, none at gpu-9 mlx5_0",
          "RoCEv2 goes by priority 3 at leaf-1 Eth1/7, gpu-9 mlx5_0 does not say by which"]),
        (dcbx([3, 5], **{**GOOD, "roce": 5}), dcbx([3, 5], **GOOD),
         ["RoCEv2 goes by priority 5 at leaf-1 Eth1/7, by 3 at gpu-9 mlx5_0"]),
        (dcbx([3, 4], **GOOD), dcbx([3], **GOOD), ["lossless priorities differ: 3 4 at leaf-1 Eth1/7, 3 at gpu-9 mlx5_0"]),
        (dcbx([3], **GOOD), dcbx([3], **{**GOOD, "percent": {0: 80, 3: 20}}),
         ["bandwidth differs: 0: 50 %; 3: 50 % at leaf-1 Eth1/7, 0: 80 %; 3: 20 % at gpu-9 mlx5_0"]),
        (dcbx([3], **GOOD), dcbx([3], **{**GOOD, "marks": {26: 4, 46: 5}}),
         ["DSCP 26 go by other priorities at leaf-1 Eth1/7 than at gpu-9 mlx5_0"]),
        (dcbx([3], **{**GOOD, "roce": 5}), dcbx([3], **{**GOOD, "roce": 5}),
         ["leaf-1 Eth1/7 puts RoCEv2 into priority 5, which is not lossless there",
          "gpu-9 mlx5_0 puts RoCEv2 into priority 5, which is not lossless there"]),
        (dcbx([3], **GOOD), NOTHING,
         ["gpu-9 mlx5_0 says nothing by DCBX, leaf-1 Eth1/7 does: look at gpu-9 mlx5_0 itself what is lossless there"]),
        (NOTHING, dcbx([3], **GOOD),
         ["leaf-1 Eth1/7 says nothing by DCBX, gpu-9 mlx5_0 does: look at leaf-1 Eth1/7 itself what is lossless there"]),
        (dcbx([3], **GOOD)[1:2], dcbx([3], **GOOD)[:1],
         ["gpu-9 mlx5_0 does not say which priorities are lossless, leaf-1 Eth1/7 does: 3"]),
    ],
)  # fmt: skip
def test_what_the_two_ends_of_a_link_say_otherwise_is_told(tmp_path, leaf, nic, found):
    assert told(tmp_path, leaf, nic) == found


def test_of_three_neighbours_nobody_can_say_who_hears_whom(tmp_path):
    assert told(tmp_path, dcbx([3]), dcbx([4]), dcbx([5])) == []


def test_ends_that_speak_different_dialects_do_not_hear_each_other():
    pfc = {"enabled": [3], "willing": True}
    rows = [
        {"chassis": "a", "port": port, "system_name": None,
         "dcbx": [{"dialect": dialect, "pfc": pfc, "ets": None, "roce_priority": None}]}
        for port, dialect in (("1", "ieee"), ("2", "cee"))
    ]  # fmt: skip
    (found,) = disagreements(rows)
    assert str(found) == "a 1 speaks DCBX as IEEE 802.1Qaz, a 2 as CEE: neither takes over what the other says"
