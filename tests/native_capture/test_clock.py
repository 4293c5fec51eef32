"""The clock of marks and priorities: every byte in its millisecond, in tenths around a full queue, nothing unasked."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Dot1Q, Ether

import native_capture
from tests.support.capture_files import write_capture
from tests.support.seeds import fresh_seeds

START = 1_700_000_000_000_000_000
MS = 1_000_000
QUEUES = {
    "observation_points": {"near": "in0", "far": "out0"},
    "link_mbps": 1000,
    "classes": {"EF": {"dscp": [46], "rate_mbps": 4, "ceil_mbps": 4, "queue_pkts": 25}, "BE": {"dscp": "rest", "rate_mbps": 900}},
    "ports": {"out0": {"point": "far", "arrivals_from": "near"}},
    "sides": {"in0": ["10.0.0.0/8"]},
}
Sums = Counter[tuple[int, int]]
BURST_MS = 1_500


def capture(path: Path, dice: random.Random) -> tuple[Sums, Sums]:
    """Three seconds of several marks and priorities, with one burst of EF; bytes by (mark, tenth) and by (priority, tenth)."""
    marks, priorities, frames = Sums(), Sums(), []
    times = [START + dice.randrange(3_000 * MS) for _ in range(2_000)]
    plain = [(ns, dice.choice([0, 10, 34]), dice.choice([None, 0, 5])) for ns in times]
    burst = [(START + BURST_MS * MS + number * 50_000, 46, 5) for number in range(200)]
    for ns, mark, priority in sorted(plain + burst, key=lambda each: each[0]):
        tag = Dot1Q(vlan=7, prio=priority) if priority is not None else None
        packet = IP(src="10.0.0.1", dst="10.9.0.1", tos=mark << 2) / UDP(sport=5, dport=6) / bytes(dice.randrange(1_000))
        frame = bytes(Ether() / tag / packet if tag else Ether() / packet)
        frames.append((ns, frame))
        marks[mark, ns // (MS // 10)] += len(frame)
        if priority is not None:
            priorities[priority, ns // (MS // 10)] += len(frame)
    write_capture(path, frames)
    return marks, priorities


def sums(rows: dict[str, list[list[int]]]) -> Sums:
    return Sums({(int(name), step): size for name, steps in rows.items() for step, size in steps})


def per_millisecond(tenths: Sums) -> Sums:
    whole = Sums()
    for (name, step), size in tenths.items():
        whole[name, step // 10] += size
    return whole


def point(path: Path, **options: Any) -> dict[str, Any]:
    report = json.loads(native_capture.analyse([("near", path)], **options))
    row: dict[str, Any] = report["points"][0]
    return row


@pytest.mark.parametrize("seed", fresh_seeds(2))
def test_every_byte_is_in_its_millisecond_and_the_tenths_of_a_burst_add_up(seed: int, tmp_path: Path) -> None:
    marks, priorities = capture(tmp_path / "a.pcap", random.Random(seed))
    row = point(tmp_path / "a.pcap", clock=True, queues=json.dumps(QUEUES).encode())
    clock, fine = row["clock"], row["clock"]["fine"]
    assert (clock["step_ns"], fine["step_ns"], clock["left_out"], fine["left_out"]) == (MS, MS // 10, 0, 0)
    for kind, truth in (("dscp", marks), ("pcp", priorities)):
        assert sums(clock[kind]) == per_millisecond(truth)
        tenths = sums(fine[kind])
        assert tenths.items() <= truth.items()
        watched = {step // 10 for _, step in tenths}
        assert per_millisecond(tenths) == {key: size for key, size in per_millisecond(truth).items() if key[1] in watched}
        assert {int(name): sum(size for (known, _), size in truth.items() if known == int(name)) for name in row[kind]} == {
            int(name): each["bytes"] for name, each in row[kind].items()
        }
        peaks = {
            name: max(size for (known, _), size in per_millisecond(truth).items() if known == int(name)) for name in row[kind]
        }
        assert {name: each["peak_1ms_bytes"] for name, each in row[kind].items()} == peaks
    burst = START // MS + BURST_MS
    watched = {step // 10 for _, step in sums(fine["dscp"])}
    assert burst < min(watched) < burst + 10 and 90 < max(watched) - min(watched) < 400
    assert {ms for name, ms in sums(clock["dscp"]) if name == 46 and ms > min(watched)} <= watched


def test_without_a_queue_there_are_no_tenths_and_without_asking_no_clock(tmp_path: Path) -> None:
    capture(tmp_path / "a.pcap", random.Random(1))
    assert "clock" not in point(tmp_path / "a.pcap")
    row = point(tmp_path / "a.pcap", clock=True)
    assert row["clock"]["dscp"] and not row["clock"]["fine"]["dscp"]
