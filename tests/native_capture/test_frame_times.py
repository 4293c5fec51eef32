"""Times that frames bear, of the switch that wrapped them or of a packet broker; tshark reads the same ones from trailers."""

from __future__ import annotations

import json
import random
import struct
from collections.abc import Callable, Iterable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.l2 import ARP, Ether

import native_capture
from tests.support.tshark import rows
from tests.support.wrapped import Recorded, erspan_3, wrap, write

SECOND = 10**9
START, STEP = 1_700_000_000 * SECOND + 17, 1_000_000
#: Bytes on the wire of payloads: some frames are padded to 60 bytes.
SIZES = (0, 1, 17, 18, 19, 80, 1_400)


def frame(number: int, size: int = 80) -> bytes:
    ether = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")
    return bytes(ether / IP(src="10.0.0.1", dst="10.0.0.2", id=number + 1) / UDP(sport=5, dport=6, chksum=1) / bytes(size))


def tell(path: Path, by: str, **options: Any) -> dict[str, Any]:
    report: dict[str, Any] = json.loads(native_capture.analyse([("p", path)], timestamps={"p": by}, **options))
    return report


def write_words(*numbers: int) -> bytes:
    return struct.pack(f"!{len(numbers)}I", *numbers)


# ERSPAN III


def stamped(sent: Iterable[int], late: Callable[[int], int], head: Callable[[int, int], bytes]) -> list[Recorded]:
    """Frames that a switch stamped at `sent` (its own clock) and the capture saw at START + sent + late(number)."""
    sent = list(sent)
    inner = [(START + ns + late(n), len(frame(n)), frame(n)) for n, ns in enumerate(sent)]
    return list(wrap(inner, lambda n: head(n, sent[n])))


def told(folder: Path, frames: list[Recorded]) -> tuple[dict[str, Any], list[int]]:
    """points[].times, and the time of each frame."""
    path, lines = write(folder / "e.pcap", frames), list[bytes]()
    apart = [
        (ns, wire, kept.replace(b"\0\x05\0\x06", struct.pack("!HH", 1_000 + n, 6))) for n, (ns, wire, kept) in enumerate(frames)
    ]
    write(path, apart)
    report = tell(path, "erspan", unwrap={"p": "erspan"}, records="ndjson", write=lines.append)
    flows = [json.loads(line) for line in b"".join(lines).splitlines()]
    times = {flow["sport"]: flow["first_ns"] for flow in flows if flow["dport"] == 6}
    return report["points"][0]["times"], [times[1_000 + n] for n in range(len(frames))]


