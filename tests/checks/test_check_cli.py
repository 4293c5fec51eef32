"""`policyhub check` from the command line: inputs, formats, exit codes, one clear line for bad input."""

from __future__ import annotations

import argparse
import csv
import gzip
import io
import json
import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from policyhub.management import check_cli

ASA = """\
ASA Version 9.16(4)
hostname fw-test
interface GigabitEthernet0/0
 nameif outside
 security-level 0
 ip address 198.51.100.1 255.255.255.0
access-list OUT extended permit tcp any host 192.0.2.10 eq 443
access-list OUT extended permit tcp any 192.0.2.0 255.255.255.128 eq www
access-list OUT extended permit tcp any 192.0.2.128 255.255.255.128 eq www
access-list OUT extended deny tcp any 192.0.2.0 255.255.255.0 eq www
access-list OUT extended permit ip any any
access-group OUT in interface outside
"""
HITS = """\
fw-test# show clock
{clock}
fw-test# show access-list
access-list OUT; 5 elements; name hash: 0x1
access-list OUT line 1 extended permit tcp any host 192.0.2.10 eq 443 (hitcnt={first}) 0x00000001
access-list OUT line 2 extended permit tcp any 192.0.2.0 255.255.255.128 eq www (hitcnt=0) 0x00000002
access-list OUT line 3 extended permit tcp any 192.0.2.128 255.255.255.128 eq www (hitcnt=7) 0x00000003
access-list OUT line 4 extended deny tcp any 192.0.2.0 255.255.255.0 eq www (hitcnt=0) 0x00000004
access-list OUT line 5 extended permit ip any any (hitcnt={last}) 0x00000005
"""
AUGUST, NOVEMBER = "08:00:00.000 UTC Sat Aug 1 2026", "08:00:00.000 UTC Sun Nov 29 2026"


@pytest.fixture
def asa(tmp_path: Path) -> Path:
    return write(tmp_path / "fw.cfg", ASA)


