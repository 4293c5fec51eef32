"""Captures stand for interfaces: judged by the real engine, told as if they happened now."""

import json
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest

from flowguard.domain.batch import read_batch
from flowguard.domain.bundle import LAB, compile_bundle
from flowguard.sensor.replay import ShiftedReplay
from policyhub.domain.identity import Identity
from tests.support.batches import SECOND, T0, observation, verdict
from tests.support.fake_service import FakeEngine, FakeService
from tests.support.services import wait_until

ALGO = Identity("10.10.8.0/24", "algo", allowed_dscp=frozenset({0, 8}))
NOW = T0 + 1_000 * SECOND + 123


def udp_frame(src: str, dst: str, dscp: int, port: int, size: int = 200, identification: int = 1) -> bytes:
    def address(text: str) -> bytes:
        return bytes(int(part) for part in text.split("."))

    udp = struct.pack("!HHHH", 40_000, port, size + 8, 0) + bytes(size)
    ip = struct.pack("!BBHHHBBH", 0x45, dscp << 2, 20 + len(udp), identification, 0, 64, 17, 0) + address(src) + address(dst)
    return bytes.fromhex("020000000002 020000000001 0800") + ip + udp


def write_pcap(path: Path, frames: list[tuple[int, bytes]]) -> Path:
    """frames: (time in ns, bytes)."""
    with path.open("wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65_535, 1))
        for at, frame in frames:
            file.write(struct.pack("<IIII", at // SECOND, at % SECOND, len(frame), len(frame)) + frame)
    return path


class TestShift:
    def replay(self, *told, now=NOW):
        engine = FakeEngine()
        engine.ready = list(told)
        return ShiftedReplay(engine, lambda: now)

    def told(self, newest=T0 + SECOND, **more):
        health = {"received": 1, "dropped": {}, "decode_errors": 0, "last_packet_ns": newest}
        return {"health": health, "verdicts": [verdict(1)], "observations": [observation()], **more}

    def test_old_packets_are_told_as_of_now_on_whole_seconds(self):
        body = json.loads(self.replay(self.told()).poll(0))
        shift = 999 * SECOND
        assert body["verdicts"][0]["first_ns"] == T0 + shift
        assert body["observations"][0]["start_ns"] == T0 + shift
        assert body["health"]["last_packet_ns"] == T0 + SECOND + shift
        assert body["verdicts"][0]["evidence"] == [{"kind": "replayed", "shift_ns": shift}]

    def test_the_shift_stays_the_same_and_so_does_the_new_id(self):
        replay = self.replay(self.told(), self.told(newest=T0 + 5 * SECOND))
        first, second = (json.loads(replay.poll(0))["verdicts"][0] for _ in range(2))
        assert (first["id"], first["first_ns"]) == (second["id"], second["first_ns"])
        assert first["id"] != verdict(1)["id"]

    def test_a_source_that_is_on_time_is_left_alone(self):
        body = json.loads(self.replay(self.told(newest=NOW - SECOND)).poll(0))
        assert body["verdicts"] == [verdict(1)]

    def test_before_the_first_packet_there_is_nothing_to_shift(self):
        replay = self.replay(self.told(newest=None, verdicts=[], observations=[]), self.told())
        replay.poll(0)
        assert json.loads(replay.poll(0))["verdicts"][0]["first_ns"] == T0 + 999 * SECOND


@pytest.fixture
def service():
    service = FakeService()
    text = compile_bundle([ALGO], profile=LAB)
    service.bundle = (text, '"v1"')
    yield service
    service.close()


def test_the_command_plays_a_capture_and_delivers_its_verdict(service, tmp_path):
    frames = [(T0 + n * SECOND // 20, udp_frame("10.10.8.101", "10.2.0.5", 46, 5001, identification=n)) for n in range(50)]
    frames += [(T0 + n * SECOND // 20, udp_frame("10.10.8.102", "10.2.0.5", 0, 5001, identification=n)) for n in range(50)]
    write_pcap(tmp_path / "in.pcap", sorted(frames))
    (tmp_path / "token").write_text("phb_00.x")
    (tmp_path / "sensor.toml").write_text(
        f'name = "core-1"\nurl = "{service.url}"\ntoken_file = "token"\nbatch_interval_ms = 100\n'
        '[[replay]]\npoint = "in0"\nfile = "in.pcap"\n[spool]\ndir = "spool"\n'
    )
    argv = [sys.executable, "-c", "import sys; from policyhub.conf.cli import main; sys.exit(main())", "sensor", "run"]
    sensor = subprocess.Popen([*argv, "--config", tmp_path / "sensor.toml"], stderr=subprocess.PIPE)
    try:
        # the last second never ends, as no packet comes after it: its rows stay away, its verdict does not
        wait_until(lambda: sum(row["packets"] for row in rows(service)) >= 60 and told_packets(service) == 50, "all told")
    finally:
        sensor.terminate()
        log = sensor.communicate(timeout=60)[1].decode()
    assert sensor.returncode == 0, log
    for told in service.batches:
        assert read_batch(json.dumps(told).encode(), sensor="core-1") == told
    verdicts = [told for sent in service.batches for told in sent["verdicts"]]
    last = max(verdicts, key=lambda told: told["revision"])
    assert {told["id"] for told in verdicts} == {last["id"]}
    assert (last["name"], last["src"], last["dscp"], last["packets"]) == ("class-not-allowed", "10.10.8.101", 46, 50)
    assert last["evidence"][-1]["kind"] == "replayed"
    assert abs(last["last_ns"] - time.time_ns()) < 60 * SECOND
    assert {row["src"] for row in rows(service)} == {"10.10.8.101", "10.10.8.102"}


def told_packets(service):
    return max((verdict["packets"] for told in service.batches for verdict in told["verdicts"]), default=0)


def rows(service):
    return [row for told in service.batches for second in told["observations"] for row in second["sources"]]


@pytest.mark.parametrize(("content", "told"), [(None, "missing.pcap"), (b"hello", "missing.pcap")], ids=["missing", "no capture"])
def test_a_capture_that_cannot_be_played_is_one_line_and_exit_2(service, tmp_path, content, told):
    if content is not None:
        (tmp_path / "missing.pcap").write_bytes(content)
    (tmp_path / "token").write_text("phb_00.x")
    (tmp_path / "sensor.toml").write_text(
        f'name = "core-1"\nurl = "{service.url}"\ntoken_file = "token"\n'
        '[[replay]]\npoint = "in0"\nfile = "missing.pcap"\n[spool]\ndir = "spool"\n'
    )
    code = "import sys; from policyhub.conf.cli import main; sys.exit(main())"
    argv = [sys.executable, "-c", code, "sensor", "run", "--config", str(tmp_path / "sensor.toml")]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 2
    assert told in done.stderr.strip().splitlines()[-1]
    assert "Traceback" not in done.stderr
