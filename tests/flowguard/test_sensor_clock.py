"""What a sensor's times are worth: the doctor's line about the clock, cards that do not stamp, the clock in every batch."""

from __future__ import annotations

import gzip
import json
import threading
import uuid
from pathlib import Path
from typing import Any

import pytest

import native_capture
from flowguard.domain.sensor_clock import SensorClock
from flowguard.sensor.clock import examine_clock, source_of, system_clock
from flowguard.sensor.config import Point, SensorConfig
from flowguard.sensor.process import Collector
from flowguard.sensor.sign import Sign
from flowguard.sensor.spool import Spool
from tests.support.fake_service import FakeEngine

KEPT = SensorClock(True, 37_000, 2_140_000)
# chronyd 4.3: the line for a server, and what `local stratum 8` without any server really answers
SERVER = "C0000207,192.0.2.7,3,1796061121.8,0.000000113,-0.00002,0.00003,-12.1,-0.001,0.02,0.004,0.0003,64.2,Normal\n"
LOCAL = (
    "7F7F0101,,8,1796061121.809429725,0.000000000,0.000000000,0.000000000,0.000,0.000,0.000,0.000000000,0.000000000,0.0,Normal\n"
)


def config(tmp_path: Path, **more: Any) -> SensorConfig:
    return SensorConfig("core-1", "http://localhost:1", tmp_path / "token", (Point("in0", "lo"),), tmp_path / "spool", **more)


def signs(config: SensorConfig, clock: SensorClock | None) -> list[Sign]:
    return list(examine_clock(config, lambda: clock, lambda: source_of(SERVER)))


@pytest.mark.parametrize(
    ("clock", "is_doubt", "told"),
    [
        (KEPT, False, "clock off by about 0.037 ms, at most 2.140 ms, kept by chronyd from 192.0.2.7 (stratum 3)"),
        (SensorClock(True, None, None), False, "clock synchronised, its error not told, kept by"),
        (SensorClock(False, None, None), True, "clock not synchronised. Run chronyd (with `rtcsync` in chrony.conf)"),
        (None, True, "clock: the kernel does not say"),
    ],
)
def test_the_doctor_says_one_line_about_the_clock(tmp_path, clock, is_doubt, told):
    (sign,) = signs(config(tmp_path), clock)
    assert (sign.ok, sign.is_doubt) == (True, is_doubt)
    assert sign.text.startswith(told)
    assert str(sign).startswith("WARNING  " if is_doubt else "ok       ")


def test_a_card_that_does_not_stamp_is_missing_when_it_is_to(tmp_path):
    _, card = signs(config(tmp_path, card_stamps=True), KEPT)
    assert (card.ok, card.text) == (
        False, 'point in0: the card of lo does not stamp every frame. It cannot; leave timestamps = "system"',
    )  # fmt: skip


def test_who_keeps_the_clock_is_read_from_chronyd_s_own_answer():
    assert source_of(LOCAL) == ", kept by chronyd from its own clock (stratum 8)"
    for other in ("", "506 Cannot talk to daemon\n", "a,b,c"):
        assert source_of(other) == ""


def test_every_batch_says_how_the_clock_is(tmp_path):
    clocks = iter([KEPT, None])
    spool = Spool(tmp_path / "spool", sensor="core-1", stream=str(uuid.uuid4()), max_bytes=10**6)
    ticks = iter(range(0, 10**6, 60))
    work = Collector(FakeEngine(), spool, lambda: None, config(tmp_path), lambda: next(ticks), lambda: next(clocks))
    told = []
    for _ in range(2):
        work.once(0)
        batch = spool.oldest()
        assert batch is not None
        told.append(json.loads(gzip.decompress(batch.payload))["health"]["clock"])
        spool.done(batch)
    assert told == [{"synchronised": True, "estimated_error_ns": 37_000, "max_error_ns": 2_140_000}, None]


def test_this_machine_s_kernel_is_asked_without_privileges():
    told: list[SensorClock | None] = []

    def ask() -> None:
        native_capture.drop_privileges()
        told.append(system_clock())

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    assert told[0] is not None and (told[0].synchronised or told[0].max_error_ns is None)
