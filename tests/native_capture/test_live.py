"""Live capture over veth: every packet counted once per point, judged once, with its mark; nothing but packets moves time."""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Dot1Q, Ether
from scapy.packet import Packet, Raw

import native_capture
from flowguard.domain.bundle import LAB, compile_bundle
from policyhub.domain.identity import Identity
from tests.support.wires import Router, inside, ip

pytestmark = pytest.mark.root
WAIT_S = 40.0
RING_BYTES = 1 << 20  # the smallest ring there is; tests/support/live_child.py asks for it
ROOT = Path(__file__).parents[2]


@pytest.fixture
def wire(router: Router) -> Iterator[socket.socket]:
    with router.sender("ha") as sender:
        yield sender


class Watch:
    """Live on points of the router, and all that it told so far."""

    def __init__(self, router: Router, *points: str, bundle: bytes | None) -> None:
        with inside(router.router):
            self.live = native_capture.Live([(name, name) for name in points], bundle=bundle, ring_mb=4)
        self.verdicts: dict[str, dict[str, Any]] = {}
        self.rows: list[dict[str, Any]] = []
        self.body: dict[str, Any] = {}

    def until(self, enough: Callable[[], bool]) -> None:
        end = time.monotonic() + WAIT_S
        while not enough():
            assert time.monotonic() < end, (self.body, self.verdicts)
            self.look()

    def look(self) -> int:
        """Poll once; how many packets are new."""
        before = self.received()
        self.body = json.loads(self.live.poll(200))
        self.rows += self.body["observations"]
        for verdict in self.body["verdicts"]:
            known = self.verdicts.get(verdict["id"])
            assert known is None or known["revision"] < verdict["revision"]
            self.verdicts[verdict["id"]] = verdict
        return self.received() - before

    def received(self) -> int:
        return int(self.body.get("health", {}).get("received", 0))

    def sums(self, point: str) -> dict[tuple[str, int], tuple[int, int]]:
        packets: Counter[tuple[str, int]] = Counter()
        octets: Counter[tuple[str, int]] = Counter()
        for row in self.rows:
            for source in row["sources"] if row["point"] == point else []:
                packets[source["src"], source["dscp"]] += source["packets"]
                octets[source["src"], source["dscp"]] += source["bytes"]
        return {key: (packets[key], octets[key]) for key in packets}

    def counted(self, point: str) -> int:
        return sum(packets for packets, _ in self.sums(point).values())

    def judged(self) -> set[tuple[Any, ...]]:
        return {(v["name"], v["src"], v["dst"], v["server_port"], v["dscp"], v["packets"]) for v in self.verdicts.values()}


@pytest.fixture
def watch(router: Router) -> Iterator[Callable[..., Watch]]:
    watches: list[Watch] = []

    def begin(*points: str, bundle: bytes | None = None) -> Watch:
        watches.append(Watch(router, *points, bundle=bundle))
        return watches[-1]

    yield begin
    for one in watches:
        one.live.close()


class Traffic:
    """UDP of one sender, with random port and payload; IP ids count up as hosts do."""

    def __init__(self, router: Router, chance: random.Random, dscp: int, size: int | None = None) -> None:
        self.src = f"192.0.2.{chance.randrange(10, 250)}"
        self.dst = f"203.0.113.{chance.randrange(1, 250)}"
        self.port, self.dscp, self.size = chance.randrange(1_024, 32_000), dscp, size or chance.randrange(20, 1_000)
        self.ether = Ether(src=router.mac("ha"), dst=router.mac("in0"))
        self.sport = chance.randrange(40_000, 60_000)

    def packet(self, number: int) -> Packet:
        ip_layer = IP(src=self.src, dst=self.dst, tos=self.dscp << 2, id=number)
        return ip_layer / UDP(sport=self.sport, dport=self.port, chksum=0) / Raw(bytes(self.size))

    def frames(self, count: int) -> list[bytes]:
        return [bytes(self.ether / self.packet(number + 1)) for number in range(count)]


def identity(traffic: Traffic, *marks: int) -> Identity:
    return Identity(prefix=f"{traffic.src}/32", name=traffic.src, allowed_dscp=frozenset(marks))


