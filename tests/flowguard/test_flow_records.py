"""Every flow into a file: the same in every format, whole or not there."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pyarrow as arrow
import pyarrow.parquet as parquet
import pytest
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.l2 import Dot1Q, Ether

import native_capture
from flowguard.sensor import records as records_module
from flowguard.sensor.records import ParquetWriter, record_file, refuse_target
from policyhub.domain.errors import BadInput
from tests.support.capture_files import write_capture

SECOND = 10**9
START = 1_700_000_000 * SECOND
LINK = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")
FLOWS = [sys.executable, "-m", "policyhub.conf.cli", "flows"]


def udp(src: str, sport: int, dscp: int = 0, size: int = 100, vlan: int = 0) -> bytes:
    head = LINK / Dot1Q(vlan=vlan)
    return bytes(head / IP(src=src, dst="192.0.2.9", tos=dscp << 2) / UDP(sport=sport, dport=53) / bytes(size))


def tcp(seq: int) -> bytes:
    return bytes(LINK / IP(src="10.0.0.1", dst="10.0.0.2") / TCP(sport=40_000, dport=443, seq=seq, flags="A") / bytes(50))


def capture(path: Path) -> Path:
    """Two marks in one flow, a retransmission, a tag, many sources, and one flow that pauses for longer than the idle time."""
    packets = [(START + n, udp("192.0.2.1", 1000, dscp=46 if n % 3 else 0)) for n in range(9)]
    packets += [(START + 10 + n, tcp(seq)) for n, seq in enumerate((1, 51, 51))]
    packets += [(START + 100 + n, udp(f"198.51.100.{n}", 2000 + n, vlan=7)) for n in range(50)]
    packets += [(START + (600 + n) * SECOND, udp("192.0.2.1", 1000)) for n in range(5)]
    return write_capture(path, packets, "pcap-ns-le")


def run(path: Path, form: str) -> tuple[list[bytes], dict]:
    blocks: list[bytes] = []
    report = json.loads(native_capture.analyse([("p", path)], records=form, write=blocks.append))
    return blocks, report


def lines(blocks: Iterable[bytes]) -> list[dict]:
    return [json.loads(line) for line in b"".join(blocks).splitlines()]


def test_records_hold_every_flow_and_an_idle_one_twice(tmp_path: Path) -> None:
    blocks, report = run(capture(tmp_path / "x.pcap"), "ndjson")
    rows = lines(blocks)
    assert len(rows) == report["flows_total"] == 53
    point = report["points"][0]
    assert (sum(row["packets"] for row in rows), sum(row["bytes"] for row in rows)) == (point["packets"], point["bytes"])
    paused = [row for row in rows if row["src"] == "192.0.2.1"]
    assert [(row["packets"], row["ended"]) for row in paused] == [(9, "idle"), (5, "end-of-capture")]
    assert paused[0]["dscp"] == [{"dscp": 0, "packets": 3, "bytes": 438}, {"dscp": 46, "packets": 6, "bytes": 876}]
    assert [(row["tcp_data_segments"], row["tcp_retransmitted"]) for row in rows if row["proto"] == "tcp"] == [(3, 1)]
    assert paused[0]["tcp_retransmitted"] is None and paused[0]["vlan"] is None and paused[0]["ip_bytes"] == 9 * 128
    assert {row["vlan"] for row in rows if row["src"].startswith("198.51.100.")} == {7}


def test_the_report_has_the_largest_flows_also_of_those_that_ended(tmp_path: Path) -> None:
    path = capture(tmp_path / "x.pcap")
    whole = json.loads(native_capture.analyse([("p", path)]))["flows"]
    _, report = run(path, "ndjson")
    assert len(report["flows"]) == len(whole) + 1
    assert report["flows"][0]["src"] == "192.0.2.1" and report["flows"][0]["packets"] == 9
    top = json.loads(native_capture.analyse([("p", path)], records="ndjson", top=1))["flows"]
    assert top == report["flows"][:1]


def test_parquet_has_what_the_lines_have(tmp_path: Path) -> None:
    path = capture(tmp_path / "x.pcap")
    for name in ("x.ndjson", "x.parquet"):
        subprocess.run([*FLOWS, path, "--records", tmp_path / name], check=True, capture_output=True)
    table = parquet.read_table(tmp_path / "x.parquet")
    assert table.schema.metadata == {b"schema": b"policyhub.flow-record/1"}
    assert table.schema.field("first_ns").type == arrow.timestamp("ns", "UTC")
    assert rows_of(table) == lines([(tmp_path / "x.ndjson").read_bytes()])


def rows_of(table: arrow.Table) -> list[dict]:
    """Times as numbers: Python's own times have no nanoseconds."""
    plain = {
        name: column.cast(arrow.int64()) if name.endswith("_ns") else column
        for name, column in zip(table.column_names, table.columns, strict=True)
    }
    return arrow.table(plain).to_pylist()


