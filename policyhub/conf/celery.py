"""The Celery application. Settings live in Django's settings under CELERY_; settings/broker.py gives the reasons."""

from __future__ import annotations

import logging.config
import os
from typing import Any

from celery import Celery, signals

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "policyhub.conf.settings.embedded")
# Celery runs Django's checks in each worker and throws their answers away; for that alone all pages and the API are loaded.
os.environ.setdefault("CELERY_SKIP_CHECKS", "1")

app = Celery("policyhub")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks(["policyhub", "flowguard"])
app.set_default()


@signals.setup_logging.connect
def _log_as_django_does(**_: Any) -> None:
    """Celery would otherwise replace the handlers that redact secrets."""
    from django.conf import settings

    logging.config.dictConfig(settings.LOGGING)