HEADS: dict[str, tuple[int, Callable[[int, int], bytes]]] = {
    "100 us": (100_000, lambda n, ns: erspan_3(n, time=ns // 100_000 % 2**32, gra=0)),
    "100 ns": (100, lambda n, ns: erspan_3(n, time=ns // 100 % 2**32, gra=1)),
    "100 ns in 64 bits": (
        100,
        lambda n, ns: erspan_3(n, time=ns // 100 % 2**32, gra=1, more=write_words(3 << 26, ns // 100 >> 32)),
    ),
    "1588 without seconds": (1, lambda n, ns: erspan_3(n, time=ns % SECOND, gra=2)),
    "1588 with seconds": (1, lambda n, ns: erspan_3(n, time=ns % SECOND, gra=2, more=write_words(5 << 26, ns // SECOND % 2**32))),
}


@pytest.mark.parametrize("name", HEADS)
def test_times_of_a_switch_are_followed_around_and_set_to_the_captures_clock(name: str, tmp_path: Path) -> None:
    """Over every wrap-around: the capture saw the frames 0 to 900 us later; the distances are the switch's."""
    unit, head = HEADS[name]
    around = {"100 us": 2**32 * 100_000, "100 ns": 2**32 * 100}.get(name, 40 * SECOND)
    chance = random.Random(5)
    sent = [around - 4 * SECOND + n * 37 * STEP for n in range(200)]
    delays = [chance.randrange(900_000) if n % 5 else 0 for n in range(200)]
    times, found = told(tmp_path, stamped(sent, lambda n: delays[n], head))
    assert (times["by"], times["frames"], times["without"], times["unit_ns"], times["resets"]) == ("erspan", 200, {}, unit, 0)
    assert (times["least_ns"], times["most_ns"] <= 900_000 + unit, times["error_ns"] <= 2 * unit) == (0, True, True)
    off = [at - (START + ns) for at, ns in zip(found, sent, strict=True)]
    assert max(off) - min(off) <= unit + (unit > 1), "steps of the switch's own"
    assert max(map(abs, off)) <= unit


def test_a_clock_that_drifts_is_followed_and_the_error_says_by_how_much(tmp_path: Path) -> None:
    """50 millionths, fast or slow, over 60 s."""
    for drift in (-50, 50):
        seen = [n * 200 * STEP for n in range(300)]
        sent = [ns + ns * drift // 1_000_000 for ns in seen]
        frames = stamped(sent, lambda n: seen[n] - sent[n], HEADS["1588 without seconds"][1])  # noqa: B023
        times, found = told(tmp_path, frames)
        off = max(abs(at - START - ns) for at, ns in zip(found, seen, strict=True))
        assert times["resets"] == 0 and times["frames"] == 300
        assert 200_000 <= times["error_ns"] <= 600_000 and off <= 2 * times["error_ns"]


def test_a_clock_that_was_set_is_believed_again_and_stray_times_are_not(tmp_path: Path) -> None:
    jump = 333_333_333
    sent = [n * STEP + (jump if n >= 100 else 0) for n in range(200)]
    sent[50] += 400_000_000
    late = lambda n: n * STEP - sent[n]  # noqa: E731
    times, found = told(tmp_path, stamped(sent, late, HEADS["1588 without seconds"][1]))
    assert (times["resets"], times["without"]) == (1, {"the clock was set": 1 + 7})
    assert found == [START + n * STEP for n in range(200)]


def test_reordered_copies_get_their_own_times(tmp_path: Path) -> None:
    order = [n ^ 1 for n in range(100)]
    late = lambda n: n * STEP - order[n] * STEP + 2 * STEP  # noqa: E731
    times, found = told(tmp_path, stamped([n * STEP for n in order], late, HEADS["100 ns"][1]))
    assert (times["frames"], times["least_ns"], times["most_ns"]) == (100, 0, 2 * STEP)
    assert found == [START + n * STEP + STEP for n in order]


@pytest.mark.parametrize(
    ("head", "why"),
    [
        (lambda n, ns: erspan_3(n, time=ns % 2**32, gra=3), "a granularity of the platform's own"),
        (lambda n, ns: erspan_3(n, time=2**31, gra=2), "a second of more than 10^9 ns"),
        (lambda n, ns: bytes.fromhex("1000 88be") + n.to_bytes(4) + bytes.fromhex("1000000a00000000"), "a type without times"),
    ],
)
def test_times_that_nobody_can_read_are_refused_with_the_reason(head: Any, why: str, tmp_path: Path) -> None:
    path = write(tmp_path / "e.pcap", stamped([n * STEP for n in range(9)], lambda n: 0, head))
    with pytest.raises(native_capture.CaptureError, match=r"timestamps of p: none of 9 frames has a time by erspan") as error:
        tell(path, "erspan", unwrap={"p": "erspan"})
    assert why in str(error.value)
    with pytest.raises(native_capture.CaptureError, match="its frames are not unwrapped"):
        tell(path, "erspan")


# Packet brokers


def metamako(ns: int, fcs: bytes, flags: int = 1, more: bytes = b"") -> bytes:
    return b"\xaa\xbb\xcc\xdd" + more + write_words(*divmod(ns, SECOND)) + struct.pack("!BHB", flags, 300, 4) + fcs


def vss(ns: int, fcs: bytes, port: bytes = b"", source: int = 2) -> bytes:
    return write_words(ns // SECOND, ns % SECOND | source << 30) + port + fcs


def ixia(ns: int, fcs: bytes, before: bytes = b"") -> bytes:
    fields = before + b"\x03\x08" + write_words(*divmod(ns, SECOND))
    body = fields + bytes([len(fields)]) + b"\xaf\x12"
    padded = body + bytes(len(body) % 2)
    total = sum(struct.unpack(f"!{len(padded) // 2}H", padded))
    total = (total & 0xFFFF) + (total >> 16)
    return body + (~((total & 0xFFFF) + (total >> 16)) & 0xFFFF).to_bytes(2) + fcs


TRAILERS: dict[str, tuple[str, Callable[[int, bytes], bytes]]] = {
    "metamako": ("metamako.time", metamako),
    "vss": ("vssmonitoring.time", vss),
    "vss with a port": ("vssmonitoring.time", lambda ns, fcs: vss(ns, fcs, b"\x07")),
    "ixia": ("ixiatrailer.timestamp", ixia),
    "ixia with a length": ("ixiatrailer.timestamp", lambda ns, fcs: ixia(ns, fcs, b"\x01\x02\x05\xdc")),
}


def brokered(trailer: Callable[[int, bytes], bytes], fcs: bytes) -> tuple[list[Recorded], list[int], list[bytes]]:
    """Frames with a trailer, the times in it, and the frames as they were."""
    plain = [frame(n, SIZES[n % len(SIZES)]).ljust(60, b"\0") for n in range(70)]
    sent = [START + n * STEP - 5_000 - 13 * n for n in range(70)]
    with_it = [one + trailer(ns, fcs) for one, ns in zip(plain, sent, strict=True)]
    return [(START + n * STEP, len(one), one) for n, one in enumerate(with_it)], sent, plain


@pytest.mark.parametrize("fcs", [b"", b"\x01\x02\x03\x04"], ids=["", "fcs"])
@pytest.mark.parametrize("name", TRAILERS)
def test_a_brokers_time_takes_the_captures_place_and_the_trailer_is_no_part_of_the_frame(
    name: str, fcs: bytes, tmp_path: Path
) -> None:
    frames, sent, plain = brokered(TRAILERS[name][1], fcs)
    report = tell(write(tmp_path / "t.pcap", frames), name.split()[0])
    point = report["points"][0]
    assert (point["times"]["frames"], point["times"]["without"]) == (70, {})
    assert (point["times"]["least_ns"], point["times"]["most_ns"]) == (5_000, 5_000 + 13 * 69)
    expected = native_capture.analyse(
        [("p", write(tmp_path / "t.pcap", [(ns, len(one), one) for ns, one in zip(sent, plain, strict=True)]))]
    )
    del point["times"]
    assert report == json.loads(expected)


@pytest.mark.parametrize("name", TRAILERS)
def test_tshark_reads_the_same_times(name: str, tmp_path: Path) -> None:
    """Where it sees a trailer at all: behind padding it needs the FCS to find one."""
    field, trailer = TRAILERS[name]
    path = write(tmp_path / "t.pcap", brokered(trailer, b"\x01\x02\x03\x04")[0])
    enabled = rows_of(path, field)
    sent = brokered(trailer, b"")[1]
    seen = {ns for ns in enabled if ns}
    assert len(seen) >= 30 and seen <= set(sent)


def rows_of(path: Path, field: str) -> list[int]:
    """Nanoseconds; 0 for none. The heuristics for MetaWatch are off by default."""
    texts = [text for (text,) in rows(path, field, more=("--enable-heuristic", "metamako_eth"))]
    return [read_time(text) if text else 0 for text in texts]


def read_time(text: str) -> int:
    """As tshark writes times: `Nov 14, 2023 22:13:20.000000017 UTC`."""
    whole, rest = text.removesuffix(" UTC").split(".")
    day = datetime.strptime(f"{whole} +0000", "%b %d, %Y %H:%M:%S %z")
    return int(day.timestamp()) * SECOND + int(rest)


def test_extensions_of_metawatch_are_no_part_of_the_frame(tmp_path: Path) -> None:
    frames, _, plain = brokered(lambda ns, fcs: metamako(ns, fcs, flags=3, more=b"\x11\x22\x33\x04" * 2), b"")
    point = tell(write(tmp_path / "t.pcap", frames), "metamako")["points"][0]
    assert (point["times"]["frames"], point["bytes"]) == (70, sum(map(len, plain)))


@pytest.mark.parametrize(
    ("version", "seconds", "utc"), [("0010", 4, False), ("0110", 4, True), ("0020", 2, False), ("0120", 2, True)]
)
def test_the_header_of_arista_is_taken_out(version: str, seconds: int, utc: bool, tmp_path: Path) -> None:
    plain = [frame(n) for n in range(30)]
    sent = [START + n * STEP - 9_000 for n in range(30)]
    frames = []
    for n, (one, ns) in enumerate(zip(plain, sent, strict=True)):
        whole, rest = divmod(ns, SECOND)
        told = (whole + (0 if utc else 37)).to_bytes(8)[-seconds:] + write_words(rest)
        header = bytes.fromhex(f"d28b0001{version}") + told
        frames.append((START + n * STEP, len(one + header), one[:12] + header + one[12:]))
    report = tell(write(tmp_path / "a.pcap", frames), "arista")
    times = report["points"][0].pop("times")
    assert (times["frames"], times["least_ns"], times["most_ns"]) == (30, 9_000, 9_000)
    plain_path = write(tmp_path / "a.pcap", [(ns, len(one), one) for ns, one in zip(sent, plain, strict=True)])
    assert report == json.loads(native_capture.analyse([("p", plain_path)]))


def test_padding_payload_and_times_far_away_are_never_taken_for_a_brokers(tmp_path: Path) -> None:
    """Payload that ends as a trailer would, padding, and a trailer of another day."""
    inside = bytes(Ether() / IP() / UDP(sport=5, dport=6) / (bytes(40) + vss(START, b"")))
    odd = [inside, bytes(Ether() / IP() / TCP()).ljust(60, b"\0"), bytes(Ether() / ARP()).ljust(60, b"\0"), frame(1) + bytes(20)]
    others = {
        "vss": [*odd, frame(1) + vss(START - 7_200 * SECOND, b"")],
        "metamako": [*odd, frame(1) + metamako(START + 7_200 * SECOND, b"")],
        "ixia": [*odd, frame(1) + ixia(START + 7_200 * SECOND, b""), bytes(Ether() / IP() / UDP() / ixia(START, b""))],
    }
    for by, frames in others.items():
        good = {"vss": vss, "metamako": metamako, "ixia": ixia}[by]
        all_of = [*frames, frame(2) + good(START, b"")]
        report = tell(write(tmp_path / "t.pcap", [(START, len(one), one) for one in all_of]), by)
        point = report["points"][0]
        assert (point["times"]["frames"], sum(point["times"]["without"].values())) == (1, len(frames)), by
        assert point["bytes"] == sum(map(len, frames)) + len(frame(2))
        with pytest.raises(native_capture.CaptureError, match=f"none of {len(frames)} frames has a time by {by}"):
            tell(write(tmp_path / "t.pcap", [(START, len(one), one) for one in frames]), by)


def test_a_trailer_that_was_cut_off_gives_no_time(tmp_path: Path) -> None:
    frames = [(ns, wire, kept[:50]) for ns, wire, kept in brokered(ixia, b"")[0]]
    with pytest.raises(native_capture.CaptureError, match="the end is cut off"):
        tell(write(tmp_path / "t.pcap", frames), "ixia")
