"""One JSON line per event on standard error, with secrets blacked out wherever they hide."""

from __future__ import annotations

import re
from collections.abc import MutableMapping
from typing import Any

import structlog

HIDDEN = "[hidden]"
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


def hide_secrets(_logger: object, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """structlog processor: last before rendering, so that tracebacks are covered too."""
    event.pop("color_message", None)  # uvicorn's own copy for terminals
    return {key: HIDDEN if _KEY.search(key) else redact(value) for key, value in event.items()}


_SHARED: list[Any] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_logger_name,
    structlog.stdlib.add_log_level,
    structlog.stdlib.PositionalArgumentsFormatter(),
    structlog.processors.TimeStamper(fmt="iso", utc=True),
    structlog.processors.StackInfoRenderer(),
]


def logging_settings(level: str = "INFO") -> dict[str, Any]:
    """Value of Django's LOGGING; also points structlog at the same handler."""
    structlog.configure(
        processors=[*_SHARED, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=False,
    )
    quiet = {"level": "WARNING", "propagate": True}
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "json": {
                "()": structlog.stdlib.ProcessorFormatter,
                "foreign_pre_chain": [*_SHARED, structlog.stdlib.ExtraAdder()],
                "processors": [
                    structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                    structlog.processors.format_exc_info,
                    hide_secrets,
                    structlog.processors.JSONRenderer(ensure_ascii=False, default=repr),
                ],
            }
        },
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