def test_many_blocks_become_many_row_groups(tmp_path: Path) -> None:
    frame, address = udp("10.9.9.9", 9), bytes([10, 9, 9, 9])
    packets = [(START + n, frame.replace(address, (10 << 24 | n).to_bytes(4, "big"))) for n in range(40_000)]
    blocks, report = run(write_capture(tmp_path / "x.pcap", packets, "pcap-ns-le"), "columns")
    with (tmp_path / "x.parquet").open("wb") as file:
        writer = ParquetWriter(arrow, file)
        for block in blocks:
            writer.write(block)
        writer.close()
    read = parquet.ParquetFile(tmp_path / "x.parquet")
    # The last one of each of the eight shards is smaller.
    assert 1 < len(blocks) <= 8 + 1
    assert (read.num_row_groups, read.metadata.num_rows) == (len(blocks), report["flows_total"])


@pytest.mark.parametrize("name", ["x.ndjson", "x.parquet", "x.ipfix"])
def test_a_capture_without_flows_gives_a_readable_file(tmp_path: Path, name: str) -> None:
    empty = write_capture(tmp_path / "x.pcap", [], "pcap-ns-le")
    subprocess.run([*FLOWS, empty, "--records", tmp_path / name], check=True, capture_output=True)
    if name == "x.parquet":
        assert parquet.read_table(tmp_path / name).num_rows == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["x.pcap", name])


def test_the_format_follows_the_name_or_what_is_asked(tmp_path: Path) -> None:
    path = capture(tmp_path / "x.pcap")
    done = subprocess.run([*FLOWS, path, "--records", tmp_path / "x.csv"], capture_output=True, text=True)
    assert done.returncode == 2 and ".parquet" in done.stderr and len(done.stderr.splitlines()) == 1
    subprocess.run([*FLOWS, path, "--records", tmp_path / "x.csv", "--records-format", "ndjson"], check=True, capture_output=True)
    assert len(lines([(tmp_path / "x.csv").read_bytes()])) == 53


def test_without_pyarrow_one_line_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(records_module.importlib, "import_module", absent)
    with (
        pytest.raises(BadInput, match=r"pip install 'policyhub\[parquet\]'"),
        record_file(str(tmp_path / "x.parquet"), "parquet"),
    ):
        pass
    assert not list(tmp_path.iterdir())


def test_a_full_disk_is_one_line_and_leaves_nothing(tmp_path: Path) -> None:
    path = capture(tmp_path / "x.pcap")
    old = tmp_path / "out.ndjson"
    old.write_text("of the last run")
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))  # noqa: E731
    done = subprocess.run([*FLOWS, path, "--records", old], capture_output=True, text=True, preexec_fn=limit)
    assert done.returncode == 2 and "cannot be written" in done.stderr and len(done.stderr.splitlines()) == 1
    assert old.read_text() == "of the last run" and len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize("kind", ["the capture", "a link to it", "a device"])
