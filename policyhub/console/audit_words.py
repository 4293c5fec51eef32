"""Rows of the audit chain as people read them: words for what was done and for each detail. What is stored stays as it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from policyhub.console import labels
from policyhub.console.labels import Text
from policyhub.models import AuditEntry

SHOWN = 160  # letters of one detail

# first part of an action
SUBJECTS: dict[str, Text] = {
    "admin": _("administration"), "change": _("change"), "config": _("configuration"), "counters": _("counters"),
    "credential": _("login"), "device": _("device"), "enforcement": _("action"), "finding": _("finding"),
    "group": _("device group"), "guard": _("guard"), "host-key": _("host key"), "identities": _("identities"),
    "kill-switch": _("kill switch"), "point": _("observation point"), "preflight": _("preflight"), "realm": _("site"),
    "secrets": _("secrets"), "sensor": _("sensor"), "sweep": _("sweep"), "token": _("token"), "user": _("user"),
}  # fmt: skip
# last part of an action; states of changes, actions and guards have their words elsewhere as well
VERBS: dict[str, Text] = {
    "acknowledged": _("acknowledged"), "active": _("active"), "added": _("added"), "applying": _("applying"),
    "assigned": _("assigned"), "cancelled": _("cancelled"), "changed": _("changed"), "confirm": _("confirmation asked for"),
    "created": _("created"), "credential": _("given a login"), "credentials": _("given logins"), "detected": _("platform found"),
    "draft": _("draft"), "engaged": _("engaged"), "expired": _("expired and taken back"), "imported": _("imported"),
    "mode": _("mode set"), "needs-person": _("a person is needed"), "not-planned": _("not planned"),
    "observed": _("observed only"), "old-algorithms": _("old algorithms allowed"), "pending": _("pending"),
    "placed": _("placed"), "quarantined": _("put into quarantine"), "redetect": _("platform to be found again"),
    "released": _("released"), "removed": _("removed"),
    "revoked": _("revoked"), "rotated": _("encrypted anew"), "scanned": _("asked for"), "set": _("set"),
    "started": _("begun"), "stored": _("stored"), "trusted": _("trusted"), "withdrawing": _("being taken back"),
}  # fmt: skip
# keys of the details
KEYS: dict[str, Text] = {
    "added": _("added"), "bad": _("bad rows"), "by": _("by"), "change": _("change"), "changed": _("changed"),
    "collect": _("reading"), "count": _("rows"), "credential": _("login"), "detail": _("detail"), "device": _("device"),
    "devices": _("devices"), "enforcement": _("action"), "envelopes": _("secrets"), "error": _("error"),
    "fencing": _("lease number"), "fields": _("fields"), "file": _("file"), "findings": _("findings"),
    "fingerprint": _("fingerprint"), "from": _("from"), "group": _("device group"), "guard": _("guard"),
    "interface": _("interface"), "inverse": _("inverse"), "key": _("key"), "kind": _("kind"), "lines": _("lines"),
    "member": _("member"), "message": _("what happened"), "mode": _("mode"), "name": _("name"), "outcome": _("outcome"),
    "plan": _("plan"), "platform": _("platform"), "point": _("observation point"), "policy": _("policy"),
    "preflight": _("preflight"), "profile": _("profile"), "purpose": _("purpose"), "push": _("pushing"),
    "read_at": _("read at"), "realm": _("site"), "reason": _("reason"), "removed": _("removed"), "replaced": _("replaced"),
    "row": _("row"), "said": _("what happened"), "scope": _("scope"), "scopes": _("scopes"), "seen": _("seen"),
    "sensor": _("sensor"), "settle_s": _("seconds to settle"), "sha256": _("sha256"), "source": _("source"),
    "spec": _("specification"), "stands_behind": _("stands behind"), "state": _("state"), "superuser": _("may do everything"),
    "sweep": _("sweep"), "token": _("token"), "try": _("attempt"), "unreachable": _("attempts without an answer"),
    "username": _("user name"), "via": _("by way of"), "was": _("before"), "what": _("what"),
}  # fmt: skip
VALUES: dict[str, Mapping[str, Text]] = {"kind": labels.CHANGE_KIND, "outcome": labels.PUSH_OUTCOME, "state": VERBS}


@dataclass(frozen=True, slots=True)
class Detail:
    """key: as stored; label and text in the reader's language. is_code: a name, number or text of a device."""

    key: str
    label: str
    text: str
    is_code: bool


def done(action: str) -> str:
    """`change.approved` in words, as far as they are known; the action itself is an identifier that people filter by."""
    subject, dot, verb = action.partition(".")
    verb = verb.rpartition(".")[2]
    words = [SUBJECTS.get(subject, subject), VERBS.get(verb, labels.word(verb))]
    return gettext("%(subject)s: %(verb)s") % {"subject": words[0], "verb": words[1]} if dot else str(words[0])


def details(entry: AuditEntry) -> list[Detail]:
    """What was kept with it, without what says nothing."""
    return [_detail(key, value) for key, value in entry.data.items() if value not in (None, "", [], {})]


def _detail(key: str, value: Any) -> Detail:
    text, is_code = _read(key, value)
    cut = text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"
    return Detail(key, str(KEYS.get(key, key)), cut, is_code)


def _read(key: str, value: Any) -> tuple[str, bool]:
    match value:
        case bool():
            return gettext("yes") if value else gettext("no"), False
        case dict() if "text" in value:
            return str(labels.word(value)), False
        case dict():
            parts = ((KEYS.get(str(name), name), _read(str(name), one)[0]) for name, one in value.items())
            return ", ".join(f"{name} {one}" for name, one in parts), True
        case list():
            return ", ".join(_read(key, one)[0] for one in value), True
        case str():
            known = VALUES.get(key, {}).get(value)
            word = str(known) if known is not None else str(labels.word(value))
            return word, word == value
    return str(value), True
