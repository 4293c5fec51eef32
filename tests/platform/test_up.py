"""`policyhub up`: one service per folder, refusals in one line, restarts."""

from __future__ import annotations

import os
import re
import signal
import socket
import sqlite3
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.platform.running import PROGRAMS, Running, refused
from tests.support.services import free_port, wait_until

pytestmark = pytest.mark.waits

ONE_LINE = re.compile(r"\A[^\n]+\n\Z")


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with Running(tmp_path_factory.mktemp("up") / "data", "--port", str(free_port())) as running:
        yield running


def test_it_takes_the_port_it_is_given(hub: Running) -> None:
    assert hub.url == f"http://127.0.0.1:{hub.arguments[-1]}"


def test_everything_runs_and_is_ready_when_the_url_is_printed(hub: Running) -> None:
    assert hub.ready() == {"database": "ok", "migrations": "ok", "broker": "ok", "scheduler": "ok", "disk": "ok"}
    assert len({hub.pid(program) for program in PROGRAMS}) == len(PROGRAMS)


def test_a_second_up_on_the_same_folder_is_refused_in_one_line(hub: Running) -> None:
    code, said = refused(hub.data, "--port", "0")
    assert code == 2
    assert ONE_LINE.match(said)
    assert str(hub.data) in said and str(hub.process.pid) in said
    assert hub.is_ready()


def test_a_port_in_use_is_refused_in_one_line_and_leaves_nothing_running(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, said = refused(tmp_path / "data", "--port", str(port))
    assert code == 2
    assert ONE_LINE.match(said) and str(port) in said
    assert not (tmp_path / "data").exists()


def test_a_port_that_is_none_is_refused_in_one_line(tmp_path: Path) -> None:
    code, said = refused(tmp_path / "data", "--port", "70000")
    assert code == 2 and ONE_LINE.match(said) and "70000" in said


def test_a_folder_that_cannot_be_made_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    code, said = refused(tmp_path / "file" / "data")
    assert code == 2 and ONE_LINE.match(said) and "--data" in said


def test_a_run_folder_that_others_may_enter_is_refused(tmp_path: Path) -> None:
    (tmp_path / "data" / "run").mkdir(parents=True)
    (tmp_path / "data" / "run").chmod(0o755)
    code, said = refused(tmp_path / "data", "--port", "0")
    assert code == 2 and ONE_LINE.match(said) and "private" in said


@pytest.mark.root
def test_a_full_disk_is_refused_in_one_line(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", disk], check=True)
    try:
        code, said = refused(disk / "data", "--port", "0")
    finally:
        subprocess.run(["umount", disk], check=True)
    assert code == 2 and ONE_LINE.match(said) and "free" in said


def test_secrets_and_tables_are_private_to_the_user(hub: Running) -> None:
    private = [*(hub.data / "secrets").iterdir(), hub.data / "policyhub.sqlite3", *(hub.data / "logs").iterdir()]
    assert len(private) >= 4
    assert {stat.S_IMODE(path.stat().st_mode) for path in private} == {0o600}


def test_the_first_login_is_printed_and_stored_only_as_a_hash(hub: Running) -> None:
    name, password = (hub.data / "secrets" / "first-login").read_text().split()
    assert f"{name} / {password}" in hub.text()
    with sqlite3.connect(hub.data / "policyhub.sqlite3") as database:
        ((stored,),) = database.execute("SELECT password FROM auth_user WHERE username = ?", (name,)).fetchall()
    database.close()
    assert password not in stored
    assert stored.startswith("pbkdf2_sha256$")


def test_redis_has_no_tcp_port_and_keeps_an_append_only_file(hub: Running) -> None:
    line = Path(f"/proc/{hub.pid('redis')}/cmdline").read_bytes().decode()
    assert "unixsocket" in line and "*:" not in line
    assert list((hub.data / "redis").rglob("*.aof"))
    sockets = [entry for entry in (hub.data / "run").iterdir() if stat.S_ISSOCK(entry.stat().st_mode)]
    assert [stat.S_IMODE(entry.stat().st_mode) for entry in sockets] == [0o700]


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_killed_program_starts_again_and_the_service_is_ready_again(hub: Running, program: str) -> None:
    before = hub.pid(program)
    os.kill(before, signal.SIGKILL)
    hub.pid(program, but=before)
    wait_until(hub.is_ready, lambda: f"ready after {program} was killed: {hub.ready()}")
    assert not Path(f"/proc/{before}").exists()


def test_children_of_a_killed_worker_do_not_live_on_beside_its_successor(hub: Running) -> None:
    wait_until(lambda: len(_session(hub, hub.pid("worker"))) == 3, "pool of the worker")
    leader = hub.pid("worker")
    old = _session(hub, leader)
    os.kill(leader, signal.SIGKILL)
    wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in old), "old pool gone")


def _session(hub: Running, leader: int) -> list[int]:
    return [pid for pid in hub.family() if os.getsid(pid) == leader]


def test_a_client_that_connects_while_web_restarts_waits_and_is_served(hub: Running) -> None:
    os.kill(hub.pid("web"), signal.SIGKILL)
    assert _patient(hub)
    wait_until(hub.is_ready, lambda: f"ready again: {hub.ready()}")


def _patient(hub: Running) -> bool:
    host, port = hub.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=60) as connection:
        connection.sendall(b"GET /healthz HTTP/1.0\r\nHost: localhost\r\n\r\n")
        return b" 200 " in connection.recv(64)
