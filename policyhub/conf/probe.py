"""Is this container's process well? `python -m policyhub.conf.probe web|worker|scheduler`: exit code 0 or 1 and one line."""

from __future__ import annotations

import http.client
import socket
import ssl
import sys
from collections.abc import Callable
from datetime import UTC, datetime

from policyhub.conf import environment
from policyhub.conf.setup import django_setup

SILENT_AFTER_S = 30


def web() -> str:
    """Empty when /healthz answers on port 8000 of this container."""
    encrypted = bool(environment.text("POLICYHUB_TLS_CERTIFICATE", ""))
    # Our own process over loopback: its certificate names the outside host, so there is nothing to compare it with.
    context = ssl._create_unverified_context() if encrypted else None  # noqa: S323
    connection = (
        http.client.HTTPSConnection("127.0.0.1", 8000, timeout=5, context=context)
        if encrypted
        else http.client.HTTPConnection("127.0.0.1", 8000, timeout=5)
    )
    connection.request("GET", "/healthz", headers={"Host": (environment.words("POLICYHUB_ALLOWED_HOSTS") or ["localhost"])[0]})
    answer = connection.getresponse()
    return "" if answer.status == 200 else f"/healthz: {answer.status}"


def worker() -> str:
    """Empty when the Celery worker of this host name answers a ping."""
    django_setup()
    from celery import current_app

    answers = current_app.control.inspect(timeout=5).ping() or {}
    host = socket.gethostname()
    return "" if any(name.endswith(f"@{host}") for name in answers) else f"no worker of {host} answers"


def scheduler() -> str:
    """Empty when the scheduler turned within the last 30 s."""
    django_setup()
    from policyhub.queries import schedules

    beat = schedules.heartbeat()
    age_s = (datetime.now(UTC) - beat).total_seconds() if beat else None
    return "" if age_s is not None and age_s < SILENT_AFTER_S else f"last turn {age_s} s ago"


def main(role: str) -> int:
    roles: dict[str, Callable[[], str]] = {"web": web, "worker": worker, "scheduler": scheduler}
    try:
        complaint = roles[role]()
    except Exception as error:  # an unreachable database is an answer too
        complaint = f"{type(error).__name__}: {error}"
    if complaint:
        print(complaint)
    return 1 if complaint else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1]))
