"""`policyhub flows --lang`: the report for people in English or Chinese, the one for programs in English."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import ModuleType

import pytest

from flowguard.domain import verdict_names
from flowguard.sensor import (
    behaviour_text,
    carried_text,
    exports_text,
    flows_cli,
    flows_notes,
    flows_text,
    flows_words,
    neighbours_text,
    path_text,
    services_text,
)
from flowguard.sensor.words import translator
from policyhub.conf import cli
from policyhub.domain.terminal import columns
from tests.native_capture.test_path import START, STEP, both_ways, data, write

CHINESE = re.compile(r"[\u4e00-\u9fff]")
SAME = {"p50", "p95", "p99", "NAK", "RNR", "CNP", "CE", "MOS", "VLAN", "IPv6"}  # read alike in both languages
SPEAKING = (
    behaviour_text, carried_text, exports_text, flows_notes, flows_words, neighbours_text, path_text, services_text,
)  # fmt: skip


def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    cli.run(flows_cli, "flows", list(arguments))
    return capsys.readouterr().out


def msgids(module: ModuleType) -> set[str]:
    """What the module's constants say; keys of dicts are not said."""

    def texts(value: object) -> set[str]:
        match value:
            case str():
                return {value}
            case dict():
                return set().union(*map(texts, value.values()))
            case tuple() | list():
                return set().union(*map(texts, value))
        return set()

    return set().union(*(texts(value) for name, value in vars(module).items() if name.isupper()))


@pytest.mark.parametrize("module", SPEAKING, ids=lambda module: module.__name__.rpartition(".")[2])
def test_every_title_head_and_note_is_said_in_chinese(module):
    read = translator("zh")
    assert not {text for text in msgids(module) - SAME if not CHINESE.search(read(text))}


def two_points(folder: Path) -> list[str]:
    rows = [(START + n * STEP, data(n, dscp=46 if n % 3 else 0)) for n in range(300)]
    late = [(ns + 2_000, frame) for n, (ns, frame) in enumerate(rows) if n % 30 != 1]
    return [f"--point=acc={write(folder / 'a.pcap', rows)}", f"--point=core={write(folder / 'b.pcap', late)}"]


def test_a_report_in_chinese_has_no_english_words_but_names(tmp_path, capsys):
    text = told(capsys, *two_points(tmp_path), "--lang=zh")
    assert "故障 acc 与 core 之间，类别 DSCP 46：200 个中丢失 10 个（5.00 %）；其报文未经等待就消失。置信度 " in text
    assert "判定：没有给出身份台账，未对标记作判定" in text and "未查看：队列, 微突发" in text
    names = {
        "TCP",
        "ACK",
        "UTC",
        "DSCP",
        "DF",
        "EF",
        "acc",
        "core",
        "tcp",
        "ms",
        "us",
        "MB",
        "kB",
        "RTP",
        "MOS",
        "pcap",
        "dst",
        "src",
    }
    plain = re.sub(r"/\S+", " ", text)
    assert set(re.findall(r"[A-Za-z]{2,}", plain)) <= names


def test_columns_stand_under_their_heads_where_a_character_is_two_wide(tmp_path, capsys):
    lines = told(capsys, *two_points(tmp_path), "--lang=zh").splitlines()
    head, *rows = lines[1:4]
    at = columns(head[: head.index("报文数")] + "报文数")
    assert all(row[:at].endswith(("300", "290")) for row in rows)


def test_what_is_withheld_is_said_in_either_language_and_json_is_english(tmp_path, capsys):
    a, b = both_ways(200, 3_000_000)
    counters = tmp_path / "c.csv"
    counters.write_text(f"time,packets\n{START // 10**9 - 1},1000\n{START // 10**9 + 10},1400\n")
    points = [
        f"--point=a={write(tmp_path / 'a.pcap', a)}",
        f"--point=b={write(tmp_path / 'b.pcap', b)}",
        f"--counters=a={counters}",
    ]
    reason = "the mirror of a lost 50.00 % (limit 0.1 %, by counters)"
    assert f"Losses and delays are withheld: {reason}." in told(capsys, *points)
    assert "不给出丢包和时延：a 的镜像丢失 50.00 %（上限 0.1 %，依据：计数器）。" in told(capsys, *points, "--lang=zh")
    assert json.loads(told(capsys, *points, "--lang=zh", "--format=json"))["path"]["withheld"] == [reason]


def failed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert cli.run(flows_cli, "flows", list(arguments)) == 2
    return capsys.readouterr().err


def test_errors_are_said_in_chinese_too(tmp_path, capsys):
    (junk := tmp_path / "junk.pcap").write_bytes(b"no capture at all, but long enough to be looked at")
    (queues := tmp_path / "queues.json").write_text("{")
    where = str(write(tmp_path / "a.pcap", [(START, data(1))]))
    wrong = [
        [],
        ["-", "-"],
        [str(tmp_path)],
        [str(tmp_path / "none.pcap")],
        [where, "--realm=x=y"],
        [where, "--point=nothing"],
        [where, "--side=a=10.0.0.0/8"],
        [where, f"--queues={queues}"],
        [where, "--clock-error=b=1"],
        [where, "--clock-error=a=x"],
        [where, "--records=a.xyz"],
        [where, f"--records={where}.ndjson", "--records-format=ndjson", "--point=b"],
        [str(junk)],
        ["--exports", where, "--clock"],
        ["--labels=ndpi", "-"],
    ]
    for arguments in wrong:
        english, chinese = (failed(capsys, *arguments, f"--lang={lang}") for lang in ("en", "zh"))
        assert not CHINESE.search(english) and english.count("\n") == chinese.count("\n") == 1, arguments
        assert CHINESE.search(chinese), chinese


def test_verdicts_have_titles_in_chinese_and_their_names_in_english():
    report = {"verdicts": [], "judging": True}
    assert verdict_names.TITLES.keys() >= {"class-not-allowed", "mtu-blackhole"}
    for name in verdict_names.TITLES:
        assert flows_text.verdict_word(name, translator("en")) == name
        assert CHINESE.search(flows_text.verdict_word(name, translator("zh")))
    assert CHINESE.search(flows_text.verdicts_part(report, translator("zh")))