def write(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def check(*argv: object) -> int:
    parser = argparse.ArgumentParser("policyhub check")
    check_cli.add_arguments(parser)
    return check_cli.run(parser.parse_args([str(arg) for arg in argv]))


def as_json(capsys, *argv: object) -> dict:
    check(*argv, "--format", "json")
    return json.loads(capsys.readouterr().out)


def names(document: dict) -> set[tuple[str, str]]:
    return {(finding["name"], finding["rule"]) for finding in document["findings"]}


# ---- findings


def test_json_is_the_contract(capsys, asa):
    document = as_json(capsys, asa)
    assert document["schema"] == "policyhub.check/1"
    assert set(document) >= {"devices", "findings", "skipped"}
    (device,) = document["devices"]
    assert (device["file"], device["platform"], device["hostname"], device["rules"]) == (str(asa), "cisco_asa", "fw-test", 5)
    assert set(device) >= {"qos_policies", "lines", "ignored", "unparsed"}
    shadowed = next(finding for finding in document["findings"] if finding["name"] == "shadowed-rule")
    wanted = {"code", "name", "severity", "device", "policy", "rule", "lines", "by", "message", "evidence", "fix"}
    assert set(shadowed) >= wanted
    assert (shadowed["rule"], shadowed["by"]) == ("OUT line 4", ["OUT line 2", "OUT line 3"])
    assert shadowed["lines"] == [10]
    assert ("any-any", "OUT line 5") in names(document)


def test_two_readings_with_clock_lines_make_a_zombie(capsys, asa, tmp_path):
    august = write(tmp_path / "august.txt", HITS.format(clock=AUGUST, first=0, last=10))
    november = write(tmp_path / "november.txt", HITS.format(clock=NOVEMBER, first=0, last=999))
    found = names(as_json(capsys, asa, "--hits", august, "--hits", november))
    assert {("zombie-rule", "OUT line 1"), ("zombie-rule", "OUT line 2")} <= found
    assert not {("zombie-rule", "OUT line 3"), ("zombie-rule", "OUT line 5")} & found


def test_the_moment_of_a_reading_may_stand_behind_the_path(capsys, asa, tmp_path):
    undated = HITS.format(clock="", first=0, last=10)
    august, november = write(tmp_path / "a.txt", undated), write(tmp_path / "b.txt", undated)
    found = names(as_json(capsys, asa, "--hits", f"{august}@2026-08-01T08:00", "--hits", f"{november}@2026-11-29T08:00"))
    assert ("zombie-rule", "OUT line 1") in found
    found = names(as_json(capsys, asa, "--hits", august, "--hits", november))
    assert ("no-hit-evidence", "OUT line 1") in found
    assert "zombie-rule" not in {name for name, _ in found}


@pytest.mark.parametrize("clock", ["00:01:00.000 UTC Mon Mar 1 1993", "08:00:00.000 UTC Mon Nov 2 2999"])
def test_a_clock_that_is_wrong_proves_no_window(capsys, asa, tmp_path, clock):
    wrong = write(tmp_path / "a.txt", HITS.format(clock=clock, first=0, last=10))
    right = write(tmp_path / "b.txt", HITS.format(clock=AUGUST, first=0, last=10))
    found = names(as_json(capsys, asa, "--hits", wrong, "--hits", right))
    assert ("no-hit-evidence", "OUT line 1") in found
    assert "zombie-rule" not in {name for name, _ in found}


def test_uptime_in_the_collected_text_proves_the_window(capsys, asa, tmp_path):
    text = HITS.format(clock=NOVEMBER, first=0, last=10) + "fw-test# show version\nfw-test up 200 days 3 hours\n"
    assert ("zombie-rule", "OUT line 1") in names(as_json(capsys, asa, "--hits", write(tmp_path / "h.txt", text)))
    text = text.replace("200 days", "20 days")
    document = as_json(capsys, asa, "--hits", write(tmp_path / "h.txt", text))
    assert ("no-hit-evidence", "OUT line 1") in names(document)
    by_name = {(f["name"], f["rule"]): f for f in document["findings"]}
    assert by_name["no-hit-evidence", "OUT line 1"]["message"] == "window too short: 20 of 90 days are counted"


def test_counters_of_another_host_are_not_taken(capsys, asa, tmp_path):
    foreign = HITS.format(clock=NOVEMBER, first=0, last=10).replace("fw-test", "fw-other")
    code = check(asa, "--hits", write(tmp_path / "h.txt", foreign), "--format", "json")
    document = json.loads(capsys.readouterr().out)
    assert code == 3
    assert "'fw-other'" in document["skipped"][0]["reason"]
    assert document["devices"][0]["hit_samples"] == 0


def test_a_failover_pair_needs_the_counters_of_both_units(capsys, tmp_path):
    pair = write(tmp_path / "pair.cfg", ASA.replace("access-group", "failover\nfailover lan unit primary\naccess-group"))

    def readings(unit):
        for month, clock in (("aug", AUGUST), ("nov", NOVEMBER)):
            text = HITS.format(clock=clock, first=0, last=10).replace("fw-test#", f"fw-test/{unit}#")
            yield from ("--hits", write(tmp_path / f"{month}-{unit[:3]}.txt", text))

    alone = as_json(capsys, pair, *readings("pri/act"))
    assert ("no-hit-evidence", "OUT line 1") in names(alone)
    both = as_json(capsys, pair, *readings("pri/act"), *readings("sec/stby"))
    assert ("zombie-rule", "OUT line 1") in names(both)


def test_counters_in_the_folder_belong_to_the_device_with_their_rules(capsys, asa, tmp_path):
    write(tmp_path / "reading-1.txt", HITS.format(clock=AUGUST, first=0, last=10))
    write(tmp_path / "reading-2.txt", HITS.format(clock=NOVEMBER, first=0, last=10))
    document = as_json(capsys, tmp_path)
    assert [device["hit_samples"] for device in document["devices"]] == [2]
    assert ("zombie-rule", "OUT line 1") in names(document)


def test_flows_seen_on_the_wire_keep_a_rule_from_being_a_zombie(capsys, asa, tmp_path):
    hits = [
        write(tmp_path / f"{n}.txt", HITS.format(clock=clock, first=0, last=10)) for n, clock in enumerate((AUGUST, NOVEMBER))
    ]
    flow = {"src": "203.0.113.9", "dst": "192.0.2.10", "sport": 40000, "dport": 443, "proto": "tcp", "packets": 12}
    flows = write(tmp_path / "flows.json", json.dumps({"schema": "policyhub.flows/1", "flows": [flow]}))
    found = names(as_json(capsys, asa, "--hits", hits[0], "--hits", hits[1], "--flows", flows))
    assert ("zombie-rule", "OUT line 1") not in found
    assert ("zombie-rule", "OUT line 2") in found


def test_identities_name_the_core_business_that_a_wide_rule_reaches(capsys, asa, tmp_path):
    header = "prefix,name,business,owner,class,allowed_dscp,active_window,peak_mbps"
    table = write(tmp_path / "id.csv", f"{header}\n192.0.2.0/24,web,shop,li,core,,,\n10.0.0.0/8,lab,lab,wu,non-core,,,\n")
    document = as_json(capsys, asa, "--identities", table)
    (wide,) = [f for f in document["findings"] if f["name"] in ("any-any", "overbroad-rule") and f["rule"] == "OUT line 5"]
    assert wide["evidence"]["reaches_core"] == ["web"]
    assert wide["message"].endswith("it reaches core business (web)")


def test_only_takes_names_and_codes(capsys, asa):
    assert {name for name, _ in names(as_json(capsys, asa, "--only", "any-any,PH003"))} == {"any-any", "shadowed-rule"}


# ---- exit codes


def test_exit_code_says_whether_something_is_at_or_above_the_level(capsys, asa):
    assert check(asa, "--only", "any-any") == 1
    assert check(asa, "--only", "any-any", "--fail-on", "high") == 1
    assert check(asa, "--only", "any-any", "--fail-on", "critical") == 0
    assert check(asa, "--only", "no-hit-evidence") == 0
    assert check(asa, "--only", "no-hit-evidence", "--fail-on", "info") == 1


def test_a_skipped_file_makes_a_partial_result_and_is_named(capsys, asa, tmp_path):
    write(tmp_path / "photo.bin", b"\x00\x01\x02")
    write(tmp_path / "notes.txt", "remember the milk")
    assert check(tmp_path) == 3
    out = capsys.readouterr().out
    assert "photo.bin: byte 0: binary data, not a configuration" in out
    assert "notes.txt: no known platform" in out
    assert "partial result" in out


def bad(tmp_path: Path) -> dict[str, tuple[list[object], str]]:
    good = write(tmp_path / "good.cfg", ASA)
    wrong_csv = write(tmp_path / "wrong.csv", "prefix,nome\n")
    return {
        "missing file": ([tmp_path / "nowhere.cfg"], "nowhere.cfg: no such file or directory"),
        "empty file": ([write(tmp_path / "empty.cfg", "")], "empty.cfg: the file is empty"),
        "blank file": ([write(tmp_path / "blank.cfg", "\n \n")], "blank.cfg: the file is empty"),
        "garbage": ([write(tmp_path / "garbage", bytes(range(256)) * 9)], "garbage: byte 0: binary data"),
        "control characters": ([write(tmp_path / "noise", bytes(range(1, 32)) * 9)], "noise: binary data"),
        "unknown platform by content": ([write(tmp_path / "poem.txt", "roses are red\n")], "poem.txt: no known platform"),
        "unknown platform by name": ([good, "--platform", "cisco_assa"], "platform 'cisco_assa' is not known. Known: "),
        "unknown check": ([good, "--only", "zombi"], "no check is called 'zombi'"),
        "empty path": ([""], "'': an empty path"),
        "empty folder": ([mkdir(tmp_path / "void")], "the folder holds no file"),
        "broken zip": ([write(tmp_path / "broken.zip", b"PK\x03\x04 oh no")], "broken.zip: the archive is damaged"),
        "broken gzip": ([write(tmp_path / "broken.gz", b"\x1f\x8b oh no")], "broken.gz: "),
        "device file": (["/dev/null"], "/dev/null: not a file or folder"),
        "missing hits": ([good, "--hits", tmp_path / "no.txt"], "no.txt: no such file or directory"),
        "wrong moment": ([good, "--hits", f"{good}@yesterday"], "'yesterday' is not a date and time"),
        "wrong csv": ([good, "--identities", wrong_csv], "wrong.csv:1: missing column name"),
        "flows no json": ([good, "--flows", good], "good.cfg:1: not JSON"),
        "flows no list": (
            [good, "--flows", write(tmp_path / "l.json", '{"schema": "policyhub.flows/1", "flows": {}}')],
            "l.json: not a policyhub.flows/1 document",
        ),
        "flows other json": ([good, "--flows", write(tmp_path / "o.json", "{}")], "o.json: not a policyhub.flows/1 document"),
        "utf-16 lie": ([write(tmp_path / "lie.cfg", b"\xff\xfeabc")], "lie.cfg: byte 4: not utf-16-le"),
    }


def mkdir(path: Path) -> Path:
    path.mkdir()
    return path


BAD = [
    "missing file", "empty file", "blank file", "garbage", "control characters", "unknown platform by content",
    "unknown platform by name", "unknown check", "empty path", "empty folder", "broken zip", "broken gzip", "device file",
    "missing hits", "wrong moment", "wrong csv", "flows no json", "flows no list", "flows other json", "utf-16 lie",
]  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_clear_line_and_exit_code_2(capsys, tmp_path, case):
    argv, said = bad(tmp_path)[case]
    assert check(*argv) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert err.startswith("policyhub check: PH-E0")
    assert said in err


def test_an_unreadable_file_is_named(capsys, tmp_path):
    if os.geteuid() == 0:  # root reads everything; a folder in the place of a member cannot be read by anybody
        (tmp_path / "configs").mkdir()
        (tmp_path / "configs" / "loop").symlink_to("loop")
        write(tmp_path / "configs" / "fw.cfg", ASA)
        assert check(tmp_path / "configs") == 3
        assert "loop: not a regular file" in capsys.readouterr().out
        return
    locked = write(tmp_path / "locked.cfg", ASA)
    locked.chmod(0)
    assert check(locked) == 2
    assert "locked.cfg: permission denied" in capsys.readouterr().err


@pytest.mark.parametrize("option", [["--window", "0"], ["--window", "x"], ["--fail-on", "bad"], ["--format", "pdf"], []])
def test_wrong_usage_ends_with_2(capsys, asa, option):
    with pytest.raises(SystemExit) as ended:
        check(*([asa, *option] if option else []))
    assert ended.value.code == 2


# ---- containers and encodings


def zipped(path: Path) -> Path:
    with zipfile.ZipFile(path / "all.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("site/fw.cfg", ASA)
    return path / "all.zip"


def tarred(path: Path, mode: str) -> Path:
    with tarfile.open(path / "all.tar", mode) as archive:
        info = tarfile.TarInfo("site/fw.cfg")
        info.size = len(ASA)
        archive.addfile(info, io.BytesIO(ASA.encode()))
    return path / "all.tar"


@pytest.mark.parametrize("make", [zipped, lambda p: tarred(p, "w"), lambda p: tarred(p, "w:gz"), lambda p: tarred(p, "w:xz")])
def test_archives_are_read_without_unpacking(capsys, tmp_path, make):
    archive = make(tmp_path)
    before = set(tmp_path.iterdir())
    (device,) = as_json(capsys, archive)["devices"]
    assert device["file"] == f"{archive}/site/fw.cfg"
    assert set(tmp_path.iterdir()) == before


def test_a_single_gzipped_file_is_read(capsys, tmp_path):
    (device,) = as_json(capsys, write(tmp_path / "fw.cfg.gz", gzip.compress(ASA.encode())))["devices"]
    assert device["rules"] == 5


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "gbk", "utf-16"])
def test_encodings_of_windows_and_of_chinese_editors_are_read(capsys, tmp_path, encoding):
    remark = "access-list OUT remark 交易系统的规则\n"
    text = ASA.replace("access-list OUT extended permit tcp any host", remark + "access-list OUT extended permit tcp any host")
    document = as_json(capsys, write(tmp_path / "fw.cfg", text.encode(encoding)))
    assert document["devices"][0]["rules"] == 5
    assert document["devices"][0]["hostname"] == "fw-test"


