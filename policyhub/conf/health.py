"""/healthz: this process answers. /readyz: everything it needs does. For probes, supervisor and console."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from datetime import UTC, datetime

from celery import current_app
from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, HttpResponse, JsonResponse

from policyhub.queries import schedules

MIN_FREE_BYTES = 200 * 1024 * 1024
HEARTBEAT_MAX_AGE_S = 30


def healthz(_request: HttpRequest) -> HttpResponse:
    return HttpResponse("ok\n", content_type="text/plain")


def readyz(_request: HttpRequest) -> JsonResponse:
    """200 when all is well, else 503; each check is "ok" or one line of what is wrong. No secrets, no addresses."""
    results = {name: _result(check) for name, check in CHECKS.items()}
    ready = all(result == "ok" for result in results.values())
    return JsonResponse({"ready": ready, "checks": results}, status=200 if ready else 503)


def _result(check: Callable[[], str]) -> str:
    try:
        return check()
    except Exception as error:  # whatever fails, the probe must be answered
        return f"{type(error).__name__}"


def _database() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    return "ok"


def _migrations() -> str:
    executor = MigrationExecutor(connection)
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    return "ok" if not plan else f"{len(plan)} migrations of '{DEFAULT_DB_ALIAS}' not applied"


def _broker() -> str:
    with current_app.connection_for_write(connect_timeout=2) as broker:
        broker.ensure_connection(max_retries=1, timeout=3)
    return "ok"


def _scheduler() -> str:
    beat = schedules.heartbeat()
    if beat is None:
        return "has not run yet"
    age_s = (datetime.now(UTC) - beat).total_seconds()
    return "ok" if age_s <= HEARTBEAT_MAX_AGE_S else f"last seen {age_s:.0f} s ago"


def _disk() -> str:
    folder = settings.POLICYHUB_DATA_DIR
    if not folder.exists():
        return "ok"  # production keeps nothing in it
    free = shutil.disk_usage(folder).free
    return "ok" if free >= MIN_FREE_BYTES else f"{free // 2**20} MiB free, {MIN_FREE_BYTES // 2**20} needed"


CHECKS: dict[str, Callable[[], str]] = {
    "database": _database,
    "migrations": _migrations,
    "broker": _broker,
    "scheduler": _scheduler,
    "disk": _disk,
}
