"""`make bench`: what the engine and the checks cost, beside a peer where one is installed on every test machine."""

from __future__ import annotations

import random
import shutil
import struct
import sys
from pathlib import Path

import pytest

from tests.benchmarks.measuring import cpu_seconds, medians, report
from tests.benchmarks.test_parsers import asa

pytestmark = pytest.mark.bench

PACKETS = 100_000
RULES = 10_000
CLI = [sys.executable, "-m", "policyhub.conf.cli"]


def write_capture(path: Path, packets: int, seed: int = 7) -> None:
    """TCP segments of 200 flows with marks, a microsecond pcap."""
    rng = random.Random(seed)
    flows = [
        (rng.randrange(2**32), rng.randrange(2**32), rng.randrange(1024, 65_536), rng.choice([0, 0, 34, 46])) for _ in range(200)
    ]
    sequence = [rng.randrange(2**31) for _ in flows]
    with path.open("wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65_535, 1))
        for number in range(packets):
            index = rng.randrange(len(flows))
            source, target, port, dscp = flows[index]
            size = rng.choice([0, 0, 512, 1448])
            ip = struct.pack(">BBHHHBBHII", 0x45, dscp << 2, 40 + size, number & 0xFFFF, 0, 64, 6, 0, source, target)
            tcp = struct.pack(">HHIIBBHHH", port, 443, sequence[index], 1, 0x50, 0x10, 512, 0, 0)
            sequence[index] = (sequence[index] + size) & 0xFFFFFFFF
            frame = b"\x02" * 12 + b"\x08\x00" + ip + tcp + bytes(size)
            file.write(
                struct.pack("<IIII", 1_767_225_600 + number // 30_000, number % 30_000 * 33, len(frame), len(frame)) + frame
            )


def test_the_engine_costs_less_than_tsharks_conversations(tmp_path: Path) -> None:
    capture = tmp_path / "bench.pcap"
    write_capture(capture, PACKETS)
    tshark = shutil.which("tshark")
    assert tshark, "tshark is missing: `make deps` as root installs it"
    spent = medians(
        {
            "policyhub": [*CLI, "flows", str(capture), "--format", "json"],
            "tshark": [tshark, "-n", "-q", "-r", str(capture), "-z", "conv,tcp"],
        }
    )
    ratio = spent["policyhub"] / spent["tshark"]
    million_per_second = PACKETS / spent["policyhub"] / 1e6
    report(
        "flows", packets=PACKETS, policyhub_s=spent["policyhub"], tshark_s=spent["tshark"], ratio=ratio, mpps=million_per_second
    )
    assert ratio < 0.5


def test_ten_thousand_rules_are_checked_in_seconds(tmp_path: Path) -> None:
    config = tmp_path / "bench.cfg"
    config.write_text(asa(RULES))
    spent = medians({"check": [*CLI, "check", str(config), "--format", "json"]})["check"]
    report("check", rules=RULES, policyhub_s=spent, rules_per_s=RULES / spent)
    assert spent < 10


def test_a_command_on_files_starts_quickly() -> None:
    spent = min(cpu_seconds([*CLI, "check", "--help"]) for _ in range(5))
    report("start", policyhub_s=spent)
    assert spent < 1


def test_a_ledger_of_300_000_is_read_and_judged_by_in_ten_seconds(tmp_path: Path) -> None:
    capture, ledger = tmp_path / "small.pcap", tmp_path / "ledger.csv"
    write_capture(capture, 1_000)
    columns = "prefix,name,business,owner,class,allowed_dscp,active_window,peak_mbps"
    spent = {}
    for entries in (30_000, 300_000):
        rows = (
            f"{10 + at // 65_536}.{at // 256 % 256}.{at % 256}.8/29,h{at},b{at % 90},o,core,{'46 AF31' if at % 2 else 0},,"
            for at in range(entries)
        )
        ledger.write_text("\n".join((columns, *rows)) + "\n")
        argv = [*CLI, "flows", str(capture), "--identities", str(ledger), "--top", "1"]
        spent[entries] = medians({"policyhub": argv})["policyhub"]
    report("ledger", few_s=spent[30_000], many_s=spent[300_000])
    assert spent[300_000] <= 10
    assert spent[300_000] <= 12 * spent[30_000]
