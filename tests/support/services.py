"""Real servers and processes for tests: Redis, PostgreSQL, web and Celery workers, on private sockets and free ports."""

from __future__ import annotations

import contextlib
import glob
import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


class ServiceFailed(RuntimeError):
    """A server that a test needs did not come up; the message says why and the cure."""


def free_port() -> int:
    """A TCP port of 127.0.0.1 that nobody uses, below those that the kernel gives to connections: so it stays free."""
    while True:
        port = 20_000 + secrets.randbelow(12_000)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


def wait_until(ready: Callable[[], bool], what: str | Callable[[], str], seconds: float = 120.0) -> None:
    """Poll until `ready()`; raises ServiceFailed naming `what` (called only then).

    What `ready` looks at may not be there yet, or be gone while it looks: its ServiceFailed or OSError is "not yet". The time
    is for the slowest machine; whoever passes does not wait for it.
    """
    deadline, last = time.monotonic() + seconds, ""
    while True:
        try:
            if ready():
                return
            last = ""
        except (ServiceFailed, OSError) as error:
            last = f" ({error})"
        if time.monotonic() > deadline:
            raise ServiceFailed(f"{what if isinstance(what, str) else what()}: not within {seconds:g} s{last}")
        time.sleep(0.02)


def stop(process: subprocess.Popen[bytes], seconds: float = 20.0) -> None:
    """SIGTERM to the process, SIGKILL to what is left of its group."""
    if process.poll() is None:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(seconds)
    kill(process)


def kill(process: subprocess.Popen[bytes]) -> None:
    """SIGKILL to the whole group (each process below is started in a session of its own)."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


class RedisServer:
    """A real Redis on a Unix socket; its folder survives `kill`, so a restart replays the AOF."""

    def __init__(self, folder: Path, path: Path | None = None) -> None:
        from policyhub.conf import embedded_redis

        self.folder, self.path = folder, path or folder / "redis.sock"
        self._binary = embedded_redis.find_server()
        self._argv = embedded_redis.arguments(self._binary, folder / "redis", self.path)
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"redis+socket://{self.path}"

    def start(self) -> RedisServer:
        (self.folder / "redis").mkdir(mode=0o700, parents=True, exist_ok=True)
        self.path.unlink(missing_ok=True)
        with (self.folder / "redis.log").open("ab") as log:
            self.process = subprocess.Popen(self._argv, stdout=log, stderr=log, start_new_session=True)
        wait_until(self.answers, "redis")
        return self

    def answers(self) -> bool:
        from policyhub.conf import embedded_redis

        return embedded_redis.answers(self.path)

    def stop(self) -> None:
        if self.process is not None:
            stop(self.process)

    def kill(self) -> None:
        assert self.process is not None
        kill(self.process)


def postgres_bin(name: str) -> str:
    """A PostgreSQL program from PATH or Debian's place. Raises ServiceFailed with the cure."""
    places = sorted(glob.glob("/usr/lib/postgresql/*/bin"), key=lambda place: int(place.split("/")[4]), reverse=True)
    found = shutil.which(name, path=os.pathsep.join([*places, os.environ.get("PATH", "")]))
    if found is None:
        raise ServiceFailed(f"PostgreSQL's `{name}` is missing. `make deps` as root installs it.")
    return found


def unprivileged_user() -> str | None:
    """As whom PostgreSQL runs: nobody special needed when we are not root; it refuses to run as root."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            pwd.getpwnam(name)
            return name
    raise ServiceFailed("neither user postgres nor nobody exists to run PostgreSQL as.")


class PostgresCluster:
    """A throw-away cluster that listens on a Unix socket in its own folder; durability off, as nothing outlives the tests."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._user = unprivileged_user()
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"postgresql://policyhub@/policyhub?host={self.folder}"

    def start(self) -> PostgresCluster:
        self.folder.mkdir(mode=0o700, parents=True)
        if self._user is not None:
            owner = pwd.getpwnam(self._user)
            os.chown(self.folder, owner.pw_uid, owner.pw_gid)
        self._run("initdb", "-D", f"{self.folder}/data", "-U", "policyhub", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "-N")
        options = [f"unix_socket_directories={self.folder}", "listen_addresses=", "fsync=off", "synchronous_commit=off",
                   "full_page_writes=off", "max_connections=200", "shared_buffers=64MB"]  # fmt: skip
        argv = [postgres_bin("postgres"), "-D", f"{self.folder}/data", *(part for option in options for part in ("-c", option))]
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen(argv, stdout=log, stderr=log, start_new_session=True, cwd="/", **self._as_user())
        wait_until(lambda: self._run("pg_isready", "-h", str(self.folder), check=False) == 0, "postgresql")
        self._run("createdb", "-h", str(self.folder), "-U", "policyhub", "policyhub")
        return self

    def stop(self) -> None:
        if self.process is not None:
            self.process.send_signal(signal.SIGINT)  # fast shutdown; SIGTERM would wait for our own connections
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(20)
            kill(self.process)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _as_user(self) -> dict[str, Any]:
        return {} if self._user is None else {"user": self._user, "group": pwd.getpwnam(self._user).pw_gid, "extra_groups": []}

    def _run(self, program: str, *arguments: str, check: bool = True) -> int:
        done = subprocess.run([postgres_bin(program), *arguments], capture_output=True, cwd="/", **self._as_user())
        if check and done.returncode:
            raise ServiceFailed(f"{program}: {done.stderr.decode(errors='replace').strip()[-500:]}")
        return int(done.returncode)


