"""Segments too large for the way: told when small ones get through or a router says so, and never of a loss by chance."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from scapy.layers.inet import ICMP, IP, TCP
from scapy.layers.inet6 import ICMPv6PacketTooBig, IPv6
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw

import native_capture
from tests.support.capture_files import write_capture

START = 1_700_000_000 * 10**9
MS = 10**6
CLIENT, SERVER, ROUTER = 0, 1, 2
ADDRESSES = {4: ("198.51.100.7", "192.0.2.80", "203.0.113.1"), 6: ("2001:db8:7::1", "2001:db8:80::1", "2001:db8:1::1")}
LARGE, SMALL = 1_448, 200
Stamped = tuple[int, Packet]


def network(src: int, dst: int, version: int) -> Packet:
    addresses = ADDRESSES[version]
    if version == 4:
        return IP(src=addresses[src], dst=addresses[dst], tos=0x20, flags="DF", id=1)
    return IPv6(src=addresses[src], dst=addresses[dst], tc=0x20)


def segment(
    at_ms: float, src: int, seq: int, ack: int, size: int = 0, *, flags: str = "A", window: int = 500, version: int = 4
) -> Stamped:
    """seq, ack: counted from the SYN of each side, which is 0."""
    ports = (40_000, 443) if src == CLIENT else (443, 40_000)
    head = TCP(
        sport=ports[0], dport=ports[1], seq=1_000 + seq, ack=1_000 + ack if "A" in flags else 0, flags=flags, window=window
    )
    return round(at_ms * MS), Ether(dst="02:00:00:00:00:01") / network(src, 1 - src, version) / head / Raw(bytes(size))


def too_big(at_ms: float, mtu: int, *, version: int = 4, port: int = 443) -> Stamped:
    """A router's word to the server about its first large segment."""
    quoted = network(SERVER, CLIENT, version) / TCP(sport=port, dport=40_000, seq=1_001)
    quote = Raw(bytes(quoted)[:48] if version == 6 else bytes(quoted)[:28])
    word = ICMP(type=3, code=4, nexthopmtu=mtu) if version == 4 else ICMPv6PacketTooBig(mtu=mtu)
    return round(at_ms * MS), Ether(dst="02:00:00:00:00:01") / network(ROUTER, SERVER, version) / word / quote


def opening(version: int = 4) -> list[Stamped]:
    return [
        segment(0, CLIENT, 0, 0, flags="S", version=version), segment(1, SERVER, 0, 1, flags="SA", version=version),
        segment(2, CLIENT, 1, 1, version=version), segment(3, CLIENT, 1, 1, 100, version=version),
        segment(4, SERVER, 1, 101, version=version),
    ]  # fmt: skip


def burst(first: int = 1, **fields: int) -> list[Stamped]:
    """Two large segments and a small one behind them."""
    return [
        segment(10, SERVER, first, 101, LARGE, **fields), segment(10.1, SERVER, first + LARGE, 101, LARGE, **fields),
        segment(10.2, SERVER, first + 2 * LARGE, 101, SMALL, **fields),
    ]  # fmt: skip


def again(*at_ms: float, first: int = 1, size: int = LARGE, **fields: int) -> list[Stamped]:
    return [segment(at, SERVER, first, 101, size, **fields) for at in at_ms]


def repeated(ack: int = 1, times: int = 1, window: int = 500) -> list[Stamped]:
    """Duplicate acknowledgements of the client."""
    return [segment(12 + number / 10, CLIENT, 101, ack, window=window) for number in range(times)]


def asked(first: int = 1) -> list[Stamped]:
    """What the client acknowledges once, so that the next is a duplicate."""
    return [segment(9, CLIENT, 101, first)]


def told(tmp_path: Path, packets: Sequence[Stamped], **options: Any) -> list[dict[str, Any]]:
    stamped = sorted(packets, key=lambda pair: pair[0])
    path = write_capture(tmp_path / "p.pcap", [(START + at, bytes(packet)) for at, packet in stamped])
    report = json.loads(native_capture.analyse([("p", path)], **options))
    assert {verdict["name"] for verdict in report["verdicts"]} <= {"mtu-blackhole"}
    found: list[dict[str, Any]] = report["verdicts"]
    return found


def of_kind(verdict: dict[str, Any], kind: str) -> dict[str, Any]:
    (fact,) = [fact for fact in verdict["evidence"] if fact["kind"] == kind]
    assert isinstance(fact, dict)
    return fact


RTO = (210, 620, 1_450)


