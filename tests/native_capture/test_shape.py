"""Neighbours, tunnels and bulk, as a running engine tells them: live on a wire, and at the end of what is played."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.l2 import Ether
from scapy.layers.vxlan import VXLAN

import native_capture
from flowguard.domain.batch import read_batch
from flowguard.domain.bundle import LAB, compile_bundle
from flowguard.sensor.replay import ShiftedReplay
from policyhub.domain.identity import Identity
from tests.support.batches import batch
from tests.support.capture_files import write_capture
from tests.support.lldp_frames import dcbx, lldp
from tests.support.wires import inside

START, WAIT_S = 1_700_000_000 * 10**9, 60.0
LEAF = lldp("02:00:00:00:00:01", "leaf-1", "Eth1/7", dcbx([3], roce=3), about=250)
NIC = lldp("02:00:00:00:00:02", "gpu-9", "mlx5_0", dcbx([]))
Shape = dict[str, Any]


def vxlan(number: int, size: int = 100) -> bytes:
    inner = IP(src="10.1.0.1", dst="10.1.9.9", tos=46 << 2, id=number) / TCP(
        sport=40_000, dport=2049, flags="A", seq=number * size
    )
    outer = IP(src="198.51.100.1", dst="198.51.100.2", id=number) / UDP(sport=50_000, dport=4789)
    return bytes(Ether() / outer / VXLAN(vni=5, flags=8) / Ether() / inner / bytes(size))


def bulk(number: int) -> bytes:
    head = IP(src="10.7.0.1", dst="10.7.0.2", id=number) / TCP(sport=40_001, dport=2049, flags="A", seq=number * 1_400)
    return bytes(Ether() / head / bytes(1_400))


def shapes_of(engine: Any, enough: int) -> list[Shape]:
    found: list[Shape] = []
    end = time.monotonic() + WAIT_S
    while len(found) < enough:
        assert time.monotonic() < end
        shape = json.loads(engine.poll(200))["shape"]
        found += [shape] if shape else []
    return found


def lossless(shape: Shape) -> dict[str, tuple[list[int], bool]]:
    rows = shape["points"][0]["lldp"]
    return {row["system_name"]: (row["dcbx"][0]["pfc"]["enabled"], row["complete"]) for row in rows}


@pytest.mark.root
@pytest.mark.parametrize("threads", [1, 2])
def test_live_neighbours_are_told_whole_and_at_once_and_marks_in_tunnels_are_judged(router, threads):
    bundle = compile_bundle([Identity("10.1.0.0/16", "job", allowed_dscp=frozenset({0}))], profile=LAB)
    with inside(router.router):
        live = native_capture.Live([("p", "in0")], bundle=bundle, ring_mb=4, snaplen=128, threads=threads)
    try:
        with router.sender("ha") as wire:
            wire.send(LEAF)
            (first,) = shapes_of(live, 1)
            assert (lossless(first), first["points"][0]["carried"], first["behaviour"]) == ({"leaf-1": ([3], True)}, None, None)
            verdicts: list[dict[str, Any]] = []
            end, sent = time.monotonic() + WAIT_S, 0
            while not verdicts or verdicts[-1]["packets"] < 30:
                assert time.monotonic() < end, verdicts
                for number in range(sent, sent + 20):
                    wire.send(vxlan(number))
                sent += 20
                verdicts += json.loads(live.poll(200))["verdicts"]
            assert (verdicts[-1]["name"], verdicts[-1]["src"], verdicts[-1]["dscp"]) == ("class-not-allowed", "10.1.0.1", 46)
    finally:
        live.close()


def test_what_is_played_tells_neighbours_tunnels_and_bulk_at_its_end_in_todays_time(tmp_path):
    frames = [(START, LEAF), (START + 1, NIC)]
    frames += [(START + at * 10_000_000, frame) for at in range(30) for frame in (vxlan(at), bulk(at))]
    replay = native_capture.Replay([("p", str(write_capture(tmp_path / "p", frames)))], bundle=None)
    now_ns = START + 1_000 * 10**9
    played = ShiftedReplay(replay, lambda: now_ns)
    last = shapes_of(played, 2)[-1]
    played.close()
    read_batch(json.dumps(batch(shape=last)).encode(), sensor="core-1")
    assert lossless(last) == {"leaf-1": ([3], True), "gpu-9": ([], True)}
    carried = last["points"][0]["carried"]
    assert [(row["src"], row["tunnel_id"], row["packets"], carried["total"]) for row in carried["rows"]] == [
        ("10.1.0.1", 5, 30, 1)
    ]
    rows = [(row["src"], row["dst"], row["packets"], row["filled"] > 0.9) for row in last["behaviour"]["bulk"]]
    assert rows == [("10.7.0.1", "10.7.0.2", 24, True)]  # up to the last whole step of 67 ms
    assert (
        now_ns - 5 * 10**9
        < carried["rows"][0]["first_ns"]
        <= last["behaviour"]["bulk"][0]["last_ns"]
        <= last["to_ns"]
        <= now_ns + 10**9
    )
