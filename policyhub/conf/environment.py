"""Values from outside: environment variables, secret files, database URLs. No Django, no I/O besides the named file."""

from __future__ import annotations

import contextlib
import os
import secrets
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from policyhub.domain.errors import PolicyHubError


class ConfigurationError(PolicyHubError):
    """The service cannot start as it is configured."""

    code = "PH-E100"


def text(name: str, default: str | None = None) -> str:
    """The variable, or the content of the file that NAME_FILE names (how container secrets arrive).

    Raises ConfigurationError when both are missing and there is no default.
    """
    if name in os.environ:
        return os.environ[name]
    if file := os.environ.get(f"{name}_FILE"):
        try:
            return Path(file).read_text(encoding="utf-8").strip()
        except OSError as error:
            raise ConfigurationError(f"{name}_FILE={file}: {error.strerror}. Point it at a readable file.") from error
    if default is None:
        raise ConfigurationError(f"{name} is not set. Set {name}, or {name}_FILE to a file that holds it.")
    return default


def flag(name: str, default: bool) -> bool:
    """1, true, yes, on / 0, false, no, off."""
    value = os.environ.get(name, "").strip().lower()
    if value in {"", None}:
        return default
    if value in {"1", "true", "yes", "on"}:
        return True
    if value in {"0", "false", "no", "off"}:
        return False
    raise ConfigurationError(f"{name}={value} is neither on nor off. Use 1 or 0.")


def words(name: str, default: str = "") -> list[str]:
    """Comma-separated list without empty members."""
    return [word.strip() for word in os.environ.get(name, default).split(",") if word.strip()]


def days(name: str, default: int) -> timedelta:
    """A whole number of days, at least one."""
    value = os.environ.get(name, "").strip() or str(default)
    if not value.isascii() or not value.isdecimal() or not 1 <= int(value[:6]) <= 36_500:
        raise ConfigurationError(f"{name}={value} is no number of days. Use a whole number from 1 to 36500.")
    return timedelta(days=int(value))


def database(url: str) -> dict[str, Any]:
    """Django's DATABASES entry for `postgresql://user:password@host:port/name?option=value`; `?host=` may be a socket folder."""
    parts = urlsplit(url)
    if parts.scheme not in {"postgresql", "postgres"}:
        raise ConfigurationError(f"database URL has scheme '{parts.scheme}'. Use postgresql://user:password@host/name.")
    name = unquote(parts.path.lstrip("/"))
    if not name:
        raise ConfigurationError("database URL names no database. Use postgresql://user:password@host/name.")
    options: dict[str, Any] = dict(parse_qsl(parts.query))
    host = options.pop("host", parts.hostname or "")
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": name,
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": host,
        "PORT": str(options.pop("port", parts.port or "")),
        "OPTIONS": options,
        # A dead connection after a database restart is noticed before the request, not inside it.
        "CONN_HEALTH_CHECKS": True,
    }


def sqlite(path: str | Path, *, durable: bool = True) -> dict[str, Any]:
    """SQLite as a server's database: readers never block (WAL), writers queue instead of failing.

    IMMEDIATE: a transaction that reads first and writes later would otherwise fail at once with SQLITE_BUSY, whatever the
    timeout. FULL: a batch answered with 201 is deleted by the sensor, so the commit must survive a power cut; NORMAL in WAL
    mode does not promise that.
    """
    synchronous = "FULL" if durable else "OFF"
    return {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": str(path),
        "OPTIONS": {
            "timeout": 20,
            "transaction_mode": "IMMEDIATE",
            "init_command": f"PRAGMA journal_mode=WAL; PRAGMA synchronous={synchronous};",
        },
    }


def secret_file(path: Path, make: Any = lambda: secrets.token_urlsafe(48)) -> str:
    """Content of a private file, made on first use (0600, complete or absent: written aside, then linked).

    Two processes that start together agree: `link` fails for the later one, which reads the winner's.
    """
    try:
        return path.read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        pass
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    aside = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(f"{make()}\n")
            file.flush()
            os.fsync(file.fileno())
        with contextlib.suppress(FileExistsError):
            os.link(aside, path)
    finally:
        aside.unlink()
    return path.read_text(encoding="utf-8").strip()
