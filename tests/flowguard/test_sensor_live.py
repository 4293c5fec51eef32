"""The sensor on a real interface: AF_PACKET in a namespace of its own, every packet counted, the offender told."""

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from flowguard.domain.bundle import LAB, compile_bundle
from policyhub.domain.identity import Identity
from tests.flowguard.test_sensor_replay import udp_frame
from tests.support.services import ROOT

pytestmark = pytest.mark.root
BAD, GOOD = "10.10.8.101", "10.10.8.102"
SENT = 300


def run(*argv: str) -> None:
    subprocess.run(argv, check=True, capture_output=True)


@pytest.fixture
def namespace():
    """A namespace with a pair of interfaces: frames sent on `tx0` arrive on `rx0`."""
    name = f"phs{os.getpid()}"
    run("ip", "netns", "add", name)
    try:
        run("ip", "-n", name, "link", "add", "tx0", "type", "veth", "peer", "name", "rx0")
        for interface in ("lo", "tx0", "rx0"):
            run("ip", "-n", name, "link", "set", interface, "up")
        yield name
    finally:
        run("ip", "netns", "del", name)


def inside(namespace: str, *argv: str, **more) -> subprocess.Popen:
    return subprocess.Popen(["ip", "netns", "exec", namespace, *argv], cwd=ROOT, **more)


SERVICE = """
import json, sys, time
from tests.support.fake_service import FakeService
service = FakeService(8000)
service.bundle = (open(sys.argv[1], "rb").read(), '"v1"')
while True:
    time.sleep(0.05)
    with open(sys.argv[2] + ".new", "w") as file:
        json.dump(service.batches, file)
    import os; os.rename(sys.argv[2] + ".new", sys.argv[2])
"""

SENDER = """
import socket, sys, time
from tests.flowguard.test_sensor_replay import udp_frame
wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
wire.bind(("tx0", 0))
for number in range(int(sys.argv[3])):
    for source, mark in ((sys.argv[1], 46), (sys.argv[2], 0)):
        wire.send(udp_frame(source, "10.2.0.5", mark, 5001, identification=number))
    time.sleep(0.007)
"""


def configure(folder: Path) -> Path:
    (folder / "token").write_text("phb_00.x")
    (folder / "bundle").write_bytes(compile_bundle([Identity("10.10.8.0/24", "algo", allowed_dscp=frozenset({0}))], profile=LAB))
    path = folder / "sensor.toml"
    path.write_text(
        'name = "core-1"\nurl = "http://127.0.0.1:8000"\ntoken_file = "token"\nbatch_interval_ms = 250\n'
        '[[points]]\nname = "in0"\ninterface = "rx0"\n[spool]\ndir = "spool"\n'
    )
    return path


def told(folder: Path) -> list[dict]:
    path = folder / "batches.json"
    return json.loads(path.read_text()) if path.exists() else []


def counted(folder: Path) -> dict[tuple[str, int], int]:
    seen: dict[tuple[str, int], int] = {}
    for batch in told(folder):
        for second in batch["observations"]:
            for row in second["sources"]:
                key = (row["src"], row["dscp"])
                seen[key] = seen.get(key, 0) + row["packets"]
    return seen


def wait_for(ready, seconds: float) -> None:
    end = time.monotonic() + seconds
    while not ready() and time.monotonic() < end:
        time.sleep(0.05)


def test_live_packets_are_counted_and_the_offender_is_told(namespace, tmp_path):
    config = configure(tmp_path)
    service = inside(namespace, sys.executable, "-c", SERVICE, str(tmp_path / "bundle"), str(tmp_path / "batches.json"))
    main = "import sys; from policyhub.conf.cli import main; sys.exit(main())"
    with (tmp_path / "log").open("wb") as log:
        sensor = inside(namespace, sys.executable, "-c", main, "sensor", "run", "--config", str(config), stderr=log)
    try:
        wait_for(lambda: any(batch["judging"] for batch in told(tmp_path)), 90)
        run("ip", "netns", "exec", namespace, sys.executable, "-c", SENDER, BAD, GOOD, str(SENT))
        # a second is finished when a later packet comes: the clock is the packets'
        time.sleep(1.1)
        run("ip", "netns", "exec", namespace, sys.executable, "-c", SENDER, "10.10.8.103", "10.10.8.103", "3")
        wait_for(lambda: counted(tmp_path).get((BAD, 46), 0) >= SENT, 90)
    finally:
        for process in (sensor, service):
            process.terminate()
            process.wait(60)
    assert counted(tmp_path).get((BAD, 46)) == SENT, (tmp_path / "log").read_text()
    assert counted(tmp_path)[GOOD, 0] == SENT
    verdicts = [v for batch in told(tmp_path) for v in batch["verdicts"] if v["src"] == BAD]
    last = max(verdicts, key=lambda v: v["revision"])
    assert (last["name"], last["dscp"], last["server_port"], last["point"]) == ("class-not-allowed", 46, 5001, "in0")
    assert {v["src"] for batch in told(tmp_path) for v in batch["verdicts"]} <= {BAD, "10.10.8.103"}


def test_an_interface_that_does_not_exist_is_one_line(namespace, tmp_path):
    config = configure(tmp_path)
    config.write_text(config.read_text().replace("rx0", "nope0"))
    main = "import sys; from policyhub.conf.cli import main; sys.exit(main())"
    sensor = inside(namespace, sys.executable, "-c", main, "sensor", "run", "--config", str(config), stderr=subprocess.PIPE)
    log = sensor.communicate(timeout=120)[1].decode()
    assert sensor.returncode == 2
    assert "nope0" in log.strip().splitlines()[-1]
    assert "Traceback" not in log


def test_the_frames_of_this_test_are_what_they_say():
    frame = udp_frame(BAD, "10.2.0.5", 46, 5001)
    assert frame[15] >> 2 == 46
    assert socket.inet_ntoa(frame[26:30]) == BAD
