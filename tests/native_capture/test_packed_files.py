"""Captures compressed by gzip or zstd, and standard input, give what the plain file gives; damaged ones say what is wrong."""

from __future__ import annotations

import base64
import bz2
import gzip
import json
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether

import native_capture
from flowguard.sensor import flows_cli
from policyhub.conf import cli
from policyhub.domain.identity import COLUMNS
from tests.support.capture_files import write_capture

FRAME = bytes(Ether() / IP(src="192.0.2.1", dst="192.0.2.2", tos=46 << 2) / UDP(sport=1, dport=2))
PACKETS = [(1_700_000_000 * 10**9 + n, FRAME) for n in range(2_000)]
ZSTD_BLOCK = 100_000
STORED = 60_000
GZIP_HEAD = b"\x1f\x8b\x08" + bytes(6) + b"\xff"
# The first three packets as `zstd -19` packs them, with its checksum.
ZSTD_CHECKED = base64.b64decode(
    "KLUv/QRoRQIAQsQNFdBdAwgRIOiAuCCVNKxPlYhDa012CgE0Rp9uHAaHsARhWSpJDzZH9QC/Dff8N0b/wd+7ODyIVgUAAqeIuzrFFaKbFwG48Wv8ag=="
)


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
    assert (found["truncated"], found["damage"]) == (True, "ended")
    assert f"{packed}: byte {len(body) * 3 // 4}: the " in found["error"]
    assert found["error"].endswith(
        "data ends too early, before its checksum. Copy the capture again; everything before this byte was read"
    )


def stored(body: bytes) -> bytes:
    """Gzip in blocks that are not compressed (RFC 1951, 3.2.4): a byte of the body stands there as it is."""
    blocks = [body[at : at + STORED] for at in range(0, len(body), STORED)]
    heads = [struct.pack("<BHH", number == len(blocks) - 1, len(b), len(b) ^ 0xFFFF) for number, b in enumerate(blocks)]
    packed = b"".join(head + block for head, block in zip(heads, blocks, strict=True))
    return GZIP_HEAD + packed + struct.pack("<II", zlib.crc32(body), len(body))


def flipped(body: bytes, at: int) -> bytes:
    return body[:at] + bytes([body[at] ^ 1]) + body[at + 1 :]


