"""What stands in a finding's evidence: a label for each key, and how its value is read. A test knows every key."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from policyhub.domain.hits import in_utc
from policyhub.domain.message import gettext_noop

SAID = "said"  # the finding's message says it already
# key -> (label, form). Forms: code (device text), names, count, time, flag, bits (log2 of a number), word (of WORDS), said.
FIELDS: dict[str, tuple[str, str]] = {
    "rule": (gettext_noop("The rule as configured"), "code"),
    "bound": (gettext_noop("Bound to an interface"), "flag"),
    "queue": (gettext_noop("Queue"), "code"),
    "interfaces": (gettext_noop("Interfaces"), "names"),
    "undefined": (gettext_noop("Defined nowhere"), "names"),
    "schedule": (gettext_noop("Schedule"), "code"),
    "expired": (gettext_noop("Ended"), "time"),
    "reason": ("", SAID),
    "rules": (gettext_noop("Rules concerned"), "count"),
    "hits": (gettext_noop("Counter"), "count"),
    "counts": (gettext_noop("What it counts"), "word"),
    "since": (gettext_noop("Counted without a break since"), "time"),
    "read_at": (gettext_noop("Counter read at"), "time"),
    "proof": (gettext_noop("Proved by"), "word"),
    "bits": (gettext_noop("Combinations let through"), "bits"),
    "source_bits": (gettext_noop("Sources"), "bits"),
    "destination_bits": (gettext_noop("Destinations"), "bits"),
    "service_bits": (gettext_noop("Services"), "bits"),
    "max_bits": (gettext_noop("Most that is accepted"), "bits"),
    "reaches_core": (gettext_noop("Core business it reaches"), "names"),
    "causes": (gettext_noop("The rules that cause it"), "names"),
    "cover": (gettext_noop("Covered by"), "word"),
    "other_action": (gettext_noop("Of these, with another action"), "names"),
    "direction": (gettext_noop("The other rules stand"), "word"),
    "by_default": (gettext_noop("The policy's default does the same"), "flag"),
    "logging_would_change": (gettext_noop("Logging would change"), "flag"),
}
WORDS: dict[str, str] = {
    "packets": gettext_noop("packets"),
    "sessions": gettext_noop("sessions"),
    "matches": gettext_noop("matches"),
    "readings": gettext_noop("two readings of the counters"),
    "counting-since": gettext_noop("one reading, and since when the device counts"),
    "intervals": gettext_noop("counts of fixed intervals, one after the other without a hole"),
    "single": gettext_noop("one rule"),
    "union": gettext_noop("several rules together"),
    "up": gettext_noop("above this one"),
    "down": gettext_noop("below this one"),
}


@dataclass(frozen=True, slots=True)
class Fact:
    """One row of evidence. label: a msgid, or the key where `known` is false.

    value by form: code str, names tuple of str, count int or float, time aware datetime, flag bool, bits float, word msgid,
    pairs tuple of (key, str), unknown None.
    """

    label: str
    form: str
    value: Any
    known: bool = True


def facts(evidence: Mapping[str, Any]) -> tuple[Fact, ...]:
    """In the order of FIELDS, then what no label is known for, as later releases and other tools may write it."""
    order = {key: place for place, key in enumerate(FIELDS)}
    keys = sorted(evidence, key=lambda key: order.get(key, len(order)))
    return tuple(_fact(key, evidence[key]) for key in keys if FIELDS.get(key, ("", ""))[1] != SAID)


def _fact(key: str, value: Any) -> Fact:
    label, form = FIELDS.get(key, (key, ""))
    form, value = _read(form, value)
    return Fact(label, form, value, key in FIELDS)


def _read(form: str, value: Any) -> tuple[str, Any]:
    """Stored values may be of another release: one that does not fit its form is shown by what it is."""
    match value:
        case None | "":
            return "unknown", None
        case bool():
            return "flag", value
        case int() | float():
            return ("bits" if form == "bits" else "count"), value
        case str() if form == "word":
            return ("word", WORDS[value]) if value in WORDS else ("code", value)
        case str() if form == "time":
            moment = _moment(value)
            return ("code", value) if moment is None else ("time", moment)
        case str():
            return "code", value
        case list() | tuple():
            return "names", tuple(str(one) for one in value)
        case Mapping():
            return "pairs", tuple((str(key), str(one)) for key, one in value.items())
    return "code", str(value)


def _moment(text: str) -> datetime | None:
    try:
        return in_utc(datetime.fromisoformat(text))
    except ValueError:
        return None
