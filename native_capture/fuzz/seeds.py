"""First inputs of the fuzz targets, made by Scapy.

`.venv/bin/python native_capture/fuzz/seeds.py build/fuzz` puts them where `.ci/fuzz` looks.
"""

from __future__ import annotations

import gzip
import json
import struct
import sys
from collections.abc import Iterable
from pathlib import Path

from scapy.contrib.erspan import ERSPAN_II, ERSPAN_III
from scapy.contrib.geneve import GENEVE
from scapy.contrib.gtp import GTP_U_Header
from scapy.contrib.mpls import MPLS
from scapy.contrib.roce import BTH, CNPPadding
from scapy.layers.dot11 import Dot11, Dot11QoS, RadioTap
from scapy.layers.inet import ICMP, IP, TCP, UDP, IPOption_NOP, fragment
from scapy.layers.inet6 import (
    ICMPv6EchoRequest,
    IPv6,
    IPv6ExtHdrDestOpt,
    IPv6ExtHdrFragment,
    IPv6ExtHdrHopByHop,
    IPv6ExtHdrRouting,
)
from scapy.layers.ipsec import AH, ESP
from scapy.layers.l2 import ARP, GRE, LLC, SNAP, CookedLinux, CookedLinuxV2, Dot1AD, Dot1Q, Dot3, Ether
from scapy.layers.ppp import PPP, PPPoE
from scapy.layers.sctp import SCTP
from scapy.layers.vxlan import VXLAN
from scapy.packet import Packet, Raw

HERE = Path(__file__).resolve().parent
#: Place of each link type in `LINKS` of targets.rs.
LINKS = [0, 1, 9, 12, 14, 50, 101, 104, 105, 107, 108, 113, 127, 147, 228, 229, 276]
V4, V6 = IP(src="10.0.0.1", dst="10.0.0.2", tos=0xB8), IPv6(src="2001:db8::1", dst="2001:db8::2", tc=0xB8)
LDP = V4 / UDP(sport=5000, dport=53) / Raw(b"question")
SEGMENT = V4 / TCP(sport=40000, dport=443, flags="PA", seq=7, ack=9) / Raw(b"GET / HTTP/1.1\r\n\r\n")


def pieces(packets: Iterable[tuple[int, bytes]]) -> bytes:
    return b"".join(bytes([head, min(len(data), 255)]) + data[:255] for head, data in packets)


def headers() -> Iterable[bytes]:
    frames: list[tuple[int, Packet | bytes]] = [
        (1, Ether() / LDP), (1, Ether() / V6 / UDP() / b"x"), (1, Ether() / Dot1Q(vlan=5, prio=3) / SEGMENT),
        (1, Ether() / Dot1AD(vlan=5) / Dot1Q(vlan=7) / V6 / TCP()), (1, Dot3() / LLC() / SNAP() / LDP), (1, Ether() / ARP()),
        (1, Ether(type=0x8847) / MPLS(label=16, s=0) / MPLS(label=17, s=1) / LDP), (1, Ether() / PPPoE() / PPP() / LDP),
        (113, CookedLinux() / LDP), (276, CookedLinuxV2() / LDP), (101, SEGMENT), (228, LDP), (229, V6 / ICMPv6EchoRequest()),
        (0, b"\2\0\0\0" + bytes(LDP)), (108, b"\0\0\0\2" + bytes(LDP)), (9, b"\xff\x03\0\x21" + bytes(LDP)),
        (9, b"\x21" + bytes(LDP)),
        (50, b"\xff\x03\0\x57" + bytes(V6 / UDP())), (104, b"\x0f\0\x08\0" + bytes(LDP)), (107, b"\x18\x41\x03\xcc" + bytes(LDP)),
        (107, b"\x18\x41\x03\0\x80\0\0\0\x08\0" + bytes(LDP)),
        (127, RadioTap() / Dot11(type=2, FCfield=1) / LLC() / SNAP() / LDP),
        (105, Dot11(type=2, subtype=8) / Dot11QoS() / LLC() / SNAP() / LDP),
    ]  # fmt: skip
    whole = V4 / UDP(sport=1, dport=2) / Raw(b"a" * 60)
    chain = V6 / IPv6ExtHdrHopByHop() / IPv6ExtHdrRouting() / IPv6ExtHdrDestOpt() / UDP(sport=1, dport=2)
    options = IP(src="1.2.3.4", dst="4.3.2.1", options=[IPOption_NOP()] * 8) / ICMP()
    frames += [(101, packet) for packet in (chain, options, V4 / AH(nh=17) / UDP(), V4 / ESP(), V4 / SCTP(), V6 / SEGMENT[TCP])]
    yield from (pieces([(LINKS.index(kind), bytes(frame))]) for kind, frame in frames)
    yield pieces((LINKS.index(101), bytes(part)) for part in fragment(whole, 24))
    first = V6 / IPv6ExtHdrFragment(id=7, m=1, nh=17) / Raw(bytes(UDP(sport=1, dport=2, len=40)) + b"a" * 16)
    later = V6 / IPv6ExtHdrFragment(id=7, m=0, offset=3, nh=17) / Raw(b"b" * 16)
    yield pieces((LINKS.index(101), bytes(part)) for part in (first, later))


