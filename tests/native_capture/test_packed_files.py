"""Captures compressed by gzip or zstd, and standard input, give what the plain file gives."""

from __future__ import annotations

import bz2
import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether

import native_capture
from tests.support.capture_files import write_capture

FRAME = bytes(Ether() / IP(src="192.0.2.1", dst="192.0.2.2", tos=46 << 2) / UDP(sport=1, dport=2))
PACKETS = [(1_700_000_000 * 10**9 + n, FRAME) for n in range(2_000)]
ZSTD_BLOCK = 100_000


def zstd(body: bytes) -> bytes:
    """RFC 8878 by hand: a skippable frame, then a frame of raw blocks for each half of the body."""
    skippable = b"\x50\x2a\x4d\x18" + (5).to_bytes(4, "little") + b"hello"
    return skippable + _frame(body[: len(body) // 2]) + _frame(body[len(body) // 2 :])


def _frame(body: bytes) -> bytes:
    blocks = [body[at : at + ZSTD_BLOCK] for at in range(0, len(body), ZSTD_BLOCK)] or [b""]
    head = b"\x28\xb5\x2f\xfd" + b"\xa0" + len(body).to_bytes(4, "little")  # single segment, four bytes of content size
    raw = [(len(block) << 3 | (number == len(blocks) - 1)).to_bytes(3, "little") + block for number, block in enumerate(blocks)]
    return head + b"".join(raw)


def gzip_members(body: bytes) -> bytes:
    half = len(body) // 2
    return gzip.compress(body[:half], mtime=0) + gzip.compress(body[half:], mtime=0)


def plain(tmp_path: Path) -> Path:
    return write_capture(tmp_path / "x.pcap", PACKETS, "pcap-ns-le")


def point(path: Path) -> dict:
    return {key: value for key, value in json.loads(native_capture.analyse([("p", path)]))["points"][0].items() if key != "file"}


@pytest.mark.parametrize("pack", [gzip_members, zstd])
@pytest.mark.parametrize("form", ["pcap-ns-le", "pcapng-le"])
def test_a_packed_capture_reads_as_the_plain_one(pack, form, tmp_path):
    path = write_capture(tmp_path / "x", PACKETS, form)
    packed = tmp_path / "x.packed"
    packed.write_bytes(pack(path.read_bytes()))
    assert point(packed) == point(path)
    assert point(packed)["packets"] == len(PACKETS)


@pytest.mark.parametrize("pack", [gzip.compress, zstd])
def test_packed_data_that_ends_too_early_gives_what_was_read_and_says_so(pack, tmp_path):
    packed = tmp_path / "x.packed"
    body = pack(plain(tmp_path).read_bytes())
    packed.write_bytes(body[: len(body) * 3 // 4])
    found = point(packed)
    assert 0 < found["packets"] < len(PACKETS)
    assert found["error"] and str(packed) in found["error"]


def test_other_compression_is_refused_with_its_first_bytes(tmp_path):
    packed = tmp_path / "x.packed"
    packed.write_bytes(bz2.compress(plain(tmp_path).read_bytes()))
    with pytest.raises(native_capture.CaptureError, match="no magic number"):
        native_capture.analyse([("p", packed)])


def test_standard_input_is_a_capture_like_any_other(tmp_path):
    command = [sys.executable, "-m", "policyhub.conf.cli", "flows", "-", "--format", "json"]
    with plain(tmp_path).open("rb") as stream:
        done = subprocess.run(command, stdin=stream, capture_output=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    (found,) = json.loads(done.stdout)["points"]
    assert (found["name"], found["packets"]) == ("stdin", len(PACKETS))


def test_standard_input_twice_is_refused():
    command = [sys.executable, "-m", "policyhub.conf.cli", "flows", "-", "--point", "x=-"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert "one capture only" in done.stderr
