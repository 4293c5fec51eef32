"""The console with sample rows as a process of its own: `python -m tests.support.sample_site FOLDER PORT`."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def main(folder: Path, port: int) -> None:
    """Serve on 127.0.0.1. Makes FOLDER/site.sqlite3 with the sample rows when it is not there yet."""
    os.environ["DJANGO_SETTINGS_MODULE"] = "policyhub.conf.settings.test"
    os.environ["POLICYHUB_TEST_DB"] = "sqlite"
    os.environ["POLICYHUB_TEST_DATABASE"] = str(folder / "site.sqlite3")
    fresh = not (folder / "site.sqlite3").exists()
    import django

    django.setup()
    if fresh:
        from django.core.management import call_command

        from tests.support.sample_rows import sample

        call_command("migrate", verbosity=0)
        sample()
    import uvicorn
    from django.core.asgi import get_asgi_application

    uvicorn.run(get_asgi_application(), host="127.0.0.1", port=port, log_level="warning", timeout_graceful_shutdown=1)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