def test_a_flipped_bit_that_only_the_checksum_shows_is_not_trusted(tmp_path):
    body = stored(plain(tmp_path).read_bytes())
    for name, at in {"in a packet": len(body) // 2, "in the checksum": len(body) - 8}.items():
        packed = tmp_path / f"{name}.gz"
        packed.write_bytes(flipped(body, at))
        found = point(packed)
        assert (found["packets"], found["truncated"], found["damage"]) == (len(PACKETS), True, "doubtful")
        assert (
            f"{packed}: byte {len(body)}: the gzip data fails its checksum: any packet read from it may be wrong. "
            in found["error"]
        )
    packed.write_bytes(flipped(body, len(body) - 4))
    assert "the gzip data is not as long as it says" in point(packed)["error"]


def test_what_came_before_data_that_cannot_be_unpacked_is_read_to_the_last_byte(tmp_path):
    """The kind of the second block, of gzip and of zstd, becomes the one that is reserved."""
    whole = plain(tmp_path).read_bytes()
    half = len(whole) // 2
    for packed, kind_at, read_to in (
        (stored(whole), len(GZIP_HEAD) + 5 + STORED, STORED),
        (zstd(whole), 13 + len(_frame(whole[:half])) + 9, half),
    ):
        path = tmp_path / "x.packed"
        path.write_bytes(packed[:kind_at] + bytes([packed[kind_at] | 6]) + packed[kind_at + 1 :])
        found = point(path)
        assert found["packets"] == (read_to - 24) // (16 + len(FRAME))
        assert (found["damage"], "data is damaged here or before" in found["error"]) == ("doubtful", True)


def test_records_that_make_no_sense_are_told_with_the_damage_that_made_them(tmp_path):
    whole = plain(tmp_path).read_bytes()
    broken = bytearray(whole)
    third = 24 + 2 * (16 + len(FRAME))
    broken[third + 11] = 0xFF  # its captured length
    packed = tmp_path / "x.gz"
    packed.write_bytes(gzip.compress(bytes(broken)))
    assert point(packed)["damage"] == "ended"
    assert f"byte {third}: the record claims" in point(packed)["error"]
    body = bytearray(stored(whole))
    at = body.index(whole[third : third + 16])
    body[at + 11] = 0xFF
    packed.write_bytes(body)
    found = point(packed)
    assert (found["packets"], found["damage"]) == (2, "doubtful")
    assert (
        f"fails its checksum: any packet read from it may be wrong, and reading stopped at byte {third} of what" in found["error"]
    )


def test_a_checksum_of_zstd_is_held_against_what_was_unpacked(tmp_path):
    whole = write_capture(tmp_path / "x.pcap", PACKETS[:3], "pcap-ns-le")
    packed = tmp_path / "x.zst"
    packed.write_bytes(ZSTD_CHECKED)
    assert point(packed) == point(whole)
    packed.write_bytes(flipped(ZSTD_CHECKED, len(ZSTD_CHECKED) - 1))
    found = point(packed)
    assert (found["packets"], found["damage"]) == (3, "doubtful")
    assert "the zstd data fails its checksum" in found["error"]


def test_zeros_behind_gzip_are_padding_and_other_bytes_are_left_out_and_told(tmp_path):
    packed = tmp_path / "x.gz"
    body = gzip.compress(plain(tmp_path).read_bytes())
    packed.write_bytes(body + bytes(512) + body[:0])
    assert (point(packed)["error"], point(packed)["damage"]) == (None, None)
    packed.write_bytes(body + b"more")
    found = point(packed)
    assert (found["packets"], found["damage"]) == (len(PACKETS), "ended")
    assert "what follows the gzip data is none and was left out" in found["error"]


@pytest.mark.parametrize("flags", [0, 4, 8, 16, 2, 30])
def test_every_field_of_a_gzip_header_is_stepped_over(flags, tmp_path):
    body = gzip.compress(plain(tmp_path).read_bytes(), mtime=0)
    head = body[:3] + bytes([flags]) + body[4:10]
    for bit, field in ((4, b"\x03\x00abc"), (8, b"name\0"), (16, b"comment\0")):
        head += field if flags & bit else b""
    sum16 = (zlib.crc32(head) & 0xFFFF).to_bytes(2, "little") if flags & 2 else b""
    packed = tmp_path / "x.gz"
    packed.write_bytes(head + sum16 + body[10:])
    assert (point(packed)["packets"], point(packed)["error"]) == (len(PACKETS), None)
    if flags & 2:
        packed.write_bytes(head + flipped(sum16, 0) + body[10:])
        with pytest.raises(native_capture.CaptureError, match=r"NC-E006 .*the gzip data is damaged"):
            point(packed)


def test_verdicts_of_a_damaged_capture_carry_it_and_losses_are_withheld(tmp_path, capsys):
    """Two points, one of which failed its checksum: what is lost between them may only have been read wrongly."""
    first, second = plain(tmp_path), tmp_path / "second.gz"
    body = stored(first.read_bytes())
    second.write_bytes(flipped(body, body.index(FRAME) + len(FRAME) - 1))
    ledger = tmp_path / "ledger.csv"
    ledger.write_text(f"{','.join(COLUMNS)}\n192.0.2.1/32,one,,,non-core,0,,\n")
    options = ["--identities", str(ledger), "--format", "json"]
    assert cli.run(flows_cli, "flows", [*options, "--point", f"a={second}"]) == 3
    told = json.loads(capsys.readouterr().out)
    (verdict,) = told["verdicts"]
    (fact,) = [fact for fact in verdict["evidence"] if fact["kind"] == "damaged"]
    assert fact == {"kind": "damaged", "point": "a", "damage": "doubtful", "error": told["points"][0]["error"]}
    assert cli.run(flows_cli, "flows", [*options, "--point", f"a={first}"]) == 1
    (sound,) = json.loads(capsys.readouterr().out)["verdicts"]
    assert verdict["confidence"] == pytest.approx(sound["confidence"] - 0.2)
    assert not [fact for fact in sound["evidence"] if fact["kind"] == "damaged"]
    assert cli.run(flows_cli, "flows", [*options, "--point", f"a={first}", "--point", f"b={second}"]) == 3
    path = json.loads(capsys.readouterr().out)["path"]
    assert (path["lost"], path["withheld"]) == (None, ["the capture of b fails its checksum"])


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
