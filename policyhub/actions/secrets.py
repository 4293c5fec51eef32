"""Envelopes for secrets: Fernet with several keys, the first encrypts, each envelope names its key.

Form: `v1.<key id>.<token>`; key id = first 8 hex digits of sha256(key). Plain secrets live in memory for one call and are never
an argument of a task, a log line or a URL.
"""

from __future__ import annotations

import hashlib
from datetime import datetime

from cryptography.fernet import Fernet, InvalidToken
from django.conf import settings
from django.db import models, transaction

from policyhub.actions import audit
from policyhub.domain.errors import PolicyHubError
from policyhub.domain.message import Message, gettext_noop
from policyhub.domain.redaction import redact
from policyhub.models import Change, ConfigSnapshot, Credential

__all__ = ["CannotOpen", "key_id", "redact", "rotate", "rotate_all", "seal", "unseal"]

VERSION = "v1"
_ENVELOPES: tuple[tuple[type[models.Model], tuple[str, ...]], ...] = (
    (Credential, ("password_envelope", "private_key_envelope", "enable_envelope")),
    (ConfigSnapshot, ("text_envelope", "counters_envelope")),
    (Change, ("transcript_envelope",)),
)


class CannotOpen(PolicyHubError):
    """The key of an envelope is not configured, or the envelope was altered."""

    code = "PH-E050"


def key_id(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()[:8]


def seal(text: str) -> str:
    """Encrypt with the newest key. "" stays "": there is no secret to hide."""
    if not text:
        return ""
    key = _keys()[0]
    return f"{VERSION}.{key_id(key)}.{Fernet(key).encrypt(text.encode('utf-8', 'surrogateescape')).decode()}"


def unseal(envelope: str) -> str:
    """Decrypt. Raises CannotOpen without saying anything about the content."""
    if not envelope:
        return ""
    version, _, rest = envelope.partition(".")
    wanted, _, token = rest.partition(".")
    key = next((key for key in _keys() if key_id(key) == wanted), None)
    if version != VERSION or key is None:
        said = gettext_noop("no configured key opens this secret (key id %(key)s). Add that key to the credential keys")
        raise CannotOpen.of(said, key=wanted or "-")
    try:
        return Fernet(key).decrypt(token).decode("utf-8", "surrogateescape")
    except InvalidToken as error:
        said = gettext_noop("a secret sealed with key %(key)s was altered or cut off. Enter it again")
        raise CannotOpen.of(said, key=wanted) from error


def rotate(envelope: str) -> str:
    """The same secret under the newest key; unchanged when it is there already."""
    if not envelope or envelope.split(".")[1] == key_id(_keys()[0]):
        return envelope
    return seal(unseal(envelope))


def rotate_all(*, actor: object, now: datetime) -> int:
    """Bring every envelope of the database under the newest key; afterwards the old key can go. Returns how many moved."""
    moved = 0
    for model, names in _ENVELOPES:
        for pk in model._default_manager.values_list("pk", flat=True).order_by("pk"):
            moved += _rotate_row(model, pk, names)
    audit.record("secrets.rotated", actor=actor, at=now, envelopes=moved, key=key_id(_keys()[0]))
    return moved


def _rotate_row(model: type[models.Model], pk: object, names: tuple[str, ...]) -> int:
    with transaction.atomic():
        row = model._default_manager.select_for_update().get(pk=pk)
        fresh = {name: rotate(getattr(row, name)) for name in names}
        stale = [name for name in names if fresh[name] != getattr(row, name)]
        if stale:
            model._default_manager.filter(pk=pk).update(**{name: fresh[name] for name in stale})
    return len(stale)


def _keys() -> list[str]:
    keys: list[str] = list(settings.POLICYHUB_CREDENTIAL_KEYS)
    if not keys:
        said = gettext_noop("no credential key is configured. Set POLICYHUB_CREDENTIAL_KEY or POLICYHUB_CREDENTIAL_KEY_FILE")
        raise CannotOpen(Message(said))
    return keys
