"""`policyhub check --lang`: reports for people in English or Chinese, files for programs always in English, and no Django."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest

from policyhub.checks.registry import all_checks
from policyhub.domain.terminal import padded
from policyhub.management.check_words import Words
from tests.checks.test_check_cli import ASA, AUGUST, HITS, NOVEMBER, as_json, check, write

HAN = re.compile(r"[\u4e00-\u9fff]")
WORDS_OF_THE_TEXT = {"What", "Skipped", "nothing", "rules", "lines", "devices", "found", "reading", "never", "earlier", "without"}


@pytest.fixture
def folder(tmp_path):
    """A firewall with most kinds of findings, two readings of its counters, and a file that is none."""
    configs = tmp_path / "configs"
    configs.mkdir()
    more = "access-list OUT extended permit tcp any host 192.0.2.10 eq 443 inactive\n"
    write(configs / "fw.cfg", ASA.replace("access-group", more + "access-group"))
    write(configs / "august.txt", HITS.format(clock=AUGUST, first=0, last=10))
    write(configs / "november.txt", HITS.format(clock=NOVEMBER, first=0, last=999))
    write(configs / "photo.bin", b"\x00\x01\x02")
    return configs


def told(capsys, *argv):
    code = check(*argv)
    out, err = capsys.readouterr()
    return code, out, err


def test_text_is_chinese_but_for_names_and_what_devices_say(capsys, folder):
    code, out, _ = told(capsys, folder, "--lang", "zh")
    assert code == 3
    assert "被跳过，因此结果不完整：" in out and "photo.bin: 第 0 字节：二进制数据，不是配置" in out
    assert "“拒绝”从不生效：前面的 2 条规则合起来已匹配其全部报文（OUT line 2, OUT line 3）" in out
    assert out.rstrip().splitlines()[-1].startswith("1 台设备中共") and "建议：" in out
    assert not WORDS_OF_THE_TEXT & set(re.findall(r"[A-Za-z]+", out))


def test_english_is_the_default_and_says_the_same_things(capsys, folder):
    _, out, _ = told(capsys, folder)
    assert (out, 3) == (told(capsys, folder, "--lang", "en")[1], 3)
    assert not HAN.search(out)
    chinese = told(capsys, folder, "--lang", "zh")[1]
    assert out.count("\n") == chinese.count("\n")
    assert re.findall(r"PH\d+", out) == re.findall(r"PH\d+", chinese)
    assert "shadowed-rule" in out and "shadowed-rule" not in chinese and "被遮蔽的规则" in chinese


@pytest.mark.parametrize("form", ["json", "csv"])
def test_files_for_programs_are_english_whatever_the_language(capsys, folder, form):
    english, chinese = (told(capsys, folder, "--format", form, "--lang", lang)[1] for lang in ("en", "zh"))
    assert english == chinese and not HAN.search(chinese)


def test_html_names_its_language_and_shows_evidence_without_raw_keys(capsys, folder):
    page = told(capsys, folder, "--format", "html", "--lang", "zh")[1]
    assert '<html lang="zh-CN">' in page and "<dt>证明依据</dt><dd>两次计数读数</dd>" in page
    assert "<dt>计数读取时间</dt><dd>2026-11-29 08:00 UTC</dd>" in page
    assert "<dd>2<sup>" in told(capsys, folder, "--format", "html", "--lang", "zh", "--only", "overbroad-rule")[1]
    assert not re.search(r"read_at|other_action|source_bits|counting-since|&#x27;|True|False", page)
    english = told(capsys, folder, "--format", "html")[1]
    assert '<html lang="en">' in english and "<dt>Proved by</dt><dd>two readings of the counters</dd>" in english
    assert not HAN.search(english)


def test_sarif_names_its_language_and_explains_rules_in_it(capsys, folder):
    (run,) = json.loads(told(capsys, folder, "--format", "sarif", "--lang", "zh")[1])["runs"]
    assert run["language"] == "zh-CN"
    for rule in run["tool"]["driver"]["rules"]:
        assert all(HAN.search(rule[part]["text"]) for part in ("shortDescription", "fullDescription", "help"))
    assert run["results"] and all(HAN.search(result["message"]["text"]) for result in run["results"])
    (note,) = run["invocations"][0]["toolExecutionNotifications"]
    assert HAN.search(note["message"]["text"])


def test_what_was_skipped_and_bad_input_are_said_in_the_language(capsys, folder, tmp_path):
    _, _, err = told(capsys, folder, "--format", "json", "--lang", "zh")
    assert err == f"policyhub check: 已跳过 {folder}/photo.bin：第 0 字节：二进制数据，不是配置\n"
    code, _, err = told(capsys, tmp_path / "nowhere.cfg", "--lang", "zh")
    assert code == 2 and err.startswith("policyhub check: PH-E001 ") and "没有这个文件或目录" in err
    assert "没有名为 'zombi' 的检查项" in told(capsys, folder / "fw.cfg", "--only", "zombi", "--lang", "zh")[2]


def test_contract_fields_are_plain_strings(capsys, folder):
    findings = as_json(capsys, folder)["findings"]
    assert {type(f["message"]) for f in findings} == {type(f["fix"]) for f in findings} == {str}
    assert {f["fix"] for f in findings} <= {one.fix for one in all_checks()}


def test_unknown_language_is_wrong_usage(capsys, folder):
    with pytest.raises(SystemExit) as ended:
        check(folder, "--lang", "fr")
    assert ended.value.code == 2


def test_chinese_needs_no_django(folder):
    source = (
        "import argparse, sys\nfrom policyhub.management import check_cli\nparser = argparse.ArgumentParser()\n"
        "check_cli.add_arguments(parser)\ncheck_cli.run(parser.parse_args())\n"
        "sys.exit(any(name.split('.')[0] in ('django', 'celery') for name in sys.modules))\n"
    )
    argv = [sys.executable, "-X", "utf8", "-c", source, str(folder), "--lang", "zh"]
    ran = subprocess.run(argv, capture_output=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, b"")
    assert "建议：" in ran.stdout.decode()


def test_severities_line_up_where_chinese_letters_are_two_columns_wide():
    assert (padded("HIGH", 8), padded("严重", 8)) == ("HIGH    ", "严重    ")
    assert Words("zh").ngettext("%(n)d rule", "%(n)d rules", 3) == "3 条规则"


def test_a_text_that_was_cut_says_where_and_what_to_do(capsys, tmp_path):
    cut = tmp_path / "cut.xml"
    began = '<config version="10.1.0"><devices><entry name="localhost"><vsys>\n<entry name="vsys1"><rulebase><security><rules>\n'
    cut.write_text(f'{began}<entry name="web"><action>allow</action>\n')
    arguments = (cut, "--platform", "paloalto_panos")
    assert "the text was cut at line 3: read it from the device again, whole" in told(capsys, *arguments)[1]
    assert "文本在第 3 行被截断：请从设备重新完整读取" in told(capsys, *arguments, "--lang", "zh")[1]
