"""The production settings on real servers: PostgreSQL and Redis by URL, each process as the containers start it."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from policyhub.conf import embedded_redis
from tests.platform.running import clean_environment
from tests.support.services import Processes, answers_http, free_port, stop, wait_until

pytestmark = pytest.mark.waits

HOST = "hub.example"


@pytest.fixture(scope="module")
def environment(postgres_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """A database of its own, a Redis that asks for a password over TCP, and secrets in files."""
    folder = tmp_path_factory.mktemp("production")
    password, port, name = secrets.token_hex(8), free_port(), f"production_{os.getpid()}"
    make_database(postgres_url, name)
    (folder / "redis").mkdir()
    argv = embedded_redis.arguments(embedded_redis.find_server(), folder / "redis", folder / "unused.sock")
    argv[argv.index("--port") + 1] = str(port)
    with (folder / "redis.log").open("wb") as log:
        server = subprocess.Popen([*argv, "--requirepass", password], stdout=log, stderr=log, start_new_session=True)
    given = {"SECRET_KEY": secrets.token_urlsafe(60), "CREDENTIAL_KEY": "dGVzdC1vbmx5LWtleS10ZXN0LW9ubHkta2V5LTEyMzQ="}
    given["DATABASE_URL"] = postgres_url.replace("/policyhub?", f"/{name}?")
    given["REDIS_URL"] = f"redis://:{password}@127.0.0.1:{port}/0"
    for key, text in given.items():
        (folder / key).write_text(text + "\n")
    files = {f"POLICYHUB_{key}_FILE": str(folder / key) for key in given}
    yield clean_environment(
        DJANGO_SETTINGS_MODULE="policyhub.conf.settings.production", POLICYHUB_ALLOWED_HOSTS=HOST, POLICYHUB_BEHIND_PROXY="1",
        POLICYHUB_DATA=str(folder / "data"), **files,
    )  # fmt: skip
    stop(server)


def make_database(url: str, name: str) -> None:
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')


def run(environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", *arguments], capture_output=True, text=True, timeout=120, env=environment, cwd="/"
    )


@pytest.fixture(scope="module")
def hub(environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Processes, int, str]]:
    children = Processes(tmp_path_factory.mktemp("processes"), environment)
    prepared = run(environment, "policyhub.conf.prepare")
    assert prepared.returncode == 0, prepared.stderr
    port = free_port()
    children.start("web", [sys.executable, "-m", "policyhub.conf.web", "--port", str(port)])
    children.scheduler()
    children.worker("ingest", "sweep", "enforce", concurrency=1)
    wait_until(lambda: answers_http(port, HOST), lambda: f"web: {children.log('web')[-800:]}")
    yield children, port, prepared.stdout
    children.stop()


def get(port: int, path: str, **headers: str) -> tuple[int, dict[str, str], bytes]:
    class NoRedirect(urllib.request.HTTPRedirectHandler):
        def redirect_request(self, *_: object) -> None:
            return None

    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", headers={"Host": HOST, **headers})
    try:
        with urllib.request.build_opener(NoRedirect).open(request, timeout=20) as answer:
            return answer.status, dict(answer.headers), answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, dict(error.headers), error.read()


def test_every_process_comes_up_and_the_service_is_ready(hub: tuple[Processes, int, str]) -> None:
    _, port, _ = hub
    wait_until(lambda: get(port, "/readyz")[0] == 200, "ready")
    assert set(json.loads(get(port, "/readyz")[2])["checks"].values()) == {"ok"}


def test_the_first_login_is_shown_once(hub: tuple[Processes, int, str], environment: dict[str, str]) -> None:
    assert "first login: admin / " in hub[2]
    again = run(environment, "policyhub.conf.prepare")
    assert (again.returncode, again.stdout) == (0, "ready\n")


@pytest.mark.parametrize("role", ["worker", "scheduler"])
def test_a_probe_says_that_a_role_is_well(hub: tuple[Processes, int, str], environment: dict[str, str], role: str) -> None:
    done = run(environment, "policyhub.conf.probe", role)
    assert (done.returncode, done.stdout) == (0, "")


def test_a_probe_says_in_one_line_what_is_wrong(environment: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "url").write_text("redis://127.0.0.1:1/0")
    done = run({**environment, "POLICYHUB_REDIS_URL_FILE": str(tmp_path / "url")}, "policyhub.conf.probe", "worker")
    assert done.returncode == 1
    assert done.stdout.count("\n") == 1


def test_plain_http_is_sent_to_tls_and_a_proxys_word_is_believed(hub: tuple[Processes, int, str]) -> None:
    _, port, _ = hub
    status, headers, _ = get(port, "/login/")
    assert (status, headers["Location"]) == (301, f"https://{HOST}/login/")
    _, headers, _ = get(port, "/", **{"X-Forwarded-Proto": "https"})
    assert headers["Strict-Transport-Security"].startswith("max-age=31536000")


def test_another_host_name_is_refused(hub: tuple[Processes, int, str]) -> None:
    _, port, _ = hub
    assert get(port, "/", Host="evil.example", **{"X-Forwarded-Proto": "https"})[0] == 400


def test_every_answer_forbids_foreign_content(hub: tuple[Processes, int, str]) -> None:
    _, port, _ = hub
    _, headers, _ = get(port, "/", **{"X-Forwarded-Proto": "https"})
    policy = headers["Content-Security-Policy"]
    assert "default-src 'self'" in policy and "frame-ancestors 'none'" in policy and "unsafe" not in policy
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert len(headers["X-Request-Id"]) == 32


def test_no_secret_is_in_any_log(hub: tuple[Processes, int, str], environment: dict[str, str]) -> None:
    children, _, _ = hub
    said = "".join(children.log(name) for name in ("web", "worker", "scheduler"))
    assert said
    for name in ("POLICYHUB_SECRET_KEY_FILE", "POLICYHUB_CREDENTIAL_KEY_FILE"):
        assert Path(environment[name]).read_text().strip() not in said
    redis_url = Path(environment["POLICYHUB_REDIS_URL_FILE"]).read_text()
    assert redis_url.split(":")[2].split("@")[0] not in said
