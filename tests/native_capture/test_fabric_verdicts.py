"""From when on the packets of a fabric are worth a verdict, and what is none."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

import native_capture
from tests.support.capture_files import write_capture
from tests.support.fabric_frames import ACK, CNP, RNR_NAK, SEQUENCE_NAK, WRITE_MIDDLE, marked, pause, rdma

SECOND = 1_700_000_000 * 10**9
US = 1_000
QUEUES = {
    "observation_points": {}, "link_mbps": 10, "ports": {"out": {"point": "far", "arrivals_from": "near"}},
    "classes": {"EF": {"dscp": [46], "rate_mbps": 1, "ceil_mbps": 1, "queue_pkts": 40}, "BE": {"dscp": "rest", "rate_mbps": 9}},
}  # fmt: skip


def told(tmp_path: Path, frames: Iterable[bytes], *, step_ns: int = US) -> dict[str, dict[str, Any]]:
    """What one point tells of frames that come one after the other: verdicts by name."""
    path = write_capture(tmp_path / "p", [(SECOND + at * step_ns, frame) for at, frame in enumerate(frames)])
    return {verdict["name"]: verdict for verdict in json.loads(native_capture.analyse([("p", path)]))["verdicts"]}


def data(*numbers: int, **fields: int) -> list[bytes]:
    return [rdma(WRITE_MIDDLE, number, **fields) for number in numbers]


@pytest.mark.parametrize(
    ("frames", "names"),
    [
        (data(1, 2, 5, 6, 7), set()),  # the mirror lost two, nobody missed them
        (data(1, 2, 5, 3, 4, 6), set()),  # another order
        ([*data(1, 2, 5), rdma(ACK, 3, SEQUENCE_NAK, back=True, qp=9)], {"roce-loss"}),
        (data(1, 2, 5, 3, 4, 5, 6), {"roce-loss"}),  # gone back to what was lost
        (data(1, 2, 3, 2, 3, 4), {"roce-loss"}),  # lost behind this point
        ([*data(1, 2), rdma(ACK, 2, RNR_NAK, back=True, qp=9), *data(2, 3)], {"roce-rnr"}),  # sent again, not lost
        (data(0xFFFFFE, 0xFFFFFF, 0, 1), set()),  # numbers wrap
        ([rdma(CNP, 0, bytes(16), back=True)] * 4, set()),
        ([rdma(CNP, 0, bytes(16), back=True)] * 5, {"roce-congested"}),
    ],
)
def test_what_the_ends_do_about_it_makes_a_loss(tmp_path, frames, names):
    assert set(told(tmp_path, frames)) == names


@pytest.mark.parametrize(
    ("odd", "fields", "names"),
    [
        (0, {"ecn": 3}, set()), (1, {"ecn": 3}, set()), (3, {"ecn": 3}, {"roce-congested"}),
        (99, {"ecn": 0}, set()), (199, {"ecn": 0}, {"roce-not-lossless"}),
        (15, {"dscp": 0}, set()), (16, {"dscp": 0}, {"roce-not-lossless"}),
    ],
)  # fmt: skip
def test_a_share_of_a_flows_packets_counts_from_a_hundred_on(tmp_path, odd, fields, names):
    """Of 200 data packets the last `odd` are different."""
    frames = data(*range(200 - odd)) + data(*range(200 - odd, 200), **fields)
    assert set(told(tmp_path, frames)) == names


def test_a_large_packet_that_never_gets_through_is_told_from_a_peer_that_is_gone(tmp_path):
    large = [rdma(WRITE_MIDDLE, 5, bytes(4_096))] * 4
    hello = rdma(0x64, 0, bytes(264), back=True, qp=1)
    assert set(told(tmp_path, [hello, *large], step_ns=67_000 * US)) == {"mtu-blackhole"}
    assert set(told(tmp_path, large, step_ns=67_000 * US)) == {"roce-loss"}
    assert set(told(tmp_path, [hello, *data(5, 5, 5, 5)], step_ns=67_000 * US)) == {"roce-loss"}


def test_pauses_are_told_by_number_and_storms_by_time(tmp_path):
    assert set(told(tmp_path, [pause(100)] * 9)) == set()
    assert set(told(tmp_path, [pause(100)] * 10)) == {"pfc-pause"}
    held = told(tmp_path, [pause(65_535)] * 400, step_ns=300 * US)
    assert set(held) == {"pfc-pause", "pfc-storm"}
    facts = {fact["kind"]: fact for fact in held["pfc-storm"]["evidence"]}
    assert (facts["pause"]["mac"], facts["pause"]["priority"]) == ("00:50:56:00:00:aa", 3)


@pytest.mark.parametrize(("ecn_in", "ecn_out", "silent"), [(2, 2, True), (2, 3, False), (0, 0, False)])
def test_a_full_queue_that_marks_nothing_is_silent(tmp_path, ecn_in, ecn_out, silent):
    """36 packets at once, then as many as leave: the queue of 40 stays nearly full for a third of a second."""
    near = [(SECOND + max(at * US, (at - 35) * 8_000 * US), marked(at, ecn=ecn_in)) for at in range(75)]
    far = [(SECOND + (at + 1) * 8_000 * US, marked(at, ecn=ecn_out)) for at in range(75)]
    files = [(name, write_capture(tmp_path / name, packets)) for name, packets in (("near", near), ("far", far))]
    report = json.loads(native_capture.analyse(files, queues=json.dumps(QUEUES).encode()))
    assert {verdict["name"] for verdict in report["verdicts"]} == {"microburst"} | ({"ecn-silent"} if silent else set())
