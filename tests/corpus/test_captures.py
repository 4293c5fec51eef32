"""Every capture of the corpus is read whole and in bounded time; marks and packets equal what tshark counted."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

import native_capture

ROOT = Path(__file__).parents[2]
CORPUS = Path(os.environ.get("POLICYHUB_CORPUS") or ROOT.parent / "shared" / "data")
SECONDS_PER_MB = 1.0  # measured 0.01; the machine may be busy
WITHOUT_DECODER = {"erf"}  # its frames are counted as errors, see native_capture/README.md

pytestmark = pytest.mark.corpus


def captures() -> list[Path]:
    where = CORPUS / "pcap"
    assert where.is_dir(), f"{where} is missing: set POLICYHUB_CORPUS to the folder that holds pcap/"
    return [path for path in sorted(where.glob("*/*")) if path.suffix not in (".json", ".tsv")]


def report(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(native_capture.analyse([("p", path)]))
    return found


def test_every_capture_is_read_and_sums_up():
    found = captures()
    assert len(found) > 700
    refused = []
    for path in found:
        began = time.process_time()
        try:
            read = report(path)
        except native_capture.CaptureError as error:
            refused.append((path, str(error)))
            continue
        assert time.process_time() - began < 10 + SECONDS_PER_MB * path.stat().st_size / 1e6, path
        (point,) = read["points"]
        marked = sum(mark["packets"] for mark in point["dscp"].values())
        assert point["packets"] == marked + point["non_ip"], path
        assert sum(flow["packets"] for flow in read["flows"]) == marked, path
        assert sum(flow["bytes"] for flow in read["flows"]) <= point["bytes"], path
    assert len(refused) <= 1 and all(str(path) in told for path, told in refused)


def test_marks_and_packets_equal_those_of_tshark():
    compared = 0
    for path in captures():
        truth_file = path.with_name(path.name + ".truth.json")
        if not truth_file.exists():
            continue
        whole = json.loads(truth_file.read_text())
        marks = whole.get("without_ip_reassembly", whole)["truth"].get("dscp_outer")
        if marks is None or whole["capinfos"].get("File encapsulation") in WITHOUT_DECODER:
            continue
        (point,) = report(path)["points"]
        expected = {mark: sums["packets"] for mark, sums in marks.items()}
        assert {mark: sums["packets"] for mark, sums in point["dscp"].items()} == expected, path
        compared += 1
    assert compared > 160