def test_large_segments_that_vanish_while_small_ones_pass_are_told_from_the_third_time_on(tmp_path):
    packets = opening() + asked() + burst() + repeated() + again(*RTO)
    (verdict,) = told(tmp_path, packets)
    assert [verdict[key] for key in ("src", "dst", "proto", "server_port", "dscp", "packets", "severity", "signals")] == [
        "192.0.2.80", "198.51.100.7", "tcp", 443, 8, 3, "high", ["large-segments-vanish"],
    ]  # fmt: skip
    assert of_kind(verdict, "counted") == {"kind": "counted", "repeated": 3, "largest_frame": 54 + LARGE}
    assert of_kind(verdict, "too-big") == {"kind": "too-big", "told": False, "router": None, "mtu": None, "messages": 0}
    (more,) = told(tmp_path, packets + again(3_000, 6_000))
    assert (more["packets"], more["bytes"], of_kind(more, "counted")["repeated"]) == (5, 5 * (54 + LARGE), 5)
    assert told(tmp_path, packets[:-1]) == []


def test_a_client_that_says_something_else_shows_that_small_ones_pass(tmp_path):
    packets = opening() + burst() + again(*RTO)
    assert told(tmp_path, packets) == []  # it is silent: its host, or the way to it, may be gone
    (verdict,) = told(tmp_path, [*packets, segment(1_000, CLIENT, 101, 1, flags="FA")])
    assert verdict["packets"] == 3


BEHIND = 1 + LARGE
CLOSED = [segment(12, CLIENT, 101, 1, window=0)]
NEAR_MISSES = {
    "lost by chance: large ones behind it arrive": opening() + asked() + burst() + repeated(times=4) + again(*RTO),
    "large ones got through before": (
        opening() + again(10) + asked(BEHIND) + burst(BEHIND) + repeated(BEHIND) + again(*RTO, first=BEHIND)
    ),
    "the receiver takes nothing now": opening() + asked() + burst() + repeated() + CLOSED + again(*RTO),
    "small segments": opening() + asked() + again(10, size=900) + repeated() + again(*RTO, size=900),
    "the client's direction is not seen": [pair for pair in opening() if pair[1][TCP].sport == 443] + burst() + again(*RTO),
    "the capture began later": opening()[3:] + asked() + burst() + repeated() + again(*RTO),
    "acknowledged at last": (
        opening() + asked() + burst() + repeated() + again(*RTO[:2]) + [segment(700, CLIENT, 101, 1 + LARGE)] + again(*RTO[2:])
    ),
    "copies of a mirror": opening() + asked() + burst() + repeated() + again(210, 210.1, 210.2, 620, 620.1, 620.2),
    "another segment each time": (
        opening() + asked() + burst() + repeated() + again(210, 1_450) + again(620, 3_000, first=BEHIND)
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", NEAR_MISSES)
def test_what_looks_like_it_and_is_something_else(case, tmp_path):
    assert told(tmp_path, NEAR_MISSES[case]) == []


@pytest.mark.parametrize("version", [4, 6])
def test_a_sender_that_does_not_hear_what_a_router_says_is_told(tmp_path, version):
    """Nothing else shows it: the client is silent, and the capture began in the middle."""
    packets = opening(version)[2:] + burst(version=version) + again(*RTO, version=version)
    said = [too_big(11, 1_400, version=version), too_big(211, 1_400, version=version)]
    (verdict,) = told(tmp_path, packets + said)
    assert (verdict["src"], verdict["packets"], verdict["signals"]) == (ADDRESSES[version][SERVER], 3, ["too-big-ignored"])
    router = ADDRESSES[version][ROUTER]
    assert of_kind(verdict, "too-big") == {"kind": "too-big", "told": True, "router": router, "mtu": 1_400, "messages": 2}
    assert told(tmp_path, [*packets, too_big(11, 1_508, version=version)]) == []
    assert told(tmp_path, [*packets, too_big(11, 1_400, version=version, port=444)]) == []


def test_both_together_are_one_verdict_with_both_signals(tmp_path):
    (verdict,) = told(tmp_path, [*opening(), *asked(), *burst(), *repeated(), too_big(11, 0), *again(*RTO)])
    assert verdict["signals"] == ["large-segments-vanish", "too-big-ignored"]
    assert (of_kind(verdict, "too-big")["told"], of_kind(verdict, "too-big")["mtu"]) == (True, None)


def test_a_sender_that_sends_less_after_it_was_told_is_well(tmp_path):
    adapted = [*again(12, 213, size=1_348), segment(220, CLIENT, 101, 1_349)]
    assert told(tmp_path, [*opening(), *burst(), too_big(11, 1_400), *adapted]) == []


def test_threads_and_a_second_point_change_nothing(tmp_path):
    packets = [*opening(), *asked(), *burst(), *repeated(), too_big(11, 1_400), *again(*RTO)]
    alone = told(tmp_path, packets)
    assert alone == told(tmp_path, packets, threads=3)
    stamped = sorted(packets, key=lambda pair: pair[0])
    passed = [pair for pair in stamped if len(pair[1]) < 1_294]
    behind = write_capture(tmp_path / "b.pcap", [(START + at + 50_000, bytes(packet)) for at, packet in passed])
    report = json.loads(native_capture.analyse([("p", tmp_path / "p.pcap"), ("b", behind)]))
    assert [(verdict["point"], verdict["packets"]) for verdict in report["verdicts"]] == [("p", 3)]
