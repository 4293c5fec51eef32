"""For tests and type checkers; services are started by tests/conftest.py, which sets the environment."""

import os

from policyhub.conf.settings.base import *  # noqa: F403

SECRET_KEY = "test-only"  # noqa: S105
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": os.environ.get("POLICYHUB_TEST_SQLITE", ":memory:")}}
