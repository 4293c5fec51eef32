"""What docs/input-files.md shows is taken by the readers as it stands."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import native_capture
from flowguard.sensor import flows_cli
from policyhub.conf import cli
from policyhub.domain.identity import COLUMNS, read_identities
from tests.support.capture_files import write_capture

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "input-files.md").read_text()


def block(language: str) -> str:
    found = re.search(rf"^```{language}\n(.*?)^```", PAGE, re.M | re.S)
    assert found, language
    return found[1]


def test_the_identities_of_the_page_are_read_and_every_column_is_explained() -> None:
    algo, voice, backup = read_identities(block("csv"), "identities.csv")
    assert (algo.allowed_dscp, algo.peak_mbps, algo.core) == (frozenset({0, 8}), 2000, False)
    assert algo.active_window == "22:00-06:00@Mon-Fri Asia/Shanghai"
    assert voice.core and voice.allowed_dscp == frozenset({46, 40})
    assert (backup.allowed_dscp, backup.active_window, backup.peak_mbps, backup.realm) == (None, "", None, "site-b")
    assert all(f"`{name}`" in PAGE for name in (*COLUMNS, "realm"))


def test_the_queues_of_the_page_are_taken_by_the_engine(tmp_path: Path) -> None:
    capture = tmp_path / "out.pcap"
    write_capture(capture, [])
    body = native_capture.analyse([("egress", capture)], queues=block("json").encode())
    assert {row["class"] for row in json.loads(body)["points"][0]["queues"]} <= {"EF", "AF", "BE"}
    for missing in ("link_mbps", "classes", "observation_points"):
        damaged = {key: value for key, value in json.loads(block("json")).items() if key != missing}
        with pytest.raises(native_capture.CaptureError, match=missing):
            native_capture.analyse([("egress", capture)], queues=json.dumps(damaged).encode())


def test_the_command_of_the_readme_runs_with_the_files_of_the_page(tmp_path: Path, capsys, monkeypatch) -> None:
    (command,) = re.findall(r"^\.venv/bin/policyhub flows (.+)$", (ROOT / "README.md").read_text(), re.M)
    monkeypatch.chdir(tmp_path)
    Path("identities.csv").write_text(block("csv"))
    Path("queues.json").write_text(block("json"))
    for name in ("ingress", "egress"):
        write_capture(Path(f"{name}.pcap"), [])
    assert cli.run(flows_cli, "flows", [*command.split(), "--format=json"]) == 0, capsys.readouterr().err
    report = json.loads(capsys.readouterr().out)
    assert [point["name"] for point in report["points"]] == ["ingress", "egress"] and report["judging"]