def test_every_packet_is_counted_at_both_points_and_judged_once(router, watch, wire):
    chance = random.Random()
    thief, stranger, honest = (Traffic(router, chance, 46) for _ in range(3))
    while len({thief.src, stranger.src, honest.src}) < 3:
        stranger, honest = (Traffic(router, chance, 46) for _ in range(2))
    router.nft(f"table ip t {{ chain f {{ type filter hook forward priority 0; ip saddr {honest.src} ip dscp set cs0; }}; }}")
    bundle = compile_bundle([identity(thief, 0, 8), identity(honest, 46)], profile=LAB)
    eye = watch("in0", "out0", bundle=bundle)
    counts = {traffic: chance.randrange(20, 200) for traffic in (thief, stranger, honest)}
    frames = [frame for traffic, count in counts.items() for frame in traffic.frames(count)]
    chance.shuffle(frames)
    for frame in frames:
        wire.send(frame)
    eye.until(lambda: eye.received() == 2 * len(frames))
    time.sleep(1.1)
    wire.send(honest.frames(1)[0])  # packet time goes on: the second before is finished
    done = {counts[thief], counts[stranger]}
    eye.until(
        lambda: eye.counted("in0") == eye.counted("out0") == len(frames) and {v["packets"] for v in eye.verdicts.values()} >= done
    )
    name = ["class-not-allowed", "unknown-identity-in-priority"]
    expected = {(n, t.src, t.dst, t.port, 46, counts[t]) for n, t in zip(name, (thief, stranger), strict=True)}
    assert {key for key in eye.judged() if key[0] != "dscp-rewritten"} == expected
    rewritten = [v for v in eye.verdicts.values() if v["name"] == "dscp-rewritten"]
    assert [(v["src"], v["dscp"], v["point"]) for v in rewritten] == [(honest.src, 46, "out0")]
    size = {traffic: len(traffic.frames(1)[0]) for traffic in counts}
    assert eye.sums("in0") == {(t.src, 46): (n, n * size[t]) for t, n in counts.items()}
    assert eye.sums("out0") == {(t.src, 0 if t is honest else 46): (n, n * size[t]) for t, n in counts.items()}
    assert eye.body["health"]["dropped"]["kernel"] == 0 and all(row["complete"] for row in eye.rows)


def test_a_vlan_tag_taken_off_by_the_kernel_is_counted_with_the_frame(router, watch, wire):
    traffic = Traffic(router, random.Random(), 46)
    eye = watch("in0")
    frames = [bytes(traffic.ether / Dot1Q(vlan=7, prio=5) / traffic.packet(number)) for number in range(30)]
    for frame in frames:
        wire.send(frame)
    eye.until(lambda: eye.received() == len(frames))
    time.sleep(1.1)
    wire.send(traffic.frames(1)[0])
    eye.until(lambda: eye.counted("in0") == len(frames))
    assert eye.sums("in0") == {(traffic.src, 46): (30, sum(map(len, frames)))}


def test_without_a_bundle_nothing_is_judged_and_one_that_comes_later_is_used(router, watch, wire):
    traffic = Traffic(router, random.Random(), 46)
    eye = watch("in0")
    for frame in traffic.frames(10):
        wire.send(frame)
    eye.until(lambda: eye.received() == 10)
    assert (eye.body["judging"], eye.body["bundle"], eye.verdicts) == (False, None, {})
    bundle = compile_bundle([identity(traffic, 0)], profile=LAB)
    version = eye.live.set_bundle(bundle)
    eye.until(lambda: eye.body["judging"])
    assert eye.body["bundle"] == version == json.loads(bundle)["version"]
    for frame in traffic.frames(5):
        wire.send(frame)
    eye.until(lambda: bool(eye.verdicts))
    assert {key[0] for key in eye.judged()} == {"class-not-allowed"}


