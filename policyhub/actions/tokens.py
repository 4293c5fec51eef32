"""API tokens `phb_<key>.<secret>`: made once, shown once, kept as an HMAC; revoked, never deleted."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Q
from django.utils.crypto import constant_time_compare, salted_hmac

from policyhub.actions import audit
from policyhub.domain.errors import BadInput
from policyhub.models import ApiToken

SCOPES = ("read", "ingest", "plan", "approve", "push", "admin")
PREFIX = "phb_"
SENSOR_NAME = re.compile(r"[-A-Za-z0-9_]{1,64}")
# A write per request would make every read of the API a write of the database.
LAST_USED_EVERY = timedelta(seconds=60)
_SALT = "policyhub.api-token"
_NO_DIGEST = "0" * 64


def create(
    *, name: str, scopes: Iterable[str], actor: object, now: datetime, sensor: str = "", user: Any = None,
    expires_at: datetime | None = None,
) -> tuple[ApiToken, str]:  # fmt: skip
    """A token and its text, which nobody can read again. Raises BadInput for scopes that cannot be given."""
    wanted = tuple(dict.fromkeys(scopes))
    unknown = [scope for scope in wanted if scope not in SCOPES]
    if unknown or not wanted:
        raise BadInput(f"scope {', '.join(unknown) or '(none)'}: unknown. Choose from {', '.join(SCOPES)}")
    if "ingest" in wanted and not sensor:
        raise BadInput("an ingest token speaks for one sensor. Name it with --sensor")
    if sensor and not SENSOR_NAME.fullmatch(sensor):
        raise BadInput(f"sensor {sensor!r}: a name has 1 to 64 letters, digits, - or _")
    if sensor and wanted != ("ingest",):
        raise BadInput("a sensor's token has the scope ingest and no other. Make a second token for the rest")
    key, secret = secrets.token_hex(8), secrets.token_urlsafe(32)
    token = ApiToken.objects.create(
        name=name[:64], key=key, digest=_digest(key, secret), user=user, sensor=sensor, scopes=list(wanted), expires_at=expires_at
    )
    audit.record("token.created", actor=actor, at=now, token=key, name=name, scopes=wanted, sensor=sensor)
    return token, f"{PREFIX}{key}.{secret}"


def revoke(*, key: str, actor: object, now: datetime) -> ApiToken:
    """Raises BadInput when no token has that key. Revoking twice is one revocation."""
    token = ApiToken.objects.filter(key=key.removeprefix(PREFIX).split(".")[0]).first()
    if token is None:
        raise BadInput(f"no token has the key {key!r}. See `policyhub token list`")
    if ApiToken.objects.filter(pk=token.pk, revoked=False).update(revoked=True):
        audit.record("token.revoked", actor=actor, at=now, token=token.key, name=token.name)
    token.revoked = True
    return token


def verify(text: str, *, now: datetime) -> ApiToken | None:
    """The live token that `text` spells, or None. Takes the same time for an unknown key as for a wrong secret."""
    key, _, secret = text.removeprefix(PREFIX).partition(".")
    token = None
    if text.startswith(PREFIX) and text.isascii() and len(text) <= 128:
        token = ApiToken.objects.select_related("user").filter(key=key).first()
    right = constant_time_compare(_digest(key, secret), token.digest if token else _NO_DIGEST)
    if token is None or not right or token.revoked or (token.expires_at and token.expires_at <= now):
        return None
    if token.user is not None and not token.user.is_active:
        return None
    stale = Q(last_used_at=None) | Q(last_used_at__lt=now - LAST_USED_EVERY)
    if token.last_used_at is None or token.last_used_at < now - LAST_USED_EVERY:
        ApiToken.objects.filter(stale, pk=token.pk).update(last_used_at=now)
    return token


def _digest(key: str, secret: str) -> str:
    return salted_hmac(_SALT, f"{key}.{secret}", algorithm="sha256").hexdigest()
