"""Health of connections and media in captures made by hand, every time and kind known to the nanosecond."""

from __future__ import annotations

import json
import random
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest
from scapy.layers.dns import DNS, DNSQR, DNSRR
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.l2 import Dot1Q, Ether
from scapy.layers.rtp import RTP
from scapy.packet import Packet, Raw

import native_capture
from flowguard.sensor.flows_text import as_text
from tests.support.capture_files import Stamped, write_capture

CLIENT, SERVER, RESOLVER = "10.1.0.7", "10.2.0.9", "10.2.0.53"
BASE = 1_700_000_000_000_000_000
US, MS = 1_000, 1_000_000
TO_SERVER, TO_CLIENT, THINKING = 317_211, 41_057, 25_000_003


class Wire:
    """One connection as a mirror sees it; the client's and the server's next sequence numbers are kept."""

    def __init__(self, sport: int = 40_000, dport: int = 443, vlan: int | None = None) -> None:
        self.now = BASE
        self.ports = {True: (sport, dport), False: (dport, sport)}
        self.next = {True: 1_000_000, False: 4_294_967_290}  # the server's wraps around
        self.vlan = vlan
        self.packets: list[Stamped] = []

    def send(
        self, client: bool, after: int, payload: bytes = b"", flags: str = "A", *, seq: int | None = None, window: int = 500
    ) -> None:
        """`after`: nanoseconds since the last packet. With `seq` the segment is an old one and nothing goes on."""
        self.now += after
        sport, dport = self.ports[client]
        ends = IP(src=CLIENT, dst=SERVER) if client else IP(src=SERVER, dst=CLIENT)
        number = self.next[client] if seq is None else seq % 2**32
        ack = self.next[not client] if "A" in flags else 0
        tcp = TCP(sport=sport, dport=dport, flags=flags, seq=number, ack=ack, window=window)
        ether: Packet = Ether() / Dot1Q(vlan=self.vlan) if client and self.vlan is not None else Ether()
        self.packets.append((self.now, bytes(ether / ends / tcp / Raw(payload))))
        if seq is None:
            self.next[client] = (number + len(payload) + ("S" in flags) + ("F" in flags)) % 2**32

    def open(self) -> Wire:
        self.send(True, 0, flags="S")
        self.send(False, TO_SERVER, flags="SA")
        self.send(True, TO_CLIENT)
        return self

    def ask(self, request: bytes = b"GET / HTTP/1.1\r\nHost: shop.example:8443\r\n\r\n") -> Wire:
        """The server acknowledges at once, thinks, answers, and is acknowledged."""
        self.send(True, MS, request)
        self.send(False, TO_SERVER)
        self.send(False, THINKING - TO_SERVER, b"HTTP/1.1 200 OK\r\n\r\n")
        self.send(True, TO_CLIENT)
        return self


def analyse(tmp_path: Path, packets: list[Stamped]) -> dict[str, Any]:
    report: dict[str, Any] = json.loads(native_capture.analyse([("p", str(write_capture(tmp_path / "a.pcap", packets)))]))
    assert set(report["overflow"].values()) == {0}
    return report


def flow(report: dict[str, Any], src: str) -> dict[str, Any]:
    (found,) = [row for row in report["flows"] if row["src"] == src]
    return dict(found)


@pytest.mark.parametrize("vlan", [None, 12])
def test_network_and_server_are_told_apart_also_when_one_direction_is_tagged(tmp_path, vlan):
    report = analyse(tmp_path, Wire(vlan=vlan).open().ask().packets)
    to_server, to_client = flow(report, CLIENT), flow(report, SERVER)
    assert (to_server["vlan"], to_client["vlan"]) == (vlan, None)
    assert to_server["health"]["rtt"] == dict.fromkeys(("handshake_ns", "min_ns", "median_ns", "max_ns"), TO_SERVER)
    assert to_client["health"]["rtt"] == dict.fromkeys(("handshake_ns", "min_ns", "median_ns", "max_ns"), TO_CLIENT)
    (service,) = report["services"]
    assert (service["server"], service["server_port"], service["conversations"]) == (SERVER, 443, 1)
    assert service["responses"] == {"count": 1, "p50_ns": THINKING, "p95_ns": THINKING, "max_ns": THINKING}
    assert service["rtt_server"]["p50_ns"] == TO_SERVER
    assert service["rtt_client"]["p50_ns"] == TO_CLIENT


