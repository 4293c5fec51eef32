"""Brings Django up for commands that need tables."""

from __future__ import annotations

import os
from pathlib import Path

from policyhub.conf import places
from policyhub.conf.environment import ConfigurationError

EMBEDDED = "policyhub.conf.settings.embedded"
PRODUCTION = "policyhub.conf.settings.production"


def choose_settings() -> str:
    """DJANGO_SETTINGS_MODULE, else production when a database URL is given, else embedded."""
    given = any(name in os.environ for name in ("POLICYHUB_DATABASE_URL", "POLICYHUB_DATABASE_URL_FILE"))
    return os.environ.setdefault("DJANGO_SETTINGS_MODULE", PRODUCTION if given else EMBEDDED)


def django_setup(data_dir: str | Path | None = None, *, create: bool = False) -> None:
    """Set Django up on a data folder. Raises ConfigurationError when the embedded service was never started there.

    create: make the folder instead (only `up` does).
    """
    if data_dir is not None:
        os.environ["POLICYHUB_DATA"] = str(Path(data_dir).absolute())
    if choose_settings() == EMBEDDED and not create and not (places.data_dir() / "policyhub.sqlite3").exists():
        raise ConfigurationError(
            f"{places.data_dir()}: no PolicyHub data. Start `policyhub up` there first, or set POLICYHUB_DATA to its folder."
        )
    import django

    django.setup()
