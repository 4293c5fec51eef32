"""Runs the whole service on this machine: web, API, workers, scheduler and an embedded Redis.

Everything lives in the data folder. Stops cleanly on Ctrl-C or SIGTERM; a second `up` on the same folder is refused.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import os
import socket
import sys
import time
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from types import ModuleType

from policyhub.conf import embedded_redis, instance, places
from policyhub.conf.environment import ConfigurationError
from policyhub.conf.prepare import prepare
from policyhub.conf.processes import WORKERS, scheduler_argv, web_argv, worker_argv
from policyhub.conf.setup import EMBEDDED, django_setup
from policyhub.conf.supervisor import Program, Supervisor

READY_WITHIN_S = 120.0
FIRST_LOGIN = "first-login"
LOOPBACK = "localhost,127.0.0.1,[::1]"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `policyhub up`."""
    parser.add_argument("--data", metavar="DIR", default=None, help="data folder (default: POLICYHUB_DATA, else ./data)")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: %(default)s, this machine only)")
    parser.add_argument("--port", type=int, default=8000, help="port to listen on; 0 takes a free one (default: %(default)s)")
    parser.add_argument(
        "--demo", action="store_true", help="with the sample network: a simulated switch, a sample sensor, sample data"
    )


def run(args: argparse.Namespace) -> int:
    """Until SIGTERM or SIGINT; 0 after a clean stop. Refusals raise and end in one line."""
    started = time.monotonic()
    os.umask(0o077)
    data = Path(args.data).absolute() if args.data else places.data_dir()
    os.environ["POLICYHUB_DATA"] = str(data)
    os.environ["DJANGO_SETTINGS_MODULE"] = EMBEDDED
    sample = _sample_network() if args.demo else None
    redis = embedded_redis.find_server()
    with contextlib.ExitStack() as open_things:

        def listen() -> socket.socket:
            return open_things.enter_context(contextlib.closing(instance.listen(args.host, args.port)))

        early = None if data.exists() else listen()  # a port in use leaves no folder behind
        instance.prepare_folder(data)
        held = instance.lock(data)
        listener = early or listen()
        os.environ.setdefault("POLICYHUB_ALLOWED_HOSTS", _own_names(args.host))
        login = _prepare_database(data)
        service = Service(data, listener, redis=redis, held=held, login=login, sample=sample, started=started)
        service.run()
    return 0


def say(line: str) -> None:
    """One line for the person at the terminal."""
    with contextlib.suppress(OSError):  # a terminal that was closed is no reason to stop
        print(line, flush=True)


def _sample_network() -> ModuleType:
    """By name: production images leave it out."""
    try:
        return import_module("flowguard.lab.demo")
    except ImportError as error:
        raise ConfigurationError(
            f"--demo: no sample network here ({error}). Install policyhub[lab], or leave out --demo."
        ) from error


def _own_names(host: str) -> str:
    """Names under which a browser may reach us. POLICYHUB_ALLOWED_HOSTS replaces them."""
    names = [LOOPBACK, host, socket.gethostname(), socket.getfqdn()]
    if host in {"0.0.0.0", "::"}:  # noqa: S104
        with contextlib.suppress(socket.gaierror):
            names += [str(entry[4][0]) for entry in socket.getaddrinfo(socket.gethostname(), None)]
    return ",".join(dict.fromkeys(f"[{name}]" if ":" in name and "[" not in name else name for name in names))


def _prepare_database(data: Path) -> str:
    """Migrate, make the first login; how to log in, for the terminal."""
    django_setup(data, create=True)
    from policyhub.actions import first_login

    note = data / "secrets" / FIRST_LOGIN
    if login := prepare():
        note.write_text(f"{login[0]} {login[1]}\n", encoding="utf-8")
        return f"{login[0]} / {login[1]}   (kept in {note} until the first login)"
    if first_login.admin_has_logged_in():
        note.unlink(missing_ok=True)
        return "as before"
    return f"see {note}" if note.exists() else "as before"


