"""What the test run leaves out, it counts; what it cannot run, it names in one line."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from tests import conftest
from tests.support.services import ROOT


def collect(**variables: str) -> str:
    argv = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", "tests/platform/test_up.py"]
    environment = {**os.environ, "POLICYHUB_TEST_DB": "sqlite", "ROOTLESS": "", **variables}
    return subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, timeout=120, env=environment).stdout


def test_tests_that_need_root_are_left_out_only_when_asked_and_counted() -> None:
    everything, without = collect(), collect(ROOTLESS="1")
    assert "full_disk" in everything and "left out" not in everything
    assert "full_disk" not in without
    assert re.search(r"ROOTLESS=1: 1 tests that need root were left out", without)


def test_what_is_missing_for_root_tests_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(conftest.shutil, "which", lambda tool, path=None: None if tool == "nft" else f"/bin/{tool}")
    assert conftest._missing_for_root() == ["root", "`nft` (`make deps`)"]
