"""Stored sentences in the reader's language: messages, and words for the identifiers they carry. flowguard adds its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from policyhub.domain.message import Message, joined, seamed

Text = str | Promise

GUARDRAILS: dict[str, Text] = {
    "mode": _("Mode of the group"),
    "kill-switch": _("Kill switch is off"),
    "verdict-kind": _("Verdict of a kind that may be acted on"),
    "evidence": _("Evidence is strong enough"),
    "persistence": _("Lasted long enough"),
    "fresh-evidence": _("Evidence is fresh"),
    "taken-back": _("No person took it back lately"),
    "capture-loss": _("Capture without losses"),
    "never-core": _("Not core business"),
    "never-touch": _("Not on the never-touch list"),
    "source-width": _("Exactly one address"),
    "prepared-guard": _("A guard is prepared"),
    "device-health": _("Device is healthy"),
    "device-role": _("Role of the device"),
    "verifying-point": _("Packets can prove the effect"),
    "blast-radius": _("Blast radius"),
    "rate-of-pushes": _("Rate of additions"),
    "flapping": _("Not the same host again and again"),
    "plan-lint": _("Plan lint"),
    "own-names": _("Own names only"),
}

# Identifiers that stored messages carry as values.
WORDS: dict[str, Text] = {
    "observe": _("observe"),
    "propose": _("propose"),
    "auto": _("automatic"),
    "request": _("on request"),
    "lab": _("lab"),
    "production": _("production"),
    "installed": _("installed"),
    "broken": _("not as installed"),
    "core": _("core"),
    "access": _("access"),
    "firewall": _("firewall"),
    "router": _("router"),
    "bastion": _("bastion"),
    "expiry": _("expiry"),
    "harm": _("harm"),
    "system": _("the system"),
    "host key changed": _("host key changed"),
    "login refused": _("login refused"),
    "proposed": _("proposed"),
    "approved": _("approved"),
    "preflight": _("preflight"),
    "armed": _("armed"),
    "pushing": _("pushing"),
    "pushed": _("pushed"),
    "verified": _("verified"),
    "confirmed": _("confirmed"),
    "reverting": _("reverting"),
    "reverted": _("reverted"),
    "failed": _("failed"),
    "revert-failed": _("revert failed"),
    "cancelled": _("cancelled"),
    "refused": _("refused"),
}


def word(value: Any) -> Any:
    """A value of a message: a nested message, an identifier, identifiers of a policy, a list of rails, or what it is."""
    if isinstance(value, Message):
        return said(value.template, value.values)
    if isinstance(value, Mapping) and "text" in value:
        return said(str(value["text"]), value.get("values"))
    if not isinstance(value, str):
        return value
    for separator, table in (("", WORDS), (":", WORDS), (", ", GUARDRAILS)):
        names = value.split(separator) if separator else [value]
        if all(name in table for name in names):
            return separator.join(str(table[name]) for name in names)
    return value


def said(template: str, values: Mapping[str, Any] | None) -> str:
    """A stored message (policyhub.domain.message) in the reader's language; values that do not fit leave it as it is."""
    if not template:
        return ""
    translated = gettext(template)
    try:
        return joined(translated % {key: _part(value) for key, value in values.items()}) if values else translated
    except (KeyError, TypeError, ValueError):
        return translated


def _part(value: Any) -> Any:
    is_message = isinstance(value, Message) or (isinstance(value, Mapping) and "text" in value)
    return seamed(word(value)) if is_message else word(value)


def kept(stored: Any, plain: str) -> str:
    """A message as a column of JSON keeps it; `plain` where none is kept: words of a person, or a sentence without values."""
    if isinstance(stored, Mapping) and "text" in stored:
        return said(str(stored["text"]), stored.get("values"))
    return said(plain, None)
