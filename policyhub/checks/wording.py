"""Words that several checks share."""

from __future__ import annotations

from collections.abc import Sequence

from policyhub.domain.message import Message, gettext_noop
from policyhub.domain.rules import Action

SHOWN = 6
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