def tunnel() -> Iterable[bytes]:
    inner = bytes(Ether() / SEGMENT)
    yield from (bytes([0]) + bytes(GRE() / LDP) for _ in (0,))
    yield bytes([0]) + bytes(GRE(proto=0x6558, key_present=1, key=5) / Ether() / LDP)
    yield bytes([0]) + bytes(GRE(proto=0x88BE) / Raw(inner))
    yield bytes([0]) + bytes(GRE(seqnum_present=1, proto=0x88BE, sequence_number=3) / ERSPAN_II(session_id=5) / Ether() / LDP)
    yield bytes([0]) + bytes(GRE(seqnum_present=1, proto=0x22EB, sequence_number=3) / ERSPAN_III(session_id=5) / Ether() / LDP)
    yield bytes([1]) + bytes(V4 / V4 / SEGMENT)
    yield bytes([2]) + bytes(V6 / LDP)
    yield bytes([3]) + bytes(VXLAN(vni=5001, flags=8)) + bytes(Ether() / V4 / UDP(dport=4789) / VXLAN(flags=8) / Ether() / LDP)
    yield bytes([4]) + struct.pack(">BBBBI", 0x0C, 0, 0, 1, 5 << 8) + bytes(LDP)
    yield bytes([5]) + bytes(GENEVE(vni=5, proto=0x6558) / Ether() / LDP)
    yield bytes([6]) + bytes(GTP_U_Header(teid=9) / LDP)
    yield bytes([7]) + bytes(V6 / UDP())
    yield bytes([8]) + bytes(MPLS(label=16, s=1) / LDP)
    yield bytes([9]) + bytes(AH(nh=4) / LDP)


def transport() -> Iterable[bytes]:
    def tcp(flags: str, seq: int, data: bytes = b"", **more: int) -> bytes:
        return bytes(TCP(sport=40000, dport=443, flags=flags, seq=seq, **more) / Raw(data))

    def back(flags: str, seq: int, data: bytes = b"", **more: int) -> bytes:
        return bytes(TCP(sport=443, dport=40000, flags=flags, seq=seq, **more) / Raw(data))

    talk = [
        (0, tcp("S", 1)),
        (4, back("SA", 5, ack=2)),
        (0, tcp("A", 2)),
        (0, tcp("PA", 2, b"question")),
        (0, tcp("PA", 2, b"question")),
    ]
    yield pieces(
        [*talk, (4, back("PA", 6, b"answer", ack=10)), (0, tcp("A", 10, window=0)), (0, tcp("FA", 10)), (4, back("R", 12))]
    )
    yield pieces([(0, tcp("S", 1)), (248, tcp("S", 1)), (128, tcp("S", 99)), (0, tcp("A", 0xFFFFFFF0, b"x" * 40))])
    yield pieces([(1, bytes(UDP(sport=n, dport=53))) for n in range(12)] + [(5, bytes(UDP(sport=53, dport=3)))] * 3)
    yield pieces([(2, bytes(SCTP(sport=1, dport=2))), (3, bytes(ICMP())), (7, bytes(ICMP(type=3)))])


