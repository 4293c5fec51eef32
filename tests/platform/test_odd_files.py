"""Pipes, devices, folders and nameless bytes where a file is asked for: one line and exit code 2, at once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.capture_files import write_capture

CLI = str(Path(sys.executable).with_name("policyhub"))


def run(*arguments: str):
    done = subprocess.run([CLI, *arguments], capture_output=True, text=True, timeout=180, stdin=subprocess.DEVNULL)
    return done.returncode, done.stderr.strip()


@pytest.fixture
def odd(tmp_path: Path, request: pytest.FixtureRequest) -> str:
    path = tmp_path / "odd"
    if request.param == "fifo":
        os.mkfifo(path)
    elif request.param == "folder":
        path.mkdir()
    elif request.param == "device":
        return "/dev/zero"
    elif request.param == "bytes":
        return f"{tmp_path}/a\udcff"
    return str(path)


@pytest.mark.parametrize("odd", ["fifo", "folder", "device", "bytes", "missing"], indirect=True)
@pytest.mark.parametrize("place", ["flows", "identities", "queues", "sensor"])
def test_what_is_no_file_is_refused_in_one_line(odd, place, tmp_path):
    pcap = str(write_capture(tmp_path / "a.pcap", []))
    command = {
        "flows": ["flows", odd],
        "identities": ["flows", pcap, "--identities", odd],
        "queues": ["flows", pcap, "--queues", odd],
        "sensor": ["sensor", "run", "--config", odd],
    }[place]
    code, said = run(*command)
    assert code == 2, said
    assert len(said.splitlines()) == 1
    assert "PH-E001" in said


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a": ' + "9" * 10_000 + "}"])
def test_queues_nested_too_deep_are_bad_input(text, tmp_path):
    queues = tmp_path / "queues.json"
    queues.write_text(text, encoding="utf-8")
    code, said = run("flows", str(write_capture(tmp_path / "a.pcap", [])), "--queues", str(queues))
    assert (code, len(said.splitlines())) == (2, 1)


def test_flows_of_a_check_nested_too_deep_are_bad_input(tmp_path):
    flows, config = tmp_path / "flows.json", tmp_path / "sw.txt"
    flows.write_text("[" * 100_000, encoding="utf-8")
    config.write_text("hostname sw1\n!\nip access-list extended A\n 10 permit tcp any any eq 22\n!\nend\n", encoding="utf-8")
    code, said = run("check", str(config), "--flows", str(flows))
    assert (code, len(said.splitlines())) == (2, 1)