def child_environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """For a process that shall see the test's own database, data folder and broker. Call inside a database test."""
    from django.conf import settings
    from django.db import connection

    return {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "policyhub.conf.settings.test",
        "POLICYHUB_TEST_RUN": str(settings.POLICYHUB_TEST_RUN),
        "POLICYHUB_TEST_DATABASE": str(connection.settings_dict["NAME"]),
        "POLICYHUB_TEST_BROKER_URL": settings.CELERY_BROKER_URL,
        "POLICYHUB_TEST_DB": "postgres" if connection.vendor == "postgresql" else "sqlite",
        "PYTHONUNBUFFERED": "1",
        "POLICYHUB_LOG_LEVEL": "INFO",
        **(extra or {}),
    }


class Processes:
    """Children of one test; all are gone when the block ends."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self.folder, self.environment = folder, dict(environment)
        self.running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, name: str, argv: list[str]) -> subprocess.Popen[bytes]:
        """Start in a session of its own; output goes to `<folder>/<name>.log`."""
        with (self.folder / f"{name}.log").open("ab") as log:
            process = subprocess.Popen(argv, stdout=log, stderr=log, env=self.environment, cwd=ROOT, start_new_session=True)
        self.running[name] = process
        return process

    def log(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text(errors="replace")

    def worker(self, *queues: str, name: str = "worker", concurrency: int = 2) -> subprocess.Popen[bytes]:
        """A Celery worker on the queues; returns when it takes tasks."""
        from policyhub.conf.processes import worker_argv

        seen = (self.folder / f"{name}.log").stat().st_size if (self.folder / f"{name}.log").exists() else 0
        process = self.start(name, worker_argv(name, queues, concurrency))
        wait_until(lambda: " ready." in self.log(name)[seen:], lambda: f"worker {name}: {self.log(name)[-800:]}")
        return process

    def web(self, port: int, name: str = "web") -> str:
        """The web process on 127.0.0.1:port; returns its URL once it answers."""
        self.start(name, [sys.executable, "-m", "policyhub.conf.web", "--port", str(port)])
        wait_until(lambda: answers_http(port), lambda: f"web: {self.log(name)[-800:]}")
        return f"http://127.0.0.1:{port}"

    def scheduler(self, name: str = "scheduler") -> subprocess.Popen[bytes]:
        return self.start(name, [sys.executable, "-m", "policyhub.conf.scheduler"])

    def kill(self, name: str) -> None:
        kill(self.running.pop(name))

    def stop(self) -> None:
        for process in self.running.values():
            process.terminate()
        for process in self.running.values():
            stop(process)
        self.running.clear()


def answers_http(port: int, host: str = "localhost") -> bool:
    """GET /healthz says 200."""
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=2) as probe:
        probe.sendall(f"GET /healthz HTTP/1.0\r\nHost: {host}\r\n\r\n".encode())
        return b" 200 " in probe.recv(64)
    return False


@contextlib.contextmanager
def processes(folder: Path, extra: Mapping[str, str] | None = None) -> Iterator[Processes]:
    """`with processes(tmp_path) as service: service.worker("ingest")`; needs transactional_db and redis_server."""
    folder.mkdir(parents=True, exist_ok=True)
    children = Processes(folder, child_environment(extra))
    try:
        yield children
    finally:
        children.stop()
