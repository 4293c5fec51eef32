"""One JSON line per event on standard error, with secrets blacked out wherever they hide."""

from __future__ import annotations

import json
import logging
import re
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any

HIDDEN = "[hidden]"
REQUEST_ID: ContextVar[str] = ContextVar("request_id", default="")  # of the request that is being answered, in every line
# What every record has, and uvicorn's copy of the message for terminals; anything else was given by `extra=`.
_OWN = frozenset({*vars(logging.makeLogRecord({})), "message", "asctime", "color_message"})
_KEY = re.compile(
    r"passw|passphrase|secret|token|authorization|cookie|credential|private_key|community|api_?key|fernet", re.IGNORECASE
)
_VALUES = (
    re.compile(r"phb_[A-Za-z0-9]+\.[A-Za-z0-9_\-]+"),  # our own API tokens
    re.compile(r"(?<=Bearer )\S+", re.IGNORECASE),
    re.compile(r"gAAAA[A-Za-z0-9_\-=]{20,}"),  # Fernet envelopes
    re.compile(r"(?<=://)[^/\s:@]*:[^/\s@]+(?=@)"),  # user:password of a URL
    re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?-----END [A-Z ]*PRIVATE KEY-----", re.DOTALL),
    # Lines of device configurations, should one ever reach a log.
    re.compile(r"(?<=\bpassword )\S+(?: \S+)?|(?<=\bsecret )\d \S+|(?<=\bcipher )\S+", re.IGNORECASE),
)


def redact(value: Any, depth: int = 0) -> Any:
    """The value without secrets; containers are copied, at most six levels are looked into."""
    if isinstance(value, str):
        for pattern in _VALUES:
            value = pattern.sub(HIDDEN, value)
        return value
    if depth >= 6:
        return HIDDEN
    if isinstance(value, dict):
        return {key: HIDDEN if _KEY.search(str(key)) else redact(item, depth + 1) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [redact(item, depth + 1) for item in value]
    return value


class JsonLines(logging.Formatter):
    """Blacked out last of all, so that tracebacks and extra fields are covered, too."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "event": record.getMessage(),
            "logger": record.name,
            "level": record.levelname.lower(),
            "timestamp": datetime.fromtimestamp(record.created, UTC).isoformat().replace("+00:00", "Z"),
            **{name: value for name, value in vars(record).items() if name not in _OWN},
        }
        if request_id := REQUEST_ID.get():
            line["request_id"] = request_id
        if record.exc_info and record.exc_info[0] is not None:
            line["exception"] = self.formatException(record.exc_info)
        if record.stack_info:
            line["stack"] = record.stack_info
        return json.dumps(redact(line), ensure_ascii=False, default=repr)


def logging_settings(level: str = "INFO") -> dict[str, Any]:
    """Value of Django's LOGGING."""
    quiet = {"level": "WARNING", "propagate": True}
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"json": {"()": JsonLines}},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "json"}},
        "root": {"handlers": ["stderr"], "level": level},
        "loggers": {
            "django": {"handlers": [], "level": level, "propagate": True},
            "django.server": {"handlers": [], "propagate": True},
            "uvicorn.access": quiet,
            # They log what they send: commands and answers of devices.
            "paramiko": quiet,
            "netmiko": quiet,
            "kombu": quiet,
            "celery.worker.strategy": quiet,
            "celery.app.trace": quiet,
        },
    }
