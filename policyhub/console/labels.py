"""Plain words for stored identifiers: checks, change kinds, outcomes, guard rails. Unknown ones are shown as they are."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from policyhub.domain.check_names import TITLES
from policyhub.domain.errors import PolicyHubError
from policyhub.queries.words import GUARDRAILS, WORDS, Text, kept, said, word

__all__ = ["GUARDRAILS", "WORDS", "Text", "kept", "said", "word"]

CHANGE_KIND: dict[str, Text] = {
    "guard-install": _("Install guard"),
    "guard-remove": _("Remove guard"),
    "member-add": _("Add member"),
    "member-remove": _("Take member back"),
}

PUSH_OUTCOME: dict[str, Text] = {
    "applied": _("applied"),
    "not-applied": _("not applied"),
    "partial": _("partly applied"),
    "unknown": _("not known"),
}

RULE_ACTION: dict[str, Text] = {"permit": _("permit"), "deny": _("deny"), "continue": _("goes on")}

# What a check found, and in one sentence why anybody should care.
CHECK_REASONS: dict[str, Text] = {
    "zombie-rule": _("No packet matched it over the whole window, and counting is proven."),
    "no-hit-evidence": _("The device does not prove how often this rule matches, so nothing is claimed."),
    "shadowed-rule": _("Earlier rules catch everything it would match and do something else."),
    "redundant-rule": _("Other rules already do the same for everything it would match."),
    "coverage-undecided": _(
        "Whether earlier rules catch everything it would match could not be worked out. This does not mean that it is fine."
    ),
    "correlated-rules": _("They overlap in part with different actions: their order decides."),
    "generalization": _("A wider rule follows a narrower one with another action."),
    "overbroad-rule": _("It permits far more addresses or services than a person can vouch for."),
    "any-any": _("Any source to any destination with any service."),
    "risky-service": _("It opens a service that is attacked often or carries passwords in clear."),
    "expired-rule": _("Its schedule has ended; it only makes the list longer."),
    "disabled-rule": _("It does nothing. Delete it when nobody misses it."),
    "unused-object": _("No rule refers to it."),
    "duplicate-object": _("Another object holds the same value."),
    "empty-group": _("A rule with an empty group matches nothing, or everything, depending on the platform."),
    "unlogged-rule": _("What it does leaves no trace in the log."),
    "mergeable-rules": _("They differ in one field only."),
    "undefined-reference": _("A list, object or group is used here that the configuration does not define."),
    "undefined-qos-reference": _("A QoS policy, class or list is used here that the configuration does not define."),
    "shadowed-class": _("An earlier class takes all of its packets."),
    "unused-class": _("No policy refers to it."),
    "ef-without-limit": _("One job can starve every other priority flow of the port."),
    "ef-overcommit": _("The priority queue may take more than the port can keep for others."),
    "dscp-trusted-at-edge": _("Whoever sits there may mark himself into the priority queue."),
    "class-not-queued": _("Its packets are classified and then served like all others."),
    "unattached-policy": _("It is configured but bound to no interface."),
    "mark-without-queue": _("The mark is written but no queue serves it."),
    "host-key-changed": _("The device answers with another key than the pinned one."),
}
CHECKS: dict[str, tuple[Text, Text]] = {name: (_(TITLES[name]), reason) for name, reason in CHECK_REASONS.items()}

# The colour family of a state; its word carries the meaning, the colour only helps.
TONES = {
    "good": {
        "confirmed", "verified", "installed", "active", "trusted", "done", "ingested", "resolved", "helped", "stands", "applied",
        "ok",
    },
    "bad": {
        "failed", "revert-failed", "broken", "revoked", "poisoned", "regressed", "needs-person", "harmed", "refused", "partial",
    },
    "wait": {"proposed", "pending", "new", "draft", "stored", "unknown", "waiting"},
    "busy": {
        "approved", "preflight", "armed", "pushing", "pushed", "reverting", "applying", "withdrawing", "running",
    },
}  # fmt: skip


def tone(state: str) -> str:
    """good, bad, wait, busy or plain."""
    return next((name for name, states in TONES.items() if state in states), "plain")


POLICY = "policy "  # how actors that are no person are named


def finding_said(finding: Any) -> str:
    """What was found."""
    return kept((finding.said or {}).get("message"), finding.message)


def finding_advice(finding: Any) -> str:
    """What to do about it."""
    return kept((finding.said or {}).get("fix"), finding.fix)


def change_reason(change: Any) -> str:
    """Why it was planned."""
    return kept(change.reason_said, change.reason)


def quarantine(reason: str) -> str:
    """Why nothing is sent to a device."""
    return said(reason, None)


def error_said(error: PolicyHubError) -> str:
    """Code and words of a refusal."""
    return said(error.told.template, error.told.values)


def actor(name: str) -> str:
    """Who did it: a person or a part of the program as it is written; a policy in words."""
    policy = name.removeprefix(POLICY)
    return gettext("policy %(policy)s") % {"policy": word(policy)} if policy != name else name


# Readings on account of a change: before its lines left, after they were verified, after they were taken back.
READ_FOR: dict[str, Text] = {
    "pre-push": _("before change #%(change)s"),
    "post-push": _("after change #%(change)s"),
    "taken-back": _("after change #%(change)s was taken back"),
}


def taken_by(snapshot: Any) -> str:
    """Who read it; what was read for a change says on which side of it."""
    told = READ_FOR.get(snapshot.source)
    return str(told) % {"change": snapshot.taken_by.rpartition("#")[2]} if told else snapshot.taken_by


def event_said(event: Any) -> str:
    """The words of one row of a timeline: of a change (its message stands in `data`) or of an enforcement."""
    stored = event.data.get("said")
    return said(stored["text"], stored.get("values")) if stored else said(event.message, event.data)


def last_said(events: Iterable[Any]) -> str:
    """What the newest row says; "" when nothing happened yet."""
    rows = list(events)
    return event_said(rows[-1]) if rows else ""


def check_title(name: str) -> Text:
    return CHECKS[name][0] if name in CHECKS else name


def checks_called(text: str) -> tuple[str, ...]:
    """Names of the checks whose words hold a text, in the reader's language."""
    wanted = text.casefold()
    return tuple(name for name, words in CHECKS.items() if wanted and any(wanted in str(word).casefold() for word in words))


def check_reason(name: str) -> Text:
    return CHECKS[name][1] if name in CHECKS else ""