def test_percentiles_of_many_answers(tmp_path):
    wire = Wire().open()
    times = [random.Random(5).randrange(100 * US, 60 * MS) for _ in range(31)]
    for ns in times:
        wire.send(True, MS, b"?")
        wire.send(False, ns, b"!")
    (service,) = analyse(tmp_path, wire.packets)["services"]
    ordered = sorted(times)
    assert service["responses"] == {"count": 31, "p50_ns": ordered[15], "p95_ns": ordered[29], "max_ns": ordered[30]}


def test_the_text_names_who_is_slow(tmp_path):
    text = as_text(analyse(tmp_path, Wire().open().ask().packets))
    (line,) = [line for line in text.splitlines() if "shop.example" in line]
    assert "shop.example (http-host)" in line
    assert "25.00 ms" in line and "41.1 us" in line and "317.2 us" in line and " server " in line


def test_a_half_seen_connection_is_labelled_and_says_nothing_that_needs_both(tmp_path):
    wire = Wire().open().ask()
    wire.send(True, MS, b"again")
    wire.send(True, 400 * MS, b"again", seq=wire.next[True] - 5)
    report = analyse(tmp_path, [packet for packet in wire.packets if b"\x0a\x01\x00\x07\x0a\x02" in packet[1]])
    (seen,) = report["flows"]
    assert seen["half_seen"] is True
    assert seen["tcp"]["retransmitted"] == 1
    assert {seen["health"][key] for key in ("fast", "timeout", "spurious", "out_of_order", "duplicate_acks", "rtt")} == {None}
    assert seen["health"]["unanswered"] is False
    assert report["points"][0]["health"]["half_seen"] == 1
    assert [row["responses"]["count"] for row in report["services"]] == [0]


def test_kinds_of_segments_that_come_again(tmp_path):
    wire = Wire().open()
    first = wire.next[False]
    wire.send(False, MS, b"a" * 100)
    wire.send(True, MS)
    wire.next[False] += 100  # 100 bytes are lost before the mirror
    wire.send(False, MS, b"c" * 100)
    behind, wire.next[False] = wire.next[False], (first + 100) % 2**32
    for _ in range(3):
        wire.send(True, MS)
    wire.send(False, MS, b"b" * 100, seq=first + 100)  # asked for three times: fast
    wire.next[False] = behind % 2**32
    wire.send(True, MS)
    wire.send(False, MS, b"c" * 100, seq=first + 200)  # had arrived: spurious
    wire.send(False, MS, b"d" * 100)
    wire.send(False, 300 * MS, b"d" * 100, seq=first + 300)  # nobody asked: the timer
    wire.next[False] += 100
    wire.send(False, MS, b"f" * 100)
    wire.send(False, 50 * US, b"e" * 100, seq=first + 400)  # overtaken
    report = analyse(tmp_path, wire.packets)
    health, tcp = flow(report, SERVER)["health"], flow(report, SERVER)["tcp"]
    kinds = {key: health[key] for key in ("fast", "spurious", "timeout", "out_of_order")}
    assert kinds == {"fast": 1, "spurious": 1, "timeout": 1, "out_of_order": 1}
    assert tcp["retransmitted"] == 4
    assert flow(report, CLIENT)["health"]["duplicate_acks"] == 3


def test_closed_windows_resets_and_connections_that_nobody_answers(tmp_path):
    wire = Wire().open()
    wire.send(True, MS, window=0)
    wire.send(True, 7 * MS, window=0)
    wire.send(True, 123_457, window=900)
    wire.send(False, MS, flags="R")
    silent = Wire(sport=40_001)
    silent.send(True, 0, flags="S")
    silent.send(True, 1_000 * MS, flags="S", seq=1_000_000)
    report = analyse(tmp_path, sorted(wire.packets + silent.packets))
    mine = {row["sport"]: row["health"] for row in report["flows"] if row["src"] == CLIENT}
    assert (mine[40_000]["zero_window_ns"], mine[40_000]["unanswered"]) == (7 * MS + 123_457, False)
    assert (mine[40_001]["zero_window_ns"], mine[40_001]["unanswered"], mine[40_001]["rtt"]) == (0, True, None)
    assert flow(report, SERVER)["health"]["resets"] == 1
    sums = report["points"][0]["health"]
    assert (sums["conversations"], sums["half_seen"], sums["unanswered"], sums["resets"]) == (2, 1, 1, 1)


