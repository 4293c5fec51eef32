"""What cannot be read is said in one line with the place and the cure; what was read before it is reported."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether

from flowguard.sensor import flows_cli
from policyhub.conf import cli
from tests.support.capture_files import FORMATS, write_capture

FRAME = bytes(Ether() / IP(src="192.0.2.1", dst="192.0.2.2", tos=46 << 2) / UDP(sport=1, dport=2))
PACKETS = [(1_700_000_000 * 10**9 + n, FRAME) for n in range(3)]


@pytest.fixture
def run(capsys):
    """Exit code, output and the lines told on stderr."""

    def flows(*arguments: str | Path) -> tuple[int, str, list[str]]:
        try:
            code = cli.run(flows_cli, "flows", [str(argument) for argument in arguments])
        except SystemExit as stop:
            code = int(stop.code or 0)
        out = capsys.readouterr()
        return code, out.out, out.err.splitlines()

    return flows


def whole(folder: Path, form: str = "pcap-ns-le") -> Path:
    return write_capture(folder / "whole.pcap", PACKETS, form)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "the file is empty"),
        (b"\xd4\xc3", "too short"),
        (b"\xd4\xc3\xb2\xa1\x02\x00", "6 of 24 bytes of its header"),
        (b"hello, this is no capture at all", "no magic number"),
        (gzip.compress(b"x" * 99, mtime=0), "no magic number"),
        (gzip.compress(gzip.compress(b"x" * 99, mtime=0), mtime=0), "compressed more than once"),
    ],
)
def test_what_is_no_capture_is_refused(content, told, run, tmp_path):
    path = tmp_path / "bad.pcap"
    path.write_bytes(content)
    code, out, lines = run(path)
    assert (code, out, len(lines)) == (2, "", 1)
    assert str(path) in lines[0] and told in lines[0] and "NC-E002" in lines[0]


def test_a_missing_file_and_a_folder_are_refused(run, tmp_path):
    for path, told in ((tmp_path / "none.pcap", "no such file"), (tmp_path, "is a directory")):
        code, out, lines = run(path)
        assert (code, out, len(lines)) == (2, "", 1)
        assert str(path) in lines[0] and told in lines[0]


@pytest.mark.parametrize("form", FORMATS)
def test_a_file_cut_anywhere_gives_what_came_before_and_names_the_byte(form, run, tmp_path):
    content = whole(tmp_path, form).read_bytes()
    head = len(write_capture(tmp_path / "head", [], form).read_bytes())
    size = (len(content) - head) // len(PACKETS)
    for packets in range(len(PACKETS)):
        for extra in (1, size // 2, size - 1):
            path = tmp_path / "cut.pcap"
            path.write_bytes(content[: head + packets * size + extra])
            code, out, lines = run(path, "--format", "json")
            assert (code, len(lines)) == (3, 1)
            assert f"byte {head + packets * size}:" in lines[0] and str(path) in lines[0] and "Copy the capture" in lines[0]
            (point,) = json.loads(out)["points"]
            assert (point["packets"], point["truncated"]) == (packets, True)
            assert point["error"] in lines[0]


def test_a_record_with_an_impossible_length_ends_the_reading_there(run, tmp_path):
    content = bytearray(whole(tmp_path).read_bytes())
    second = 24 + 16 + len(FRAME)
    content[second + 8 : second + 12] = b"\xff\xff\xff\x7f"
    path = tmp_path / "broken.pcap"
    path.write_bytes(content)
    code, out, lines = run(path)
    assert (code, len(lines)) == (3, 1) and f"byte {second}: the record claims 2147483647" in lines[0]
    assert "PARTIAL" in out


def test_random_damage_never_ends_in_a_crash(run, tmp_path):
    chance = random.Random(7)
    path = tmp_path / "damaged.pcap"
    for form in FORMATS:
        content = whole(tmp_path, form).read_bytes()
        for _ in range(60):
            damaged = bytearray(content)
            for _ in range(chance.randrange(1, 6)):
                damaged[chance.randrange(len(damaged))] = chance.randrange(256)
            path.write_bytes(damaged)
            code, _, lines = run(path)
            assert code in (0, 2, 3) and len(lines) == (0 if code == 0 else 1)


def test_arguments_that_do_not_fit_are_told_with_the_cure(run, tmp_path):
    capture = whole(tmp_path)
    queues = tmp_path / "queues.json"
    queues.write_text('{"observation_points": {"ingress": "in0"}, "classes": {}}')
    cases = [
        ([], "no capture given"),
        (["--point", "in0"], "NAME=PCAP"),
        (["--point", f"out0={capture}", "--queues", queues], "Use one of: ingress = in0"),
        (["--point", f"in0={capture}", "--point", f"ingress={capture}", "--queues", queues], "the same point as in0"),
        (["--point", f"a={capture}", "--point", f"a={capture}"], "named twice"),
        ([capture, "--realm", "other=x"], "no such point"),
        ([capture, "--top", "-1"], "not a number of flows"),
    ]
    for arguments, told in cases:
        code, out, lines = run(*arguments)
        assert (code, out, len(lines)) == (2, "", 1), lines
        assert told in lines[0]


@pytest.mark.parametrize(
    ("option", "content", "told"),
    [
        ("--queues", '{"observation_points": \n nonsense}', ":2: not JSON"),
        ("--queues", "[]", "observation_points is not there or no object"),
        ("--queues", '{"observation_points": {}, "classes": []}', "classes is not there or no object"),
        ("--identities", "prefix,nme\n", ":1: missing column"),
        (
            "--identities",
            "prefix,name,business,owner,class,allowed_dscp,active_window,peak_mbps\n10.0.0.0/33,a,,,core,,,\n",
            ":2: prefix '10.0.0.0/33'",
        ),
    ],
)
def test_a_bad_file_beside_the_capture_names_file_and_line(option, content, told, run, tmp_path):
    file = tmp_path / "beside.txt"
    file.write_text(content)
    code, out, lines = run(whole(tmp_path), option, file)
    assert (code, out, len(lines)) == (2, "", 1)
    assert f"{file}{told}" in lines[0] or (str(file) in lines[0] and told in lines[0])


def test_a_file_that_is_no_text_is_refused(run, tmp_path):
    for option in ("--queues", "--identities"):
        code, _, lines = run(whole(tmp_path), option, write_capture(tmp_path / "binary", PACKETS))
        assert (code, len(lines)) == (2, 1) and "not UTF-8" in lines[0]


def test_a_sound_capture_without_identities_says_that_marks_were_not_judged(run, tmp_path):
    code, out, lines = run(whole(tmp_path), "--top", "1")
    assert (code, lines) == (0, [])
    assert "marks were not judged" in out and "192.0.2.1:1" in out and "Largest flows (1 of 1)" in out


def test_two_captures_of_one_name_become_two_points(run, tmp_path):
    (tmp_path / "b").mkdir()
    code, out, _ = run(whole(tmp_path), write_capture(tmp_path / "b" / "whole.pcap", PACKETS), "--format", "json")
    assert code == 0
    assert [point["name"] for point in json.loads(out)["points"]] == ["whole", "whole-2"]
