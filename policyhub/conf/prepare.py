"""Makes a database ready to serve: tables, and the first login. `python -m policyhub.conf.prepare`, once per deployment."""

from __future__ import annotations

from datetime import UTC, datetime

from policyhub.conf.setup import django_setup


def prepare() -> tuple[str, str] | None:
    """Migrate; name and password of the first administrator when it was made now. Needs django_setup before."""
    from django.core.management import call_command

    from policyhub.actions import first_login

    call_command("migrate", verbosity=0, interactive=False)
    password = first_login.ensure_admin(now=datetime.now(UTC))
    return (first_login.NAME, password) if password else None


def main() -> int:
    """For containers; run by one process at a time (PostgreSQL serialises migrations of the same table by locks)."""
    django_setup(create=True)
    login = prepare()
    print(f"first login: {login[0]} / {login[1]}  (shown once; change it)" if login else "ready", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
