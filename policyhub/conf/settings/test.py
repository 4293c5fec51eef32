"""For tests and type checkers. tests/conftest.py starts what is named here; importing this starts and writes nothing.

POLICYHUB_TEST_DB: sqlite (default) or postgres. POLICYHUB_TEST_RUN: folder of the services, set for child processes only;
POLICYHUB_TEST_DATABASE: name of the database that pytest made, for the same children.
"""

import os
import tempfile
from pathlib import Path

from policyhub.conf import environment
from policyhub.conf.logs import logging_settings
from policyhub.conf.settings.base import *  # noqa: F403
from policyhub.conf.settings.broker import celery_settings

# Short: a socket's path must stay below 107 bytes wherever the checkout lies. One folder per process: xdist workers never meet.
POLICYHUB_TEST_RUN = Path(os.environ.get("POLICYHUB_TEST_RUN") or f"{tempfile.gettempdir()}/ph-{os.geteuid()}-{os.getpid()}")
POLICYHUB_DATA_DIR = POLICYHUB_TEST_RUN / "data"

SECRET_KEY = "test-only-" + "x" * 40
POLICYHUB_CREDENTIAL_KEYS = ["dGVzdC1vbmx5LWtleS10ZXN0LW9ubHkta2V5LTEyMzQ="]
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
ALLOWED_HOSTS = ["*"]
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = True  # no scan of all files at each start

_GIVEN = os.environ.get("POLICYHUB_TEST_DATABASE")
if os.environ.get("POLICYHUB_TEST_DB", "sqlite") == "postgres":
    # One cluster for all xdist workers: the first process chooses its folder, the others inherit the variable.
    POSTGRES_RUN = os.environ.setdefault("POLICYHUB_TEST_POSTGRES", f"{tempfile.gettempdir()}/ph-pg-{os.geteuid()}-{os.getpid()}")
    DATABASES = {"default": environment.database(f"postgresql://policyhub@/{_GIVEN or 'policyhub'}?host={POSTGRES_RUN}")}
else:
    _FILE = str(POLICYHUB_TEST_RUN / "test.sqlite3")
    DATABASES = {"default": environment.sqlite(_GIVEN or _FILE, durable=False)}
    # A file, not memory: web and workers of a test are processes of their own.
    DATABASES["default"]["TEST"] = {"NAME": _FILE}

CELERY_BROKER_URL = os.environ.get("POLICYHUB_TEST_BROKER_URL") or f"redis+socket://{POLICYHUB_TEST_RUN}/redis.sock"
globals().update(celery_settings(CELERY_BROKER_URL))
LOGGING = logging_settings(environment.text("POLICYHUB_LOG_LEVEL", "WARNING"))
