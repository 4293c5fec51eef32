"""Numbers without a header: tensors are known in mid-life, and no other bytes are taken for them."""

from __future__ import annotations

import gzip
import random
import struct
from collections.abc import Callable
from pathlib import Path

import pytest
from scapy.contrib.roce import BTH
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Raw

from flowguard.domain.bundle import compile_bundle
from policyhub.domain.identity import read_identities
from tests.native_capture.test_signatures import LEDGER, analyse, conversation, named

SIZE, SEGMENTS = 1_400, 480
CHANCE = random.Random(7)


def numbers(count: int) -> list[float]:
    return [CHANCE.gauss(0, 0.02) for _ in range(count)]


def fp32(size: int) -> bytes:
    return struct.pack(f"<{size // 4}f", *numbers(size // 4))


def bf16(size: int) -> bytes:
    """The upper half of each fp32."""
    whole = fp32(2 * size)
    return b"".join(whole[at + 2 : at + 4] for at in range(0, len(whole), 4))


def fp64(size: int) -> bytes:
    return struct.pack(f"<{size // 8}d", *numbers(size // 8))


def tokens(size: int) -> bytes:
    return struct.pack(f"<{size // 2}H", *(CHANCE.randrange(50_000) for _ in range(size // 2)))


def table(size: int) -> bytes:
    return "".join(f"{number:.6f}," for number in numbers(size // 8)).encode()[:size]


def packed(size: int) -> bytes:
    return gzip.compress(fp32(2 * size))[:size]


def stream(payloads: list[bytes], segments: int = SEGMENTS, tos: int = 0) -> list[tuple[int, bytes]]:
    """One direction in mid-life, the payloads in turn; only the sequence number of the headers changes."""
    (_, first), *_ = conversation([("c", bytes(SIZE))], syn=False, tos=tos)
    numbered = (first[:38] + struct.pack(">I", 1_000 + number * SIZE) + first[42:54] for number in range(segments))
    return [(10**9 + number * 10**6, head + payloads[number % len(payloads)]) for number, head in enumerate(numbered)]


def made(make: Callable[[int], bytes]) -> list[bytes]:
    return [make(SIZE) for _ in range(40)]


@pytest.mark.parametrize(("make", "name"), [(fp32, "fp32-tensors"), (bf16, "bf16-tensors")])
def test_tensors_are_known_in_mid_life_with_their_strength(make: Callable[[int], bytes], name: str, tmp_path: Path) -> None:
    frames = stream(made(make))
    for snaplen in (65_535, 14 + 40 + 48):
        report = analyse(tmp_path, frames, snaplen=snaplen)
        assert named(report) == {name}
        (row,) = report["flows"][0]["signatures"]
        assert (row["strength"], row["visibility"]) == ("likely", "mid-life") and row["packets"] >= 20
    assert named(analyse(tmp_path, frames, snaplen=14 + 40 + 47)) == set()


@pytest.mark.parametrize("make", [fp64, tokens, table, packed, CHANCE.randbytes, bytes])
def test_other_bytes_are_no_tensors(make: Callable[[int], bytes], tmp_path: Path) -> None:
    assert named(analyse(tmp_path, stream(made(make)))) == set()


def test_a_few_packets_and_a_small_part_are_none(tmp_path: Path) -> None:
    assert named(analyse(tmp_path, stream(made(fp32), 60))) == set()
    mixed = [fp32(SIZE) if number % 4 == 0 else CHANCE.randbytes(SIZE) for number in range(40)]
    assert named(analyse(tmp_path, stream(mixed, 4 * SEGMENTS))) == set()


def test_a_model_on_its_way_is_evidence_and_no_training(tmp_path: Path) -> None:
    bundle = compile_bundle(read_identities(LEDGER, "ledger.csv"), points={})
    report = analyse(tmp_path, stream(made(fp32), tos=46 << 2), bundle=bundle)
    (verdict,) = report["verdicts"]
    assert "training-signature" not in verdict["signals"]
    cited = [(fact["name"], fact["strength"]) for fact in verdict["evidence"] if fact["kind"] == "signature"]
    assert cited == [("fp32-tensors", "likely")]


def test_numbers_written_by_rdma_are_known(tmp_path: Path) -> None:
    write = BTH(opcode=7, dqpn=5) / Raw(bytes(SIZE))
    whole = (
        Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02") / IP(src="10.0.0.1", dst="10.0.0.2") / UDP(dport=4_791) / write
    )
    first, payloads = bytes(whole), made(fp32)
    numbered = (first[:50] + struct.pack(">I", psn) + payloads[psn % len(payloads)] for psn in range(SEGMENTS))
    frames = [(10**9 + psn * 10**6, frame.ljust(len(first), b"\0")) for psn, frame in enumerate(numbered)]
    assert named(analyse(tmp_path, frames)) == {"fp32-tensors"}