# ---- formats


def test_csv_cannot_start_a_formula(capsys, tmp_path):
    evil = ASA.replace("OUT", "=HYPERLINK(1)")
    check(write(tmp_path / "fw.cfg", evil), "--format", "csv")
    rows = list(csv.reader(io.StringIO(capsys.readouterr().out)))
    assert rows[0][:3] == ["severity", "code", "name"]
    assert len(rows) > 3
    assert all(not cell.startswith(("=", "+", "-", "@")) for row in rows for cell in row)
    assert any(cell.startswith("'=HYPERLINK") for row in rows for cell in row)


def test_html_is_one_page_that_fetches_nothing_and_escapes_names(capsys, tmp_path):
    evil = ASA.replace("OUT", "<script>alert(1)</script>")
    check(write(tmp_path / "fw.cfg", evil), "--format", "html")
    page = capsys.readouterr().out
    assert page.startswith("<!doctype html>")
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert not [word for word in ("http:", "https:", "src=", "href=", "url(") if word in page]


def test_text_shows_no_terminal_escapes_from_names(capsys, tmp_path):
    check(write(tmp_path / "fw.cfg", ASA.replace("OUT", "O\x1b[31mUT\x07")))
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "\x07" not in out


def test_sarif_has_rules_results_and_places(capsys, asa):
    check(asa, "--format", "sarif")
    document = json.loads(capsys.readouterr().out)
    assert document["version"] == "2.1.0"
    (run,) = document["runs"]
    rules = run["tool"]["driver"]["rules"]
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] in ("error", "warning", "note")
        assert result["message"]["text"]
        place = result["locations"][0]["physicalLocation"]
        assert place["region"]["startLine"] >= 1
        assert place["artifactLocation"]["uri"].startswith("file:///")
    prints = [result["partialFingerprints"]["policyhub/v1"] for result in run["results"]]
    assert len(set(prints)) == len(prints)


