"""`policyhub flows --threads`: how many threads by default, and that their number changes nothing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether

from flowguard.sensor.flows_cli import LARGE, MOST_THREADS, threads_for
from policyhub.conf import cli
from tests.support.capture_files import write_capture


@pytest.fixture
def path(tmp_path: Path) -> str:
    frame = bytes(Ether() / IP(src="192.0.2.7", dst="203.0.113.9", tos=46 << 2) / UDP(sport=40_000, dport=53))
    packets = [
        (1_700_000_000_000_000_000 + n, frame.replace(bytes([192, 0, 2, 7]), bytes([192, 0, 2, n % 250]))) for n in range(3_000)
    ]
    return str(write_capture(tmp_path / "x.pcap", packets, "pcap-ns-le"))


def test_small_captures_take_one_thread_and_large_ones_as_many_as_pay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small, large = tmp_path / "small", tmp_path / "large"
    small.write_bytes(b"x")
    with large.open("wb") as file:
        file.truncate(LARGE)
    for cores, wanted in ((1, 1), (3, 3), (64, MOST_THREADS)):
        monkeypatch.setattr(os, "sched_getaffinity", lambda _, cores=cores: set(range(cores)))
        assert (threads_for([str(small), "-"]), threads_for([str(large)])) == (1, wanted)


def test_the_number_of_threads_changes_nothing(path: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = []
    for threads in ("1", "4"):
        records = tmp_path / f"{threads}.ipfix"
        code = cli.main(["flows", path, "--format", "json", "--threads", threads, "--records", str(records)])
        told.append((code, capsys.readouterr().out, records.read_bytes()))
    assert told[0] == told[1] and len(told[0][2]) > 10_000


@pytest.mark.parametrize("text", ["0", "-1", "many", "257"])
def test_what_is_no_number_of_threads_is_refused(text: str, path: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["flows", path, "--threads", text])
    assert ended.value.code == 2 and "--threads" in capsys.readouterr().err
