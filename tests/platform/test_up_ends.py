"""`policyhub up`: a clean end, an unclean one, and what the next start finds."""

from __future__ import annotations

import os
import re
import signal
import stat
from pathlib import Path

import pytest

from policyhub.conf import embedded_redis
from tests.platform.running import PROGRAMS, Running

pytestmark = pytest.mark.waits


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Running:
    """One that ran and was asked to stop."""
    with Running(tmp_path_factory.mktemp("up") / "data") as hub:
        assert len(hub.family()) >= len(PROGRAMS)
        ends_at_once(hub, signal.SIGTERM)
    return hub


def ends_at_once(hub: Running, sign: signal.Signals) -> None:
    assert hub.stop(sign) == 0
    assert hub.gone() == []
    assert hub.text().endswith("stopped\n")


def test_a_stop_ends_every_process_and_leaves_no_socket(stopped: Running) -> None:
    assert not list((stopped.data / "run").iterdir())


def test_a_redis_file_that_cannot_be_loaded_is_set_aside(stopped: Running) -> None:
    manifest = next((stopped.data / "redis").rglob("*.manifest"))
    manifest.write_text("this is no manifest\n")
    with Running(stopped.data) as hub:
        assert hub.is_ready()
        assert "set aside" in hub.text() or "moved to" in hub.text()
    assert (stopped.data / "redis.unreadable").is_dir()


def test_a_killed_supervisor_takes_its_children_along_and_the_next_up_starts(tmp_path: Path) -> None:
    with Running(tmp_path / "data") as hub:
        hub.process.kill()
        hub.process.wait()
        with Running(tmp_path / "data") as again:
            assert again.is_ready()
            assert again.text().count("login  admin / ") == 1, "the password is shown once"
        assert hub.gone() == []


def test_without_a_redis_on_path_the_bundled_server_serves(tmp_path: Path) -> None:
    bundled = embedded_redis.bundled_server()
    assert bundled is not None
    with Running(tmp_path / "data", PATH="/nowhere") as hub:
        assert hub.is_ready()
        assert os.readlink(f"/proc/{hub.pid('redis')}/exe") == str(bundled.resolve())


def test_a_folder_with_a_long_name_gets_a_short_private_socket(tmp_path: Path) -> None:
    data = tmp_path / ("long" * 25) / "data"
    data.parent.mkdir()
    with Running(data) as hub:
        assert hub.is_ready()
        assert not list((data / "run").iterdir())
        line = Path(f"/proc/{hub.pid('redis')}/cmdline").read_bytes().decode()
        folder = Path(re.search(r"unixsocket:(\S+?)/redis\.sock", line)[1])  # type: ignore[index]
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        ends_at_once(hub, signal.SIGINT)
    assert not folder.exists()