def test_when_no_packet_comes_nothing_is_closed(router, watch, wire):
    traffic = Traffic(router, random.Random(), 46)
    eye = watch("in0", bundle=compile_bundle([identity(traffic, 0)], profile=LAB))
    wire.send(traffic.frames(1)[0])
    eye.until(lambda: bool(eye.verdicts))
    time.sleep(1.5)
    assert json.loads(eye.live.poll(100))["observations"] == []
    assert [(v["revision"], v["closed"]) for v in eye.verdicts.values()] == [(1, False)]


def test_a_link_that_goes_down_and_up_is_captured_again(router, watch, wire):
    traffic = Traffic(router, random.Random(), 46)
    eye = watch("in0")
    ip("-n", router.router, "link", "set", "in0", "down")
    eye.live.poll(200)  # the engine's turn to meet the error
    ip("-n", router.router, "link", "set", "in0", "up")
    tried = 0
    while not eye.received():  # the kernel opens the other end when it comes to it
        assert tried < 50, eye.body
        wire.send(traffic.frames(1)[0])
        tried += 1
        eye.look()
    eye.until(lambda: not eye.look())
    before = eye.received()
    for frame in traffic.frames(3):
        wire.send(frame)
    eye.until(lambda: eye.received() == before + 3)


def test_an_interface_that_vanishes_ends_the_capture_with_one_line(router, watch):
    eye = watch("in0")
    ip("-n", router.router, "link", "delete", "in0")
    with pytest.raises(native_capture.CaptureError, match="in0: the interface is gone") as caught:
        eye.until(lambda: False)
    assert caught.value.code == "NC-E013"


def test_an_unknown_interface_is_refused_with_the_cure(router):
    with inside(router.router), pytest.raises(native_capture.CaptureError, match=r"no such interface\. List") as caught:
        native_capture.Live([("x", "nothere0")])
    assert (caught.value.code, caught.value.file) == ("NC-E005", "nothere0")


def test_what_the_kernel_had_no_room_for_is_counted_and_the_seconds_are_incomplete(router, wire):
    traffic = Traffic(router, random.Random(), 46, size=1_000)
    frame, later = traffic.frames(2)
    most = RING_BYTES // len(frame)  # the ring keeps whole frames, each with a header besides
    command = ["ip", "netns", "exec", router.router, sys.executable, "-m", "tests.support.live_child", "in0", "1500"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as child:
        try:
            bodies, heard = until_deadline(child.stdout), []
            assert next(bodies)["health"]["received"] == 0
            child.send_signal(signal.SIGSTOP)
            os.waitid(os.P_PID, child.pid, os.WSTOPPED | os.WNOWAIT)  # every thread of it stands
            while arrived(router, "in0") < 3 * most:
                for _ in range(most // 8):
                    wire.send(frame)
            sent = arrived(router, "in0")
            child.send_signal(signal.SIGCONT)
            until(bodies, heard, lambda body: counted(body) >= sent)
            told = heard[-1]
            for _ in range(2):  # packet time goes on, and the second of the loss is over
                time.sleep(1.1)
                wire.send(later)
            until(bodies, heard, lambda body: counted(body) == sent + 2)
        finally:
            child.kill()
    assert counted(told) == sent
    assert told["health"]["dropped"]["kernel"] >= sent - most
    rows = [row for body in heard for row in body["observations"]]
    assert rows and not rows[0]["complete"]


def until(bodies: Iterator[dict[str, Any]], heard: list[dict[str, Any]], enough: Callable[[dict[str, Any]], bool]) -> None:
    heard.append(next(bodies))
    while not enough(heard[-1]):
        heard.append(next(bodies))


def arrived(router: Router, interface: str) -> int:
    """Frames that the kernel has seen on the interface, whoever had room for them."""
    words = ["ip", "-n", router.router, "-j", "-s", "link", "show", interface]
    told = subprocess.run(words, capture_output=True, text=True, timeout=20, check=True).stdout
    return int(json.loads(told)[0]["stats64"]["rx"]["packets"])


def counted(body: dict[str, Any]) -> int:
    return int(body["health"]["received"] + body["health"]["dropped"]["kernel"])


def until_deadline(lines: IO[str]) -> Iterator[dict[str, Any]]:
    end = time.monotonic() + 2 * WAIT_S
    for line in lines:
        assert time.monotonic() < end, line
        yield json.loads(line)