def test_text_names_findings_and_what_to_do(capsys, asa):
    check(asa)
    out = capsys.readouterr().out
    assert "fw-test  cisco_asa" in out
    assert "HIGH     PH003 shadowed-rule" in out
    assert "What to do:" in out
    assert out.rstrip().splitlines()[-1].endswith("in 1 device")


@pytest.mark.parametrize(("form", "heading"), [("text", "{}  cisco_asa"), ("html", "<h2>{}</h2>")])
def test_a_file_without_a_hostname_is_named_once_in_its_heading(capsys, tmp_path, form, heading):
    nameless = write(tmp_path / "nameless.cfg", ASA.replace("hostname fw-test\n", ""))
    check(nameless, "--format", form)
    told = capsys.readouterr().out
    above = told[: told.index("shadowed-rule")]
    assert heading.format(nameless) in above and above.count(str(nameless)) == 1


@pytest.mark.parametrize("form", ["text", "json", "sarif", "csv", "html"])
def test_two_runs_print_the_same(capsys, asa, form):
    check(asa, "--format", form)
    first = capsys.readouterr().out
    check(asa, "--format", form)
    assert capsys.readouterr().out == first


RUN = """
import argparse, sys
from policyhub.management import check_cli
parser = argparse.ArgumentParser()
check_cli.add_arguments(parser)
sys.exit(check_cli.run(parser.parse_args()))
"""
NO_DJANGO = """
import sys
import policyhub.management.check_cli
sys.exit(any(name.split(".")[0] in ("django", "celery", "netmiko") for name in sys.modules))
"""


def test_a_reader_that_leaves_early_and_a_poor_terminal_are_no_errors(tmp_path):
    more = "".join(f"access-list OUT extended permit tcp any host 10.0.{n // 250}.{n % 250} eq 80\n" for n in range(3000))
    path = write(tmp_path / "防火墙.cfg", ASA.replace("access-group", more + "access-group"))
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", RUN, str(path)], env=environment, **pipes) as ran:
        ran.stdout.read(10)
        ran.stdout.close()
        assert ran.stderr.read() == b""
        assert ran.wait(60) == 1


def test_the_command_needs_no_django():
    assert subprocess.run([sys.executable, "-c", NO_DJANGO], check=False).returncode == 0
