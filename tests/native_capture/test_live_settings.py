"""Which frames a live capture takes, with which rights, and that it says of every frame where it is."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.l2 import Dot1Q, Ether
from scapy.layers.vxlan import VXLAN
from scapy.packet import Packet, Raw

import native_capture
from tests.support.wires import Router, inside

pytestmark = pytest.mark.root
ROOT = Path(__file__).parents[2]
WAIT_S = 60.0
FLOOD_S = 5.0


def frame(router: Router, inner: Packet, *, to: str = "", tag: int | None = None, size: int = 0) -> bytes:
    ether = Ether(src=router.mac("ha"), dst=to or router.mac("in0"))
    tagged = ether if tag is None else ether / Dot1Q(vlan=tag)
    return bytes(tagged / IP(src="192.0.2.7", dst="203.0.113.9") / inner / Raw(bytes(size)))


def health(live: native_capture.Live) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(live.poll(200))["health"]
    return body


def settled(live: native_capture.Live) -> dict[str, Any]:
    """Health once nothing new has come for a while."""
    told, quiet = health(live), 0
    while quiet < 5:
        now = health(live)
        quiet = quiet + 1 if now["received"] == told["received"] else 0
        told = now
    return told


@contextmanager
def live(router: Router, **settings: Any) -> Iterator[native_capture.Live]:
    with inside(router.router):
        capture = native_capture.Live([("p", "in0")], ring_mb=4, **settings)
    try:
        yield capture
    finally:
        capture.close()


def test_a_filter_keeps_what_it_says_tagged_or_not(router):
    wanted = [frame(router, UDP(dport=53)), frame(router, UDP(dport=53), tag=7)]
    others = [frame(router, UDP(sport=4_000, dport=54)), frame(router, TCP(dport=53)), frame(router, TCP(dport=80), tag=7)]
    with live(router, filter="udp port 53") as capture, router.sender("ha") as wire:
        for one in wanted * 3 + others * 5:
            wire.send(one)
        assert settled(capture)["received"] == 6


@pytest.mark.parametrize("threads", [1, 2])
def test_a_point_whose_frames_are_wrapped_sees_what_is_inside(router, threads):
    carried = Ether() / IP(src="10.8.0.1", dst="10.8.0.2", tos=46 << 2) / UDP(sport=9, dport=53) / Raw(bytes(1_000))
    wrapped = [frame(router, UDP(sport=40_000 + n, dport=4789) / VXLAN(vni=10, flags=8) / carried) for n in range(40)]
    other = frame(router, UDP(dport=53))
    with live(router, threads=threads, snaplen=64, unwrap={"p": "vxlan"}) as capture, router.sender("ha") as wire:
        for one in [*wrapped, other, other]:
            wire.send(one)
        told = settled(capture)
        point = told["points"][0]
        assert (told["received"], point["received"], told["decode_errors"]) == (42, 42, 0)
        assert (point["unwrap"]["frames"], point["unwrap"]["not_wrapped"]) == (40, {"udp": 2})
        # Packet time moves on and closes the second.
        time.sleep(1.1)
        wire.send(wrapped[0])
        rows = [row for _ in range(5) for row in json.loads(capture.poll(400))["observations"] if row["sources"]]
    sources = [source for row in rows for source in row["sources"]]
    assert {(source["src"], source["dscp"]) for source in sources} == {("10.8.0.1", 46)}
    assert sum(source["packets"] for source in sources) >= 40
    assert sum(source["bytes"] for source in sources) == len(carried) * sum(source["packets"] for source in sources)


def test_frames_for_others_are_taken_unless_it_is_told_not_to(router):
    stranger = frame(router, UDP(dport=53), to="02:00:00:00:00:99")
    with live(router) as capture, router.sender("ha") as wire:
        wire.send(stranger)
        assert settled(capture)["received"] == 1
    with live(router, filter="port 53 and len > 900", promiscuous=False) as capture, router.sender("ha") as wire:
        wire.send(frame(router, UDP(dport=53), size=1_000))
        assert settled(capture)["received"] == 1


def test_every_frame_counts_for_the_clock_that_stamped_it(router):
    with live(router) as capture, router.sender("ha") as wire:
        for number in range(40):
            wire.send(frame(router, UDP(sport=1_000 + number, dport=53), tag=number % 2 * 7 or None))
        (point,) = settled(capture)["points"]
    assert point["stamps"] == {"hardware": 0, "system": 40, "stray": 0, "clock": None}


def test_a_card_that_does_not_stamp_every_frame_is_refused_at_the_start(router):
    with inside(router.router):
        assert json.loads(native_capture.card_clock("in0")) == {"clock": None, "can_stamp": False, "stamps_all": False}
        with pytest.raises(native_capture.CaptureError, match=r'in0: its card does not stamp.* timestamps = "system"') as caught:
            native_capture.Live([("p", "in0")], card_stamps=True)
    assert caught.value.code == "NC-E005"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("udp prt 53", r"in0: filter \"udp prt 53\": .*syntax error.* man pcap-filter"),
        ("vlan 7 and udp", r"vlan matches nothing, because the kernel takes the tag off .*Leave vlan out"),
    ],
)
def test_a_filter_that_cannot_work_is_refused_at_the_start(router, text, said):
    with inside(router.router), pytest.raises(native_capture.CaptureError, match=said) as caught:
        native_capture.Live([("p", "in0")], filter=text)
    assert (caught.value.code, caught.value.file) == ("NC-E005", "in0")
    assert "\n" not in str(caught.value)


@contextmanager
def child(router: Router, word: str) -> Iterator[subprocess.Popen[str]]:
    command = ["ip", "netns", "exec", router.router, sys.executable, "-m", "tests.support.live_child", "in0", "256", word]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT) as process:
        try:
            yield process
        finally:
            process.kill()


def test_one_capability_is_enough_and_is_given_away_once_the_interface_is_open(router):
    with child(router, "unprivileged") as process, router.sender("ha") as wire:
        assert json.loads(process.stdout.readline())["health"]["received"] == 0
        statuses = [task.read_text().split("\n") for task in Path(f"/proc/{process.pid}/task").glob("*/status")]
        assert len(statuses) >= 2
        for status in statuses:
            rows = dict(line.split(":\t", 1) for line in status if ":\t" in line)
            assert {rows[key] for key in ("CapInh", "CapPrm", "CapEff", "CapAmb")} == {"0" * 16}
            assert rows["NoNewPrivs"] == "1" and rows["Uid"].split() == ["65534"] * 4
        for _ in range(50):
            wire.send(frame(router, UDP(dport=53)))
        end = time.monotonic() + WAIT_S
        while (told := json.loads(process.stdout.readline())["health"])["received"] < 50:
            assert time.monotonic() < end, told
        assert (told["received"], told["dropped"]["kernel"]) == (50, 0)


def test_without_that_capability_the_refusal_names_it(router):
    with child(router, "nobody") as process:
        _, error = process.communicate(timeout=WAIT_S)
    assert process.returncode == 1
    assert error.startswith("NC-E005 in0: cannot capture (Operation not permitted") and "CAP_NET_RAW" in error


def test_every_frame_that_was_sent_was_received_or_stands_under_the_cause_of_its_loss(router):
    chance = random.Random()
    frames = [frame(router, UDP(sport=chance.randrange(1, 65_536), dport=53), size=chance.randrange(1_000)) for _ in range(64)]
    with inside(router.router):
        capture = native_capture.Live([("p", "in0")], ring_mb=1, snaplen=1_500)
    with router.sender("ha") as wire:
        sent, end = 0, time.monotonic() + FLOOD_S
        while time.monotonic() < end:
            for one in frames:
                wire.send(one)
            sent += len(frames)
        end = time.monotonic() + WAIT_S
        while (found := accounted(told := health(capture))) < sent:
            assert time.monotonic() < end, (sent, told)
        time.sleep(1.1)  # counters of the interface are asked once a second
        assert accounted(settled(capture)) == found == sent
    capture.close()


def accounted(told: dict[str, Any]) -> int:
    (point,) = told["points"]
    assert told["dropped"] == {"interface": 0, "kernel": point["dropped"], "ring": 0, "spool": 0} and point["missed"] == 0
    return int(told["received"] + point["dropped"] + point["refused"])
