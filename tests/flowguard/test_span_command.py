"""`policyhub sensor span`: a proposal in both languages and as JSON; refusals in one line; nothing is sent."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from policyhub.conf import cli

CONFIG = """hostname leaf-1
feature lldp
interface Ethernet1/1
  speed 10000
  priority-flow-control mode on
interface Ethernet1/48
  speed 10000
interface loopback0
  ip address 10.0.0.1/32
"""
OUTER = ("--collector", "10.9.9.9", "--origin", "10.0.0.1", "--direction", "rx")


@pytest.fixture
def device(tmp_path: Path) -> Path:
    path = tmp_path / "leaf-1.cfg"
    path.write_text(CONFIG)
    return path


def ask(device: Path, *arguments: str) -> int:
    return cli.main(["sensor", "span", "--device", str(device), "--source", "Ethernet1/1", *arguments])


def test_a_proposal_as_json_has_lines_way_back_load_and_tier(device: Path, capsys: pytest.CaptureFixture[str]) -> None:
    counters = device.with_name("counters.csv")
    counters.write_text("time,packets,bytes\n0,0,0\n10,1000,1000000\n")
    assert ask(device, *OUTER, "--counters", str(counters), "--capacity", "1G", "--format", "json") == 0
    told = json.loads(capsys.readouterr().out)
    assert {key: told[key] for key in ("schema", "platform", "hostname", "pushed", "kind", "sessions", "dscp", "proven")} == {
        "schema": "policyhub.span/1", "platform": "cisco_nxos", "hostname": "leaf-1", "pushed": False, "kind": "erspan",
        "sessions": [1], "dscp": 8, "proven": "from vendor documentation",
    }  # fmt: skip
    assert "  ip dscp 8" in told["lines"] and told["way_back"][0] == "no monitor session 1"
    assert told["load"] == {
        "basis": "counters", "copied_bps": 800_000, "frames_ps": 100, "assumed_use": None, "total_bps": 840_000,
        "capacity_bps": 1e9, "fits": True,
    }  # fmt: skip


@pytest.mark.parametrize(("lang", "words"), [
    ("en", ("Nothing was sent to any device", "6 Gbit/s (assumed: 30 %", "filled to 60 %", "Way back:", "vendor documentation")),
    ("zh", ("未向任何设备发送任何内容", "6 Gbit/s（假设：每个方向为配置速率的 30 %", "占用 60 %", "撤回：", "来自厂商文档")),
])  # fmt: skip
def test_a_proposal_reads_in_both_languages(
    device: Path, capsys: pytest.CaptureFixture[str], lang: str, words: tuple[str, ...]
) -> None:
    assert ask(device, "--destination", "Ethernet1/48", "--lang", lang) == 0
    said = capsys.readouterr().out
    assert [word for word in words if word not in said] == []


def test_a_destination_that_is_too_slow_is_a_finding(device: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert ask(device, "--destination", "Ethernet1/48", "--rate", "12.5G") == 1
    assert "filled to 125 %" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--destination", "Ethernet1/1"), "FG-E020 Ethernet1/1 would be mirrored to itself"),
        (("--destination", "Ethernet1/1", "--lang", "zh"), "会被镜像到自身"),
        ((*OUTER, "--vlan", "7"), "without --collector"),
        (("--destination", "Ethernet1/48", "--counters", "/nowhere"), "/nowhere: no such file"),
        (("--destination", "Ethernet1/48", "--platform", "paloalto_panos"), "mirror sessions of paloalto_panos are not known"),
        (("--destination", "Ethernet1/48", "--platform", "x"), "platform 'x' is not known"),
    ],
)
def test_a_refusal_is_one_line(device: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], told: str) -> None:
    assert ask(device, *arguments) == 2
    said = capsys.readouterr()
    assert told in said.err and said.out == "" and said.err.count("\n") == 1


@pytest.mark.parametrize("text", ["0", "5X", "-1", "1e9", ""])
def test_a_rate_that_is_none_is_said(device: Path, capsys: pytest.CaptureFixture[str], text: str) -> None:
    with pytest.raises(SystemExit) as ended:
        ask(device, "--destination", "Ethernet1/48", f"--rate={text}")
    assert ended.value.code == 2 and "is no rate in bit/s" in capsys.readouterr().err


def test_a_text_of_no_platform_needs_its_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x"
    path.write_text("hello\n")
    assert ask(path, "--destination", "Ethernet1/48") == 2
    assert "Name it with --platform" in capsys.readouterr().err