def test_what_must_not_be_replaced_by_records_is_refused(tmp_path: Path, kind: str) -> None:
    path = capture(tmp_path / "x.pcap")
    before = path.read_bytes()
    target = path
    if kind != "the capture":
        target = tmp_path / "link"
        target.symlink_to(path if kind == "a link to it" else "/dev/null")
    with pytest.raises(BadInput, match="Name a"):
        refuse_target(str(target), ["-", str(path)])
    assert path.read_bytes() == before


def test_a_link_stays_and_its_file_is_written(tmp_path: Path) -> None:
    link = tmp_path / "link.ndjson"
    link.symlink_to(tmp_path / "x.ndjson")
    with record_file(str(link), "ndjson") as write:
        write(b"{}")
    assert link.is_symlink() and (tmp_path / "x.ndjson").read_bytes() == b"{}"


def test_a_capture_of_which_no_packet_can_be_read_is_no_clean_result(tmp_path: Path) -> None:
    path = write_capture(tmp_path / "x.pcap", [(START, b"")] * 3, "pcap-ns-le")
    done = subprocess.run([*FLOWS, path], capture_output=True, text=True)
    assert done.returncode == 3 and "none of 3 packets could be read" in done.stderr and len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("number", "code", "says"),
    [
        (signal.SIGINT, 130, "policyhub flows: interrupted, nothing was left behind"),
        (signal.SIGTERM, -signal.SIGTERM, ""),
        (signal.SIGKILL, -signal.SIGKILL, ""),
    ],
)
def test_a_signal_leaves_nothing(number: signal.Signals, code: int, says: str, tmp_path: Path) -> None:
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a shell starts what it puts behind itself so, and children inherit it
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    out = tmp_path / "out"
    out.mkdir()
    body = write_capture(tmp_path / "x.pcap", [(START, udp("192.0.2.1", 1))], "pcap-ns-le").read_bytes()
    with subprocess.Popen([*FLOWS, "-", "--records", out / "x.ndjson"], stdin=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        assert child.stdin and child.stderr
        child.stdin.write(body)
        feed(child, body[24:] * 20_000, out, number)
        assert child.wait(60) == code
        assert child.stderr.read().decode().strip() == says
    assert not list(out.iterdir())


def feed(child: subprocess.Popen[bytes], packets: bytes, out: Path, number: signal.Signals) -> None:
    """Interrupts it once it writes, and goes on until it is gone: a reader that waits for its pipe hears no signal."""
    assert child.stdin
    with contextlib.suppress(BrokenPipeError):
        for _ in range(2_000):
            child.stdin.write(packets)
            if is_writing(child, out):
                child.send_signal(number)
    with contextlib.suppress(BrokenPipeError):
        child.stdin.close()


def is_writing(child: subprocess.Popen[bytes], out: Path) -> bool:
    with contextlib.suppress(FileNotFoundError):  # it ended, or closed one meanwhile
        return any(os.readlink(link).startswith(f"{out}/") for link in Path(f"/proc/{child.pid}/fd").iterdir())
    return False


def test_without_nameless_files_an_error_leaves_nothing_either(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records_module, "_nameless", lambda _folder: None)
    target = tmp_path / "x.ndjson"
    with contextlib.suppress(KeyboardInterrupt), record_file(str(target), "ndjson"):
        assert [path.suffix for path in tmp_path.iterdir()] == [".part"]
        raise KeyboardInterrupt
    assert not list(tmp_path.iterdir())
    with record_file(str(target), "ndjson") as write:
        write(b"{}")
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"{}"]


def test_what_the_writer_raises_comes_out(tmp_path: Path) -> None:
    def refuse(block: bytes) -> None:
        raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="no"):
        native_capture.analyse([("p", capture(tmp_path / "x.pcap"))], records="ndjson", write=refuse)


def test_an_unknown_form_is_told(tmp_path: Path) -> None:
    with pytest.raises(native_capture.CaptureError, match=r"NC-E012 .*Use ndjson, columns or ipfix"):
        native_capture.analyse([("p", capture(tmp_path / "x.pcap"))], records="xml")  # type: ignore[arg-type]