def hello(name: str) -> bytes:
    """A ClientHello of TLS 1.2 with a server name after another extension (RFC 5246, 7.4.1.2; RFC 6066, 3)."""
    host = name.encode()
    sni = b"\x00\x00" + (len(host) + 5).to_bytes(2, "big") + (len(host) + 3).to_bytes(2, "big") + b"\x00"
    sni += len(host).to_bytes(2, "big") + host
    extensions = b"\x00\x17\x00\x00" + sni
    body = b"\x03\x03" + bytes(32) + b"\x00" + b"\x00\x02\x13\x01" + b"\x01\x00" + len(extensions).to_bytes(2, "big") + extensions
    handshake = b"\x01" + len(body).to_bytes(3, "big") + body
    return b"\x16\x03\x01" + len(handshake).to_bytes(2, "big") + handshake


def test_names_come_from_the_hello_the_request_or_else_dns(tmp_path):
    asked, other = Wire(sport=40_001).open().ask(hello("Pay.Example")), Wire(sport=40_002, dport=5432).open().ask(b"select 1")
    query = DNS(id=7, rd=1, qd=DNSQR(qname="db.example"))
    answer = DNS(
        id=7, qr=1, qd=DNSQR(qname="db.example"),
        an=[DNSRR(rrname="db.example", type="CNAME", rdata="x.example"), DNSRR(rrname="x.example", rdata=SERVER)],
    )  # fmt: skip
    dns = [
        (BASE, bytes(Ether() / IP(src=CLIENT, dst=RESOLVER) / UDP(sport=50_000, dport=53) / query)),
        (BASE + 3 * MS + 7, bytes(Ether() / IP(src=RESOLVER, dst=CLIENT) / UDP(sport=53, dport=50_000) / answer)),
    ]
    report = analyse(tmp_path, sorted(dns + asked.packets + other.packets))
    names = {(row["server_port"], row["proto"]): (row["server_name"], row["name_source"]) for row in report["services"]}
    assert names == {
        (443, "tcp"): ("pay.example", "tls-sni"),
        (5432, "tcp"): ("db.example", "dns"),
        (53, "udp"): (None, None),
    }
    times = {row["server_port"]: row["responses"]["max_ns"] for row in report["services"]}
    assert (times[53], times[5432]) == (3 * MS + 7, THINKING)


def speech(lost: Collection[int], late: int, delay: int = 0) -> list[Stamped]:
    """200 packets of G.711, of which some are lost; one is 8 ms late."""
    packets = []
    for number in set(range(200)) - set(lost):
        rtp = RTP(payload_type=8, sequence=(65_500 + number) % 65_536, timestamp=number * 160, sourcesync=99)
        ends = IP(src=CLIENT, dst=SERVER, id=number) / UDP(sport=16_400, dport=16_402)
        frame = bytes(Ether() / ends / rtp / Raw(bytes(160)))
        packets.append((BASE + number * 20 * MS + (8 * MS if number == late else 0) + delay, frame))
    return packets


def test_every_point_tells_what_a_listener_there_would_hear(tmp_path):
    files = {"in0": speech({40}, late=60), "out0": speech({40, 41, 90, *range(120, 130)}, late=60, delay=MS)}
    for name, packets in files.items():
        write_capture(tmp_path / f"{name}.pcap", packets)

    def of(names):
        points = [(name, str(tmp_path / f"{name}.pcap")) for name in names]
        return json.loads(native_capture.analyse(points))["media"]

    both = {row["point"]: row for row in of(["in0", "out0"])}
    assert (both["in0"]["lost"], both["out0"]["lost"]) == (1, 13)
    assert both["out0"]["mos"] < 3.8 < both["in0"]["mos"]
    assert list(both.values()) == of(["out0"]) + of(["in0"])  # as each tells alone, the worst first


def test_lost_media_and_its_score(tmp_path):
    packets = speech({40, 41, 90}, late=60)
    report = analyse(tmp_path, packets)
    (media,) = report["media"]
    assert (media["codec"], media["ssrc"], media["packets"], media["expected"], media["lost"]) == ("G.711 A-law", 99, 197, 200, 3)
    step = 8 * MS / 16
    assert abs(media["max_jitter_ns"] - (step + (8 * MS - step) / 16)) < 2
    # 1.5 % of loss: Ie-eff = 95 x 1.5 / (1.5 + 25.1), R = 87.8
    assert media["mos"] == pytest.approx(4.28, abs=0.02)
    assert flow(report, CLIENT)["rtp"]["lost"] == 3
    assert "G.711 A-law" in as_text(report)
    assert flow(report, CLIENT)["half_seen"] is True