class Service:
    """The supervised processes of one data folder, and what the terminal is told about them."""

    def __init__(
        self,
        data: Path,
        listener: socket.socket,
        *,
        redis: Path,
        held: int,
        login: str,
        sample: ModuleType | None,
        started: float,
    ) -> None:
        self._data, self._listener, self._login, self._started = data, listener, login, started
        self._sample = sample
        self._socket = places.socket_path(data, "redis.sock")
        environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
        self._supervisor = Supervisor(logs=data / "logs", environment=environment, say=say, hold_fd=held)
        self._supervisor.add(self._programs(redis))
        self._supervisor.every.append(self._announce)
        self._announced = False
        self._next_look = 0.0

    @property
    def url(self) -> str:
        host, port = self._listener.getsockname()[:2]
        host = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)  # noqa: S104
        return f"http://{host}:{port}"

    def run(self) -> None:
        try:
            self._supervisor.run()
        finally:
            if self._socket.parent != self._data / "run":
                with contextlib.suppress(OSError):
                    self._socket.parent.rmdir()
        say("stopped")

    def _programs(self, redis: Path) -> list[Program]:
        """Stages: Redis before everything, workers before what gives them work, so that the stop order is the reverse."""
        folder = self._data / "redis"
        descriptor = self._listener.fileno()
        programs = [
            Program(
                "redis",
                embedded_redis.arguments(redis, folder, self._socket),
                stage=0,
                ready=lambda: embedded_redis.answers(self._socket),
                mend=lambda: embedded_redis.set_aside(folder),
            ),
            Program("web", web_argv(["--fd", str(descriptor)]), stage=2, grace_s=15, pass_fds=(descriptor,)),
            Program("scheduler", scheduler_argv(), stage=2),
        ]
        # A push must finish its verification or its rollback: 180 s is its wall limit of 120 s and a reading back.
        grace = {"worker": 30.0, "worker-decide": 30.0, "worker-enforce": 180.0}
        workers = [Program(name, worker_argv(name, queues), grace_s=grace[name]) for name, queues in WORKERS.items()]
        return [*programs, *workers]

    def _announce(self) -> None:
        """Once: the URL when everything answers, or what does not after two minutes."""
        now = time.monotonic()
        if self._announced or now < self._next_look:
            return
        self._next_look = now + 0.3
        waited = now - self._started
        checks = _readiness(self._listener)
        if checks == {}:
            self._announced = True
            self._print_banner(waited)
            if self._sample is not None:
                self._start_sample(self._sample)
        elif waited > READY_WITHIN_S:
            self._announced = True
            say(f"not ready after {waited:.0f} s: {checks}. Logs: {self._data / 'logs'}")

    def _print_banner(self, waited_s: float) -> None:
        say(f"PolicyHub {version('policyhub')} is up ({waited_s:.1f} s)")
        for label, value in (("open", self.url), ("login", self._login), ("data", self._data), ("logs", self._data / "logs")):
            say(f"  {label:<6} {value}")
        say("  stop   Ctrl-C")

    def _start_sample(self, sample: ModuleType) -> None:
        """The sample network: seed through a process of its own, then its simulators and its sensor."""
        say("  demo   preparing the sample network ...")
        code = self._supervisor.run_once(Program("demo-seed", [sys.executable, "-m", "policyhub.conf.seed", self.url]))
        if code:
            say(f"demo: the sample network could not be made (exit code {code}):")
            for line in self._supervisor.tail("demo-seed"):
                say(f"  {line}")
            return
        self._supervisor.add(Program(name, argv, stage=3) for name, argv in sample.processes(self._data, self.url))
        say("  demo   the sample network runs; its pages are marked as such")


def _readiness(listener: socket.socket) -> dict[str, str]:
    """What /readyz complains about; empty when it is ready."""
    host, port = listener.getsockname()[:2]
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104
    connection = http.client.HTTPConnection(host, port, timeout=2)
    try:
        connection.request("GET", "/readyz", headers={"Host": "localhost"})
        answer = connection.getresponse()
        checks = json.loads(answer.read())["checks"]
        return {name: str(result) for name, result in checks.items() if result != "ok"}
    except (OSError, http.client.HTTPException, ValueError, KeyError, TypeError):
        return {"web": "no answer yet"}
    finally:
        connection.close()
