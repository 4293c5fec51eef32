"""Words and names that several checks share."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from policyhub.domain.message import Message, gettext_noop
from policyhub.domain.qos import QosAttachment
from policyhub.domain.rules import Action, Binding, Rule

SHOWN = 6
NEVER = re.compile(r"(?!)")  # of a platform without names that it knows by itself
ACTION = {
    Action.PERMIT: Message(gettext_noop("permit")),
    Action.DENY: Message(gettext_noop("deny")),
    Action.CONTINUE: Message(gettext_noop("continue")),
}


def listed(names: Sequence[str]) -> str | Message:
    """`a, b, c and 12 more`: the evidence holds them all."""
    if len(names) <= SHOWN:
        return ", ".join(names)
    values = {"names": ", ".join(names[:SHOWN]), "count": len(names) - SHOWN}
    return Message(gettext_noop("%(names)s and %(count)d more"), values)


def as_configured(rules: Sequence[Rule]) -> list[str]:
    """The first of them with their text, so that nobody has to look them up."""
    return [f"{rule.name}: {rule.text}" for rule in rules[:SHOWN]]


def places_of(ends: Iterable[Binding | QosAttachment]) -> list[str]:
    """Where something is bound, each place once."""
    return list(dict.fromkeys(f"{one.interface} {one.direction}".strip() for one in ends))