def rdma() -> Iterable[bytes]:
    def bth(code: int, psn: int, rest: bytes = b"") -> bytes:
        return struct.pack(">BBHIII", code, 0x40, 0xFFFF, 0x11, 0x80000000 | psn, 0)[:12] + rest + b"\1\2\3\4"

    write, only, ack, nak, cnp = (
        bth(6, 1, bytes(16) + b"d" * 32),
        bth(4, 2, b"d" * 8),
        bth(17, 2, b"\x1f\0\0\1"),
        bth(17, 3, b"\x60\0\0\1"),
        bth(0x81, 0, bytes(16)),
    )
    yield pieces([(0, write), (0, only), (0, ack), (0, nak), (0, cnp)])
    yield pieces([(1, bytes(IPv6(nh=0x1B)) + ack), (3, bytes(IPv6(nh=0x1B)) + only)])
    yield pieces([(2, b"\1\1\0\x18" + b"\0\0" * 3 + b"\xff\xff" * 5 + bytes(26)), (2, b"\0\1\xff\xff" + bytes(42))])
    yield pieces([(0, bytes(BTH(opcode=4, dqpn=5, psn=9) / Raw(b"x"))), (0, bytes(BTH(opcode=0x81) / CNPPadding()))])
    yield pieces([(4, b"".join(lldp())), (5, b"".join(lldp()[3:5])), (5, lldp()[5])])


def lldp() -> list[bytes]:
    """TLVs: chassis, port, time to live, name, DCBX of 802.1Q and of CEE, end."""

    def tlv(kind: int, value: bytes) -> bytes:
        return struct.pack(">H", kind << 9 | len(value)) + value

    ets = bytes.fromhex("0001234567") + bytes([20, 30, 50, 0, 0, 0, 0, 0]) + bytes([2, 2, 2, 0, 0, 0, 0, 255])
    said = {9: b"\x83" + ets[1:], 10: ets, 11: b"\x88\x08", 12: b"\0\x63\x12\xb7"}
    ieee = b"".join(tlv(127, b"\0\x80\xc2" + bytes([kind]) + body) for kind, body in said.items())
    features = [
        (1, bytes(10)),
        (2, bytes.fromhex("0000c0000000001f") + bytes([50, 50, 0, 0, 0, 0, 0, 0, 2])),
        (3, b"\0\0\x80\0\x08\2"),
        (4, bytes.fromhex("0000c0008906001b2108")),
    ]
    cee = tlv(127, b"\0\x1b\x21\2" + b"".join(tlv(kind, body) for kind, body in features))
    head = [tlv(1, b"\4\0\x1b\x21\1\2\3"), tlv(2, b"\5Ethernet1/7"), tlv(3, b"\0\x78")]
    return [*head, tlv(5, b"leaf-7"), ieee, cee, tlv(0, b"")]


def zstd_stored(data: bytes) -> bytes:
    """One frame with one raw block (RFC 8878, 3.1.1), so that the fuzzer reaches the capture inside."""
    return b"\x28\xb5\x2f\xfd\x60" + struct.pack("<H", len(data) - 256) + (len(data) << 3 | 1).to_bytes(3, "little") + data


def block(kind: int, body: bytes, order: str = "<") -> bytes:
    body += bytes(-len(body) % 4)
    length = struct.pack(order + "I", len(body) + 12)
    return struct.pack(order + "I", kind) + length + body + length


def pcapng(order: str, resolution: int) -> bytes:
    frame, option = bytes(Ether() / LDP), struct.pack(order + "HHB3xHHq", 9, 1, resolution, 14, 8, 100) + bytes(4)
    section = block(0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1), order)
    face = block(1, struct.pack(order + "HHI", 1, 0, 96) + option, order) + block(1, struct.pack(order + "HHI", 101, 0, 0), order)
    enhanced = block(6, struct.pack(order + "IIIII", 0, 5, 9, len(frame), len(frame)) + frame, order)
    simple = block(3, struct.pack(order + "I", len(frame)) + frame, order)
    old = block(2, struct.pack(order + "HHIIII", 1, 0, 5, 9, len(bytes(LDP)), 99) + bytes(LDP), order)
    return section + face + enhanced + simple + block(5, bytes(12), order) + old


