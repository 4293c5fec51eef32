"""`policyhub flows --labels ndpi` with the real program (Debian: libndpi-bin)."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw

from flowguard.sensor import flows_cli, ndpi
from policyhub.conf import cli
from policyhub.domain.errors import BadInput
from tests.support.capture_files import write_capture

START = 1_700_000_000_000_000_000
ASK = b"GET /index.html HTTP/1.1\r\nHost: example.org\r\nUser-Agent: test\r\n\r\n"
TOLD = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nok"


def segment(sport: int, dport: int, seq: int, ack: int, flags: str, payload: bytes = b"", version: int = 4) -> Packet:
    hosts = ("192.0.2.1", "198.51.100.9") if version == 4 else ("2001:db8::1", "2001:db8::9")
    src, dst = hosts if dport == 18_080 else hosts[::-1]
    header = IP(src=src, dst=dst) if version == 4 else IPv6(src=src, dst=dst)
    return Ether() / header / TCP(sport=sport, dport=dport, seq=seq, ack=ack, flags=flags) / Raw(payload)


def web(version: int) -> list[Packet]:
    """A request and its answer, at a port that says nothing."""
    there, back = (40_000 + version, 18_080), (18_080, 40_000 + version)
    return [
        segment(*there, 1, 0, "S", version=version),
        segment(*back, 1, 2, "SA", version=version),
        segment(*there, 2, 2, "A", version=version),
        segment(*there, 2, 2, "PA", ASK, version=version),
        segment(*back, 2, 2 + len(ASK), "PA", TOLD, version=version),
    ]


def capture(path: Path) -> Path:
    silent = Ether() / IP(src="192.0.2.1", dst="198.51.100.9") / UDP(sport=40_100, dport=33_333) / Raw(bytes(range(60, 99)))
    packets = [*web(4), *web(6), silent]
    return write_capture(path, [(START + n * 1_000_000, bytes(packet)) for n, packet in enumerate(packets)])


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = cli.run(flows_cli, "flows", list(arguments))
    told = capsys.readouterr()
    return code, told.out, told.err


@pytest.fixture(autouse=True)
def needs_the_program():
    assert shutil.which(ndpi.PROGRAM), "ndpiReader is missing: apt-get install libndpi-bin"


def test_both_directions_get_the_label_and_verdicts_stay_as_they_are(tmp_path, capsys):
    path = str(capture(tmp_path / "a, b.pcap"))
    code, text, _ = run(capsys, path, "--format=json", "--labels=ndpi")
    report, plain = json.loads(text), json.loads(run(capsys, path, "--format=json")[1])
    assert code == 0
    found = {(flow["src"], flow["proto"]): flow.pop("ndpi") for flow in report["flows"]}
    web_hosts = ("192.0.2.1", "198.51.100.9", "2001:db8::1", "2001:db8::9")
    assert found == {**{(host, "tcp"): "HTTP" for host in web_hosts}, ("192.0.2.1", "udp"): None}
    assert report.pop("labels") == {"program": "ndpiReader", "version": ndpi.version()} and ndpi.version()[0].isdigit()
    assert report == plain, "all else is the same with labels and without"


def test_the_text_has_a_column_of_them_in_both_languages(tmp_path, capsys):
    path = str(capture(tmp_path / "a.pcap"))
    _, text, _ = run(capsys, path, "--labels=ndpi")
    assert "nDPI's label" in text and text.count("HTTP") == 4
    assert "nDPI 标签" in run(capsys, path, "--labels=ndpi", "--lang=zh")[1]
    assert "nDPI" not in run(capsys, path)[1]


def test_what_it_cannot_do_is_said_in_one_line_with_the_cure(tmp_path, capsys, monkeypatch):
    path = capture(tmp_path / "a.pcap")
    packed = tmp_path / "a.pcap.gz"
    packed.write_bytes(b"\x1f\x8b" + bytes(20))
    for arguments, said in (
        ([str(packed)], "reads no gzip. Unpack it first"),
        (["-"], "standard input can be read once only"),
        (["--exports", str(path)], "--labels beside --exports"),
    ):
        code, out, err = run(capsys, *arguments, "--labels=ndpi")
        assert (code, out, err.count("\n")) == (2, "", 1) and said in err
    junk = tmp_path / "junk.pcap"
    junk.write_bytes(b"no capture at all")
    with pytest.raises(BadInput, match=r"junk\.pcap: ndpiReader could not read it"):
        ndpi.labels_of(str(junk))
    monkeypatch.setenv("PATH", str(tmp_path))
    code, out, err = run(capsys, str(path), "--labels=ndpi")
    assert (code, out, err.count("\n")) == (2, "", 1) and "Install the Debian package libndpi-bin" in err


def test_other_versions_write_bars_and_a_missing_column_is_named(tmp_path, capsys):
    line = "7|6|1.0|2.0|1.0|192.0.2.1|40004|198.51.100.9|18080|7|HTTP|host, with comma|3|300|1|2|200|1"
    before = "#flow_id|protocol|first_seen|last_seen|duration|src_ip|src_port|dst_ip|dst_port|ndpi_proto_num|ndpi_proto|"
    head = f"{before}server_name_sni|c_to_s_pkts|c_to_s_bytes|c_to_s_goodput_bytes|s_to_c_pkts|s_to_c_bytes|s_to_c_goodput_bytes"
    more = line.replace("HTTP", "TLS.Web").replace("|3|300|", "|9|900|")
    ends = frozenset([("192.0.2.1", 40_004), ("198.51.100.9", 18_080)])
    assert ndpi._largest(ndpi._rows([head, line, more, "cut|6"], "a")) == {("tcp", ends): "TLS.Web"}
    with pytest.raises(BadInput, match="wrote no column ndpi_proto"):
        list(ndpi._rows([head.replace("|ndpi_proto|", "|master|"), line], "a"))
