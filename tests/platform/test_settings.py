"""Traps of Redis, Celery, SQLite and the browser: the settings that answer them, checked by what they do."""

from __future__ import annotations

import json
import logging
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from celery import current_app
from django.conf import settings
from kombu.transport import redis as kombu_redis

from policyhub.conf import environment, logs, places
from policyhub.conf.environment import ConfigurationError
from policyhub.conf.settings import broker
from tests.platform.running import clean_environment

PRODUCTION = {
    "DJANGO_SETTINGS_MODULE": "policyhub.conf.settings.production",
    "POLICYHUB_DATABASE_URL": "postgresql://hub:s%2Fecret@db.example/hub?sslmode=require",
    "POLICYHUB_REDIS_URL": "rediss://redis.example:6379/0",
    "POLICYHUB_SECRET_KEY": "0123456789abcdef" * 4,
    "POLICYHUB_CREDENTIAL_KEY": "new old",
    "POLICYHUB_ALLOWED_HOSTS": "hub.example",
}


def loaded(code: str, **variables: str) -> subprocess.CompletedProcess[str]:
    program = f"from django.conf import settings\n{code}"
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=180, env=clean_environment(**variables)
    )


def value(expression: str, **variables: str) -> object:
    done = loaded(f"import json; print(json.dumps({expression}))", **variables)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_no_task_may_run_longer_than_half_the_visibility_timeout() -> None:
    limits = [settings.CELERY_TASK_TIME_LIMIT, *(task["time_limit"] for task in settings.CELERY_TASK_ANNOTATIONS.values())]
    assert 2 * max(limits) <= settings.CELERY_BROKER_TRANSPORT_OPTIONS["visibility_timeout"]


def test_a_dead_workers_task_is_looked_for_every_ten_seconds() -> None:
    options = settings.CELERY_BROKER_TRANSPORT_OPTIONS
    assert options["unacked_restore_interval"] * options["unacked_restore_throttle"] <= 10


def test_a_blocking_read_is_never_cut_by_the_clients_own_timeout() -> None:
    options = settings.CELERY_BROKER_TRANSPORT_OPTIONS
    assert options["socket_timeout"] > kombu_redis.Transport.brpop_timeout + 2 * options["health_check_interval"]
    assert options["retry_on_timeout"] is False


def test_every_transport_option_is_one_that_kombu_knows() -> None:
    known = set(kombu_redis.Channel.from_transport_options)
    assert set(broker.TRANSPORT_OPTIONS) <= known


def test_results_are_off_and_only_json_is_read() -> None:
    assert type(current_app.backend).__name__ == "DisabledBackend"
    assert current_app.conf.accept_content == ["json"]
    assert current_app.conf.task_serializer == "json"


def test_a_task_is_acknowledged_late_and_put_back_when_its_process_dies() -> None:
    conf = current_app.conf
    assert (conf.task_acks_late, conf.task_reject_on_worker_lost, conf.worker_prefetch_multiplier) == (True, True, 1)
    assert conf.worker_cancel_long_running_tasks_on_connection_loss is False
    assert conf.broker_connection_max_retries is None


def test_every_task_has_a_queue_and_every_route_a_task() -> None:
    current_app.loader.import_default_modules()
    tasks = {name for name in current_app.tasks if not name.startswith("celery.")}
    assert tasks == set(broker.ROUTES)
    assert {route["queue"] for route in broker.ROUTES.values()} == set(broker.QUEUES)


def test_the_redis_client_is_the_one_whose_blocking_reads_work() -> None:
    import redis

    assert redis.VERSION[0] < 8


def test_sqlite_is_in_wal_mode_and_begins_immediate_transactions(tmp_path: Path) -> None:
    given = {"DJANGO_SETTINGS_MODULE": "policyhub.conf.settings.embedded", "POLICYHUB_DATA": str(tmp_path)}
    done = loaded(
        "from django.db import connection\n"
        "ask = lambda name: connection.cursor().execute(f'PRAGMA {name}').fetchone()[0]\n"
        "print(ask('journal_mode'), ask('synchronous'), ask('busy_timeout'), connection.transaction_mode)",
        **given,
    )
    assert done.stdout.split() == ["wal", "2", "20000", "IMMEDIATE"], done.stderr


def test_a_database_url_is_taken_apart() -> None:
    parts = environment.database("postgresql://hub:s%2Fecret@db.example:5433/hub?sslmode=require")
    assert (parts["HOST"], parts["PORT"], parts["NAME"], parts["USER"], parts["PASSWORD"]) == (
        "db.example", "5433", "hub", "hub", "s/ecret",
    )  # fmt: skip
    assert parts["OPTIONS"] == {"sslmode": "require"}


@pytest.mark.parametrize("url", ["mysql://x/y", "postgresql://host", "hub"])
def test_a_database_url_that_is_none_is_refused_with_the_cure(url: str) -> None:
    with pytest.raises(ConfigurationError, match="postgresql://user"):
        environment.database(url)


@pytest.mark.parametrize(
    "missing", ["POLICYHUB_SECRET_KEY", "POLICYHUB_CREDENTIAL_KEY", "POLICYHUB_DATABASE_URL", "POLICYHUB_REDIS_URL"]
)
def test_production_names_what_is_missing(missing: str) -> None:
    given = {name: text for name, text in PRODUCTION.items() if name != missing}
    done = loaded("settings.DEBUG", **given)
    assert done.returncode != 0
    assert f"{missing} is not set" in done.stderr and f"{missing}_FILE" in done.stderr