def files() -> Iterable[bytes]:
    frame = bytes(Ether() / LDP)
    for magic, order in [(0xA1B2C3D4, "<"), (0xA1B23C4D, ">"), (0xA1B2CD34, "<")]:
        record = struct.pack(order + "IIII", 5, 7, len(frame), 99) + bytes(8 * (magic == 0xA1B2CD34)) + frame
        yield struct.pack(order + "IHHiIII", magic, 2, 4, 0, 0, 65535, 1) + record * 5
    yield from (pcapng(order, resolution) for order, resolution in [("<", 6), (">", 9), ("<", 0x94), ("<", 12)])
    whole = pcapng("<", 6) + pcapng(">", 9)
    yield gzip.compress(whole, 0, mtime=0)
    yield gzip.compress(whole, 9, mtime=0) * 2
    yield zstd_stored(whole) + b"\x50\x2a\x4d\x18\3\0\0\0abc" + zstd_stored(whole)


def signatures() -> Iterable[bytes]:
    for path in sorted((HERE.parent / "data" / "signatures").glob("*.json")):
        text = json.loads(path.read_text())
        for pattern in text["any"][:2]:
            payload = bytearray(64)
            for test in pattern:
                begin = (
                    bytes.fromhex(test["hex"])
                    if test["is"] == "bytes"
                    else test["text"].encode()
                    if test["is"] == "text"
                    else b""
                )
                payload[test.get("at", 0) : test.get("at", 0) + len(begin)] = begin
            small = {**text, "title": "", "source": "", "ports": [], "any": [pattern]}
            yield json.dumps(small, separators=(",", ":")).encode() + b"\0" + bytes(payload)


def settings() -> Iterable[bytes]:
    identity = {
        "realm": "",
        "prefix": "10.0.0.0/8",
        "name": "n",
        "business": "b",
        "owner": "o",
        "class": "non-core",
        "allowed_dscp": [0],
    }
    six = {**identity, "prefix": "2001:db8::/32", "allowed_dscp": None, "class": "core", "realm": "r"}
    profile = {"name": "lab", "persistence_ms": 1000, "min_signals": 1}
    bundle = {"schema": "flowguard.bundle/1", "version": "v", "identities": [identity, six], "priority_dscp": [46],
              "points": {"in0": {"realm": "r"}},
              "service_rank": {"46": 5}, "profile": profile, "match_window_ms": 10}  # fmt: skip
    classes = {
        "EF": {"dscp": [46], "rate_mbps": 4, "ceil_mbps": 4, "queue_pkts": 2, "strict": True},
        "BE": {"dscp": "rest", "rate_mbps": 1, "queue_bytes": 900},
    }
    queues = {"observation_points": {"a": "in0", "b": "out0"}, "link_mbps": 1, "classes": classes, "burst_bytes": 9,
              "ports": {"p": {"point": "b", "arrivals_from": "a", "link_mbps": 1}},
              "sides": {"in0": ["10.0.0.0/24"]}}  # fmt: skip
    texts = [json.dumps(each, separators=(",", ":")).encode() for each in (bundle, queues)]
    yield from (b"\0".join(texts), texts[0], b"\0" + texts[1])


