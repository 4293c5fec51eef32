"""The first person who may log in."""

from __future__ import annotations

import secrets
from datetime import datetime

from django.contrib.auth import get_user_model
from django.db import transaction

from policyhub.actions import audit

NAME = "admin"
_ALPHABET = "abcdefghijkmnpqrstuvwxyz23456789"  # no characters that look alike in a terminal


def ensure_admin(*, now: datetime) -> str | None:
    """Make the first superuser and return its password, which is stored only as a hash; None when there is one already."""
    user = get_user_model()
    with transaction.atomic():
        if user.objects.filter(is_superuser=True).exists():
            return None
        password = "-".join("".join(secrets.choice(_ALPHABET) for _ in range(5)) for _ in range(4))
        user.objects.create_superuser(username=NAME, email=None, password=password)
        audit.record("user.created", actor="policyhub up", at=now, name=NAME, superuser=True)
    return password


def admin_has_logged_in() -> bool:
    return get_user_model().objects.filter(is_superuser=True, last_login__isnull=False).exists()