def test_production_reads_secrets_from_files(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("from a file\n")
    given = {**PRODUCTION, "POLICYHUB_SECRET_KEY_FILE": str(tmp_path / "key")}
    del given["POLICYHUB_SECRET_KEY"]
    assert value("settings.SECRET_KEY", **given) == "from a file"


def test_production_sends_cookies_over_tls_only_and_says_so_to_browsers() -> None:
    names = ["SESSION_COOKIE_SECURE", "CSRF_COOKIE_SECURE", "SECURE_SSL_REDIRECT", "SESSION_COOKIE_HTTPONLY", "DEBUG"]
    names.append("SECURE_HSTS_SECONDS")
    assert value(f"[getattr(settings, name) for name in {names}]", **PRODUCTION) == [True, True, True, True, False, 31_536_000]


def test_a_proxy_header_is_believed_only_when_a_proxy_is_declared() -> None:
    assert value("settings.SECURE_PROXY_SSL_HEADER", **PRODUCTION) is None
    assert value("settings.SECURE_PROXY_SSL_HEADER", **PRODUCTION, POLICYHUB_BEHIND_PROXY="1") == [
        "HTTP_X_FORWARDED_PROTO",
        "https",
    ]


def test_djangos_own_deployment_check_has_nothing_to_say_about_production() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "django", "check", "--deploy", "--fail-level", "WARNING"],
        capture_output=True, text=True, timeout=180, env=clean_environment(**PRODUCTION),
    )  # fmt: skip
    # W005/W021: the domain's other hosts and browsers' preload lists are the operator's decision.
    complaints = set(re.findall(r"\((\w+\.W\d+)\)", done.stderr)) - {"security.W005", "security.W021"}
    assert complaints == set(), done.stderr


def test_embedded_secrets_are_made_once_and_private(tmp_path: Path) -> None:
    given = {"DJANGO_SETTINGS_MODULE": "policyhub.conf.settings.embedded", "POLICYHUB_DATA": str(tmp_path)}
    first = value("[settings.SECRET_KEY, settings.POLICYHUB_CREDENTIAL_KEYS]", **given)
    assert value("[settings.SECRET_KEY, settings.POLICYHUB_CREDENTIAL_KEYS]", **given) == first
    assert {path.stat().st_mode & 0o777 for path in (tmp_path / "secrets").iterdir()} == {0o600}


def test_a_secret_that_somebody_else_made_first_is_taken(tmp_path: Path) -> None:
    path = tmp_path / "key"

    def make() -> str:
        path.write_text("theirs")
        return "ours"

    assert environment.secret_file(path, make) == "theirs"
    assert os.listdir(tmp_path) == ["key"]


def test_a_socket_path_is_never_cut_by_the_kernel(tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 120)
    assert len(os.fsencode(places.socket_path(deep, "redis.sock"))) <= places.MAX_SOCKET_PATH_BYTES
    assert places.socket_path(deep, "redis.sock") == places.socket_path(deep, "redis.sock")
    assert places.socket_path(deep, "redis.sock") != places.socket_path(deep / "other", "redis.sock")


def test_a_private_folder_of_somebody_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir(mode=0o777)
    (tmp_path / "open").chmod(0o777)
    (tmp_path / "link").symlink_to("/tmp")
    for path in (tmp_path / "open", tmp_path / "link"):
        with pytest.raises(ConfigurationError, match="private"):
            places.private_folder(path)


SECRETS = [
    {"password": "hunter2hunter2"},
    {"headers": {"Authorization": "Bearer hunter2hunter2"}},
    {"note": "sent phb_0123456789abcdef.hunter2hunter2 along"},
    {"url": "postgresql://hub:hunter2hunter2@db/hub"},
    {"envelope": "gAAAAABhunter2hunter2hunter2hunter2"},
    {"line": "enable secret 9 hunter2hunter2"},
    {"deep": [{"snmp_community": "hunter2hunter2"}]},
]


@pytest.mark.parametrize("data", SECRETS)
def test_a_secret_does_not_reach_the_log(data: dict[str, object], capsys: pytest.CaptureFixture[str]) -> None:
    line = _logged("something happened", extra=data)
    assert "hunter2" not in json.dumps(line)
    assert line["event"] == "something happened"


def test_a_secret_in_a_traceback_does_not_reach_the_log() -> None:
    try:
        raise ValueError("login with Bearer hunter2hunter2 failed")
    except ValueError:
        line = _logged("failed", exc_info=True)
    assert "hunter2" not in json.dumps(line)
    assert "ValueError" in str(line["exception"])


def _logged(message: str, **arguments: object) -> dict[str, object]:
    settings_of_handler = logs.logging_settings()["formatters"]["json"]
    formatter = settings_of_handler.pop("()")(**settings_of_handler)
    caught: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: caught.append(formatter.format(record))  # type: ignore[method-assign]
    logger = logging.getLogger("tests.redaction")
    logger.addHandler(handler)
    logger.propagate = False
    try:
        logger.warning(message, **arguments)  # type: ignore[arg-type]
    finally:
        logger.removeHandler(handler)
    return dict(json.loads(caught[0]))