def opened() -> Iterable[bytes]:
    """First byte: bits 0 to 2 the wrap, 3 no wrap, 4 no times, 5 to 7 whose times."""
    now = struct.pack("!II", 1_700_000_000, 5)
    one = bytes(Ether() / LDP)
    three = ERSPAN_III(session_id=10, timestamp=77, gra=1)
    wraps = [
        GRE(proto=0x88BE, seqnum_present=1) / ERSPAN_II(session_id=10, en=2, vlan=5) / one,
        GRE(proto=0x22EB, seqnum_present=1) / three / one,
        UDP(dport=4789) / VXLAN(vni=5, flags=8) / one,
        UDP(dport=6081) / GENEVE(vni=5, proto=0x6558) / one,
        GRE(proto=0x6558) / one,
    ]
    for choice, inner in zip((0, 0, 17, 18, 19), wraps, strict=True):
        yield bytes([choice]) + pieces([(0, bytes(Ether() / V4 / inner))] * 3)
    trailers = {
        1: b"FCS!" + now + b"\x01\0\x07\x03",
        2: now,
        3: b"\x03\x08" + now + b"\x0a\xaf\x12\0\0",
    }
    for by, trailer in trailers.items():
        yield bytes([8 | by << 5]) + pieces([(0, one + trailer), (0, one + trailer + b"FCS!")])
    yield bytes([8 | 4 << 5]) + pieces([(0, one[:12] + bytes.fromhex("d28b00010110") + now + one[12:])])


def records() -> Iterable[bytes]:
    """RFC 7011, RFC 3954, NetFlow 5 and sFlow 5: templates, data, options, a sampled header and counters."""
    fields = [(8, 4), (12, 4), (7, 2), (11, 2), (4, 1), (5, 1), (1, 4), (2, 4), (22, 4), (21, 4), (27, 16), (82, 0xFFFF)]
    template = struct.pack(">HH", 256, len(fields)) + b"".join(struct.pack(">HH", *field) for field in fields)
    data = bytes(range(1, 31)) + bytes(16) + b"\x04eth0"
    options = struct.pack(">HHH", 257, 2, 1) + struct.pack(">HHHH", 149, 4, 34, 4)

    def sets(*parts: tuple[int, bytes]) -> bytes:
        return b"".join(struct.pack(">HH", number, len(body) + 4) + body for number, body in parts)

    def ipfix(body: bytes, sequence: int) -> bytes:
        return struct.pack(">HHIII", 10, 16 + len(body), 1_700_000_000, sequence, 1) + body

    def v9(body: bytes, count: int) -> bytes:
        return struct.pack(">HHIIII", 9, count, 60_000, 1_700_000_000, 1, 1) + body

    own = struct.pack(">HHHHIHH", 258, 2, 0x8001, 4, 29_305, 8, 4)
    yield pieces(
        [(0, ipfix(sets((2, template), (256, data), (3, options), (257, bytes(8))), 0)), (0, ipfix(sets((256, data * 2)), 1))]
    )
    yield pieces(
        [
            (0, ipfix(sets((256, data)), 0)),
            (1, ipfix(sets((2, template)), 1)),
            (0, ipfix(sets((2, template), (2, own), (258, bytes(8))), 2)),
        ]
    )
    short = struct.pack(">HH", 256, 11) + template[4:-4]
    yield pieces(
        [
            (0, v9(sets((0, short), (256, data[:46])), 2)),
            (0, v9(sets((1, struct.pack(">HHHHHHH", 257, 4, 4, 1, 4, 34, 4)), (257, bytes(8))), 2)),
        ]
    )
    yield pieces([(0, struct.pack(">HHIIIIHH", 5, 2, 60_000, 1_700_000_000, 0, 7, 0, 0x4064) + bytes(range(96)))])
    header = bytes(Ether() / LDP)
    sampled = struct.pack(">IIII", 1, len(header) + 4, 4, len(header)) + header + bytes(-len(header) % 4)
    flow = struct.pack(">IIIIIIII", 1, 0, 100, 200, 0, 1, 2, 1) + struct.pack(">II", 1, len(sampled)) + sampled
    counters = struct.pack(">III", 1, 0, 1) + struct.pack(">II", 1, 88) + bytes(88)
    samples = struct.pack(">II", 1, len(flow)) + flow + struct.pack(">II", 2, len(counters)) + counters
    yield pieces([(0, struct.pack(">II4sIIII", 5, 1, bytes([192, 0, 2, 1]), 0, 1, 1, 2) + samples)])


if __name__ == "__main__":
    for target in (headers, tunnel, transport, rdma, files, signatures, settings, records, opened):
        folder = Path(sys.argv[1]) / target.__name__
        folder.mkdir(parents=True, exist_ok=True)
        for number, seed in enumerate(target()):
            (folder / f"seed-{number}").write_bytes(seed)
