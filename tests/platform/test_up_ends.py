"""`policyhub up`: a clean end, an unclean one, and what the next start finds."""

from __future__ import annotations

import os
import re
import signal
import stat
from dataclasses import dataclass
from pathlib import Path

import pytest

from policyhub.conf import embedded_redis
from tests.platform.running import PROGRAMS, Running

pytestmark = pytest.mark.waits


@dataclass(frozen=True)
class Ended:
    """Two on one folder, one after the other. left: processes of the first one that still lived when the second was ready."""

    killed: Running
    stopped: Running
    left: set[int]


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Ended:
    """One whose supervisor was killed, and the next one, which was asked to stop."""
    data = tmp_path_factory.mktemp("up") / "data"
    with Running(data) as killed:
        family = set(killed.family())
        assert len(family) >= len(PROGRAMS)
        killed.process.kill()
        killed.process.wait()
        with Running(data) as stopped:
            assert stopped.is_ready()
            left = family & set(stopped.family())
            ends_at_once(stopped, signal.SIGTERM)
    return Ended(killed, stopped, left)


def ends_at_once(hub: Running, sign: signal.Signals) -> None:
    assert hub.stop(sign) == 0
    assert hub.gone() == []
    assert hub.text().endswith("stopped\n")


def test_a_killed_supervisor_takes_its_children_along_and_the_next_up_starts(ended: Ended) -> None:
    assert ended.left == set()
    assert ended.stopped.text().count("login  admin / ") == 1, "the password is shown once"


def test_a_stop_ends_every_process_and_leaves_no_socket(ended: Ended) -> None:
    assert not list((ended.stopped.data / "run").iterdir())


def test_a_redis_file_that_cannot_be_loaded_is_set_aside(ended: Ended) -> None:
    manifest = next((ended.stopped.data / "redis").rglob("*.manifest"))
    manifest.write_text("this is no manifest\n")
    with Running(ended.stopped.data) as hub:
        assert hub.is_ready()
        assert "set aside" in hub.text() or "moved to" in hub.text()
    assert (ended.stopped.data / "redis.unreadable").is_dir()


def test_a_folder_with_a_long_name_gets_a_short_private_socket_and_the_bundled_redis_serves_without_one_on_path(
    tmp_path: Path,
) -> None:
    bundled = embedded_redis.bundled_server()
    assert bundled is not None
    data = tmp_path / ("long" * 25) / "data"
    data.parent.mkdir()
    with Running(data, PATH="/nowhere") as hub:
        assert hub.is_ready()
        assert os.readlink(f"/proc/{hub.pid('redis')}/exe") == str(bundled.resolve())
        assert not list((data / "run").iterdir())
        line = Path(f"/proc/{hub.pid('redis')}/cmdline").read_bytes().decode()
        folder = Path(re.search(r"unixsocket:(\S+?)/redis\.sock", line)[1])  # type: ignore[index]
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        ends_at_once(hub, signal.SIGINT)
    assert not folder.exists()
