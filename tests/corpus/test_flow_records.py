"""Flow records against other people's programs: what nfdump and tshark read of ours, what softflowd told us."""

from __future__ import annotations

import json
import re
import shutil
import socket
import struct
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import native_capture
from flowguard.sensor.exporting import messages
from tests.corpus.test_captures import CORPUS
from tests.support.capture_files import write_capture
from tests.support.services import free_port

pytestmark = pytest.mark.corpus
ETHERNET = 14


def needs(*programs: str) -> None:
    missing = [program for program in programs if shutil.which(program) is None]
    assert not missing, f"not installed: {', '.join(missing)}. `make deps` as root installs them"


def some_captures() -> list[Path]:
    general = sorted((CORPUS / "pcap" / "flows_general").glob("*.pcap"), key=lambda path: -path.stat().st_size)
    return general[:8]


def records(path: Path, form: str) -> tuple[bytes, dict]:
    blocks: list[bytes] = []
    report = json.loads(native_capture.analyse([("p", path)], records=form, write=blocks.append, top=0))
    return b"".join(blocks), report["points"][0]


def rows_of(path: Path) -> list[dict]:
    return [json.loads(line) for line in records(path, "ndjson")[0].splitlines()]


def sums(rows: list[dict]) -> tuple[int, int]:
    return sum(row["packets"] for row in rows), sum(row["ip_bytes"] for row in rows)


def test_records_sum_up_to_the_packets_of_every_capture():
    for path in sorted((CORPUS / "pcap").glob("*/*.pcap"))[::7]:
        try:
            body, point = records(path, "ndjson")
        except native_capture.CaptureError:
            continue
        rows = [json.loads(line) for line in body.splitlines()]
        assert sum(row["packets"] for row in rows) == point["packets"] - point["non_ip"], path


def test_tshark_reads_our_messages(tmp_path: Path) -> None:
    needs("tshark")
    for path in some_captures()[:3]:
        pcap = as_datagrams(tmp_path / "x.pcap", list(messages(records(path, "ipfix")[0])))
        told = subprocess.run(
            ["tshark", "-r", pcap, "-d", "udp.port==4739,cflow", "-V"], capture_output=True, text=True, check=True, timeout=60
        ).stdout  # fmt: skip
        assert "Malformed" not in told
        found = [sum(int(n) for n in re.findall(rf"^ +{name}: (\d+)", told, re.MULTILINE)) for name in ("Packets", "Octets")]
        assert tuple(found) == sums(rows_of(path)), path


def as_datagrams(path: Path, payloads: list[bytes], port: int = 4739) -> Path:
    def frame(payload: bytes) -> bytes:
        udp = struct.pack(">HHHH", 40_000, port, 8 + len(payload), 0) + payload
        head = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), 0, 0, 64, 17, 0, bytes([192, 0, 2, 1]), bytes([192, 0, 2, 2]))
        return bytes(12) + b"\x08\x00" + head + udp

    return write_capture(path, [(10**18 + n, frame(payload)) for n, payload in enumerate(payloads)], "pcap-ns-le")


def test_nfdump_reads_what_we_send(tmp_path: Path) -> None:
    needs("nfcapd", "nfdump")
    for path in some_captures()[:3]:
        folder = tmp_path / path.stem
        folder.mkdir()
        port = free_port()
        with subprocess.Popen(
            ["nfcapd", "-p", str(port), "-b", "127.0.0.1", "-w", folder, "-t", "3600"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ) as nfcapd:
            time.sleep(1)
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sending:
                for message in messages(records(path, "ipfix")[0]):
                    sending.sendto(message, ("127.0.0.1", port))
            time.sleep(1)
            nfcapd.terminate()
        assert nfdump_sums(folder) == sums(rows_of(path)), path


def nfdump_sums(folder: Path) -> tuple[int, int]:
    out = subprocess.run(
        ["nfdump", "-R", folder, "-q", "-o", "fmt:%ipkt %ibyt %opkt %obyt", "-N"], capture_output=True, text=True, check=True
    ).stdout  # fmt: skip
    rows = [[int(cell) for cell in line.split()] for line in out.splitlines() if line.strip()]
    return sum(row[0] + row[2] for row in rows), sum(row[1] + row[3] for row in rows)


@pytest.fixture
def told_by_softflowd(tmp_path: Path) -> Callable[[Path, int], Path]:
    def tell(path: Path, version: int) -> Path:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listening:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
            listening.bind(("127.0.0.1", 0))
            listening.settimeout(1)
            where = f"127.0.0.1:{listening.getsockname()[1]}"
            command = [
                "softflowd", "-6", "-r", path, "-n", where, "-v", str(version), "-m", "1000000", "-d", "-p", tmp_path / "pid",
                "-c", "none",
            ]  # fmt: skip
            subprocess.run(command, check=True, capture_output=True, timeout=60)
            return as_datagrams(tmp_path / f"{path.stem}-{version}.pcap", list(arriving(listening)))

    return tell


def arriving(listening: socket.socket) -> Iterator[bytes]:
    while True:
        try:
            yield listening.recv(65_535)
        except TimeoutError:
            return


@pytest.mark.parametrize("version", [5, 9, 10])
def test_softflowd_and_we_count_the_same(version: int, told_by_softflowd: Callable[[Path, int], Path]) -> None:
    needs("softflowd")
    compared = 0
    for path in some_captures():
        own = [row for row in rows_of(path) if version != 5 or ":" not in row["src"]]
        told = json.loads(native_capture.analyse_exports([("p", told_by_softflowd(path, version))], ports=[4739]))
        point = told["points"][0]
        assert point["decode_errors"] == 0 and all(row["waiting"] == 0 for row in point["exporters"]), path
        # softflowd's IPFIX counts a message's own records into its number, against RFC 7011, 3.1.
        assert version == 10 or all(row["lost"] == 0 for row in point["exporters"]), path
        # softflowd takes the padding of short frames for bytes of IP.
        padded = sum(row["bytes"] - ETHERNET * row["packets"] for row in own)
        assert (point["packets"] or 0, point["ip_bytes"] or 0) == (sums(own)[0], padded), path
        compared += point["packets"] or 0
    assert compared > 1_000


def test_export_traffic_of_the_corpus_is_read_without_an_error() -> None:
    ports = [2055, 2057, 2100, 4739, 6343, 8096, 9995]
    found: dict[str, tuple[str | None, int]] = {}
    for path in sorted((CORPUS / "pcap" / "telemetry").glob("*.pcap")):
        (point,) = json.loads(native_capture.analyse_exports([("p", path)], ports=ports))["points"]
        assert point["decode_errors"] == 0, (path, point["first_unreadable"])
        for row in point["exporters"]:
            found[path.stem] = (row["source"], row["records"])
    assert {source for source, _ in found.values()} == {"netflow9", "ipfix", "sflow"}
    assert found["akvorado__data-1140"] == ("sflow", 5)
