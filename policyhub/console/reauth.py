"""Asking for the password again before anything leaves for a device, and slowing down who guesses it."""

from __future__ import annotations

from django.contrib.auth.models import AbstractBaseUser
from django.core.cache import cache

TRIES, PER_S = 8, 900


def may_try(name: str, address: str) -> bool:
    """False after too many failures of one name from one address within the last quarter of an hour."""
    return int(cache.get(_key(name, address), 0)) < TRIES


def failed(name: str, address: str) -> None:
    key = _key(name, address)
    cache.add(key, 0, PER_S)
    try:
        cache.incr(key)
    except ValueError:  # expired between the two calls: the count starts anew
        cache.set(key, 1, PER_S)


def passed(name: str, address: str) -> None:
    cache.delete(_key(name, address))


def password_ok(user: AbstractBaseUser, password: str, address: str) -> bool:
    """Whether this is the user's password; counts failures."""
    name = user.get_username()
    if not may_try(name, address):
        return False
    if user.check_password(password):
        passed(name, address)
        return True
    failed(name, address)
    return False


def _key(name: str, address: str) -> str:
    return f"reauth:{name.casefold()[:150]}:{address}".encode().hex()[:200]
